#pragma once

#include <string>
#include <vector>

/// Formulas for terminals: Markdown has them as LaTeX in ```math blocks, which GitHub and the site typeset.
namespace attn {

/// A formula as plain text: "softmax(Q Kᵀ / √D) V" for "\text{softmax}\left(\frac{Q K^\top}{\sqrt{D}}\right) V". Spaces
/// between factors stay as they are written. The rows of `aligned` and `cases` become lines; a line that is too long
/// for a terminal is broken at \qquad.
/// @throws std::invalid_argument for a command that has no such form, and for what LaTeX would not accept
std::string plain_formula(const std::string& latex);

/// Markdown whose ```math blocks are blocks of plain text. One that has no such form stays LaTeX.
/// @param problems if given, why those have none
std::string with_plain_formulas(const std::string& markdown, std::vector<std::string>* problems = nullptr);

}  // namespace attn
