#include "attn/learning_rate.hpp"

#include <cmath>

#include "attn/shape.hpp"

namespace attn {

double learning_rate_at(arma::uword step, const LearningRateSchedule& schedule) {
  const arma::uword W = schedule.warmup_steps, T = schedule.total_steps;
  require_at_most("warmup_steps", W, "total_steps", T);
  if (step < W) return schedule.max_rate * static_cast<double>(step + 1) / static_cast<double>(W);
  if (step >= T) return schedule.min_rate;
  const double progress = static_cast<double>(step - W) / static_cast<double>(T - W);  // 0 to below 1
  const double share = (1 + std::cos(arma::datum::pi * progress)) / 2;                 // 1 to above 0
  return schedule.min_rate + (schedule.max_rate - schedule.min_rate) * share;
}

}  // namespace attn
