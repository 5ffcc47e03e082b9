#pragma once

#include <armadillo>
#include <cmath>

#include "attn/dropout.hpp"
#include "attn/linear.hpp"
#include "attn/shape.hpp"
#include "attn/strict.hpp"

namespace attn {

class SelfAttentionInterview {
 public:
  Linear query_proj, key_proj, value_proj, output_proj;
  Dropout dropout;

  explicit SelfAttentionInterview(arma::uword dim, double dropout_p = 0.1)
      : query_proj(require_positive("dim", dim), dim),
        key_proj(dim, dim),
        value_proj(dim, dim),
        output_proj(dim, dim),
        dropout(dropout_p) {}

  arma::cube forward(const arma::cube& X, const Mask& mask = {}) {
    require_shape("X", X, {{"L"}, {"E", query_proj.weight.n_rows}, {"B"}});
    require_mask("mask", mask, X.n_rows, X.n_rows, X.n_slices);
    const arma::cube Q = query_proj(X), K = key_proj(X), V = value_proj(X);

    arma::cube weights(X.n_rows, X.n_rows, X.n_slices, arma::fill::zeros);
    for (arma::uword b = 0; b < X.n_slices; ++b) {
      const arma::mat scores = Q.slice(b) * K.slice(b).t() / std::sqrt(static_cast<double>(Q.n_cols));
      for (arma::uword i = 0; i < X.n_rows; ++i) {
        const auto allowed = [&](arma::uword j) {
          return mask.is_empty() || mask(i, j, mask.n_slices == 1 ? 0 : b) != 0;
        };
        double largest = -arma::datum::inf, sum = 0;
        arma::uword keys = 0;
        for (arma::uword j = 0; j < X.n_rows; ++j) {
          if (!allowed(j)) continue;
          ++keys;
          if (!(scores(i, j) <= largest)) largest = scores(i, j);  // NaN, too
        }
        if (keys == 0) continue;
        for (arma::uword j = 0; j < X.n_rows; ++j) {
          if (allowed(j)) sum += weights(i, j, b) = std::exp(scores(i, j) - largest);
        }
        for (arma::uword j = 0; j < X.n_rows; ++j) weights(i, j, b) /= sum;
      }
    }
    attention_weights_ = dropout(weights);

    arma::cube context(arma::size(V));
    for (arma::uword b = 0; b < X.n_slices; ++b) context.slice(b) = attention_weights_.slice(b) * V.slice(b);
    return output_proj(context);
  }

  const arma::cube& attention_weights() const { return attention_weights_; }

 private:
  arma::cube attention_weights_;
};

}  // namespace attn
