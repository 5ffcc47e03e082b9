#pragma once

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <string>

#include "system/files.hpp"

/// Checks of command lines that CLI11 does not have in words for a reader.
namespace attn {

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

/// A file that is not there yet, in a folder that is.
inline CLI::Validator is_new_file() {
  const auto wrong = [](const std::string& path) -> std::string {
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
