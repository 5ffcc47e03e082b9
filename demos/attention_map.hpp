#pragma once

#include <armadillo>
#include <string>
#include <vector>

namespace attn {

/// Attention drawn with letters, for a terminal of 72 columns without colours: a row for every query, a column
/// for every key, and in each cell the weight as a percentage with a shade beside it. A
/// weight of exactly 0 is "-". Chinese characters count as two columns.
///
/// Columns are headed by the tokens where they fit, else by their numbers (from 1); beyond eleven or so only
/// shades fit, each relative to its row's largest weight, and of more than 40 tokens the first 40 are shown.
///
/// @param weights (L x L): rows are queries, columns are keys
/// @param tokens  L of them, UTF-8; other bytes and control characters are shown as "?"
/// @throws std::invalid_argument naming weights, its shape and what was expected, when it is not L x L.
std::string attention_map_text(const arma::mat& weights, const std::vector<std::string>& tokens);

/// The same as a picture, the text of an SVG file (UTF-8): a panel for each head, the percentages as text, and a title
/// and a description for readers who cannot see it. Of more than 64 tokens the first 64 are shown, and the caption says
/// so.
///
/// @param weights (L x L x H), as weights_of_sentence returns them
/// @param tokens  L of them; other bytes and control characters become U+FFFD
/// @throws std::invalid_argument naming weights, its shape and what was expected, when it is not L x L x H, H at
///         least 1.
std::string attention_map_svg(const arma::cube& weights, const std::vector<std::string>& tokens);

}  // namespace attn
