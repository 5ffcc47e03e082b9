#include "verdict/place.hpp"

#include <algorithm>
#include <cctype>
#include <map>
#include <sstream>

#include "lesson/text.hpp"

namespace attn::judge {

namespace {

// --------------------------------------------------------------------------------------------- where a task begins

/// Finds functions in code without comments, one piece after the other.
class DefinitionScan {
 public:
  explicit DefinitionScan(const std::string& code) : code_(code) {}

  std::vector<Definition> run() {
    for (; at_ < code_.size(); ++at_) {
      const char c = code_[at_];
      if (c == ';' || c == '}') {
        begin_ = at_ + 1;
      } else if (c == '{') {
        open_brace();
      }
    }
    return std::move(found_);
  }

 private:
  bool head_has(const std::string& word) const {
    for (auto at = code_.find(word, begin_); at < at_; at = code_.find(word, at + 1)) {
      if ((at == 0 || !is_word(code_[at - 1])) && !is_word(code_[at + word.size()])) return true;
    }
    return false;
  }

  /// What stands before a brace says what is in it: a namespace or a class, whose functions count too, or a body.
  void open_brace() {
    const auto parenthesis = code_.find('(', begin_);
    const bool calls = parenthesis < at_;
    const bool scope = head_has("namespace") || (!calls && (head_has("class") || head_has("struct")));
    if (scope) {
      begin_ = at_ + 1;
      return;
    }
    const bool a_member = calls && initialises_member();
    if (calls && !a_member) note_function(parenthesis);
    skip_braces();
    if (!a_member) begin_ = at_ + 1;
  }

  /// Whether the brace stands in a constructor's list of initialisers: "X::X(int n) : n_{n} {".
  bool initialises_member() const {
    auto end = at_;
    while (end > begin_ && std::isspace(static_cast<unsigned char>(code_[end - 1])) != 0) --end;
    auto word = end;
    while (word > begin_ && is_word(code_[word - 1])) --word;
    while (word > begin_ && std::isspace(static_cast<unsigned char>(code_[word - 1])) != 0) --word;
    if (word == end || word == begin_) return false;
    const char before = code_[word - 1];
    return before == ',' || (before == ':' && code_[word - 2] != ':');
  }

  void note_function(std::size_t parenthesis) {
    auto begin = parenthesis;
    while (begin > begin_ && is_word(code_[begin - 1])) --begin;
    const std::string head = code_.substr(begin_, parenthesis - begin_);
    std::string name = code_.substr(begin, parenthesis - begin);
    if (name == "operator") {
      name = "operator()";
    } else if (name.empty() || head.find('=') != std::string::npos) {
      return;
    }
    if (begin > begin_ && code_[begin - 1] == '~') return;
    const auto lines = std::count(code_.begin(), code_.begin() + static_cast<std::ptrdiff_t>(begin), '\n');
    found_.push_back({name, static_cast<int>(lines) + 1});
  }

  /// To the brace that closes.
  void skip_braces() {
    int depth = 0;
    for (; at_ < code_.size(); ++at_) {
      if (code_[at_] == '{') ++depth;
      if (code_[at_] == '}' && --depth == 0) return;
    }
  }

  const std::string& code_;
  std::size_t at_ = 0;
  std::size_t begin_ = 0;  ///< of what stands before the next brace
  std::vector<Definition> found_;
};

/// The title of a task, or nothing when the task is not known.
std::string title_of(const std::string& task, const lesson::Lesson& lesson) {
  if (!std::filesystem::is_regular_file(lesson.hints_file())) return {};
  for (const auto& one : lesson.tasks()) {
    if (one.id == task) return one.title;
  }
  return {};
}

/// Whether a text has a word.
bool has_word(const std::string& text, const std::string& word) {
  for (auto at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    const auto end = at + word.size();
    if ((at == 0 || !is_word(text[at - 1])) && (end == text.size() || !is_word(text[end]))) return true;
  }
  return false;
}

std::string code_in(const std::filesystem::path& file) {
  return std::filesystem::is_regular_file(file) ? lesson::read_file(file) : "";
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
  return DefinitionScan(plain).run();
}

int line_of_task(const std::string& title, const std::vector<Definition>& definitions) {
  if (definitions.size() == 1) return definitions.front().line;
  const bool of_constructor = has_word(title, "constructor");
  std::vector<Definition> candidates;
  for (const auto& one : definitions) {
    const bool constructor = std::isupper(static_cast<unsigned char>(one.name.front())) != 0;
    const bool named = one.name == "operator()" ? title.find(one.name) != std::string::npos : has_word(title, one.name);
    if (of_constructor ? constructor : named) candidates.push_back(one);
  }
  if (candidates.size() > 1 && of_constructor) {
    const auto not_named = [&](const Definition& one) { return !has_word(title, one.name); };
    candidates.erase(std::remove_if(candidates.begin(), candidates.end(), not_named), candidates.end());
  }
  return candidates.size() == 1 ? candidates.front().line : 0;
}

void find_places(std::vector<CheckResult>& checks, const lesson::Lesson& lesson) {
  std::map<std::string, std::vector<Definition>> definitions;  // by file
  for (auto& check : checks) {
    const bool unknown = check.place.line == 0 && !check.passed() && check.state != CheckResult::State::not_written;
    if (!unknown) continue;
    auto found = definitions.find(check.place.file);
    if (found == definitions.end()) {
      found = definitions.emplace(check.place.file, definitions_in(code_in(lesson.root / check.place.file))).first;
    }
    check.place.line = line_of_task(title_of(check.task, lesson), found->second);
  }
}

}  // namespace attn::judge
