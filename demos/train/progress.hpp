#pragma once

#include <armadillo>
#include <chrono>
#include <string>
#include <vector>

#include "system/text_style.hpp"

namespace attn::training {

/// Shows how far a training is. In a terminal one line that is written again and again, below the losses so far as a
/// curve, if there is room for it; elsewhere ten lines.
class Progress {
 public:
  /// @param tokens_per_step how many are read
  /// @param before          steps that were made before this program began
  Progress(const TextStyle& style, arma::uword steps, arma::uword tokens_per_step, arma::uword before = 0);

  /// @param losses of all steps that are made
  void show(const std::vector<double>& losses);

  /// Takes what is in the terminal away, so that something else can be printed. The next show() draws anew.
  void clear();

  /// Ends the line, and prints how fast that was.
  /// @param how "; interrupted", or nothing
  void finish(const std::vector<double>& losses, const std::string& how);

 private:
  using Clock = std::chrono::steady_clock;

  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
  std::string line_of(arma::uword done, double loss, std::size_t columns) const;
  void rewrite(const std::vector<double>& losses);

  TextStyle style_;
  arma::uword steps_;
  arma::uword tokens_per_step_;
  arma::uword before_;
  Clock::time_point start_ = Clock::now();
  Clock::time_point shown_;
  int curve_rows_ = 0;     // of the curve that is there
  std::size_t width_ = 0;  // of the line that is there
};

}  // namespace attn::training
