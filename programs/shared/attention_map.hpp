#pragma once

#include <armadillo>
#include <string>
#include <vector>

#include "system/text_style.hpp"

namespace attn {

/// Attention as text: a row for each query, a column for each key, both headed by their tokens, and in each cell the
/// weight as a percentage on a colour (plain styles: with a shade beside it), scaled to the map's largest weight, with
/// a key. A weight of exactly 0 is "-", in a map without percentages nothing. Chinese characters count as two columns.
///
/// Where tokens do not fit above their columns they are shortened. Where percentages do not fit, the map has only
/// colours or shades, and tokens are written downwards; numbers (from 1) head columns only where not even that fits.
/// Of more than 40 tokens, or than fit, the first ones are shown.
///
/// @param weights (L x L): rows are queries, columns are keys
/// @param tokens  L of them, UTF-8; other bytes and control characters are shown as "?"
/// @param style   of the terminal; no line is wider than style.table_columns(), if that is at least 60
/// @throws std::invalid_argument naming weights, its shape and what was expected, when it is not L x L.
std::string attention_map_text(const arma::mat& weights, const std::vector<std::string>& tokens,
                               const TextStyle& style);

/// The same as a picture, the text of an SVG file (UTF-8): the sentence as title, a panel for the mean of the heads and
/// one for each head, the percentages as text, a colour key, colours for light and for dark pages, and a title and a
/// description for readers who cannot see it. Of more than 64 tokens the first 64 are shown, and the caption says so.
///
/// @param weights (L x L x H), as weights_of_sentence returns them
/// @param tokens  L of them; other bytes and control characters become U+FFFD
/// @param origin  where the weights come from, a sentence of ASCII letters for the caption
/// @throws std::invalid_argument naming weights, its shape and what was expected, when it is not L x L x H, H at
///         least 1.
std::string attention_map_svg(const arma::cube& weights, const std::vector<std::string>& tokens,
                              const std::string& origin);

}  // namespace attn
