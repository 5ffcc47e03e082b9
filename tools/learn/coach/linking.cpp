#include "learn/coach/linking.hpp"

#include <algorithm>
#include <regex>
#include <vector>

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

std::string link_errors_explained(const std::string& output) {
  constexpr std::size_t most_shown = 3;
  std::vector<std::string> sentences;
  std::string text;
  std::size_t errors = 0;
  for (const auto& row : lines_of(output)) {
    const std::string advice = advice_on_linking(row);
    if (advice.empty() || std::find(sentences.begin(), sentences.end(), advice) != sentences.end()) continue;
    sentences.push_back(advice);
    if (++errors <= most_shown) text += (text.empty() ? "" : "\n") + row + "\n  note    " + advice + "\n";
  }
  if (errors > most_shown) text += "\n" + std::to_string(errors - most_shown) + " more names\n";
  return text;
}

}  // namespace attn::learn
