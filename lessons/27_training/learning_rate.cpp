#include "attn/learning_rate.hpp"

#include <cmath>

#include "attn/shape.hpp"
#include "attn/todo.hpp"

namespace attn {

double learning_rate_at(arma::uword step, const LearningRateSchedule& schedule) {
  // TODO(27.5): warm-up, then half a cosine, then min_rate. Reject a warm-up that is longer than the whole.
  todo("27.5");
}

}  // namespace attn
