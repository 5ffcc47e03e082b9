#include "attn/batches.hpp"

#include <stdexcept>
#include <string>

#include "attn/shape.hpp"
#include "attn/todo.hpp"

namespace attn {

// text: n ids -> ids (L x B), targets (L x B)
Batch next_token_batch(const std::vector<arma::uword>& text, arma::uword L, arma::uword B, std::mt19937_64& generator) {
  // TODO(27.1): B windows of L tokens that begin at random places, each with its next tokens as targets. Reject a text
  // without one such window, and sizes of zero.
  todo("27.1");
}

// ids (2 n x B), targets (2 n x B)
Batch reverse_batch(arma::uword symbols, arma::uword n, arma::uword B, std::mt19937_64& generator) {
  // TODO(27.2): sequences of n random symbols, the separator, the same backwards. Only targets after the separator
  // count. Reject sizes of zero.
  todo("27.2");
}

}  // namespace attn
