#include "support/matchers.hpp"

#include <regex>

namespace attn::testing {

bool names_argument(const std::string& message, const std::string& argument) {
  const std::string size = "([0-9]+|[A-Z])";
  const std::string without_shapes = std::regex_replace(message, std::regex(size + "( x " + size + ")+"), "");
  return std::regex_search(without_shapes, std::regex("(^|[^A-Za-z0-9_])" + argument + "($|[^A-Za-z0-9_])"));
}

}  // namespace attn::testing
