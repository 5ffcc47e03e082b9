#include "verdict/words.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <set>
#include <sstream>

#include "verdict/excerpt_text.hpp"
#include "verdict/thrown.hpp"

namespace attn::judge {

namespace {

using State = CheckResult::State;

/// The ids of a lesson's mistakes and their sentences, in the order of the catalogue, which begins with what is common.
using Sentences = std::vector<std::pair<std::string, std::string>>;

/// "  label   text" on a line of its own.
std::string line(const std::string& label, const std::string& text) {
  constexpr std::size_t width = 8;
  return "\n  " + label + std::string(label.size() < width ? width - label.size() : 1, ' ') + text;
}

/// Every line of `text` after a label, the first line beside it. A long text is cut.
std::string block(const std::string& label, const std::string& text) {
  constexpr std::size_t most_bytes = 2000;
  std::size_t end = std::min(text.size(), most_bytes);
  while (end < text.size() && end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;  // within UTF-8
  std::string lines;
  std::istringstream in(end < text.size() ? text.substr(0, end) + " ..." : text);
  for (std::string row; std::getline(in, row);) {
    if (!row.empty()) lines += line(lines.empty() ? label : "", row);
  }
  return lines;
}

std::string joined(const std::vector<std::string>& words, const std::string& between) {
  std::string text;
  for (const auto& word : words) text += (text.empty() ? "" : between) + word;
  return text;
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

std::string shape_lines(const ShapeFact& shape) {
  if (shape.got == shape.expected) {
    return line("shape", sizes_text(shape.got) + " (" + joined(shape.axes, " x ") + ")   ok");
  }
  std::string text = "got " + sizes_text(shape.got);
  if (!shape.axes.empty()) text += ", want " + sizes_text(shape.expected) + " (" + joined(shape.axes, " x ") + ")";
  if (std::find(shape.got.begin(), shape.got.end(), 0U) != shape.got.end()) {
    return line("shape", text) + line("", "what you returned is empty");
  }
  const std::string order = recognised(shape);
  if (order.empty()) return line("shape", text);
  const auto& axes = shape.axes;
  return line("shape", text) + line("", "you returned " + order + ", but rows are " + axes[0] + ", columns are " +
                                            axes[1] + (axes.size() > 2 ? ", slices are " + axes[2] : ""));
}

std::string worst_lines(const WorstElement& worst) {
  std::string place = "row " + std::to_string(worst.place[0]) + ", col " + std::to_string(worst.place[1]);
  if (worst.place.size() > 2) place += ", slice " + std::to_string(worst.place[2]);
  const auto counted = [&](const std::string& verb) {
    return "   (" + std::to_string(worst.wrong) + " of " + std::to_string(worst.total) + " " + verb + ")";
  };
  if (std::isnan(worst.got) && !std::isnan(worst.expected)) {
    return line("value", "NaN (not a number) at " + place + counted(worst.wrong == 1 ? "is NaN" : "are NaN"));
  }
  const auto [got, want] = distinct_texts(worst.got, worst.expected);
  const double off = std::abs(worst.got - worst.expected);
  const std::string by = std::isfinite(off) ? ", off by " + number_text(off, 3) : "";
  return line("value", "worst at " + place + ": got " + got + ", want " + want + by +
                           counted(worst.wrong == 1 ? "differs" : "differ"));
}

std::string likely_text(const std::vector<std::string>& ids, const Sentences& sentences) {
  if (sentences.empty()) return joined(ids, "; or ");
  std::vector<std::string> says;
  for (const auto& [id, sentence] : sentences) {
    if (std::find(ids.begin(), ids.end(), id) != ids.end()) says.push_back(sentence);
  }
  return joined(says, "; or ");
}

std::string likely_line(const std::vector<std::string>& ids, const Sentences& sentences, const std::string& borrowed) {
  const std::string source = borrowed.empty() ? "" : " (shown by " + borrowed + ")";
  return ids.empty() ? "" : line("likely", likely_text(ids, sentences) + source);
}

std::string thrown_lines(const Failure& failure) {
  std::string text;
  for (const auto& [label, thrown] : failure.statements) {
    if (thrown == "std::bad_alloc" || thrown.find("out of memory") != std::string::npos) {
      text += block(label, thrown + ": it asked for more memory than a check may use");
    } else {
      const std::string meaning = explain_thrown(thrown);
      text += block(label, thrown) + (meaning.empty() ? "" : line("note", meaning));
    }
  }
  return text;
}

/// The lines between the headline and the place.
std::string failure_lines(const Failure& failure, const Sentences& sentences, const Wording& wording,
                          const std::string& borrowed = "") {
  std::string text = failure.expression.empty() ? "" : line("of", failure.expression);
  if (failure.shape) text += shape_lines(*failure.shape);
  if (failure.worst) text += worst_lines(*failure.worst);
  if (failure.excerpt) {
    for (const auto& [label, row] : excerpt_lines(*failure.excerpt)) text += line(label, row);
  }
  for (const auto& [label, row] : failure.given) text += line(label, row);
  if (failure.kind == Failure::Kind::exception) {
    text += thrown_lines(failure);
  } else {
    for (const auto& [label, sentence] : failure.statements) text += block(label, sentence);
  }
  const bool nearly = failure.worst && std::abs(failure.worst->got - failure.worst->expected) < 1e-5;
  if (nearly) text += line("note", "nearly right: is there a float, or a small number added?");
  if (wording.names) text += likely_line(failure.likely, sentences, borrowed);
  for (const auto& note : failure.notes) text += line("note", note);
  if (wording.names && failure.likely.empty() && !failure.likeness.empty()) text += line("note", failure.likeness);
  return text;
}

std::string reasons(const CheckResult& result, const Sentences& sentences, const Wording& wording) {
  if (result.state == State::not_run) return line("ended", "not run: checks before it took too long");
  const Failure* shown = result.shown();
  return shown == nullptr ? "" : failure_lines(*shown, sentences, wording, result.borrowed);
}

/// "label   text" of the first thing that is wrong: not what was looked at, nor a shape that is right.
std::string first_reason(const CheckResult& result) {
  CheckResult plain = result;
  if (Failure* shown = plain.shown()) {
    shown->expression.clear();
    if (shown->worst) shown->shape.reset();
  }
  std::istringstream in(reasons(plain, {}, {}));
  std::string row;
  std::getline(in, row);  // the first line is empty
  std::getline(in, row);
  return row.substr(std::min(row.size(), row.find_first_not_of(' ')));
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

Sentences sentences_of(const lesson::Lesson& lesson) {
  Sentences sentences;
  for (const auto& mistake : lesson.mistakes()) sentences.emplace_back(mistake.id, mistake.says);
  return sentences;
}

/// The mistakes that only other checks named, each with its task.
std::string also_likely(const Report& report, const CheckResult& first, const lesson::Lesson& lesson) {
  if (report.named().empty()) return {};
  const Sentences sentences = sentences_of(lesson);
  std::string text;
  std::set<std::string> known;
  for (const auto& failure : first.failures) known.insert(failure.likely.begin(), failure.likely.end());
  for (const auto& result : report.checks) {
    const Failure* shown = result.shown();
    if (shown == nullptr) continue;
    const bool new_to_us = std::none_of(shown->likely.begin(), shown->likely.end(),
                                        [&](const std::string& id) { return known.count(id) != 0; });
    if (!shown->likely.empty() && new_to_us) {
      text += line(result.task, likely_text(shown->likely, sentences) + " (shown by " + result.full_name() + ")");
    }
    known.insert(shown->likely.begin(), shown->likely.end());
  }
  return text.empty() ? "" : "\nalso likely" + text + "\n";
}

/// The other failing checks: those that fail for the same reason in one line, with the name of the first.
std::string also_failing(const Report& report, const CheckResult& first) {
  std::vector<std::pair<std::string, std::vector<const CheckResult*>>> reasons;
  for (const auto& result : report.checks) {
    if (&result == &first || result.passed()) continue;
    if (result.state == State::not_written || result.state == State::not_run) continue;
    const std::string reason = first_reason(result);
    const auto known =
        std::find_if(reasons.begin(), reasons.end(), [&](const auto& one) { return one.first == reason; });
    if (known == reasons.end()) {
      reasons.push_back({reason, {&result}});
    } else {
      known->second.push_back(&result);
    }
  }
  std::string others;
  for (const auto& [reason, results] : reasons) {
    const auto more = results.size() - 1;
    others += "\n  ✗ " + results.front()->full_name() + (more > 0 ? " and " + std::to_string(more) + " more" : "") +
              ": " + reason;
  }
  return others.empty() ? "" : "\nalso failing" + others + "\n";
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

std::string describe(const Failure& failure) { return failure_lines(failure, {}, {}); }

std::string describe(const CheckResult& result, const lesson::Lesson& lesson, const Wording& wording) {
  const std::string head = lesson.title() + " · " + result.full_name();
  if (result.passed()) return "✓ " + head + "\n";
  std::string text = "✗ " + head;
  const Failure* shown = result.shown();
  const bool has_names = shown != nullptr && !shown->likely.empty();
  text += reasons(result, has_names ? sentences_of(lesson) : Sentences{}, wording);
  text += printed_lines(result);
  if (result.state != State::not_written) text += line("where", result.place());
  if (wording.hints) text += line("hint", "./learn hint " + result.task);
  return text + "\n";
}

std::string short_reason(const CheckResult& result) {
  const std::string reason = first_reason(result);  // "threw   out of ideas"
  const auto label_end = reason.find(' ');
  const auto text = reason.find_first_not_of(' ', label_end);
  return text == std::string::npos ? reason : reason.substr(0, label_end) + ": " + reason.substr(text);
}

std::string describe_all(const Report& report, const lesson::Lesson& lesson, const Wording& wording) {
  const auto counts = [&] {
    return std::to_string(report.passed()) + " of " + std::to_string(report.checks.size()) + " checks passed";
  };
  const CheckResult* first = report.first_failing();
  if (first == nullptr) {
    std::string passed = "✓ " + lesson.title() + ": " + counts() + "\n";
    for (const auto& remark : report.remarks) passed += line("note", remark).substr(1) + "\n";
    return passed;
  }

  std::string text = describe(*first, lesson, wording);
  if (wording.names) text += also_likely(report, *first, lesson);
  text += also_failing(report, *first);
  const auto not_run = std::count_if(report.checks.begin(), report.checks.end(),
                                     [](const auto& result) { return result.state == State::not_run; });
  if (not_run > 0)
    text += "\nnot run: the last " + std::to_string(not_run) + ", because checks before them took too long\n";
  if (!report.open_tasks.empty()) {
    text += "\nnot written yet";
    for (const auto& open : report.open_tasks) text += "\n  TODO(" + open.task + ")  " + open.place;
    text += "\n";
  }
  return text + "\n" + lesson.title() + ": " + counts() + "\n";
}

}  // namespace attn::judge
