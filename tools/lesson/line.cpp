#include "lesson/line.hpp"

#include <utility>

namespace attn {

Line::Line(std::string text, Role role) {
  if (!text.empty()) spans.push_back({std::move(text), role});
}

std::string Line::text() const {
  std::string text;
  for (const auto& span : spans) text += span.text;
  return text;
}

Line labelled(const std::string& label, const std::string& text, Role role) {
  const auto end = label.find_last_not_of(' ') + 1;
  const std::string gap = label.substr(end);
  if (role == Role::plain) return Line({{label.substr(0, end), Role::label}, {gap + text}});
  return Line({{label.substr(0, end), Role::label}, {gap}, {text, role}});
}

Lines as_lines(const std::vector<std::string>& texts) { return {texts.begin(), texts.end()}; }

void append(Lines& lines, const Lines& more) { lines.insert(lines.end(), more.begin(), more.end()); }

std::string text_of(const Lines& lines) {
  std::string text;
  for (const auto& line : lines) text += line.text() + "\n";
  return text;
}

}  // namespace attn
