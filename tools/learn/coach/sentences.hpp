#pragma once

#include <string>
#include <vector>

#include "learn/coach/diagnostics.hpp"

namespace attn::learn {

/// A row of the table in sentences.cpp.
struct Advice {
  const char* meaning;       ///< a regular expression for meaning_of() the message: the same for GCC and clang
  const char* sentence;      ///< $1, $2 are groups of `meaning`
  const char* code = "";     ///< a regular expression for the line of code, without its comment
  bool adds_little = false;  ///< to the compiler's words, whose "did you mean" stays; else that would mislead
};

/// What a learner is told about an error.
struct Explanation {
  std::string sentence;         ///< empty when the table has none
  const Advice* row = nullptr;  ///< of the table
};

/// The first row of the table that fits.
Explanation explanation_of(const Diagnostic& diagnostic);

/// All rows of the table: for its tests.
const std::vector<Advice>& all_advice();

}  // namespace attn::learn
