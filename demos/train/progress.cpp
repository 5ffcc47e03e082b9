#include "progress.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iostream>

#include "loss_curve.hpp"

namespace attn::training {

namespace {

constexpr int curve_columns = 70;  // with its labels
constexpr int curve_rows = 9;

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

/// The terminal's size now: it may change.
winsize terminal_size() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) size = {};
  return size;
}

std::string each_line_cleared(const std::string& text) {
  std::string cleared;
  for (const char c : text) cleared += c == '\n' ? std::string("\x1b[K\n") : std::string(1, c);
  return cleared;
}

}  // namespace

Progress::Progress(const TextStyle& style, arma::uword steps, arma::uword tokens_per_step, arma::uword before)
    : style_(style), steps_(steps), tokens_per_step_(tokens_per_step), before_(before) {}

void Progress::show(const std::vector<double>& losses) {
  const arma::uword done = losses.size();
  if (style_.plain) {
    if (done * 10 / steps_ == (done - 1) * 10 / steps_) return;  // not at a tenth
    std::cout << "step " << done << " of " << steps_ << ": loss " << with_decimals(losses.back(), 3) << std::endl;
    return;
  }
  const auto now = Clock::now();
  if (done < steps_ && now - shown_ < std::chrono::milliseconds(100)) return;
  shown_ = now;
  rewrite(losses);
}

std::string Progress::line_of(arma::uword done, double loss, std::size_t columns) const {
  const double share = static_cast<double>(done) / static_cast<double>(steps_);
  const auto made = static_cast<double>(done - before_);
  const double time = std::max(seconds(), 1e-9);
  std::string text = " step " + std::to_string(done) + " of " + std::to_string(steps_) + ", loss " +
                     with_decimals(loss, 3) + ", " +
                     with_decimals(made * static_cast<double>(tokens_per_step_) / time, 0) + " tokens/s, " +
                     with_decimals(std::ceil(time / made * static_cast<double>(steps_ - done)), 0) + " s left";
  constexpr std::size_t bar_width = 22;
  const bool fits = bar_width + text.size() < columns;
  if (!fits && text.size() >= columns) text.resize(columns - 1);
  return (fits ? bar(share, style_.ascii) : "") + text;
}

/// The line is rewritten without escape sequences: back to the beginning, and blanks over what is left of a longer
/// one. The curve takes them, and a terminal that is large enough.
void Progress::rewrite(const std::vector<double>& losses) {
  const winsize size = terminal_size();
  const int columns = size.ws_col > 0 ? size.ws_col : std::max(style_.columns, 40);
  const bool curve = columns > curve_columns && size.ws_row > curve_rows + 3 && losses.size() > 1;
  if (curve_rows_ > 0 && !curve) clear();
  std::string text;
  if (curve) {
    text = "\r\x1b[?2026h";
    if (curve_rows_ > 0) text += "\x1b[" + std::to_string(curve_rows_) + "A";
    text += each_line_cleared(loss_curve(losses, style_.ascii));
    curve_rows_ = curve_rows;
  }
  const std::string line = line_of(losses.size(), losses.back(), static_cast<std::size_t>(std::max(columns, 40)));
  text += "\r" + line + std::string(width_ > line.size() ? width_ - line.size() : 0, ' ');
  if (curve) text += "\x1b[?2026l";
  width_ = line.size();
  std::cout << text << std::flush;
}

void Progress::clear() {
  if (width_ == 0) return;
  std::cout << "\r";
  if (curve_rows_ > 0) std::cout << "\x1b[" << curve_rows_ << "A\x1b[J";
  if (curve_rows_ == 0) std::cout << std::string(width_, ' ') << "\r";
  std::cout << std::flush;
  curve_rows_ = 0;
  width_ = 0;
  shown_ = {};
}

void Progress::finish(const std::vector<double>& losses, const std::string& how) {
  const double time = seconds();
  const arma::uword made = losses.size() - before_;
  if (curve_rows_ > 0) {
    clear();  // what comes next shows the curve again
    std::cout << line_of(losses.size(), losses.back(), static_cast<std::size_t>(std::max(style_.columns, 40)));
  }
  if (!style_.plain) std::cout << "\n";
  std::cout << made << (made == 1 ? " step in " : " steps in ") << with_decimals(time, 1) << " s, "
            << with_decimals(static_cast<double>(made * tokens_per_step_) / std::max(time, 1e-9), 0)
            << " tokens per second" << how << std::endl;
}

}  // namespace attn::training
