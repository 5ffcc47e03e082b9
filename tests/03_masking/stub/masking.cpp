#include "attn/masking.hpp"

#include <algorithm>
#include <cmath>

#include "attn/shape.hpp"
#include "attn/softmax.hpp"
#include "attn/todo.hpp"

namespace attn {

// scores (L x S x N), mask (L x S x M) -> (L x S x N)
arma::cube masked_fill(const arma::cube& scores, const Mask& mask, double value) {
  // TODO(03.1): an empty mask changes nothing. Reject a mask whose rows or columns are not those of the scores, or
  // whose number of slices M does not divide N. Then put `value` wherever the mask is 0; a slice of the mask is for N /
  // M slices of the scores that lie side by side.
  todo("03.1");
}

// B lengths -> (L x S x B)
Mask padding_mask(const arma::uvec& lengths, arma::uword L, arma::uword S) {
  // TODO(03.2): reject an L or S of zero, no lengths, and a length above S. Then, in slice b, every row has a 1 in the
  // first lengths(b) columns and 0 in the others.
  todo("03.2");
}

// -> (L x S x 1)
Mask causal_mask(arma::uword L, arma::uword S) {
  // TODO(03.3): reject an L or S of zero. Then 1 where j <= i + S - L (query i, key j), else 0. An arma::uword never
  // goes below zero: think of what i + S - L is when L is larger than S.
  todo("03.3");
}

// (L x S x M) and (L x S x M), or one of them (L x S x 1) -> (L x S x M)
Mask combine_masks(const Mask& a, const Mask& b) {
  // TODO(03.4): an empty mask blocks nothing, so the other one is the result. Reject shapes that do not fit. Then 1
  // where neither of the two is 0.
  todo("03.4");
}

// scores (L x S x N) -> (L x S x N), every row has the sum one or is all zeros
arma::cube safe_softmax_rows(const arma::cube& scores) {
  // TODO(03.5): reject a size of zero. Then the softmax of every row, but zeros for a row of nothing but -inf.
  todo("03.5");
}

// Q (L x D x N), K (S x D x N), V (S x Dv x N), mask (L x S x M) -> (L x Dv x N)
arma::cube scaled_dot_product_attention(const arma::cube& Q, const arma::cube& K, const arma::cube& V,
                                        const Mask& mask) {
  // TODO(03.6): reject shapes that do not fit. Then the scores of every slice, divided by sqrt(D); the blocked ones
  // become -inf; the safe softmax makes weights of them, and the weights mix the values.
  todo("03.6");
}

}  // namespace attn
