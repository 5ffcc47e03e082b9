#include "attn/decoder_attention.hpp"
#include "attn/shape.hpp"
#include "attn/todo.hpp"

namespace attn {

// old_lengths (B) -> (L x B)
arma::umat positions_after(const arma::uvec& old_lengths, arma::uword L) {
  // TODO(21.1): the position of row i of sequence b, which comes after old_lengths(b) tokens. Reject no sequence at all,
  // and an L of 0.
  todo("21.1");
}

// old_lengths (B), new_lengths (B) -> (L x S x B)
Mask decoder_mask(const arma::uvec& old_lengths, const arma::uvec& new_lengths, arma::uword L, arma::uword S,
                  arma::uword window) {
  // TODO(21.2): 1 where a new token sees a key: not after its own position, and with a window (not 0) only the newest,
  // its own among them. Rows that are padding see nothing. Sizes are unsigned: a difference below 0 wraps around. Reject
  // lengths that do not fit each other, L or S.
  todo("21.2");
}

}  // namespace attn
