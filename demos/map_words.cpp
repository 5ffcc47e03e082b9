#include "map_words.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace attn::maps {

std::vector<Character> characters_of(const std::string& token, const Character& replacement) {
  std::vector<Character> characters = utf8::characters(token);
  for (Character& character : characters) {
    if (!character.printable() || character.code == 0xFFFE || character.code == 0xFFFF) character = replacement;
  }
  return characters;
}

std::size_t width_of(const std::vector<Character>& characters) {
  std::size_t width = 0;
  for (const Character& character : characters) width += static_cast<std::size_t>(character.columns);
  return width;
}

std::vector<Character> cut(std::vector<Character> characters, std::size_t columns, const Character& mark) {
  if (width_of(characters) <= columns) return characters;
  while (!characters.empty() && width_of(characters) + 1 > columns) characters.pop_back();
  characters.push_back(mark);
  return characters;
}

std::string percent(double weight) {
  if (std::isnan(weight)) return "NaN";
  if (weight == 0) return "-";
  if (weight > 0 && weight < 0.005) return "<1";
  return std::to_string(std::lround(100 * std::clamp(weight, -0.99, 9.0)));
}

std::size_t step_of(double weight, double most, std::size_t steps) {
  if (!(weight > 0)) return 0;
  const double share = std::min(weight / most, 1.0);
  return std::min(steps - 1, static_cast<std::size_t>(share * static_cast<double>(steps)));
}

void require_square(const std::string& shape, bool fits, std::size_t tokens, const std::string& slices) {
  if (fits) return;
  const std::string count = std::to_string(tokens);
  throw std::invalid_argument("weights is " + shape + ", expected " + count + " x " + count + slices +
                              ", as there are " + count + " tokens");
}

}  // namespace attn::maps
