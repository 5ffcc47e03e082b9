#include "learn/coach/coach.hpp"

#include <algorithm>
#include <iterator>
#include <regex>
#include <vector>

#include "learn/coach/linking.hpp"
#include "learn/coach/sentences.hpp"
#include "lesson/text.hpp"

namespace attn::learn {

namespace {

constexpr std::size_t most_errors = 3;
constexpr std::size_t most_warnings = 4;

/// A text that is too long for a few lines of a screen, cut between two characters.
std::string cut(const std::string& text, std::size_t most_bytes) {
  if (text.size() <= most_bytes) return text;
  std::size_t end = most_bytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return text.substr(0, end) + " ...";
}

std::string without_suggestion(const std::string& message) {
  static const std::regex suggestion("[;,] did you mean .*\\?$");
  return std::regex_replace(message, suggestion, "");
}

/// The line of code in GCC's way, for clang's errors, too.
Lines excerpt_of(const Diagnostic& diagnostic) {
  if (diagnostic.source.empty()) return {};
  const std::string number = std::to_string(diagnostic.place.line);
  const std::string margin(number.size() < 5 ? 5 - number.size() : 0, ' ');
  Lines lines = {quoted_line(margin + number + " |", " " + diagnostic.source, Role::plain)};
  if (diagnostic.caret.empty()) return lines;
  const std::string below(margin.size() + number.size(), ' ');
  lines.push_back(quoted_line(below + " |", " " + diagnostic.caret, Role::caret));
  return lines;
}

Lines explained(const Diagnostic& error) {
  constexpr std::size_t most_bytes = 240;
  const Explanation explanation = explanation_of(error);
  const std::string message = explanation.corrects_compiler ? without_suggestion(error.message) : error.message;
  Lines lines = {message_line(error.place, "error", cut(message, most_bytes))};
  if (error.in_learners_file) append(lines, excerpt_of(error));
  if (!explanation.sentence.empty()) lines.emplace_back("  note    " + explanation.sentence, Role::important);
  return lines;
}

/// A missing return: after another error it may be there, and not understood.
bool is_about_return(const Diagnostic& error) {
  return error.message.find("non-void function") != std::string::npos ||
         error.message.find("returning non-void") != std::string::npos;
}

/// A name that is declared in a line that was not understood.
bool may_follow_from(const Diagnostic& error, const Diagnostic& earlier) {
  static const std::regex undeclared(R"('(\w+)' was not declared.*|use of undeclared identifier '(\w+)'.*)");
  std::smatch name;
  if (!std::regex_match(error.message, name, undeclared)) return false;
  const std::regex word("\\b" + (name[1].matched ? name[1] : name[2]).str() + "\\b");
  return earlier.place.line <= error.place.line && std::regex_search(earlier.source, word);
}

/// The errors to show: one for each line, those of the learner's files if there are any.
std::vector<Diagnostic> first_errors(const std::vector<Diagnostic>& errors) {
  const auto is_learners = [](const Diagnostic& error) { return error.in_learners_file; };
  const bool learners = std::any_of(errors.begin(), errors.end(), is_learners);
  std::vector<Diagnostic> first;
  for (const auto& error : errors) {
    const bool follows = std::any_of(first.begin(), first.end(), [&](const auto& earlier) {
      return earlier.place.text() == error.place.text() || may_follow_from(error, earlier) || is_about_return(error);
    });
    if (error.in_learners_file == learners && !follows) first.push_back(error);
    if (first.size() == most_errors) break;
  }
  return first;
}

std::string counted_more(std::size_t count) {
  return std::to_string(count) + (count == 1 ? " more error, which may follow from what is above"
                                             : " more errors, which may follow from what is above");
}

std::vector<Diagnostic> of_kind(std::vector<Diagnostic> all, bool errors) {
  all.erase(std::remove_if(all.begin(), all.end(), [&](const auto& one) { return one.is_error != errors; }), all.end());
  return all;
}

/// Warnings that are about the same, shown as one.
struct Warnings {
  std::string text;
  std::vector<Place> places;
};

Line row_of(const Warnings& warnings) {
  std::string row = "  " + warnings.places.front().text() + "  " + warnings.text;
  if (warnings.places.size() > 1) row += " (and " + std::to_string(warnings.places.size() - 1) + " more of this kind)";
  return Line({{row}}, warnings.places.front());
}

std::vector<Warnings> by_kind(const std::vector<Diagnostic>& warnings) {
  std::vector<Warnings> kinds;
  for (const auto& warning : warnings) {
    if (!warning.in_learners_file) continue;
    const std::string sentence = explanation_of(warning).sentence;
    const std::string text = sentence.empty() ? cut(warning.message, 100) : sentence;
    auto kind = std::find_if(kinds.begin(), kinds.end(), [&](const auto& other) { return other.text == text; });
    if (kind == kinds.end()) kind = kinds.insert(kinds.end(), {text, {}});
    const bool is_new = kind->places.empty() || kind->places.back().text() != warning.place.text();
    if (is_new) kind->places.push_back(warning.place);
  }
  return kinds;
}

}  // namespace

Lines errors_explained(const std::string& output, const LearnersFiles& files) {
  const auto errors = of_kind(diagnostics_in(output, files), true);
  if (errors.empty()) return link_errors_explained(output);
  const auto first = first_errors(errors);
  Lines lines;
  for (const auto& error : first) {
    if (!lines.empty()) lines.emplace_back();
    append(lines, explained(error));
  }
  if (errors.size() > first.size()) append(lines, {"", counted_more(errors.size() - first.size())});
  return lines;
}

Lines warnings_folded(const std::string& output, const LearnersFiles& files) {
  const auto kinds = by_kind(of_kind(diagnostics_in(output, files), false));
  std::size_t count = 0;
  for (const auto& kind : kinds) count += kind.places.size();
  if (count == 0) return {};
  Lines lines = {counted(static_cast<int>(count), "warning") + " from the compiler"};
  const std::size_t shown = std::min(kinds.size(), most_warnings);
  for (std::size_t i = 0; i < shown; ++i) lines.push_back(row_of(kinds[i]));
  if (kinds.size() > shown) {
    lines.emplace_back("  and " + std::to_string(kinds.size() - shown) + " more of other kinds");
  }
  return lines;
}

}  // namespace attn::learn
