#pragma once

#include <ctime>
#include <string>

/// Days and times as the learner's clock shows them.
namespace attn::learn {

/// A day of the calendar, as days since 1970-01-01.
using Day = long;

/// The learner's own day (local time).
Day today();

/// "2026-11-21".
std::string day_text(Day day);

/// @throws std::invalid_argument naming the text when it is not the "YYYY-MM-DD" of a day that exists.
Day parse_day(const std::string& text);

/// A day by its name: "2026-12-03", "today", "tomorrow", or a day of the week ("Thursday", "thu"), the next one after
/// today.
/// @throws std::invalid_argument naming the text when it is none of these.
Day named_day(const std::string& name, Day today);

/// "Thu", for a table.
std::string weekday_text(Day day);

/// A time in the learner's zone, as strftime writes it.
std::string local_time(std::time_t time, const char* format);

/// Now: "2026-11-21T15:04:05+0100".
std::string now_text();

/// Now, for a file's name: "2026-11-21_15-04-05".
std::string now_for_a_name();

}  // namespace attn::learn
