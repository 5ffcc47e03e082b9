#include "attn/flash_backward.hpp"

#include <algorithm>
#include <cmath>

#include "attn/shape.hpp"

namespace attn {

namespace {

const float infinity = arma::fdatum::inf;

/// How many of the keys from first_key on each of the queries first to last sees: (Lb), from 0 on.
arma::uvec visible_in_block(arma::uword first, arma::uword last, arma::uword first_key, arma::uword L, arma::uword S,
                            arma::uword key_length, bool causal) {
  arma::uvec visible(last - first + 1);
  for (arma::uword i = first; i <= last; ++i) {
    const arma::uword keys = visible_keys(i, L, S, key_length, causal);
    visible(i - first) = keys - std::min(keys, first_key);
  }
  return visible;
}

}  // namespace

arma::fmat row_dots(const arma::fcube& d_output, const arma::fcube& output) {
  require_shape("d_output", d_output, {{"L"}, {"Dv"}, {"N"}});
  require_shape("output", output, {{"L", d_output.n_rows}, {"Dv", d_output.n_cols}, {"N", d_output.n_slices}});
  arma::fmat delta(output.n_rows, output.n_slices);  // (L x N)
  for (arma::uword n = 0; n < output.n_slices; ++n) {
    delta.col(n) = arma::sum(d_output.slice(n) % output.slice(n), 1);
  }
  return delta;
}

arma::fmat tile_weights(const arma::fmat& Q_block, const arma::fmat& K_block, const arma::fvec& log_sum_exp,
                        const arma::uvec& visible) {
  require_shape("Q_block", Q_block, {{"Lb"}, {"D"}});
  require_shape("K_block", K_block, {{"Sb"}, {"D", Q_block.n_cols}});
  const arma::uword Lb = Q_block.n_rows, Sb = K_block.n_rows;
  require_shape("log_sum_exp", log_sum_exp, {{"Lb", Lb}, {"1", 1}});
  require_shape("visible", visible, {{"Lb", Lb}, {"1", 1}});

  arma::fmat scores = Q_block * K_block.t() / std::sqrt(static_cast<float>(Q_block.n_cols));  // (Lb x Sb)
  for (arma::uword i = 0; i < Lb; ++i) {
    if (visible(i) < Sb) scores.submat(i, visible(i), i, Sb - 1).fill(-infinity);
  }
  arma::fvec subtracted = log_sum_exp;      // (Lb)
  subtracted.replace(-infinity, infinity);  // a query without keys: exp(-inf - inf) is 0
  scores.each_col() -= subtracted;
  return arma::exp(scores);
}

void add_tile_gradients(TileGradients& sums, const QueryTile& queries, const arma::fmat& K_block,
                        const arma::fmat& V_block, const arma::uvec& visible) {
  require_tile_inputs(sums, queries, K_block, V_block, visible);
  const float root = std::sqrt(static_cast<float>(K_block.n_cols));
  const arma::fmat weights = tile_weights(queries.Q, K_block, queries.log_sum_exp, visible);  // (Lb x Sb)
  sums.d_V += weights.t() * queries.d_output;
  arma::fmat d_scores = queries.d_output * V_block.t();  // (Lb x Sb), of the weights so far
  d_scores.each_col() -= queries.delta;
  d_scores %= weights;
  sums.d_Q += d_scores * K_block / root;
  sums.d_K += d_scores.t() * queries.Q / root;
}

FlashGradients flash_backward(const arma::fcube& d_output, const arma::fcube& Q, const arma::fcube& K,
                              const arma::fcube& V, const FlashResult& forward, const FlashOptions& options) {
  require_backward_inputs(d_output, Q, K, V, forward, options);
  const arma::uword L = Q.n_rows, S = K.n_rows, N = Q.n_slices;
  const arma::uvec key_lengths = options.key_lengths.is_empty() ? arma::uvec{S} : options.key_lengths;  // (B)
  const arma::fmat delta = row_dots(d_output, forward.output);                                          // (L x H·B)
  FlashGradients gradients = {arma::fcube(arma::size(Q), arma::fill::zeros),
                              arma::fcube(arma::size(K), arma::fill::zeros),
                              arma::fcube(arma::size(V), arma::fill::zeros)};
  for (arma::uword n = 0; n < N; ++n) {
    const arma::uword kv = n / (N / K.n_slices);
    const arma::uword key_length = key_lengths(n / (N / key_lengths.n_elem));
    for (arma::uword j = 0; j < key_length; j += options.key_block) {
      const arma::uword last = j + std::min(options.key_block, key_length - j) - 1;
      const arma::fmat K_block = K.slice(kv).rows(j, last), V_block = V.slice(kv).rows(j, last);
      // they stay at hand while all queries pass by; earlier heads of the group have added to them
      TileGradients sums = {{}, gradients.d_K.slice(kv).rows(j, last), gradients.d_V.slice(kv).rows(j, last)};
      for (arma::uword i = 0; i < L; i += options.query_block) {
        const arma::uword end = i + std::min(options.query_block, L - i) - 1;
        const arma::uvec visible = visible_in_block(i, end, j, L, S, key_length, options.causal);
        if (visible.max() == 0) continue;  // no query of the block sees a key of the block
        const QueryTile queries = {Q.slice(n).rows(i, end), d_output.slice(n).rows(i, end),
                                   forward.log_sum_exp.submat(i, n, end, n), delta.submat(i, n, end, n)};
        sums.d_Q = gradients.d_Q.slice(n).rows(i, end);
        add_tile_gradients(sums, queries, K_block, V_block, visible);
        gradients.d_Q.slice(n).rows(i, end) = sums.d_Q;
      }
      gradients.d_K.slice(kv).rows(j, last) = sums.d_K;
      gradients.d_V.slice(kv).rows(j, last) = sums.d_V;
    }
  }
  return gradients;
}

BackwardCost attention_backward_cost(arma::uword L, arma::uword S, arma::uword D, arma::uword key_block) {
  require_positive("L", L);
  require_positive("S", S);
  require_positive("D", D);
  require_positive("key_block", key_block);
  const double l = static_cast<double>(L), s = static_cast<double>(S), d = static_cast<double>(D);
  const double key_blocks = std::ceil(s / static_cast<double>(key_block));
  const double bytes = sizeof(float);
  return {8 * l * s * d,
          10 * l * s * d,
          bytes * (4 * l * d + 4 * s * d + 7 * l * s),
          bytes * (2 * l * d + 4 * s * d + key_blocks * 4 * l * d),
          bytes * (l * d + 2 * s * d + l * s),
          bytes * (2 * l * d + 2 * s * d + l)};
}

}  // namespace attn
