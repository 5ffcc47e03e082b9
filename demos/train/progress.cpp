#include "progress.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iostream>

namespace attn::training {

namespace {

std::string with_decimals(double value, int decimals) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", decimals, value);
  return text;
}

std::string bar(double share, bool ascii) {
  constexpr int width = 20;
  const int full = static_cast<int>(share * width);
  std::string text = "[";
  for (int i = 0; i < width; ++i) text += i < full ? (ascii ? "#" : "█") : (ascii ? "." : "░");
  return text + "]";
}

}  // namespace

Progress::Progress(const learn::Style& style, arma::uword steps, arma::uword tokens_per_step)
    : style_(style), steps_(steps), tokens_per_step_(tokens_per_step) {}

void Progress::show(arma::uword done, double loss) {
  if (style_.plain) {
    if (done * 10 / steps_ == (done - 1) * 10 / steps_) return;  // not at a tenth
    std::cout << "step " << done << " of " << steps_ << ": loss " << with_decimals(loss, 3) << std::endl;
    return;
  }
  const auto now = Clock::now();
  if (done < steps_ && now - shown_ < std::chrono::milliseconds(100)) return;
  shown_ = now;
  rewrite(done, loss);
}

/// Without escape sequences: back to the beginning, and blanks over what is left of a longer line.
void Progress::rewrite(arma::uword done, double loss) {
  const double share = static_cast<double>(done) / static_cast<double>(steps_);
  const double time = std::max(seconds(), 1e-9);
  std::string text = " step " + std::to_string(done) + " of " + std::to_string(steps_) + ", loss " +
                     with_decimals(loss, 3) + ", " +
                     with_decimals(static_cast<double>(done * tokens_per_step_) / time, 0) + " tokens/s, " +
                     with_decimals(std::ceil(time / share - time), 0) + " s left";
  constexpr std::size_t bar_width = 22;
  const auto columns = static_cast<std::size_t>(std::max(style_.columns, 40));
  const bool fits = bar_width + text.size() < columns;
  if (!fits && text.size() >= columns) text.resize(columns - 1);
  const std::size_t width = text.size() + (fits ? bar_width : 0);
  std::cout << "\r" << (fits ? bar(share, style_.ascii) : "") << text
            << std::string(width_ > width ? width_ - width : 0, ' ') << std::flush;
  width_ = width;
}

void Progress::finish(arma::uword done, const std::string& how) {
  const double time = seconds();
  if (!style_.plain) std::cout << "\n";
  std::cout << done << (done == 1 ? " step in " : " steps in ") << with_decimals(time, 1) << " s, "
            << with_decimals(static_cast<double>(done * tokens_per_step_) / std::max(time, 1e-9), 0)
            << " tokens per second" << how << std::endl;
}

}  // namespace attn::training
