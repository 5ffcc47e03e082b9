#pragma once

#include <armadillo>
#include <cmath>

#include "attn/dropout.hpp"
#include "attn/heads.hpp"
#include "attn/linear.hpp"
#include "attn/masking.hpp"
#include "attn/shape.hpp"

namespace attn {

// TODO(12.1): the class, from a blank page. Its users need these names, all public:
//   MultiHeadAttentionInterview(arma::uword embed_dim, arma::uword num_heads, double dropout_p = 0.1)
//   Linear query_proj, key_proj, value_proj, output_proj;    each embed_dim -> embed_dim, with bias
//   Dropout dropout;
// TODO(12.2): and these functions:
//   arma::cube forward(const arma::cube& X, const Mask& mask = {})
//   const arma::cube& attention_weights() const
class MultiHeadAttentionInterview {};

}  // namespace attn
