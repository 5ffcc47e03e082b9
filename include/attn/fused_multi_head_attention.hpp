#pragma once

#include <armadillo>
#include <vector>

#include "attn/dropout.hpp"
#include "attn/linear.hpp"
#include "attn/mask.hpp"
#include "attn/multi_head_attention.hpp"

namespace attn {

/// Multi-head self-attention with one fused projection. The result of the projection (L x 3E x B) is, without moving a
/// number, a cube of heads (L x D x 3H·B): slice b·3H + h is query head h of sequence b, b·3H + H + h its key head and
/// b·3H + 2H + h its value head.
class FusedMultiHeadAttention {
 public:
  Linear qkv_proj;     ///< E -> 3E, with bias; columns 0..E-1 give Q, E..2E-1 give K, 2E..3E-1 give V
  Linear output_proj;  ///< E -> E, with bias
  Dropout dropout;

  /// As MultiHeadAttention.
  FusedMultiHeadAttention(arma::uword embed_dim, arma::uword num_heads, double dropout_p = 0.1);

  /// As MultiHeadAttention::forward.
  arma::cube forward(const arma::cube& X, const Mask& mask = {});

  /// The weights that mixed the values in the last forward, after dropout: (L x L x H·B), slice b·H + h.
  /// Empty before the first forward.
  const arma::cube& attention_weights() const { return attention_weights_; }

  arma::uword num_heads() const { return num_heads_; }

 private:
  arma::uword num_heads_;
  arma::cube attention_weights_;
};

/// One layer instead of several that read the same input: their results side by side.
///
///   joined(x) = [layers[0](x) | layers[1](x) | ...]
///
/// @param layers (in x out_i) each; all with a bias, or all without, and then the result has none
/// @throws std::invalid_argument naming layers, when there is none, when the widths of their inputs differ, or
///         when only some have a bias.
Linear join_columns(const std::vector<Linear>& layers);

/// The fused layer that computes what `separate` computes, with the same dropout.
FusedMultiHeadAttention fuse(const MultiHeadAttention& separate);

/// One layer instead of two, one after the other: composed(x) = second(first(x)). Without a bias when neither has one.
///
/// @throws std::invalid_argument naming second and both widths, when it does not take what first returns.
Linear compose(const Linear& first, const Linear& second);

}  // namespace attn
