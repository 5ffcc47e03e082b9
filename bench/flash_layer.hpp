#pragma once

#include <armadillo>
#include <functional>

#include "attn/flash_attention.hpp"
#include "attn/linear.hpp"

namespace attn::bench {

/// Attention of one sequence, its heads being slices: lesson 19's flash_attention, or a learner's.
using HeadsAttention = std::function<arma::fcube(const arma::fcube& Q, const arma::fcube& K, const arma::fcube& V)>;

/// The whole layer of lesson 08 in float, around any attention function: shows what lesson 19's is worth inside a
/// layer.
class FlashLayer {
 public:
  FlashLayer(const Linear& qkv_proj, const Linear& output_proj, arma::uword heads, HeadsAttention attention);

  /// @param X (L x E x B)
  /// @return  (L x E x B)
  arma::fcube forward(const arma::fcube& X) const;

 private:
  arma::fmat qkv_weight_, output_weight_;
  arma::frowvec qkv_bias_, output_bias_;
  arma::uword heads_;
  HeadsAttention attention_;
};

}  // namespace attn::bench
