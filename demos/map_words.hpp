#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "lesson/utf8.hpp"

/// What the maps have in common: tokens cut into characters, and weights in figures.
namespace attn::maps {

using utf8::Character;

/// The characters of a token, which has to outlive them, with a replacement for those that cannot be shown: a learner's
/// tokenize() may return any bytes. XML excludes U+FFFE and U+FFFF, too.
std::vector<Character> characters_of(const std::string& token, const Character& replacement);

/// How many columns of a terminal they take.
std::size_t width_of(const std::vector<Character>& characters);

/// At most so many columns wide; what was cut is shown as `mark`, one column wide.
std::vector<Character> cut(std::vector<Character> characters, std::size_t columns, const Character& mark);

/// "40" for 0.4; "<1" for next to nothing, "-" for nothing.
std::string percent(double weight);

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
std::size_t step_of(double weight, double most, std::size_t steps);

/// @throws std::invalid_argument naming weights, unless it fits
void require_square(const std::string& shape, bool fits, std::size_t tokens, const std::string& slices);

}  // namespace attn::maps
