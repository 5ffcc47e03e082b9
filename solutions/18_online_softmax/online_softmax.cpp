#include "attn/online_softmax.hpp"

#include <algorithm>
#include <cmath>

#include "attn/shape.hpp"

namespace attn {

namespace {

const double infinity = arma::datum::inf;

/// The three parts have the same queries, and these sizes where they are given.
void require_partial(const std::string& name, const PartialAttention& partial, arma::uword L = any_size,
                     arma::uword Dv = any_size) {
  require_shape(name + ".output", partial.output, {{"L", L}, {"Dv", Dv}});
  require_shape(name + ".maximum", partial.maximum, {{"L", partial.output.n_rows}, {"1", 1}});
  require_shape(name + ".sum", partial.sum, {{"L", partial.output.n_rows}, {"1", 1}});
}

/// Takes numbers from one maximum to another: exp(from - to), and 0 for a query that had seen nothing.
arma::vec rescaling(const arma::vec& from, const arma::vec& to) {
  arma::vec factors = arma::exp(from - to);             // (L)
  factors.elem(arma::find(from == -infinity)).zeros();  // -inf minus -inf is NaN
  return factors;
}

}  // namespace

RunningSoftmax add_score(const RunningSoftmax& seen, double score) {
  if (score == -infinity) return seen;  // where nothing was seen, -inf minus -inf would be NaN
  const double maximum = std::max(seen.maximum, score);
  return {maximum, seen.sum * std::exp(seen.maximum - maximum) + std::exp(score - maximum)};
}

arma::rowvec online_softmax(const arma::rowvec& scores) {
  require_shape("scores", scores, {{"1", 1}, {"S"}});
  RunningSoftmax seen;
  for (const double score : scores) seen = add_score(seen, score);
  if (seen.sum == 0) return arma::rowvec(scores.n_elem, arma::fill::zeros);
  return arma::exp(scores - seen.maximum) / seen.sum;
}

PartialAttention partial_attention(const arma::mat& Q, const arma::mat& K_block, const arma::mat& V_block,
                                   const Mask& mask_block) {
  require_shape("Q", Q, {{"L"}, {"D"}});
  require_shape("K_block", K_block, {{"S"}, {"D", Q.n_cols}});
  require_shape("V_block", V_block, {{"S", K_block.n_rows}, {"Dv"}});
  require_mask("mask_block", mask_block, Q.n_rows, K_block.n_rows, 1);

  arma::mat scores = Q * K_block.t() / std::sqrt(static_cast<double>(Q.n_cols));  // (L x S)
  if (!mask_block.is_empty()) scores.elem(arma::find(mask_block.slice(0) == 0)).fill(-infinity);
  const arma::vec maximum = arma::max(scores, 1);  // (L)
  arma::vec subtracted = maximum;                  // (L)
  subtracted.replace(-infinity, 0);                // exp(-inf - 0) is 0, where exp(-inf + inf) would be NaN
  scores.each_col() -= subtracted;
  const arma::mat exponentials = arma::exp(scores);  // (L x S)
  return {exponentials * V_block, maximum, arma::sum(exponentials, 1)};
}

PartialAttention merge(const PartialAttention& a, const PartialAttention& b) {
  require_partial("a", a);
  require_partial("b", b, a.output.n_rows, a.output.n_cols);
  const arma::vec maximum = arma::max(a.maximum, b.maximum);  // (L)
  const arma::vec scale_a = rescaling(a.maximum, maximum);    // (L)
  const arma::vec scale_b = rescaling(b.maximum, maximum);    // (L)
  return {a.output.each_col() % scale_a + b.output.each_col() % scale_b, maximum, a.sum % scale_a + b.sum % scale_b};
}

FinishedAttention finish(const PartialAttention& partial) {
  require_partial("partial", partial);
  arma::vec divisor = partial.sum;  // (L)
  divisor.replace(0, 1);            // a query without any key: its output is zeros already
  return {partial.output.each_col() / divisor, partial.maximum + arma::log(partial.sum)};
}

arma::cube attention_in_blocks(const arma::cube& Q, const arma::cube& K, const arma::cube& V, arma::uword block_size,
                               const Mask& mask) {
  require_shape("Q", Q, {{"L"}, {"D"}, {"N"}});
  require_shape("K", K, {{"S"}, {"D", Q.n_cols}, {"N", Q.n_slices}});
  require_shape("V", V, {{"S", K.n_rows}, {"Dv"}, {"N", Q.n_slices}});
  require_positive("block_size", block_size);
  const arma::uword L = Q.n_rows, S = K.n_rows, N = Q.n_slices;
  if (!mask.is_empty() && (mask.n_rows != L || mask.n_cols != S || N % mask.n_slices != 0)) {
    throw std::invalid_argument("mask is " + shape_text(mask) + ", expected " + shape_text({{"L", L}, {"S", S}}) +
                                " x M, M a divisor of " + std::to_string(N));
  }

  arma::cube output(L, V.n_cols, N);  // (L x Dv x N)
  for (arma::uword n = 0; n < N; ++n) {
    const arma::uword m = n * mask.n_slices / N;  // neighbouring slices share a slice of the mask
    PartialAttention seen = {arma::mat(L, V.n_cols, arma::fill::zeros), arma::vec(L).fill(-infinity),
                             arma::vec(L, arma::fill::zeros)};
    for (arma::uword first = 0; first < S; first += block_size) {
      const arma::uword last = first + std::min(block_size, S - first) - 1;
      const Mask mask_block = mask.is_empty() ? Mask() : Mask(mask.subcube(0, first, m, L - 1, last, m));
      seen = merge(
          seen, partial_attention(Q.slice(n), K.slice(n).rows(first, last), V.slice(n).rows(first, last), mask_block));
    }
    output.slice(n) = finish(seen).output;
  }
  return output;
}

}  // namespace attn
