#include "attn/embedding_backward.hpp"

#include <stdexcept>
#include <string>

#include "attn/shape.hpp"
#include "attn/todo.hpp"

namespace attn {

// ids (L x B), d_Y (L x E x B) -> (V x E)
arma::mat embedding_backward(const Embedding& embedding, const arma::umat& ids, const arma::cube& d_Y) {
  // TODO(26.6): each row of d_Y belongs to the row of the weight that was copied there. Reject shapes that do not fit,
  // and ids that have no row.
  todo("26.6");
}

// table (P x E), d_X (L x E x B) -> (P x E)
arma::mat positions_backward(const arma::mat& table, const arma::cube& d_X) {
  // TODO(26.6): row i of the table was added to row i of every sequence. Reject shapes that do not fit, and an L above
  // P.
  todo("26.6");
}

}  // namespace attn
