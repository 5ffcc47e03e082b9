#include "attn/heads_backward.hpp"

#include <stdexcept>
#include <string>

#include "attn/shape.hpp"
#include "attn/todo.hpp"

namespace attn {

// d_Y (L x D x N), positions (L x M), speeds (1 x D/2) -> (L x D x N)
arma::cube rope_backward(const arma::cube& d_Y, RopePairing pairing, const arma::umat& positions,
                         const arma::rowvec& speeds) {
  // TODO(25.2): the gradient of what apply_rope rotated. Reject an empty d_Y, and one of odd width.
  todo("25.2");
}

// d_heads (S x D x H·B) -> (S x D x G·B)
arma::cube sum_over_groups(const arma::cube& d_heads, arma::uword group_size) {
  // TODO(25.3): the gradient of what repeat_heads copied. Reject a number of slices that group_size does not divide.
  todo("25.3");
}

}  // namespace attn
