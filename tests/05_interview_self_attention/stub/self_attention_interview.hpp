#pragma once

#include <armadillo>
#include <cmath>

#include "attn/dropout.hpp"
#include "attn/linear.hpp"
#include "attn/masking.hpp"
#include "attn/shape.hpp"

namespace attn {

// TODO(05.1): the class, from a blank page. Its users need these names, all public:
//   explicit SelfAttentionInterview(arma::uword dim, double dropout_p = 0.1)
//   Linear query_proj, key_proj, value_proj, output_proj;    each dim -> dim, with bias
//   Dropout dropout;
// TODO(05.2): and these functions:
//   arma::cube forward(const arma::cube& X, const Mask& mask = {})
//   const arma::cube& attention_weights() const
class SelfAttentionInterview {};

}  // namespace attn
