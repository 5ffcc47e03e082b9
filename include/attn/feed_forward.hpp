#pragma once

#include <armadillo>

#include "attn/activations.hpp"
#include "attn/linear.hpp"

namespace attn {

/// The feed-forward network of a transformer, for each token by itself (Vaswani et al. 2017, section 3.3).
///
///   y = activation(x W_up + b_up) W_down + b_down
class FeedForward {
 public:
  Linear up_proj;    ///< E -> F, with bias
  Linear down_proj;  ///< F -> E, with bias
  Activation activation;

  /// @param embed_dim  E, the embedding width
  /// @param hidden_dim F, the width between the two layers; usually 4 E
  /// @throws std::invalid_argument naming embed_dim or hidden_dim, when it is zero.
  FeedForward(arma::uword embed_dim, arma::uword hidden_dim, Activation activation = Activation::gelu);

  /// @param X (L x E x B)
  /// @return  (L x E x B)
  /// @throws std::invalid_argument naming X, its shape and E, when a size is zero or X does not have E columns.
  arma::cube operator()(const arma::cube& X) const;
};

/// The feed-forward network with a gate: one projection, through silu, says how much of each feature of the other one
/// passes (Shazeer 2020; Llama).
///
///   y = (silu(x W_gate) ∘ (x W_up)) W_down
class SwiGLU {
 public:
  Linear gate_proj;  ///< E -> F, without bias, as all three
  Linear up_proj;    ///< E -> F
  Linear down_proj;  ///< F -> E

  /// @param embed_dim  E, the embedding width
  /// @param hidden_dim F; 8/3 E has as many parameters as a FeedForward of 4 E
  /// @throws std::invalid_argument naming embed_dim or hidden_dim, when it is zero.
  SwiGLU(arma::uword embed_dim, arma::uword hidden_dim);

  /// @param X (L x E x B)
  /// @return  (L x E x B)
  /// @throws std::invalid_argument naming X, its shape and E, when a size is zero or X does not have E columns.
  arma::cube operator()(const arma::cube& X) const;
};

}  // namespace attn
