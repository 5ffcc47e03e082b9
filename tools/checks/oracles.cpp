#include "checks/oracles.hpp"

#include <cmath>

namespace attn::judge {

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

arma::cube naive_attention_weights(const arma::cube& Q, const arma::cube& K, const Mask& mask) {
  const double scale = std::sqrt(static_cast<double>(Q.n_cols));
  const arma::cube scores = naive_scores(Q, K);
  const auto allowed = [&](uword i, uword j, uword n) {
    return mask.is_empty() || mask(i, j, n * mask.n_slices / scores.n_slices) != 0;
  };
  arma::cube weights(arma::size(scores), arma::fill::zeros);
  for (uword n = 0; n < scores.n_slices; ++n) {
    for (uword i = 0; i < scores.n_rows; ++i) {
      double sum = 0;
      for (uword j = 0; j < scores.n_cols; ++j) {
        if (allowed(i, j, n)) sum += std::exp(scores(i, j, n) / scale);
      }
      for (uword j = 0; j < scores.n_cols; ++j) {
        if (allowed(i, j, n)) weights(i, j, n) = std::exp(scores(i, j, n) / scale) / sum;
      }
    }
  }
  return weights;
}

arma::cube naive_attention(const arma::cube& Q, const arma::cube& K, const arma::cube& V, const Mask& mask) {
  return naive_mix(naive_attention_weights(Q, K, mask), V);
}

arma::cube naive_mix(const arma::cube& weights, const arma::cube& V) {
  arma::cube context(weights.n_rows, V.n_cols, weights.n_slices);
  for (uword n = 0; n < weights.n_slices; ++n) {
    for (uword i = 0; i < weights.n_rows; ++i) {
      for (uword d = 0; d < V.n_cols; ++d) {
        double sum = 0;
        for (uword j = 0; j < weights.n_cols; ++j) sum += weights(i, j, n) * V(j, d, n);
        context(i, d, n) = sum;
      }
    }
  }
  return context;
}

arma::cube naive_split_heads(const arma::cube& X, uword num_heads) {
  const uword D = X.n_cols / num_heads;
  arma::cube heads(X.n_rows, D, num_heads * X.n_slices);
  for (uword b = 0; b < X.n_slices; ++b)
    for (uword h = 0; h < num_heads; ++h)
      for (uword d = 0; d < D; ++d)
        for (uword i = 0; i < X.n_rows; ++i) heads(i, d, b * num_heads + h) = X(i, h * D + d, b);
  return heads;
}

arma::cube naive_merge_heads(const arma::cube& X_heads, uword num_heads) {
  const uword D = X_heads.n_cols;
  arma::cube X(X_heads.n_rows, num_heads * D, X_heads.n_slices / num_heads);
  for (uword b = 0; b < X.n_slices; ++b)
    for (uword h = 0; h < num_heads; ++h)
      for (uword d = 0; d < D; ++d)
        for (uword i = 0; i < X.n_rows; ++i) X(i, h * D + d, b) = X_heads(i, d, b * num_heads + h);
  return X;
}

}  // namespace attn::judge
