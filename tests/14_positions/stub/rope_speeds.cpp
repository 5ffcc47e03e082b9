#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "attn/positions.hpp"
#include "attn/shape.hpp"
#include "attn/todo.hpp"

namespace attn {

// -> (1 x D/2), radians per token
arma::rowvec rope_speeds(arma::uword D, double base, const RopeScaling& scaling) {
  // TODO(14.6): reject what the declaration lists, with the argument's or the field's name. Then the speed of each pair,
  // base^(-2p / D), and what the method makes of it for texts that are scaling.factor times as long.
  todo("14.6");
}

}  // namespace attn
