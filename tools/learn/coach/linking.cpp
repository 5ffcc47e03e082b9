#include "learn/coach/linking.hpp"

#include <algorithm>
#include <regex>
#include <vector>

#include "learn/coach/diagnostics.hpp"
#include "lesson/text.hpp"

namespace attn::learn {

std::string advice_on_linking(const std::string& output) {
  static const std::regex found_twice("(?:duplicate symbol: |multiple definition of [`'])([^\n']+)");
  static const std::regex not_found("(?:undefined symbol: |undefined reference to [`'])([^\n']+)");
  std::smatch match;
  if (std::regex_search(output, match, found_twice)) {
    if (match[1] == "main") return "your file has a main(), and the checks have their own: remove yours";
    return match[1].str() + " is defined twice, by you and by the course: give yours another name, or put it into an " +
           "unnamed namespace (namespace { ... })";
  }
  if (std::regex_search(output, match, not_found)) {
    return match[1].str() + " is used but defined nowhere: is its definition missing, or are its name, namespace or " +
           "parameters not those of the declaration?";
  }
  return {};
}

Lines link_errors_explained(const std::string& output) {
  constexpr std::size_t most_shown = 3;
  std::vector<std::string> sentences;
  Lines lines;
  std::size_t errors = 0;
  for (const auto& row : lines_of(output)) {
    const std::string advice = advice_on_linking(row);
    if (advice.empty() || std::find(sentences.begin(), sentences.end(), advice) != sentences.end()) continue;
    sentences.push_back(advice);
    if (++errors > most_shown) continue;
    if (!lines.empty()) lines.emplace_back();
    append(lines, output_lines(row));
    lines.emplace_back("  note    " + advice, Role::important);
  }
  if (errors > most_shown) append(lines, {"", std::to_string(errors - most_shown) + " more names"});
  return lines;
}

}  // namespace attn::learn
