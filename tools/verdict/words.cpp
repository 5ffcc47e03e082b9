#include "verdict/words.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <map>
#include <optional>
#include <set>

#include "lesson/text.hpp"
#include "verdict/thrown.hpp"

namespace attn::judge {

namespace {

using State = CheckResult::State;

/// The lesson's, in the order of the catalogue, which begins with what is common.
using Mistakes = std::vector<lesson::Mistake>;

/// "  label   " before the text that it names.
std::string margin(const std::string& label) {
  constexpr std::size_t width = 8;
  return "  " + label + std::string(label.size() < width ? width - label.size() : 1, ' ');
}

/// "  label   text". Without a label, the text continues below that of the line before. An important line has this role as
/// a whole.
Line fact(const std::string& label, const std::string& text, Role role = Role::plain) {
  if (label.empty() || role == Role::important) return Line(margin(label) + text, role);
  return labelled(margin(label), text, role);
}

/// Rows after a label, the first beside it.
Lines facts(const std::string& label, const std::vector<std::string>& rows) {
  Lines lines;
  for (const auto& row : rows) lines.push_back(fact(lines.empty() ? label : "", row));
  return lines;
}

/// Every line of `text` after a label. A long text is cut.
Lines block(const std::string& label, const std::string& text) {
  constexpr std::size_t most_bytes = 2000;
  std::size_t end = std::min(text.size(), most_bytes);
  while (end < text.size() && end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;  // within UTF-8
  auto rows = lines_of(end < text.size() ? text.substr(0, end) + " ..." : text);
  rows.erase(std::remove(rows.begin(), rows.end(), ""), rows.end());
  return facts(label, rows);
}

/// The cells as rows of text, each column as wide as its widest cell.
std::vector<std::string> table(const Excerpt& excerpt, const std::function<std::string(const Excerpt::Cell&)>& text) {
  std::vector<std::string> rows(excerpt.cells.size());
  const std::size_t columns = rows.empty() ? 0 : excerpt.cells.front().size();
  for (std::size_t column = 0; column < columns; ++column) {
    std::size_t width = 0;
    for (const auto& row : excerpt.cells) width = std::max(width, text(row[column]).size());
    for (std::size_t row = 0; row < rows.size(); ++row) {
      const std::string cell = text(excerpt.cells[row][column]);
      rows[row] += (column == 0 ? "" : "  ") + std::string(width - cell.size(), ' ') + cell;
    }
  }
  return rows;
}

/// What is left of a sum that is 0, or of -0, is 0: -3.2e-17 says nothing.
double without_noise(double value) { return std::abs(value) < 1e-15 ? 0 : value; }

std::string cell_text(double value) {
  constexpr int digits = 4;
  return std::isnan(value) ? "NaN" : number_text(without_noise(value), digits);
}

/// The numbers of a result and the expected ones, beside each other where that is narrow enough for any terminal, else
/// one below the other. What differs has an asterisk.
/// @param slice that they are of, where there are several
Lines excerpt_lines(const Excerpt& excerpt, const std::string& slice) {
  constexpr std::size_t narrow = 46;  // fits beside a label in a terminal of 60 columns
  if (excerpt.cells.empty() || excerpt.cells.front().empty()) return {};
  auto got = table(excerpt, [](const auto& cell) { return cell_text(cell.got) + (cell.differs ? "*" : " "); });
  const auto want = table(excerpt, [](const auto& cell) { return cell_text(cell.expected); });
  const std::string between = "  want  ";

  Lines lines;
  if (!excerpt.whole) {
    const auto range = [](const std::string& what, std::size_t first, std::size_t count) {
      return what + " " + std::to_string(first) + " to " + std::to_string(first + count - 1);
    };
    lines.push_back(fact("part", slice + (slice.empty() ? "" : ", ") + range("rows", excerpt.row, got.size()) + ", " +
                                     range("columns", excerpt.column, excerpt.cells.front().size())));
  } else if (!slice.empty()) {
    lines.push_back(fact("part", slice));
  }
  const bool beside = got[0].size() + between.size() + want[0].size() <= narrow;
  for (std::size_t row = 0; beside && row < got.size(); ++row) {
    got[row] += (row == 0 ? between : std::string(between.size(), ' ')) + want[row];
  }
  append(lines, facts("got", got));
  if (!beside) append(lines, facts("want", want));
  return lines;
}

std::string sizes_text(const std::vector<std::size_t>& sizes) {
  std::vector<std::string> numbers;
  for (const auto size : sizes) numbers.push_back(std::to_string(size));
  return joined(numbers, " x ");
}

/// The axes that the sizes show, or nothing when they fit none, or more than one.
std::string recognised(const ShapeFact& shape) {
  if (std::set<std::size_t>(shape.expected.begin(), shape.expected.end()).size() != shape.expected.size()) return {};
  std::vector<std::string> names;
  for (const auto size : shape.got) {
    const auto found = std::find(shape.expected.begin(), shape.expected.end(), size);
    if (found == shape.expected.end()) return {};
    names.push_back(shape.axes[static_cast<std::size_t>(found - shape.expected.begin())]);
  }
  return joined(names, " x ");
}

/// "(4 of 24 differ)", "(1 of 24 is NaN)".
std::string count_text(const WorstElement& worst) {
  const bool nan = std::isnan(worst.got) && !std::isnan(worst.expected);
  const std::string verb = worst.wrong == 1 ? (nan ? "is NaN, not a number" : "differs")
                           : nan            ? "are NaN, not a number"
                                            : "differ";
  return "(" + std::to_string(worst.wrong) + " of " + std::to_string(worst.total) + " " + verb + ")";
}

/// @param worst of a result with this shape, if its numbers differ
Lines shape_lines(const ShapeFact& shape, const std::optional<WorstElement>& worst = {}) {
  if (shape.got == shape.expected) {
    const std::string differ = worst ? "   " + count_text(*worst) : "";
    return {fact("shape", sizes_text(shape.got) + " (" + joined(shape.axes, " x ") + ")   ok" + differ)};
  }
  std::string text = "got " + sizes_text(shape.got);
  if (!shape.axes.empty()) text += ", want " + sizes_text(shape.expected) + " (" + joined(shape.axes, " x ") + ")";
  if (std::find(shape.got.begin(), shape.got.end(), 0U) != shape.got.end()) {
    return {fact("shape", text), fact("", "what you returned is empty")};
  }
  const std::string order = recognised(shape);
  if (order.empty()) return {fact("shape", text)};
  const auto& axes = shape.axes;
  return {fact("shape", text), fact("", "you returned " + order + ", but rows are " + axes[0] + ", columns are " +
                                            axes[1] + (axes.size() > 2 ? ", slices are " + axes[2] : ""))};
}

Line worst_line(const WorstElement& worst) {
  std::string place = "row " + std::to_string(worst.place[0]) + ", col " + std::to_string(worst.place[1]);
  if (worst.place.size() > 2) place += ", slice " + std::to_string(worst.place[2]);
  if (std::isnan(worst.got) && !std::isnan(worst.expected)) return fact("value", "NaN (not a number) at " + place);
  const auto [got, want] = distinct_texts(without_noise(worst.got), without_noise(worst.expected));
  const double off = std::abs(worst.got - worst.expected);
  const std::string by = std::isfinite(off) ? ", off by " + number_text(off, 3) : "";
  return fact("value", "worst at " + place + ": got " + got + ", want " + want + by);
}

/// Whether the matrices show how the worst element differs: not where it takes more digits than they have.
bool shows_the_difference(const std::optional<Excerpt>& excerpt, const WorstElement& worst) {
  const bool has_cells = excerpt && !excerpt->cells.empty() && !excerpt->cells.front().empty();
  return has_cells && cell_text(worst.got) != cell_text(worst.expected);
}

std::string likely_text(const std::vector<std::string>& ids, const Mistakes& mistakes) {
  if (mistakes.empty()) return joined(ids, "; or ");
  std::vector<std::string> says;
  std::set<std::string> sentences(ids.begin(), ids.end());
  for (const auto& mistake : mistakes) {
    if (sentences.erase(mistake.id) != 0) says.push_back(mistake.says);
  }
  says.insert(says.end(), sentences.begin(), sentences.end());  // of operations (naming.hpp)
  return joined(says, "; or ");
}

/// The sentence that helps most is the loudest: the name of the mistake, or the notes where none is named.
Role note_role(const Failure& failure, bool names) {
  return names && !failure.likely.empty() ? Role::plain : Role::important;
}

Lines thrown_lines(const Failure& failure, Role note) {
  Lines lines;
  for (const auto& [label, thrown] : failure.statements) {
    if (thrown == "std::bad_alloc" || thrown.find("out of memory") != std::string::npos) {
      append(lines, block(label, thrown + ": it asked for more memory than a check may use"));
    } else {
      const std::string meaning = explain_thrown(thrown);
      append(lines, block(label, thrown));
      if (!meaning.empty()) lines.push_back(fact("note", meaning, note));
    }
  }
  return lines;
}

/// What there is to say of a failure: first what is wrong, as far as that is known, then what shows it.
struct FailureLines {
  Lines diagnosis;
  Lines evidence;
};

/// The numbers of a result, and what they were computed from.
Lines number_lines(const Failure& failure) {
  Lines lines;
  if (failure.worst && !shows_the_difference(failure.excerpt, *failure.worst)) {
    lines.push_back(worst_line(*failure.worst));
  }
  if (failure.excerpt) {
    const bool slices = failure.worst && failure.worst->place.size() > 2;
    append(lines, excerpt_lines(*failure.excerpt, slices ? "slice " + std::to_string(failure.worst->place[2]) : ""));
  }
  for (const auto& [name, input] : failure.given) {
    const auto rows = table(input, [](const auto& cell) { return cell_text(cell.got); });
    for (std::size_t row = 0; row < rows.size(); ++row) lines.emplace_back(margin(row == 0 ? name : "") + rows[row]);
  }
  return lines;
}

/// @param names    whether mistakes are named
/// @param borrowed the check that named the mistake, if not this one
/// @param beside   the name: what else is to be said of the mistake
FailureLines failure_lines(const Failure& failure, const Mistakes& mistakes = {}, bool names = true,
                           const std::string& borrowed = "", const Lines& beside = {}) {
  FailureLines lines;
  const Role note = note_role(failure, names);
  const bool named = names && !failure.likely.empty();
  if (named) {
    const std::string source = borrowed.empty() ? "" : " (shown by " + borrowed + ")";
    lines.diagnosis.push_back(fact("likely", likely_text(failure.likely, mistakes) + source, Role::important));
    append(lines.diagnosis, beside);
  }
  const bool nearly = failure.worst && std::abs(failure.worst->got - failure.worst->expected) < 1e-5;
  if (nearly) {
    lines.diagnosis.push_back(fact("note", "nearly right: is there a float, or a small number added?", note));
  }
  for (const auto& sentence : failure.notes) lines.diagnosis.push_back(fact("note", sentence, note));
  if (names && failure.likely.empty() && !failure.likeness.empty()) {
    lines.diagnosis.push_back(fact("note", failure.likeness, note));
  }

  Lines statements;
  if (failure.kind == Failure::Kind::exception) {
    statements = thrown_lines(failure, note);
  } else {
    for (const auto& [label, sentence] : failure.statements) append(statements, block(label, sentence));
  }
  if (!failure.expression.empty()) {
    lines.evidence.push_back(fact(failure.expression.back() == ')' ? "call" : "result", failure.expression));
  }
  const bool wrong_shape = failure.shape && failure.shape->got != failure.shape->expected;
  if (failure.shape)
    append(wrong_shape && !named ? lines.diagnosis : lines.evidence, shape_lines(*failure.shape, failure.worst));
  append(lines.evidence, number_lines(failure));
  const bool says_what_happened = failure.kind == Failure::Kind::exception || failure.kind == Failure::Kind::ended ||
                                  failure.kind == Failure::Kind::not_written;
  if (!named && says_what_happened) {
    lines.diagnosis.insert(lines.diagnosis.begin(), statements.begin(), statements.end());
  } else {
    append(!named && lines.diagnosis.empty() ? lines.diagnosis : lines.evidence, statements);
  }
  return lines;
}

/// @param beside the name of a mistake: what else is to be said of it
FailureLines reasons(const CheckResult& result, const Mistakes& mistakes = {}, bool names = true,
                     const Lines& beside = {}) {
  if (result.state == State::not_run) return {{fact("ended", "not run: checks before it took too long")}, {}};
  const Failure* shown = result.shown();
  if (shown == nullptr) return {};
  FailureLines lines = failure_lines(*shown, mistakes, names, result.borrowed, beside);
  if (result.state == State::not_written && !lines.diagnosis.empty()) lines.diagnosis.front().place = result.place;
  return lines;
}

/// The first thing that is wrong, and its label: not what was looked at, nor a shape that is right.
/// @param names whether it may be what the numbers look like
Statement first_reason(const CheckResult& result, bool names = true) {
  CheckResult plain = result;
  if (Failure* shown = plain.shown()) {
    if (shown->kind == Failure::Kind::value && shown->worst) {
      return {"", names && !shown->likeness.empty() ? shown->likeness : "the numbers differ"};
    }
    const auto& said = shown->statements;
    if (said.size() > 1 && said[0].label == "threw" && said[1].label == "wanted") {
      return {said[0].label, said[0].text + ", wanted " + said[1].text};
    }
    shown->expression.clear();
    shown->likely.clear();
    shown->notes.clear();
    if (shown->worst) shown->shape.reset();
  }
  const FailureLines lines = reasons(plain, {}, names);
  const Lines& first = lines.diagnosis.empty() ? lines.evidence : lines.diagnosis;
  const std::string row = first.empty() ? "" : first.front().text();  // "  threw   out of ideas"
  const auto begin = std::min(row.size(), row.find_first_not_of(' '));
  const auto label_end = row.find(' ', begin);
  const auto text = row.find_first_not_of(' ', label_end);
  if (text == std::string::npos) return {"", row.substr(begin)};
  return {row.substr(begin, label_end - begin), row.substr(text)};
}

Lines printed_lines(const CheckResult& result) {
  constexpr std::size_t most_lines = 12;
  auto rows = lines_of(result.printed);
  rows.resize(std::min(rows.size(), most_lines));
  std::size_t bytes = 0;
  for (const auto& row : rows) bytes += row.size() + 1;
  Lines shown = facts("printed", rows);
  if (bytes < result.printed_bytes) {
    shown.push_back(fact("", "... " + std::to_string(result.printed_bytes) + " bytes in all"));
  }
  return shown;
}

/// "24.1", not "24", which stands for a task that is not known.
bool is_task(const std::string& topic) { return topic.find('.') != std::string::npos; }

/// Whether a check shows one of these mistakes.
bool shows_one_of(const CheckResult& check, const std::vector<std::string>& ids) {
  const Failure* shown = check.shown();
  return shown != nullptr && std::any_of(ids.begin(), ids.end(), [&](const std::string& id) {
           return std::find(shown->likely.begin(), shown->likely.end(), id) != shown->likely.end();
         });
}

/// The other checks that fail by the mistake that this one shows: "11 more checks fail for this reason". Those of another
/// task say nothing about what is written there.
Lines same_mistake(const Report& report, const CheckResult& first) {
  const Failure* shown = first.shown();
  if (shown == nullptr || shown->likely.empty()) return {};
  int more = 0;
  std::map<std::string, int> of_others;  // by task
  for (const auto& result : report.checks) {
    if (&result == &first || !shows_one_of(result, shown->likely)) continue;
    ++more;
    if (result.task != first.task && is_task(result.task) && is_task(first.task)) ++of_others[result.task];
  }
  if (more == 0) return {};
  std::vector<std::string> tasks;
  int others = 0;
  for (const auto& [task, count] : of_others) {
    tasks.push_back(task);
    others += count;
  }
  std::string text = counted(more, "more check") + (more == 1 ? " fails" : " fail") + " for this reason";
  if (others > 0) {
    text += ", " + std::to_string(others) + " of " + joined(tasks, ", ") + ", which may be right";
  }
  return {fact("", text)};
}

/// What the check of a task says when one of another task shows the same mistake before it.
Lines earlier_mistake(const Report& report, const CheckResult& check) {
  const Failure* shown = check.shown();
  if (shown == nullptr || shown->likely.empty()) return {};
  for (const auto& earlier : report.checks) {
    if (&earlier == &check || earlier.full_name() == check.full_name()) break;
    if (earlier.task == check.task || !is_task(earlier.task) || !shows_one_of(earlier, shown->likely)) continue;
    return {fact(
        "", "fix it in " + earlier.task + " first (" + earlier.full_name() + "): " + check.task + " may be right")};
  }
  return {};
}

/// The mistakes that only other checks named, each with its task.
Lines also_likely(const Report& report, const CheckResult& first, const lesson::Lesson& lesson) {
  if (report.named().empty()) return {};
  const Mistakes mistakes = lesson.mistakes();
  Lines lines;
  std::set<std::string> known;
  for (const auto& failure : first.failures) known.insert(failure.likely.begin(), failure.likely.end());
  for (const auto& result : report.checks) {
    const Failure* shown = result.shown();
    if (shown == nullptr) continue;
    const bool new_to_us = std::none_of(shown->likely.begin(), shown->likely.end(),
                                        [&](const std::string& id) { return known.count(id) != 0; });
    if (!shown->likely.empty() && new_to_us) {
      const auto shows = std::count_if(report.checks.begin(), report.checks.end(),
                                       [&](const auto& other) { return shows_one_of(other, shown->likely); });
      const std::string more = shows > 1 ? " and " + std::to_string(shows - 1) + " more" : "";
      lines.push_back(fact(result.task,
                           likely_text(shown->likely, mistakes) + " (shown by " + result.full_name() + more + ")",
                           Role::important));
    }
    known.insert(shown->likely.begin(), shown->likely.end());
  }
  if (!lines.empty()) lines.insert(lines.begin(), {"", "also likely"});
  return lines;
}

/// The failing checks that no mistake was named for: those of a task that fail for the same reason in one line, with the
/// name of the first.
/// @param names whether mistakes are named; otherwise each check is here
Lines also_failing(const Report& report, const CheckResult& first, bool names) {
  struct Row {
    std::string task;
    Statement reason;
    std::vector<const CheckResult*> results;
  };
  std::vector<Row> rows;
  for (const auto& result : report.checks) {
    if (&result == &first || result.passed()) continue;
    if (result.state == State::not_written || result.state == State::not_run) continue;
    if (names && result.shown() != nullptr && !result.shown()->likely.empty()) continue;
    const Statement reason = first_reason(result, names);
    const auto known = std::find_if(rows.begin(), rows.end(), [&](const Row& row) {
      return row.task == result.task && row.reason.label == reason.label && row.reason.text == reason.text;
    });
    if (known == rows.end()) {
      rows.push_back({result.task, reason, {&result}});
    } else {
      known->results.push_back(&result);
    }
  }
  Lines lines;
  for (const auto& [task, reason, results] : rows) {
    const auto more = results.size() - 1;
    const std::string label = reason.label.empty() ? "" : reason.label + "   ";
    lines.emplace_back("  ✗ " + results.front()->full_name() +
                           (more > 0 ? " and " + std::to_string(more) + " more" : "") + ": " + label + reason.text,
                       Role::aside);
  }
  if (!lines.empty()) lines.insert(lines.begin(), {Line(), Line("also failing", Role::aside)});
  return lines;
}

/// A check as a whole: what is wrong, where, and what helps; then what shows it.
/// @param beside the name of the mistake
/// @param effect of the mistake: how to see it
Lines lines_about(const CheckResult& result, const lesson::Lesson& lesson, const Lines& beside, const Lines& effect) {
  const std::string head = lesson.title() + " · " + result.full_name();
  if (result.passed()) return {Line("✓ " + head, Role::passed)};
  const bool to_do = result.state == State::not_written;  // no failure yet
  Lines lines = {to_do ? Line(lesson.title() + " · to do: " + result.task, Role::important)
                       : Line("✗ " + head, Role::failed)};
  const Failure* shown = result.shown();
  const bool has_names = shown != nullptr && !shown->likely.empty();
  const FailureLines why = reasons(result, has_names ? lesson.mistakes() : Mistakes{}, !lesson.in_interview(), beside);
  append(lines, why.diagnosis);
  if (!to_do) {
    const std::string function = result.function.empty() ? "" : result.function + ", from ";
    lines.push_back(fact("where", function + result.place.text()));
    lines.back().place = result.place;
  }
  if (!lesson.in_interview()) {
    lines.push_back(fact("hint", "./learn hint " + result.task, Role::hint));
    append(lines, effect);
  }
  append(lines, why.evidence);
  append(lines, printed_lines(result));
  return lines;
}

}  // namespace

std::string number_text(double value, int digits) {
  char text[32];
  std::snprintf(text, sizeof text, "%.*g", digits, value);
  return text;
}

std::pair<std::string, std::string> distinct_texts(double a, double b) {
  int digits = 6;
  while (digits < 17 && number_text(a, digits) == number_text(b, digits)) ++digits;
  return {number_text(a, digits), number_text(b, digits)};
}

Lines lines_about(const CheckResult& result, const lesson::Lesson& lesson) {
  return lines_about(result, lesson, {}, {});
}

Lines lines_about(const CheckResult& result, const Report& whole, const lesson::Lesson& lesson) {
  return lines_about(result, lesson, earlier_mistake(whole, result), {});
}

Lines lines_about(const Report& report, const lesson::Lesson& lesson) {
  const auto counts = [&] {
    return std::to_string(report.passed()) + " of " + std::to_string(report.checks.size()) + " checks passed";
  };
  const CheckResult* first = report.first_failing();
  if (first == nullptr) {
    Lines passed = {Line("✓ " + lesson.title() + ": " + counts(), Role::passed)};
    for (const auto& remark : report.remarks) passed.push_back(fact("note", remark, Role::important));
    return passed;
  }

  const bool names = !lesson.in_interview();
  Lines effect;
  if (const std::string name = names ? break_name(report, lesson) : ""; !name.empty()) {
    effect = {fact("effect", "./learn train --break " + name + " shows what it does to learning")};
  }
  Lines lines = lines_about(*first, lesson, same_mistake(report, *first), effect);
  if (names) append(lines, also_likely(report, *first, lesson));
  append(lines, also_failing(report, *first, names));
  const auto not_run = std::count_if(report.checks.begin(), report.checks.end(),
                                     [](const auto& result) { return result.state == State::not_run; });
  if (not_run > 0) {
    const std::string last = std::to_string(not_run);
    append(lines, {"", "not run: the last " + last + ", because checks before them took too long"});
  }
  if (!report.open_tasks.empty()) append(lines, {"", "to do"});
  for (const auto& [task, place] : report.open_tasks) {
    lines.emplace_back("  TODO(" + task + ")  " + place.text());
    lines.back().place = place;
  }
  append(lines, {"", lesson.title() + ": " + counts()});
  return lines;
}

std::string break_name(const Report& report, const lesson::Lesson& lesson) {
  if (report.named().empty()) return "";
  const std::vector<lesson::Mistake> mistakes = lesson.mistakes();
  for (const CheckResult& check : report.checks) {
    const Failure* shown = check.shown();
    if (shown == nullptr) continue;
    for (const lesson::Mistake& mistake : mistakes) {
      if (std::find(shown->likely.begin(), shown->likely.end(), mistake.id) == shown->likely.end()) continue;
      if (std::string name = lesson.break_name(mistake); !name.empty()) return name;
    }
  }
  return "";
}

std::string describe(const CheckResult& result, const lesson::Lesson& lesson) {
  return text_of(lines_about(result, lesson));
}

std::string describe(const Failure& failure) {
  std::string text;
  const FailureLines lines = failure_lines(failure);
  for (const auto* part : {&lines.diagnosis, &lines.evidence}) {
    for (const auto& line : *part) text += "\n" + line.text();
  }
  return text;
}

std::string short_reason(const CheckResult& result) {
  const Statement reason = first_reason(result);
  return reason.label.empty() ? reason.text : reason.label + ": " + reason.text;
}

}  // namespace attn::judge
