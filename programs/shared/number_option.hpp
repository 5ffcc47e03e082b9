#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace attn {

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
