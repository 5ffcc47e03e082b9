#include "system/text_style.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>

#include "lesson/text.hpp"

namespace attn {

std::string environment(const std::string& name) {
  const char* const value = std::getenv(name.c_str());
  return value == nullptr ? "" : value;
}

TerminalSize terminal_size() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return {};
  return {size.ws_row, size.ws_col};
}

namespace {

/// By COLORFGBG, "text;background", which Konsole, iTerm2, rxvt and others set.
bool has_light_background() {
  const std::string colours = environment("COLORFGBG");
  const std::string background = colours.substr(colours.rfind(';') + 1);
  return background == "7" || background == "15";
}

}  // namespace

TextStyle TextStyle::of_output(bool asked_plain) {
  TextStyle style;
  style.words = asked_plain;
  style.plain = asked_plain || environment("TERM") == "dumb" || isatty(STDOUT_FILENO) == 0;
  style.colours = !style.plain && environment("NO_COLOR").empty();
  style.light = has_light_background();
  for (const char* variable : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const std::string locale = environment(variable);
    if (locale.empty()) continue;
    const auto says = [&](const char* part) { return locale.find(part) != std::string::npos; };
    style.ascii = !says("UTF-8") && !says("utf-8") && !says("utf8") && !says("UTF8");
    break;
  }
  if (isatty(STDOUT_FILENO) != 0) {
    const int columns = terminal_size().columns;
    style.columns = columns > 0 ? columns : 80;
  }
  return style;
}

std::string TextStyle::spelled(const std::string& text) const {
  return ascii ? in_ascii(text) : words ? in_words(text) : text;
}

std::string TextStyle::operator()(const std::string& text) const {
  if (columns == 0) return spelled(text);
  std::string lines;
  for (const auto& row : wrapped(spelled(text), columns)) lines += row + "\n";
  if (!lines.empty() && text.back() != '\n') lines.pop_back();
  return lines;
}

}  // namespace attn
