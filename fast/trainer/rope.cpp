#include "trainer/rope.hpp"

#include <cmath>

namespace attn::fast {

using std::size_t;

RopeAngles::RopeAngles(const DecoderAttentionConfig& config) : speeds_(config.head_dim / 2) {
  for (size_t p = 0; p < speeds_.size(); ++p) {
    const double power = -2 * static_cast<double>(p) / static_cast<double>(config.head_dim);
    speeds_[p] = config.rope_speeds.is_empty() ? std::pow(10000, power) : config.rope_speeds(p);
  }
}

void RopeAngles::prepare(size_t tokens) {
  if (tokens == tokens_) return;
  tokens_ = tokens;
  const size_t pairs = speeds_.size();
  cosines_.resize(tokens * pairs);
  sines_.resize(tokens * pairs);
  for (size_t p = 0; p < pairs; ++p) {
    for (size_t i = 0; i < tokens; ++i) {
      const double angle = static_cast<double>(i) * speeds_[p];
      cosines_[i * pairs + p] = static_cast<float>(std::cos(angle));
      sines_[i * pairs + p] = static_cast<float>(std::sin(angle));
    }
  }
}

}  // namespace attn::fast
