#include "attn/gradient_clipping.hpp"

#include <cmath>
#include <stdexcept>
#include <string>

#include "attn/todo.hpp"

namespace attn {

// returns the norm before clipping
double clip_gradients(const std::vector<ParameterView>& gradients, double max_norm) {
  // TODO(27.4): one norm over all numbers of all gradients; if it is too large, one factor for all of them. Reject a
  // max_norm that is not above zero.
  todo("27.4");
}

}  // namespace attn
