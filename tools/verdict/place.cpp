#include "verdict/place.hpp"

#include <algorithm>
#include <cctype>
#include <optional>

#include "lesson/text.hpp"

namespace attn::judge {

namespace {

// --------------------------------------------------------------------------------------------- where a task begins

/// Whether a text has a word.
bool has_word(const std::string& text, const std::string& word) {
  for (auto at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    const auto end = at + word.size();
    if ((at == 0 || !is_word(text[at - 1])) && (end == text.size() || !is_word(text[end]))) return true;
  }
  return false;
}

/// Whether a brace after this text opens a namespace or a class: their functions count, too.
bool opens_scope(const std::string& before) {
  const bool calls = before.find('(') != std::string::npos;
  return has_word(before, "namespace") || (!calls && (has_word(before, "class") || has_word(before, "struct")));
}

/// The function that is defined where a brace opens, by what stands before the brace: "X::X(int n) : n_". None after "=",
/// in the rest of a list of initialisers, and for a destructor.
std::optional<Definition> function_before_brace(const std::string& code, std::size_t begin, std::size_t brace) {
  const auto parenthesis = code.find('(', begin);
  if (parenthesis >= brace || code.find('=', begin) < parenthesis) return {};
  if (code[std::min(code.find_first_not_of(" \n", begin), brace)] == ',') return {};
  auto name = parenthesis;
  while (name > begin && is_word(code[name - 1])) --name;
  if (name == parenthesis || (name > begin && code[name - 1] == '~')) return {};
  const auto line = std::count(code.begin(), code.begin() + static_cast<std::ptrdiff_t>(name), '\n') + 1;
  const std::string text = code.substr(name, parenthesis - name);
  std::string of_class;
  if (name >= begin + 2 && code.compare(name - 2, 2, "::") == 0) {
    auto first = name - 2;
    while (first > begin && is_word(code[first - 1])) --first;
    of_class = code.substr(first, name - 2 - first);
  }
  return Definition{text == "operator" ? "operator()" : text, static_cast<int>(line), of_class};
}

/// The title of a task, or nothing when the task is not known.
std::string title_of(const std::string& task, const lesson::Lesson& lesson) {
  if (!std::filesystem::is_regular_file(lesson.hints_file())) return {};
  for (const auto& one : lesson.tasks()) {
    if (one.id == task) return one.title;
  }
  return {};
}

}  // namespace

std::string without_comments(const std::string& code) {
  std::string text = code;
  const auto blank = [&](std::size_t from, std::size_t to) {
    for (auto i = from; i < std::min(to, text.size()); ++i) {
      if (text[i] != '\n') text[i] = ' ';
    }
  };
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text.compare(at, 2, "//") == 0 || (text[at] == '#' && (at == 0 || text[at - 1] == '\n'))) {
      const auto end = std::min(text.find('\n', at), text.size());
      blank(at, end);
    } else if (text.compare(at, 2, "/*") == 0) {
      const auto end = text.find("*/", at + 2);
      blank(at, end == std::string::npos ? text.size() : end + 2);
    } else if (text[at] == '"' || (text[at] == '\'' && (at == 0 || !is_word(text[at - 1])))) {  // not 1'000
      auto end = at + 1;
      while (end < text.size() && text[end] != text[at] && text[end] != '\n') end += text[end] == '\\' ? 2 : 1;
      blank(at + 1, end);
      at = end;
    }
  }
  return text;
}

std::vector<Definition> definitions_in(const std::string& code) {
  const std::string plain = without_comments(code);
  std::vector<Definition> found;
  std::size_t begin = 0;  // of what stands before the next brace
  int depth = 0;          // of braces in a function, or in something else that is no scope
  for (auto at = plain.find_first_of(";{}"); at != std::string::npos; at = plain.find_first_of(";{}", at + 1)) {
    const std::string before = plain.substr(begin, at - begin);
    if (plain[at] == '{' && (depth > 0 || !opens_scope(before))) {
      const auto function = depth == 0 ? function_before_brace(plain, begin, at) : std::nullopt;
      if (function) found.push_back(*function);
      ++depth;
    } else if (plain[at] == '}' && depth > 0) {
      --depth;
    }
    begin = at + 1;
  }
  return found;
}

namespace {

/// Leaves those of several functions that a text calls, or whose suite it names; the longest of those whose names begin alike.
void keep_mentioned(std::vector<Definition>& candidates, const std::string& judged) {
  std::vector<Definition> mentioned;
  for (const auto& one : candidates) {
    if (has_word(judged, one.name) || judged.find(lesson::camel_case(one.name)) != std::string::npos) {
      mentioned.push_back(one);
    }
  }
  const auto longer = [](const Definition& a, const Definition& b) { return a.name.size() < b.name.size(); };
  const auto longest = std::max_element(mentioned.begin(), mentioned.end(), longer);
  const auto is_part = [&](const Definition& one) { return longest->name.find(one.name) != std::string::npos; };
  if (!mentioned.empty() && std::all_of(mentioned.begin(), mentioned.end(), is_part)) candidates = {*longest};
}

/// The only function of a class that is not its constructor, or nothing.
std::optional<Definition> only_function_of(const std::string& name, const std::vector<Definition>& definitions) {
  std::optional<Definition> found;
  for (const auto& one : definitions) {
    if (one.of_class != name || one.name == name) continue;
    if (found) return {};
    found = one;
  }
  return found;
}

}  // namespace

bool Definition::is_constructor() const { return std::isupper(static_cast<unsigned char>(name.front())) != 0; }

std::optional<Definition> function_of_task(const std::string& title, const std::vector<Definition>& definitions,
                                           const std::string& judged) {
  if (definitions.size() == 1) return definitions.front();
  const bool of_constructor = has_word(title, "constructor");
  std::vector<Definition> candidates;
  for (const auto& one : definitions) {
    const bool named = one.name == "operator()" ? title.find(one.name) != std::string::npos : has_word(title, one.name);
    if (of_constructor ? one.is_constructor() : named) candidates.push_back(one);
  }
  if (candidates.size() > 1 && of_constructor) {
    const auto not_named = [&](const Definition& one) { return !has_word(title, one.name); };
    candidates.erase(std::remove_if(candidates.begin(), candidates.end(), not_named), candidates.end());
  }
  if (candidates.size() > 1) keep_mentioned(candidates, judged);
  if (candidates.size() != 1) return {};
  // A title that names a class is about what it computes, too: most checks are.
  const Definition& only = candidates.front();
  const bool about_constructor = of_constructor || judged.find(".Begins") != std::string::npos ||
                                 judged.find(".Has") != std::string::npos || judged.find(".Takes") != std::string::npos;
  const bool of_class = only.name == only.of_class && !about_constructor;
  const auto function = of_class ? only_function_of(only.name, definitions) : std::nullopt;
  return function ? function : only;
}

void find_places(std::vector<CheckResult>& checks, const lesson::Lesson& lesson) {
  for (auto& check : checks) {
    const bool unknown = check.place.line == 0 && !check.passed() && check.state != CheckResult::State::not_written;
    const auto file = lesson.root / check.place.file;
    if (!unknown || !std::filesystem::is_regular_file(file)) continue;
    std::string judged = check.full_name();
    for (const auto& failure : check.failures) judged += "\n" + failure.expression;
    const auto function =
        function_of_task(title_of(check.task, lesson), definitions_in(lesson::read_file(file)), judged);
    if (!function) continue;
    check.place.line = function->line;
    check.function = function->is_constructor() ? "the constructor" : function->name;
  }
}

}  // namespace attn::judge
