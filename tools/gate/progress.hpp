#pragma once

#include <chrono>
#include <string>

namespace attn::gate {

/// A line that says what is being done, how much of it is done, and how long the rest will take at this pace. In a terminal
/// it is written again in place; elsewhere every half minute.
class Progress {
 public:
  explicit Progress(std::string what);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void show(int done, int all);

 private:
  using Clock = std::chrono::steady_clock;

  std::string what_;
  bool in_terminal_;
  Clock::time_point begin_ = Clock::now();
  Clock::time_point shown_ = begin_;
  bool line_open_ = false;
};

/// "building: 120 of 480, about 2 min left".
std::string progress_text(const std::string& what, int done, int all, std::chrono::duration<double> passed);

}  // namespace attn::gate
