#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

#include "lesson/utf8.hpp"

/// What the maps have in common: tokens cut into characters, and weights in figures.
namespace attn::maps {

using utf8::Character;

/// The characters of a token, which has to outlive them, with a replacement for those that cannot be shown: a learner's
/// tokenize() may return any bytes. XML excludes U+FFFE and U+FFFF, too.
inline std::vector<Character> characters_of(const std::string& token, const Character& replacement) {
  std::vector<Character> characters = utf8::characters(token);
  for (Character& character : characters) {
    if (!character.printable() || character.code == 0xFFFE || character.code == 0xFFFF) character = replacement;
  }
  return characters;
}

/// How many columns of a terminal they take.
inline std::size_t width_of(const std::vector<Character>& characters) {
  std::size_t width = 0;
  for (const Character& character : characters) width += static_cast<std::size_t>(character.columns);
  return width;
}

/// At most so many columns wide; what was cut is shown as `mark`, one column wide.
inline std::vector<Character> cut(std::vector<Character> characters, std::size_t columns, const Character& mark) {
  if (width_of(characters) <= columns) return characters;
  while (!characters.empty() && width_of(characters) + 1 > columns) characters.pop_back();
  characters.push_back(mark);
  return characters;
}

/// "40" for 0.4; "<1" for next to nothing, "-" for nothing.
inline std::string percent(double weight) {
  if (std::isnan(weight)) return "NaN";
  if (weight == 0) return "-";
  if (weight > 0 && weight < 0.005) return "<1";
  return std::to_string(std::lround(100 * std::clamp(weight, -0.99, 9.0)));
}

/// The largest weight, not counting NaN; 1 where none is above 0, so that one may divide by it.
template <typename Weights>
double largest(const Weights& weights) {
  double most = 0;
  for (const double weight : weights) {
    if (weight > most) most = weight;  // false for NaN
  }
  return most > 0 ? most : 1;
}

/// Which of so many steps a weight is on, from 0 (nothing) to steps - 1 (the largest weight).
inline std::size_t step_of(double weight, double most, std::size_t steps) {
  if (!(weight > 0)) return 0;
  constexpr double rounding = 1e-9;  // the same share of another map has the same step
  const double share = std::min(weight / most, 1.0) + rounding;
  return std::min(steps - 1, static_cast<std::size_t>(share * static_cast<double>(steps)));
}

/// @throws std::invalid_argument naming weights, unless it fits
inline void require_square(const std::string& shape, bool fits, std::size_t tokens, const std::string& slices) {
  if (fits) return;
  const std::string count = std::to_string(tokens);
  throw std::invalid_argument("weights is " + shape + ", expected " + count + " x " + count + slices +
                              ", as there are " + count + " tokens");
}

}  // namespace attn::maps
