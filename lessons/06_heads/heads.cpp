#include "attn/heads.hpp"

#include "attn/shape.hpp"
#include "attn/todo.hpp"
#include "attn/view.hpp"

namespace attn {

// X (L x E x B): Q, K or V -> (L x D x H·B), slice b·H + h
arma::cube split_heads(arma::cube X, arma::uword num_heads) {
  // TODO(06.1): reject an X with a size of zero, and a num_heads that is zero or does not divide the columns
  // (require_shape and require_multiple in attn/shape.hpp). Then give X its new sizes (view in attn/view.hpp) and
  // return it. No number moves, and nothing is copied.
  todo("06.1");
}

// X_heads (L x D x H·B) -> (L x E x B)
arma::cube merge_heads(arma::cube X_heads, arma::uword num_heads) {
  // TODO(06.2): the inverse of split_heads. Here num_heads must divide the number of slices.
  todo("06.2");
}

}  // namespace attn
