#pragma once

#include <armadillo>
#include <cmath>

#include "attn/dropout.hpp"
#include "attn/linear.hpp"
#include "attn/masking.hpp"
#include "attn/shape.hpp"

namespace attn {

/// softmax(mask(Q K^T / sqrt(D))), dropout, times V, output projection.
class SelfAttentionInterview {
 public:
  Linear query_proj;
  Linear key_proj;
  Linear value_proj;
  Linear output_proj;
  Dropout dropout;

  explicit SelfAttentionInterview(arma::uword dim, double dropout_p = 0.1)
      : query_proj(require_positive("dim", dim), dim),
        key_proj(dim, dim),
        value_proj(dim, dim),
        output_proj(dim, dim),
        dropout(dropout_p) {}

  // X (L x E x B), mask (L x L x 1) or (L x L x B) -> (L x E x B)
  arma::cube forward(const arma::cube& X, const Mask& mask = {}) {
    const arma::uword dim = query_proj.weight.n_rows;
    require_shape("X", X, {{"L"}, {"E", dim}, {"B"}});
    require_mask("mask", mask, X.n_rows, X.n_rows, X.n_slices);

    const arma::cube Q = query_proj(X);  // (L x E x B)
    const arma::cube K = key_proj(X);    // (L x E x B)
    const arma::cube V = value_proj(X);  // (L x E x B)

    arma::cube scores(X.n_rows, X.n_rows, X.n_slices);  // (L x L x B)
    for (arma::uword b = 0; b < X.n_slices; ++b) {
      scores.slice(b) = Q.slice(b) * K.slice(b).t() / std::sqrt(static_cast<double>(dim));
    }
    attention_weights_ = dropout(safe_softmax_rows(masked_fill(scores, mask, -arma::datum::inf)));

    arma::cube context(arma::size(V));  // (L x E x B)
    for (arma::uword b = 0; b < X.n_slices; ++b) context.slice(b) = attention_weights_.slice(b) * V.slice(b);
    return output_proj(context);
  }

  const arma::cube& attention_weights() const { return attention_weights_; }

 private:
  arma::cube attention_weights_;
};

}  // namespace attn
