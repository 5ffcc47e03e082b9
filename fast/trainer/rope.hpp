#pragma once

#include <cstddef>
#include <vector>

#include "attn/language_model.hpp"
#include "train_kernels.hpp"

namespace attn::fast {

/// RoPE's rotations of half-split pairs, for the positions of a sequence.
class RopeAngles {
 public:
  explicit RopeAngles(const DecoderAttentionConfig& config);

  /// Computes the angles of a sequence's tokens, where these are not those of the last call.
  void prepare(std::size_t tokens);

  /// Rotates one head of the token at this position. With sign = -1 back.
  void rotate(const TrainKernels& kernels, float* head, std::size_t position, float sign) const {
    const std::size_t pairs = speeds_.size(), first = position * pairs;
    kernels.turn_pairs(head, &cosines_[first], &sines_[first], pairs, sign);
  }

 private:
  std::vector<double> speeds_;  // D/2
  std::size_t tokens_ = 0;
  std::vector<float> cosines_, sines_;  // (tokens x D/2)
};

}  // namespace attn::fast
