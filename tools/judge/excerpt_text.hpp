#pragma once

#include <string>
#include <vector>

#include "judge/failure.hpp"

namespace attn::judge {

/// "label   text" lines: the numbers of a result and the expected ones, beside each other where that is narrow enough for
/// any terminal, else one below the other. What differs has an asterisk. The labels are "got", "want" and, where only a
/// part is shown, "part".
std::vector<Statement> excerpt_lines(const Excerpt& excerpt);

}  // namespace attn::judge
