#include "gate/progress.hpp"

#include <unistd.h>

#include <cmath>
#include <iostream>
#include <utility>

namespace attn::gate {

Progress::Progress(std::string what) : what_(std::move(what)), in_terminal_(isatty(STDOUT_FILENO) != 0) {
  if (!in_terminal_) std::cout << what_ << std::endl;
}

Progress::~Progress() {
  if (line_open_) std::cout << "\r\033[K" << std::flush;
}

void Progress::show(int done, int all) {
  const auto now = Clock::now();
  if (now - shown_ < (in_terminal_ ? std::chrono::milliseconds(200) : std::chrono::seconds(30))) return;
  shown_ = now;
  const std::string text = progress_text(what_, done, all, now - begin_);
  if (!in_terminal_) {
    std::cout << "  " << text << std::endl;
    return;
  }
  std::cout << "\r\033[K" << text << std::flush;
  line_open_ = true;
}

std::string progress_text(const std::string& what, int done, int all, std::chrono::duration<double> passed) {
  std::string text = what + ": " + std::to_string(done) + " of " + std::to_string(all);
  if (done == 0 || done == all || passed.count() < 2) return text;
  const double left = passed.count() * (all - done) / done;
  if (left < 50) return text + ", about " + std::to_string(10 * std::lround(std::ceil(left / 10))) + " s left";
  return text + ", about " + std::to_string(std::lround(left / 60)) + " min left";
}

}  // namespace attn::gate
