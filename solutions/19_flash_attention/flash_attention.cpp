#include "attn/flash_attention.hpp"

#include <algorithm>
#include <cmath>

#include "attn/shape.hpp"

namespace attn {

namespace {

const float infinity = arma::fdatum::inf;

/// All that a block of queries sees in one slice of K and V, one key block after the other.
QueryBlock attend(const arma::fmat& Q_block, const arma::fmat& K, const arma::fmat& V, const arma::uvec& visible,
                  arma::uword key_block) {
  const arma::uword Lb = Q_block.n_rows;
  QueryBlock seen = {arma::fmat(Lb, V.n_cols, arma::fill::zeros), arma::fvec(Lb).fill(-infinity),
                     arma::fvec(Lb, arma::fill::zeros)};
  const arma::uword end = visible.max();  // what comes after it is seen by no query of the block
  for (arma::uword first = 0; first < end; first += key_block) {
    const arma::uword last = first + std::min(key_block, end - first) - 1;
    arma::uvec visible_here = visible;  // (Lb), counted from this block's first key
    for (arma::uword& keys : visible_here) keys -= std::min(keys, first);
    // As arguments the rows are copied, once, to contiguous tiles: the products read them many times.
    add_key_block(seen, Q_block, K.rows(first, last), V.rows(first, last), visible_here);
  }
  return seen;
}

}  // namespace

AttentionCost attention_cost(arma::uword L, arma::uword S, arma::uword D, arma::uword query_block) {
  require_positive("L", L);
  require_positive("S", S);
  require_positive("D", D);
  require_positive("query_block", query_block);
  const double l = static_cast<double>(L), s = static_cast<double>(S), d = static_cast<double>(D);
  const double query_blocks = std::ceil(l / static_cast<double>(query_block));
  const double bytes = sizeof(float);
  return {4 * l * s * d, bytes * (2 * l * d + 2 * s * d + 4 * l * s), bytes * (2 * l * d + query_blocks * 2 * s * d)};
}

arma::uword visible_keys(arma::uword i, arma::uword L, arma::uword S, arma::uword key_length, bool causal) {
  require_positive("L", L);
  require_positive("S", S);
  require_at_most("i", i, "L - 1", L - 1);
  require_at_most("key_length", key_length, "S", S);
  sum_of({{"L", L}, {"S", S}});
  if (!causal) return key_length;
  const arma::uword end = i + 1 + S;  // too large by L: an unsigned size cannot be negative
  return end <= L ? 0 : std::min(key_length, end - L);
}

void add_key_block(QueryBlock& seen, const arma::fmat& Q_block, const arma::fmat& K_block, const arma::fmat& V_block,
                   const arma::uvec& visible) {
  require_shape("Q_block", Q_block, {{"Lb"}, {"D"}});
  require_shape("K_block", K_block, {{"Sb"}, {"D", Q_block.n_cols}});
  require_shape("V_block", V_block, {{"Sb", K_block.n_rows}, {"Dv"}});
  const arma::uword Lb = Q_block.n_rows, Sb = K_block.n_rows;
  require_shape("visible", visible, {{"Lb", Lb}, {"1", 1}});
  require_shape("seen.output", seen.output, {{"Lb", Lb}, {"Dv", V_block.n_cols}});
  require_shape("seen.maximum", seen.maximum, {{"Lb", Lb}, {"1", 1}});
  require_shape("seen.sum", seen.sum, {{"Lb", Lb}, {"1", 1}});

  arma::fmat scores = Q_block * K_block.t() / std::sqrt(static_cast<float>(Q_block.n_cols));  // (Lb x Sb)
  for (arma::uword i = 0; i < Lb; ++i) {
    if (visible(i) < Sb) scores.submat(i, visible(i), i, Sb - 1).fill(-infinity);
  }
  const arma::fvec maximum = arma::max(seen.maximum, arma::max(scores, 1));  // (Lb)
  arma::fvec subtracted = maximum;                                           // (Lb)
  subtracted.replace(-infinity, 0);  // exp(-inf - 0) is 0, where exp(-inf + inf) would be NaN
  scores.each_col() -= subtracted;
  const arma::fmat exponentials = arma::exp(scores);                  // (Lb x Sb)
  const arma::fvec rescaling = arma::exp(seen.maximum - subtracted);  // (Lb), from the old maximum to the new one
  seen.output = seen.output.each_col() % rescaling + exponentials * V_block;
  seen.sum = seen.sum % rescaling + arma::sum(exponentials, 1);
  seen.maximum = maximum;
}

FlashResult flash_attention(const arma::fcube& Q, const arma::fcube& K, const arma::fcube& V,
                            const FlashOptions& options) {
  require_flash_inputs(Q, K, V, options);
  const arma::uword L = Q.n_rows, S = K.n_rows, N = Q.n_slices;
  const arma::uvec key_lengths = options.key_lengths.is_empty() ? arma::uvec{S} : options.key_lengths;  // (B)
  FlashResult result = {arma::fcube(L, V.n_cols, N), arma::fmat(L, N)};
  for (arma::uword n = 0; n < N; ++n) {
    const arma::uword kv = n / (N / K.n_slices);
    const arma::uword key_length = key_lengths(n / (N / key_lengths.n_elem));
    for (arma::uword first = 0; first < L; first += options.query_block) {
      const arma::uword last = first + std::min(options.query_block, L - first) - 1;
      arma::uvec visible(last - first + 1);  // (Lb)
      for (arma::uword i = first; i <= last; ++i) {
        visible(i - first) = visible_keys(i, L, S, key_length, options.causal);
      }
      const QueryBlock seen =
          attend(Q.slice(n).rows(first, last), K.slice(kv), V.slice(kv), visible, options.key_block);
      arma::fvec divisor = seen.sum;  // (Lb)
      divisor.replace(0, 1);          // a query without any key: its output is zeros already
      result.output.slice(n).rows(first, last) = seen.output.each_col() / divisor;
      result.log_sum_exp.submat(first, n, last, n) = seen.maximum + arma::log(seen.sum);
    }
  }
  return result;
}

}  // namespace attn
