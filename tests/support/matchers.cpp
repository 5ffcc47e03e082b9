#include "support/matchers.hpp"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>
#include <regex>
#include <typeinfo>

namespace attn::testing {

bool names_argument(const std::string& message, const std::string& argument) {
  const std::string size = "([0-9]+|[A-Z])";
  const std::string without_shapes = std::regex_replace(message, std::regex(size + "( x " + size + ")+"), "");
  return std::regex_search(without_shapes, std::regex("(^|[^A-Za-z0-9_])" + argument + "($|[^A-Za-z0-9_])"));
}

std::string type_name(const std::exception& error) {
  const char* mangled = typeid(error).name();
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> name(abi::__cxa_demangle(mangled, nullptr, nullptr, &status),
                                                         std::free);
  return status == 0 ? name.get() : mangled;
}

}  // namespace attn::testing
