#pragma once

#include <armadillo>
#include <chrono>
#include <string>

#include "learn/screens/style.hpp"

namespace attn::training {

/// Shows how far a training is: in a terminal one line that is written again and again, elsewhere ten lines.
class Progress {
 public:
  /// @param tokens_per_step how many are read
  Progress(const learn::Style& style, arma::uword steps, arma::uword tokens_per_step);

  /// @param done how many steps are made
  /// @param loss of the last one
  void show(arma::uword done, double loss);

  /// Ends the line, and prints how fast that was.
  /// @param how "; interrupted", or nothing
  void finish(arma::uword done, const std::string& how);

 private:
  using Clock = std::chrono::steady_clock;

  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
  void rewrite(arma::uword done, double loss);

  learn::Style style_;
  arma::uword steps_;
  arma::uword tokens_per_step_;
  Clock::time_point start_ = Clock::now();
  Clock::time_point shown_;
  std::size_t width_ = 0;  // of the line that is there
};

}  // namespace attn::training
