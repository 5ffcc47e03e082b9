#pragma once

#include <string>
#include <utility>

#include "lesson/line.hpp"
#include "verdict/report.hpp"

/// A report in words: as lines, which the tool shows by their roles and CTest prints as text.
namespace attn::judge {

/// One check as a whole: what is wrong, where, and what helps, then shapes and numbers, so that the beginning fits a small
/// screen. In an interview without the names of mistakes and the command that shows hints: it gives none before it is
/// over.
Lines lines_about(const CheckResult& result, const lesson::Lesson& lesson);

/// The same, and whether a check of another task shows the same mistake before it.
/// @param whole the report that the check is of
Lines lines_about(const CheckResult& result, const Report& whole, const lesson::Lesson& lesson);

/// All checks: the first that fails as a whole, with the number of those that fail by the same mistake; the others in a
/// line for each reason.
Lines lines_about(const Report& report, const lesson::Lesson& lesson);

/// What `./learn train --break` calls the mistake that a report names first, of those that it can show; empty if none.
std::string break_name(const Report& report, const lesson::Lesson& lesson);

/// One check as text.
std::string describe(const CheckResult& result, const lesson::Lesson& lesson);

/// The first thing that a failing check has to say, in a line: "threw: out of ideas".
std::string short_reason(const CheckResult& result);

/// A failed assertion alone, with ids instead of sentences: for a debugger's terminal.
std::string describe(const Failure& failure);

/// "0.25", and two numbers with as many digits as it takes to tell them apart.
std::string number_text(double value, int digits = 6);
std::pair<std::string, std::string> distinct_texts(double a, double b);

}  // namespace attn::judge
