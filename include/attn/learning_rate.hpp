#pragma once

#include <armadillo>

namespace attn {

/// A learning rate that rises linearly and then falls like half a cosine.
struct LearningRateSchedule {
  double max_rate = 1e-3;
  double min_rate = 1e-4;
  arma::uword warmup_steps = 100;  ///< W
  arma::uword total_steps = 1000;  ///< T
};

/// The learning rate of a step. Steps count from 0, so that a training of T steps has the steps 0 to T - 1.
///
///   s < W        max_rate (s + 1) / W: the first step has max_rate / W and not 0, step W - 1 has max_rate
///   W <= s < T   min_rate + (max_rate - min_rate) (1 + cos(pi (s - W) / (T - W))) / 2: step W has max_rate
///   s >= T       min_rate
///
/// Warm-up: Vaswani et al. (2017), section 5.3; cosine: Loshchilov, Hutter: SGDR (2017), equation 5. The same counting as
/// in llm.c.
///
/// @throws std::invalid_argument naming warmup_steps, when it is above total_steps.
double learning_rate_at(arma::uword step, const LearningRateSchedule& schedule);

}  // namespace attn
