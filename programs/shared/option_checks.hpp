#pragma once

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <iostream>
#include <sstream>
#include <string>

#include "lesson/text.hpp"
#include "system/files.hpp"

/// Checks of command lines that CLI11 does not have in words for a reader.
namespace attn {

/// What CLI11 says as a terminal can show it: an argument may be long, or hold control characters. The middle of a long line is
/// left out, as its end says what was expected.
inline std::string shown_lines(const std::string& text) {
  constexpr int most = 500, end = 150;
  std::istringstream lines(text);
  std::string shown;
  for (std::string line; std::getline(lines, line);) {
    line = harmless(line);
    const int columns = columns_of(line);
    if (columns > most) {
      line = cut(line, most - end) + columns_between(line, columns - end, columns);
    }
    shown += line + "\n";
  }
  return shown;
}

/// Prints the help, or what is wrong with the command line.
/// @return the exit code: 2 when something is wrong
inline int report_usage(const CLI::App& app, const CLI::ParseError& error) {
  std::ostringstream wrong;
  const int code = app.exit(error, std::cout, wrong);
  std::cerr << shown_lines(wrong.str());
  return code == 0 ? 0 : 2;
}

/// An integer of at least 0: CLI11's NonNegativeNumber shows the largest double, 309 digits.
inline CLI::Validator is_count() {
  const auto wrong = [](const std::string& text) {
    std::uint64_t value = 0;
    errno = 0;  // CLI11 takes 2^64 and above for 2^64 - 1
    const bool right = text.find('-') == std::string::npos && CLI::detail::lexical_cast(text, value) && errno != ERANGE;
    return right ? "" : "it is " + text + ", expected an integer of at least 0, and below 2^64";
  };
  return CLI::Validator(wrong, "");
}

/// A name of our own files: it is printed, also in commands to copy.
inline CLI::Validator is_plain_name() {
  const auto wrong = [](const std::string& path) {
    return harmless(path) == path ? "" : "it is " + path + ", expected a name without control characters";
  };
  return CLI::Validator(wrong, "");
}

/// A file that is not there yet, in a folder that is.
inline CLI::Validator is_new_file() {
  const auto wrong = [](const std::string& path) -> std::string {
    if (const std::string why = is_plain_name()(path); !why.empty()) return why;
    try {
      require_new_file(path);
    } catch (const std::exception& error) {
      return error.what();
    }
    const std::filesystem::path folder = std::filesystem::path(path).parent_path();
    if (folder.empty() || std::filesystem::is_directory(folder)) return "";
    return path + " cannot be written: there is no folder " + folder.string();
  };
  return CLI::Validator(wrong, "");
}

/// Checks a number of a command line: "it is -1, expected above 0 and at most 1".
/// @param fits     bool(double), whether it will do; of NaN, too
/// @param expected what would
template <typename Fits>
CLI::Validator number_that(const Fits& fits, const std::string& expected) {
  const auto why_not = [=](const std::string& text) {
    double value = 0;
    const bool right = CLI::detail::lexical_cast(text, value) && fits(value);
    return right ? "" : "it is " + text + ", expected " + expected;
  };
  return CLI::Validator(why_not, "");
}

}  // namespace attn
