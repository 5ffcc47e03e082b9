#include "attn/masking.hpp"

#include <algorithm>
#include <cmath>

#include "attn/shape.hpp"
#include "attn/softmax.hpp"

namespace attn {

arma::cube masked_fill(const arma::cube& scores, const Mask& mask, double value) {
  if (mask.is_empty()) return scores;
  if (mask.n_rows != scores.n_rows || mask.n_cols != scores.n_cols || scores.n_slices % mask.n_slices != 0) {
    throw std::invalid_argument("mask is " + shape_text(mask) + ", expected the rows and columns of the scores, " +
                                shape_text(scores) + ", and a number of slices that divides theirs");
  }
  const arma::uword shared_by = scores.n_slices / mask.n_slices;  // neighbouring slices with the same mask
  arma::cube filled = scores;                                     // (L x S x N)
  for (arma::uword n = 0; n < scores.n_slices; ++n) {
    filled.slice(n).elem(arma::find(mask.slice(n / shared_by) == 0)).fill(value);
  }
  return filled;
}

Mask padding_mask(const arma::uvec& lengths, arma::uword L, arma::uword S) {
  require_positive("lengths, its size", lengths.n_elem);
  // require_positive for all three, and for their product to fit into an arma::uword
  require_product({{"L", L}, {"S", S}, {"B", lengths.n_elem}});
  if (lengths.max() > S) {
    throw std::invalid_argument("lengths holds " + std::to_string(lengths.max()) +
                                ", expected at most S = " + std::to_string(S));
  }
  Mask mask(L, S, lengths.n_elem, arma::fill::zeros);
  for (arma::uword b = 0; b < lengths.n_elem; ++b) {
    if (lengths(b) > 0) mask.slice(b).head_cols(lengths(b)).ones();
  }
  return mask;
}

Mask causal_mask(arma::uword L, arma::uword S) {
  require_product({{"L", L}, {"S", S}});  // likewise
  Mask mask(L, S, 1, arma::fill::zeros);
  for (arma::uword i = 0; i < L; ++i) {
    for (arma::uword j = 0; j < S; ++j) mask(i, j, 0) = j + L <= i + S;  // j <= i + S - L, without going below zero
  }
  return mask;
}

Mask combine_masks(const Mask& a, const Mask& b) {
  if (a.is_empty()) return b;
  if (b.is_empty()) return a;
  const bool slices_fit = a.n_slices == b.n_slices || a.n_slices == 1 || b.n_slices == 1;
  if (a.n_rows != b.n_rows || a.n_cols != b.n_cols || !slices_fit) {
    throw std::invalid_argument("b is " + shape_text(b) + ", expected the rows and columns of a, " + shape_text(a) +
                                ", and as many slices, or one of the two with a single slice");
  }
  Mask both(a.n_rows, a.n_cols, std::max(a.n_slices, b.n_slices));
  for (arma::uword n = 0; n < both.n_slices; ++n) {
    both.slice(n) = a.slice(a.n_slices == 1 ? 0 : n) != 0 && b.slice(b.n_slices == 1 ? 0 : n) != 0;
  }
  return both;
}

arma::cube safe_softmax_rows(const arma::cube& scores) {
  require_shape("scores", scores, {{"L"}, {"S"}, {"N"}});
  arma::cube weights(arma::size(scores), arma::fill::zeros);  // (L x S x N)
  for (arma::uword n = 0; n < scores.n_slices; ++n) {
    for (arma::uword i = 0; i < scores.n_rows; ++i) {
      const arma::rowvec row = scores.slice(n).row(i);    // (1 x S)
      if (arma::all(row == -arma::datum::inf)) continue;  // -inf minus -inf would be NaN
      weights.slice(n).row(i) = softmax_rows(row);
    }
  }
  return weights;
}

arma::cube scaled_dot_product_attention(const arma::cube& Q, const arma::cube& K, const arma::cube& V,
                                        const Mask& mask) {
  require_shape("Q", Q, {{"L"}, {"D"}, {"N"}});
  require_shape("K", K, {{"S"}, {"D", Q.n_cols}, {"N", Q.n_slices}});
  require_shape("V", V, {{"S", K.n_rows}, {"Dv"}, {"N", Q.n_slices}});

  arma::cube scores(Q.n_rows, K.n_rows, Q.n_slices);  // (L x S x N)
  for (arma::uword n = 0; n < Q.n_slices; ++n) {
    scores.slice(n) = Q.slice(n) * K.slice(n).t() / std::sqrt(static_cast<double>(Q.n_cols));
  }
  const arma::cube weights = safe_softmax_rows(masked_fill(scores, mask, -arma::datum::inf));

  arma::cube context(Q.n_rows, V.n_cols, Q.n_slices);  // (L x Dv x N)
  for (arma::uword n = 0; n < Q.n_slices; ++n) context.slice(n) = weights.slice(n) * V.slice(n);
  return context;
}

}  // namespace attn
