#include "attn/gradient_check.hpp"

#include <stdexcept>
#include <string>

#include "attn/todo.hpp"

namespace attn {

// loss: a function that reads x -> its slope with respect to x
double slope_by_differences(const std::function<double()>& loss, double& x, double h) {
  // TODO(24.1): call loss with x moved up by h and down by h, and make a slope of the two. Put x back. Reject an h that
  // is not above zero.
  todo("24.1");
}

}  // namespace attn
