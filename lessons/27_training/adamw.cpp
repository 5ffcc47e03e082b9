#include "attn/adamw.hpp"

#include <cmath>

#include "attn/todo.hpp"

namespace attn {

// The numbers of a parameter are a column that shares the model's memory: `arma::vec x = parameters[i].vector();`
void adamw_step(const std::vector<ParameterView>& parameters, const std::vector<ParameterView>& gradients,
                AdamWState& state, double learning_rate, const AdamWConfig& config) {
  // TODO(27.3): one step for each number of each parameter. An empty state becomes zeros first. Reject gradients and a
  // state that do not fit (require_like).
  todo("27.3");
}

}  // namespace attn
