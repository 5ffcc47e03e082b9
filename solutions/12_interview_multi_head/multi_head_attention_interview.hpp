#pragma once

#include <armadillo>
#include <cmath>
#include <utility>

#include "attn/dropout.hpp"
#include "attn/heads.hpp"
#include "attn/linear.hpp"
#include "attn/masking.hpp"
#include "attn/shape.hpp"

namespace attn {

/// Multi-head attention: the heads are slices, so it reads as attention over more slices.
class MultiHeadAttentionInterview {
 public:
  Linear query_proj;
  Linear key_proj;
  Linear value_proj;
  Linear output_proj;
  Dropout dropout;

  MultiHeadAttentionInterview(arma::uword embed_dim, arma::uword num_heads, double dropout_p = 0.1)
      : query_proj(require_multiple("embed_dim", embed_dim, "num_heads", num_heads), embed_dim),
        key_proj(embed_dim, embed_dim),
        value_proj(embed_dim, embed_dim),
        output_proj(embed_dim, embed_dim),
        dropout(dropout_p),
        num_heads_(num_heads) {}

  // X (L x E x B), mask (L x L x 1), (L x L x B) or (L x L x H·B) -> (L x E x B)
  arma::cube forward(const arma::cube& X, const Mask& mask = {}) {
    require_shape("X", X, {{"L"}, {"E", query_proj.weight.n_rows}, {"B"}});
    require_mask("mask", mask, X.n_rows, X.n_rows, X.n_slices, num_heads_);

    const arma::cube Q = split_heads(query_proj(X), num_heads_);  // (L x D x H·B)
    const arma::cube K = split_heads(key_proj(X), num_heads_);    // (L x D x H·B)
    const arma::cube V = split_heads(value_proj(X), num_heads_);  // (L x D x H·B)

    arma::cube scores(X.n_rows, X.n_rows, Q.n_slices);  // (L x L x H·B)
    for (arma::uword n = 0; n < Q.n_slices; ++n) {
      scores.slice(n) = Q.slice(n) * K.slice(n).t() / std::sqrt(static_cast<double>(Q.n_cols));
    }
    attention_weights_ = dropout(safe_softmax_rows(masked_fill(scores, mask, -arma::datum::inf)));

    arma::cube context(arma::size(Q));  // (L x D x H·B)
    for (arma::uword n = 0; n < Q.n_slices; ++n) context.slice(n) = attention_weights_.slice(n) * V.slice(n);
    return output_proj(merge_heads(std::move(context), num_heads_));
  }

  const arma::cube& attention_weights() const { return attention_weights_; }

 private:
  arma::uword num_heads_;
  arma::cube attention_weights_;
};

}  // namespace attn
