#pragma once

#include <string>
#include <vector>

#include "verdict/failure.hpp"

namespace attn::judge {

/// "label   text" lines: the numbers of a result and the expected ones, beside each other where that is narrow enough for
/// any terminal, else one below the other. What differs has an asterisk. The labels are "got", "want" and, where only a
/// part is shown, "part".
std::vector<Statement> excerpt_lines(const Excerpt& excerpt);

/// The numbers that were got as a table, the label beside the first row.
std::vector<Statement> table_lines(const std::string& label, const Excerpt& excerpt);

}  // namespace attn::judge
