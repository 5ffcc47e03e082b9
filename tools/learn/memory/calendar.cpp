#include "learn/memory/calendar.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <stdexcept>

namespace attn::learn {

namespace {

constexpr long seconds_per_day = 24 * 60 * 60;
std::string formatted(const std::tm& parts, const char* format) {
  std::array<char, 64> text{};
  return {text.data(), std::strftime(text.data(), text.size(), format, &parts)};
}

std::tm parts_of(Day day) {
  const std::time_t time = day * seconds_per_day;
  std::tm parts{};
  gmtime_r(&time, &parts);
  return parts;
}

std::string lower_case(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

}  // namespace

Day today() { return parse_day(local_time(std::time(nullptr), "%Y-%m-%d")); }

std::string day_text(Day day) {
  const std::tm parts = parts_of(day);
  char text[64];
  std::snprintf(text, sizeof text, "%04d-%02d-%02d", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday);
  return text;
}

Day parse_day(const std::string& text) {
  std::tm parts{};
  const int read = std::sscanf(text.c_str(), "%4d-%2d-%2d", &parts.tm_year, &parts.tm_mon, &parts.tm_mday);
  if (read == 3 && parts.tm_year >= 0) {
    parts.tm_year -= 1900;
    parts.tm_mon -= 1;
    const Day day = timegm(&parts) / seconds_per_day;
    if (day_text(day) == text) return day;  // February 30 comes back as March 1 or 2, and 2026-1-1 with its zeros
  }
  throw std::invalid_argument("\"" + text + "\" is not a day; write one like 2026-11-21");
}

Day named_day(const std::string& name, Day today) {
  const std::string lower = lower_case(name);
  if (lower == "today") return today;
  if (lower == "tomorrow") return today + 1;
  for (Day day = today + 1; day <= today + 7; ++day) {
    const std::string weekday = lower_case(formatted(parts_of(day), "%A"));
    if (lower.size() >= 3 && weekday.compare(0, lower.size(), lower) == 0) return day;
  }
  try {
    return parse_day(name);
  } catch (const std::invalid_argument&) {
    throw std::invalid_argument("\"" + name + "\" is not a day; write one like Thursday, tomorrow or 2026-12-03");
  }
}

std::string weekday_text(Day day) { return formatted(parts_of(day), "%a"); }

std::string local_time(std::time_t time, const char* format) {
  std::tm parts{};
  localtime_r(&time, &parts);
  return formatted(parts, format);
}

std::string now_text() { return local_time(std::time(nullptr), "%Y-%m-%dT%H:%M:%S%z"); }

std::string now_for_a_name() { return local_time(std::time(nullptr), "%Y-%m-%d_%H-%M-%S"); }

}  // namespace attn::learn
