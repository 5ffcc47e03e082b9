// A right answer for lesson 01 in explicit loops, one number at a time: checks judge results, never style.
#include <cmath>
#include <vector>

#include "attn/self_attention_v1.hpp"
#include "attn/shape.hpp"

namespace attn {

SelfAttentionV1::SelfAttentionV1(arma::uword dim)
    : query_proj(dim == 0 ? throw std::invalid_argument("dim is 0") : dim, dim, false),
      key_proj(dim, dim, false),
      value_proj(dim, dim, false) {}

arma::cube SelfAttentionV1::forward(const arma::cube& X) {
  const unsigned L = X.n_rows, E = X.n_cols, B = X.n_slices, want = query_proj.weight.n_rows;
  if (L == 0 || B == 0 || E != want) {
    throw std::invalid_argument("X: " + std::to_string(L) + " x " + std::to_string(E) + " x " + std::to_string(B) +
                                " instead of L x " + std::to_string(want) + " x B");
  }
  attention_weights_.zeros(L, L, B);
  arma::cube out(L, E, B, arma::fill::zeros);
  for (unsigned b = 0; b < B; b++) {
    const auto project = [&](const Linear& proj, unsigned i, unsigned e) {
      double sum = 0;
      for (unsigned k = 0; k < E; k++) sum += X(i, k, b) * proj.weight(k, e);
      return sum;
    };
    for (unsigned i = 0; i < L; i++) {
      std::vector<double> score(L, 0.0);
      double largest = -1e300, total = 0;
      for (unsigned j = 0; j < L; j++) {
        for (unsigned e = 0; e < E; e++) score[j] += project(query_proj, i, e) * project(key_proj, j, e);
        score[j] /= std::sqrt(E);
        largest = std::max(largest, score[j]);
      }
      for (unsigned j = 0; j < L; j++) total += std::exp(score[j] - largest);
      for (unsigned j = 0; j < L; j++) {
        attention_weights_(i, j, b) = std::exp(score[j] - largest) / total;
        for (unsigned e = 0; e < E; e++) out(i, e, b) += attention_weights_(i, j, b) * project(value_proj, j, e);
      }
    }
  }
  return out;
}

arma::cube attention_scores_einsum(const arma::cube& Q, const arma::cube& K) {
  if (Q.is_empty()) throw std::invalid_argument("Q is " + shape_text(Q));
  if (K.is_empty() || K.n_cols != Q.n_cols || K.n_slices != Q.n_slices) {
    throw std::invalid_argument("K is " + shape_text(K) + " but Q is " + shape_text(Q));
  }
  arma::cube out(Q.n_rows, K.n_rows, Q.n_slices);
  for (unsigned b = 0; b < Q.n_slices; b++)
    for (unsigned j = 0; j < K.n_rows; j++)
      for (unsigned i = 0; i < Q.n_rows; i++) out(i, j, b) = arma::dot(Q.slice(b).row(i), K.slice(b).row(j));
  return out;
}

}  // namespace attn
