#include "learn/coach/coach.hpp"

#include <algorithm>
#include <iterator>
#include <regex>
#include <vector>

#include "learn/coach/sentences.hpp"
#include "lesson/text.hpp"

namespace attn::learn {

namespace {

constexpr std::size_t most_errors = 3;
constexpr std::size_t most_warnings = 4;

Line note(const std::string& sentence) { return Line("  note    " + sentence, Role::important); }

/// An error as GCC prints it, clang's too: the place, the message and the line of code. Below it what to do about it.
Lines explained(const Diagnostic& error) {
  constexpr int most_columns = 240;
  const auto [sentence, advice] = explanation_of(error);
  const bool misleads = advice != nullptr && !advice->adds_little;  // the compiler's suggestion
  const std::string message = misleads ? without_suggestion(error.message) : error.message;
  std::string text = error.place.text() + ":" + std::to_string(error.place.column) + ": error: ";
  text += cut(message, most_columns) + "\n";
  if (error.in_learners_file && !error.source.empty()) {
    text += right_aligned(error.place.line, 5) + " | " + error.source + "\n";
    if (!error.caret.empty()) text += "      | " + error.caret + "\n";
  }
  Lines lines = output_lines(text);
  if (!sentence.empty()) lines.push_back(note(sentence));
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

std::vector<Diagnostic> of_kind(std::vector<Diagnostic> all, bool errors) {
  all.erase(std::remove_if(all.begin(), all.end(), [&](const auto& one) { return one.is_error != errors; }), all.end());
  return all;
}

/// Warnings that are about the same, shown as one.
struct Warnings {
  std::string text;
  std::vector<Place> places;

  Line row() const {
    std::string row = "  " + places.front().text() + "  " + text;
    if (places.size() > 1) row += " (and " + std::to_string(places.size() - 1) + " more of this kind)";
    return Line({{row}}, places.front());
  }
};

/// What to do about a name that the linker found twice, or not at all; empty when it complains about neither.
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

/// A linker's errors, each with what to do about it. Empty when the output has none.
Lines link_errors_explained(const std::string& output) {
  std::vector<std::string> sentences;
  Lines lines;
  for (const auto& row : lines_of(output)) {
    const std::string advice = advice_on_linking(row);
    if (advice.empty() || std::find(sentences.begin(), sentences.end(), advice) != sentences.end()) continue;
    sentences.push_back(advice);
    if (sentences.size() > most_errors) continue;
    if (!lines.empty()) lines.emplace_back();
    append(lines, output_lines(row));
    lines.push_back(note(advice));
  }
  if (sentences.size() > most_errors) {
    append(lines, {"", std::to_string(sentences.size() - most_errors) + " more names"});
  }
  return lines;
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
  if (errors.size() > first.size()) {
    const auto others = counted(static_cast<int>(errors.size() - first.size()), "more error");
    append(lines, {"", others + ", which may follow from what is above"});
  }
  return lines;
}

Lines warnings_folded(const std::string& output, const LearnersFiles& files) {
  std::vector<Warnings> kinds;
  int count = 0;
  for (const auto& warning : of_kind(diagnostics_in(output, files), false)) {
    if (!warning.in_learners_file) continue;
    const std::string sentence = explanation_of(warning).sentence;
    const std::string text = sentence.empty() ? cut(warning.message, 100) : sentence;
    auto kind = std::find_if(kinds.begin(), kinds.end(), [&](const auto& other) { return other.text == text; });
    if (kind == kinds.end()) kind = kinds.insert(kinds.end(), {text, {}});
    if (!kind->places.empty() && kind->places.back().text() == warning.place.text()) continue;
    kind->places.push_back(warning.place);
    ++count;
  }
  if (count == 0) return {};
  Lines lines = {counted(count, "warning") + " from the compiler"};
  const std::size_t shown = std::min(kinds.size(), most_warnings);
  for (std::size_t i = 0; i < shown; ++i) lines.push_back(kinds[i].row());
  if (kinds.size() > shown) {
    lines.emplace_back("  and " + std::to_string(kinds.size() - shown) + " more of other kinds");
  }
  return lines;
}

}  // namespace attn::learn
