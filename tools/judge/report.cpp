#include "judge/report.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "judge/diagnosis.hpp"

namespace attn::judge {

namespace {

using State = CheckResult::State;

/// Every line of `text` behind a label, the first line beside it. A long text is cut.
std::string block(const std::string& label, const std::string& text) {
  constexpr std::size_t most_bytes = 2000;
  std::size_t end = std::min(text.size(), most_bytes);
  while (end < text.size() && end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;  // within UTF-8
  std::string lines;
  std::istringstream in(end < text.size() ? text.substr(0, end) + " ..." : text);
  for (std::string row; std::getline(in, row);) lines += line(lines.empty() ? label : "", row);
  return lines;
}

/// The text between the quotes of GoogleTest's "C++ exception with description "..." thrown in the test body."
std::string thrown_text(const std::string& message) {
  const std::string opening = "exception with description \"";
  const auto begin = message.find(opening);
  if (begin == std::string::npos) return {};
  const auto end = message.rfind("\" thrown in ");
  if (end == std::string::npos) return {};
  return message.substr(begin + opening.size(), end - begin - opening.size());
}

/// What Armadillo's messages mean to somebody who has not met them before; empty for others.
std::string explain_thrown(const std::string& thrown) {
  static const std::pair<const char*, const char*> meanings[] = {
      {"requested size is too large", "a size went below zero? an arma::uword then goes round to a huge number"},
      {"size is fixed and hence cannot be changed", "a matrix was assigned to a slice of another size"},
      {"addition: incompatible", "a sum needs two of the same size (a layer without bias has an empty one)"},
      {"copy into submatrix", "a block was given a matrix of another size: cols(first, last) includes the last"},
      {"slices(): indices out of bounds", "slices count from 0, and slices(first, last) includes the last"},
      {"submat(): indices", "rows and columns count from 0, and submat(r0, c0, r1, c1) includes row r1 and column c1"},
      {"keep is ", "dropout was given a cube of another size than the weights: it acts on the weights, in one call"},
      {"in is 0, expected at least 1", "a Linear was made with no inputs: which size should it have?"},
      {"slice(): index out of bounds", "slices count from 0 to n_slices - 1"},
      {"each_row(): incompatible size", "the row that is added must be as wide as the matrix"},
      {"cols(): indices out of bounds", "columns count from 0, and cols(first, last) includes the last"},
      {"rows(): indices out of bounds", "rows count from 0, and rows(first, last) includes the last"},
      {"index out of bounds", "an index is not below its size: (row, column, slice), each counted from 0"},
      {"incompatible matrix dimensions", "a product needs (a x b) * (b x c): is a factor transposed, or cut wrongly?"},
      {"incorrect distribution parameters", "distr_param(lo, hi) needs lo < hi: an integer division that gives 0?"},
      {"not compatible with column vector layout",
       "a matrix was put where a column (arma::vec) belongs; between { }, do the fields stand in the struct's order?"},
      {"not compatible with row vector layout", "a row of n numbers is made with arma::zeros<arma::rowvec>(n)"},
  };
  for (const auto& [part, meaning] : meanings) {
    if (thrown.find(part) != std::string::npos) return note(meaning);
  }
  return {};
}

std::string describe_message(const std::string& message, State state) {
  if (state == State::ended || state == State::stopped) return block("ended", message);
  if (const auto mark = message.find(diagnosis_mark); mark != std::string::npos) return message.substr(mark + 1);
  if (const std::string thrown = thrown_text(message); !thrown.empty()) {
    if (thrown == "std::bad_alloc" || thrown.find("out of memory") != std::string::npos) {
      return block("threw", thrown + ": it asked for more memory than a check may use");
    }
    return block("threw", thrown) + explain_thrown(thrown);
  }
  if (message.find("Unknown C++ exception") != std::string::npos) {
    return block("threw", "something that is not a std::exception");
  }
  return block("check", message);
}

std::string printed_lines(const CheckResult& result) {
  constexpr std::size_t most_lines = 12;
  std::istringstream in(result.printed);
  std::string shown;
  std::size_t lines = 0;
  std::size_t bytes = 0;
  for (std::string row; lines < most_lines && std::getline(in, row); ++lines) {
    bytes += row.size() + 1;
    shown += line(lines == 0 ? "printed" : "", row);
  }
  if (bytes < result.printed_bytes) shown += line("", "... " + std::to_string(result.printed_bytes) + " bytes in all");
  return shown;
}

/// The expression that a failed EXPECT_THAT looked at, as one line; of a lambda the body; empty for other assertions.
std::string judged_expression(const std::string& message) {
  const std::string opening = "Value of: ";
  const auto end = message.find('\n');
  if (message.rfind(opening, 0) != 0 || message.compare(end, 11, "\nExpected: ") != 0) return {};
  std::string expression = message.substr(opening.size(), end - opening.size());
  if (expression.front() == '[') {
    const auto body = expression.find("{ ");
    const auto body_end = expression.rfind("; }");
    if (body == std::string::npos || body_end == std::string::npos) return {};
    expression = expression.substr(body + 2, body_end - body - 2);
  }
  return line("of", expression);
}

/// "TODO(01.2) is not written yet: ..." from whichever message it stands in.
std::string todo_text(const CheckResult& result) {
  for (const auto& message : result.messages) {
    const std::string thrown = thrown_text(message);
    if (thrown.rfind("TODO(", 0) == 0) return thrown;
  }
  return {};
}

/// The lines between the headline and the place. The first failed assertion says enough.
std::string reasons(const CheckResult& result) {
  if (result.state == State::not_run) return line("ended", "not run: checks before it took too long");
  if (result.messages.empty()) return {};
  if (result.state == State::not_written) return block("todo", todo_text(result));
  const std::string& first = result.messages.front();
  std::string text = judged_expression(first) + describe_message(first, result.state);
  for (auto at = text.find("\n\n"); at != std::string::npos; at = text.find("\n\n", at)) text.erase(at, 1);
  return text;
}

/// The first of the reasons, short enough for a list.
std::string first_reason(const CheckResult& result) {
  const std::string all = reasons(result);
  std::istringstream in(all);
  std::string row;
  while (std::getline(in, row)) {
    const auto begin = row.find_first_not_of(' ');
    const bool leads_to_it = row.rfind("  of ", 0) == 0 || row.rfind("   ok") == row.size() - 5;
    if (begin == std::string::npos || leads_to_it) continue;
    return row.substr(begin);
  }
  return {};
}

/// Whether a text speaks of one of the functions or classes in a task's title: calls it, or has a suite of its name.
bool names(const std::string& judged, const std::string& title) {
  std::string word;
  for (const char c : title + " ") {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_') {
      word += c;
      continue;
    }
    const bool a_name = word.find('_') != std::string::npos || title.find("`" + word + "`") != std::string::npos ||
                        title == word || word == "forward";
    if (a_name &&
        (judged.find(word + "(") != std::string::npos || judged.find(lesson::camel_case(word)) != std::string::npos)) {
      return true;
    }
    word.clear();
  }
  return false;
}

/// What `./learn hint` wants: the task, when the check ran into its TODO or its file has no other; else the lesson.
std::string hint_topic(const CheckResult& result, const lesson::Lesson& lesson) {
  if (result.state == State::not_written) {
    const std::string text = todo_text(result).substr(std::string("TODO(").size());
    return text.substr(0, text.find(')'));
  }
  const auto tasks = lesson.tasks_in(lesson.judged_file(result.suite));
  if (tasks.empty()) return lesson.number();
  if (tasks.size() == 1) return tasks.front();
  std::string judged = result.full_name();  // says what it is about, or the expression does that it looked at
  for (const auto& message : result.messages) judged += "\n" + judged_expression(message);
  std::vector<std::string> named;
  for (const auto& task : lesson.tasks()) {
    const bool in_file = std::find(tasks.begin(), tasks.end(), task.id) != tasks.end();
    if (in_file && names(judged, task.title)) named.push_back(task.id);
  }
  return named.size() == 1 ? named.front() : lesson.number();
}

/// The calls of todo() that still stand in the learner's files, as "TODO(01.2)  lessons/.../file.cpp:31". Not only
/// those that a check ran into: one may hide behind another.
std::vector<std::string> open_tasks(const lesson::Lesson& lesson) {
  std::vector<std::string> tasks;
  const std::string call = "todo(\"";
  for (const auto& file : lesson.stub_files()) {
    std::istringstream in(lesson::read_file(lesson.root / file));
    std::string row;
    for (int number = 1; std::getline(in, row); ++number) {
      const auto begin = row.find_first_not_of(' ');
      const auto at = row.find(call);
      if (at == std::string::npos || row.compare(begin, 2, "//") == 0) continue;
      const auto id = row.substr(at + call.size(), row.find('"', at + call.size()) - at - call.size());
      tasks.push_back("TODO(" + id + ")  " + file + ":" + std::to_string(number));
    }
  }
  std::sort(tasks.begin(), tasks.end());
  return tasks;
}

/// Whether two checks judge the same file, and not two tasks in it.
bool judge_the_same(const CheckResult& a, const CheckResult& b, const lesson::Lesson& lesson) {
  if (lesson.judged_file(a.suite) != lesson.judged_file(b.suite)) return false;
  const std::string topic_a = hint_topic(a, lesson), topic_b = hint_topic(b, lesson);
  return topic_a == topic_b || topic_a == lesson.number() || topic_b == lesson.number();
}

/// What another failing check says it is, where the first met wrong numbers and cannot tell. That one met wrong numbers
/// too: what is said of a NaN, or of memory, need not be true of them.
std::string likely_elsewhere(const std::vector<CheckResult>& results, const CheckResult& first,
                             const lesson::Lesson& lesson) {
  const std::string label = line("likely", "");
  const std::string known = reasons(first);
  const std::string wrong_numbers = line("value", "worst at");
  const bool told = known.find(label) != std::string::npos;
  if (told || known.find(wrong_numbers) == std::string::npos || first.state != State::failed) return {};
  for (const auto& result : results) {
    const std::string text = reasons(result);
    const auto begin = text.find(label);
    if (begin == std::string::npos || text.find(wrong_numbers) == std::string::npos) continue;
    if (!judge_the_same(first, result, lesson)) continue;
    return text.substr(begin, text.find('\n', begin + 1) - begin) + " (so says " + result.full_name() + ")";
  }
  return {};
}

}  // namespace

std::string describe(const CheckResult& result, const lesson::Lesson& lesson, const std::string& told_elsewhere) {
  const std::string head = lesson.title() + " · " + result.full_name();
  if (result.passed()) return "✓ " + head + "\n";
  std::string text = "✗ " + head + reasons(result) + told_elsewhere + printed_lines(result);
  if (result.state != State::not_written) text += line("where", lesson.judged_file(result.suite));
  const bool in_interview = lesson.room != "lessons";
  if (!in_interview) text += line("hint", "./learn hint " + hint_topic(result, lesson));
  return text + "\n";
}

std::string short_reason(const CheckResult& result) {
  const std::string reason = first_reason(result);  // "threw   out of ideas"
  const auto label_end = reason.find(' ');
  const auto text = reason.find_first_not_of(' ', label_end);
  return text == std::string::npos ? reason : reason.substr(0, label_end) + ": " + reason.substr(text);
}

std::string describe_all(const std::vector<CheckResult>& results, const lesson::Lesson& lesson) {
  const auto passed = std::count_if(results.begin(), results.end(), [](const auto& r) { return r.passed(); });
  const std::string counts = std::to_string(passed) + " of " + std::to_string(results.size()) + " checks passed";
  const auto first = std::find_if(results.begin(), results.end(), [](const auto& r) { return !r.passed(); });
  if (first == results.end()) return "✓ " + lesson.title() + ": " + counts + "\n";

  std::string text = describe(*first, lesson, likely_elsewhere(results, *first, lesson));
  std::string others;
  for (auto result = first + 1; result != results.end(); ++result) {
    if (result->passed() || result->state == State::not_written || result->state == State::not_run) continue;
    others += "\n  ✗ " + result->full_name() + ": " + first_reason(*result);
  }
  if (!others.empty()) text += "\nalso failing" + others + "\n";
  const auto not_run = std::count_if(first, results.end(), [](const auto& r) { return r.state == State::not_run; });
  if (not_run > 0)
    text += "\nnot run: the last " + std::to_string(not_run) + ", because checks before them took too long\n";
  const bool meets_tasks =
      std::any_of(first, results.end(), [](const auto& r) { return r.state == State::not_written; });
  const auto tasks = meets_tasks ? open_tasks(lesson) : std::vector<std::string>{};
  if (!tasks.empty()) text += "\nnot written yet";
  for (const auto& task : tasks) text += "\n  " + task;
  if (!tasks.empty()) text += "\n";
  return text + "\n" + lesson.title() + ": " + counts + "\n";
}

nlohmann::json to_json(const std::vector<CheckResult>& results, const lesson::Lesson& lesson) {
  nlohmann::json checks = nlohmann::json::array();
  int passed = 0;
  for (const auto& result : results) {
    static const char* const names[] = {"passed", "failed", "not_written", "ended", "stopped", "not_run"};
    checks.push_back({{"name", result.full_name()},
                      {"state", names[static_cast<int>(result.state)]},
                      {"text", result.passed() ? "" : describe(result, lesson)},
                      {"hint", result.passed() ? "" : hint_topic(result, lesson)}});
    passed += result.passed() ? 1 : 0;
  }
  return {{"lesson", lesson.name}, {"passed", passed}, {"total", results.size()}, {"checks", checks}};
}

}  // namespace attn::judge
