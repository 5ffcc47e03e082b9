#include "support/oracles.hpp"

#include <cmath>

namespace attn::testing {

using arma::uword;

arma::cube naive_softmax_rows(const arma::cube& scores) {
  arma::cube weights(arma::size(scores));
  for (uword b = 0; b < scores.n_slices; ++b) {
    for (uword i = 0; i < scores.n_rows; ++i) {
      double sum = 0;
      for (uword j = 0; j < scores.n_cols; ++j) sum += std::exp(scores(i, j, b));
      for (uword j = 0; j < scores.n_cols; ++j) weights(i, j, b) = std::exp(scores(i, j, b)) / sum;
    }
  }
  return weights;
}

arma::cube naive_linear(const arma::cube& x, const arma::mat& weight, const arma::rowvec& bias) {
  arma::cube y(x.n_rows, weight.n_cols, x.n_slices);
  for (uword b = 0; b < x.n_slices; ++b) {
    for (uword i = 0; i < x.n_rows; ++i) {
      for (uword o = 0; o < weight.n_cols; ++o) {
        double sum = bias.is_empty() ? 0 : bias(o);
        for (uword k = 0; k < x.n_cols; ++k) sum += x(i, k, b) * weight(k, o);
        y(i, o, b) = sum;
      }
    }
  }
  return y;
}

arma::cube naive_scores(const arma::cube& Q, const arma::cube& K) {
  arma::cube scores(Q.n_rows, K.n_rows, Q.n_slices);
  for (uword b = 0; b < Q.n_slices; ++b) {
    for (uword i = 0; i < Q.n_rows; ++i) {
      for (uword j = 0; j < K.n_rows; ++j) {
        double sum = 0;
        for (uword h = 0; h < Q.n_cols; ++h) sum += Q(i, h, b) * K(j, h, b);
        scores(i, j, b) = sum;
      }
    }
  }
  return scores;
}

arma::cube naive_attention_weights(const arma::cube& Q, const arma::cube& K) {
  const double scale = std::sqrt(static_cast<double>(Q.n_cols));
  arma::cube scores = naive_scores(Q, K);
  for (double& score : scores) score /= scale;
  return naive_softmax_rows(scores);
}

arma::cube naive_attention(const arma::cube& Q, const arma::cube& K, const arma::cube& V) {
  const arma::cube weights = naive_attention_weights(Q, K);
  arma::cube context(Q.n_rows, V.n_cols, Q.n_slices);
  for (uword b = 0; b < Q.n_slices; ++b) {
    for (uword i = 0; i < Q.n_rows; ++i) {
      for (uword d = 0; d < V.n_cols; ++d) {
        double sum = 0;
        for (uword j = 0; j < K.n_rows; ++j) sum += weights(i, j, b) * V(j, d, b);
        context(i, d, b) = sum;
      }
    }
  }
  return context;
}

}  // namespace attn::testing
