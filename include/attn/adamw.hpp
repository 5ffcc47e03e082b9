#pragma once

#include <armadillo>
#include <vector>

#include "attn/parameters.hpp"

namespace attn {

/// The constants of AdamW. Defaults are PyTorch's; language models take beta2 = 0.95 and weight_decay = 0.1.
struct AdamWConfig {
  double beta1 = 0.9;          ///< of the mean of the gradients, 0 <= beta1 < 1
  double beta2 = 0.999;        ///< of the mean of their squares, 0 <= beta2 < 1
  double epsilon = 1e-8;       ///< added to the root, so that nothing is divided by 0
  double weight_decay = 0.01;  ///< lambda; 0: none
};

/// What AdamW remembers between steps: plain data, to be saved with the model. A new one is empty.
struct AdamWState {
  std::vector<arma::vec> m;  ///< for each parameter, the running mean of its gradients, element by element
  std::vector<arma::vec> v;  ///< likewise, of their squares
  arma::uword t = 0;         ///< how many steps were made
};

/// One step of AdamW: Adam with decoupled weight decay (Loshchilov, Hutter 2019, algorithm 2; the order and the factors
/// are those of torch.optim.AdamW). For each number x of a parameter, with its gradient g, t counting from 1:
///
///   x <- x - learning_rate weight_decay x                               only where the parameter is decayed
///   m <- beta1 m + (1 - beta1) g,       v <- beta2 v + (1 - beta2) g²   both 0 at first
///   m_hat = m / (1 - beta1^t),          v_hat = v / (1 - beta2^t)
///   x <- x - learning_rate m_hat / (sqrt(v_hat) + epsilon)
///
/// @param parameters what is changed
/// @param gradients  of the same parameters in the same order; `decayed` is not read here
/// @param state      one whose m and v are empty becomes zeros of the right sizes first
/// @throws std::invalid_argument naming gradients or state, as require_like does, when they do not fit the parameters. No
///         number is changed then. The constants are not checked.
void adamw_step(const std::vector<ParameterView>& parameters, const std::vector<ParameterView>& gradients,
                AdamWState& state, double learning_rate, const AdamWConfig& config = {});

}  // namespace attn
