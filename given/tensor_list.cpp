#include "attn/tensor_list.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

#include "json_file.hpp"

namespace attn {

namespace {

using given::Json;
using given::shown;

constexpr std::size_t most_axes = 8, longest_name = 200;

[[noreturn]] void refuse(const std::string& what) { throw std::invalid_argument("header " + what); }

/// Other messages contain it as it is.
void require_printable(const std::string& what, const std::string& text) {
  const auto is_printable = [](char c) { return c >= ' ' && c <= '~'; };
  if (text.size() <= longest_name && std::all_of(text.begin(), text.end(), is_printable)) return;
  refuse("has the " + what + " " + shown(text) + ", expected printable ASCII of at most " +
         std::to_string(longest_name) + " bytes");
}

std::vector<arma::uword> numbers_of(const Json& tensor, const std::string& name, const std::string& field) {
  const auto found = tensor.find(field);
  if (found == tensor.end() || !found->is_array()) refuse("has no list " + field + " for " + name);
  if (found->size() > most_axes) {
    refuse("has " + std::to_string(found->size()) + " numbers in " + field + " of " + name + ", expected at most " +
           std::to_string(most_axes));
  }
  std::vector<arma::uword> numbers;
  for (const Json& number : *found) {
    if (!number.is_number_unsigned()) {
      refuse("has " + shown(number) + " in " + field + " of " + name + ", expected an integer of at least 0");
    }
    numbers.push_back(number.get<arma::uword>());
  }
  return numbers;
}

}  // namespace

std::vector<TensorEntry> parse_tensor_list(std::string_view json) {
  const Json header = given::parse_object("header", json);
  std::vector<TensorEntry> entries;
  for (const auto& [name, tensor] : header.items()) {
    if (name == "__metadata__") continue;
    require_printable("name", name);
    if (!tensor.is_object()) refuse("has no object for " + name);
    const auto dtype = tensor.find("dtype");
    if (dtype == tensor.end() || !dtype->is_string()) refuse("has no text dtype for " + name);
    require_printable("dtype", *dtype);
    const std::vector<arma::uword> offsets = numbers_of(tensor, name, "data_offsets");
    if (offsets.size() != 2) refuse("has " + std::to_string(offsets.size()) + " data_offsets for " + name);
    entries.push_back({name, dtype->get<std::string>(), numbers_of(tensor, name, "shape"), offsets[0], offsets[1]});
  }
  return entries;
}

arma::uword bytes_per_number(const std::string& dtype) {
  static const std::array<std::pair<const char*, arma::uword>, 15> sizes = {{{"F64", 8},
                                                                             {"I64", 8},
                                                                             {"U64", 8},
                                                                             {"C64", 8},
                                                                             {"F32", 4},
                                                                             {"I32", 4},
                                                                             {"U32", 4},
                                                                             {"F16", 2},
                                                                             {"BF16", 2},
                                                                             {"I16", 2},
                                                                             {"U16", 2},
                                                                             {"F8_E4M3", 1},
                                                                             {"F8_E5M2", 1},
                                                                             {"I8", 1},
                                                                             {"U8", 1}}};
  if (dtype == "BOOL" || dtype == "F8_E8M0") return 1;
  for (const auto& [name, size] : sizes) {
    if (dtype == name) return size;
  }
  throw std::invalid_argument("dtype is " + dtype + ", expected a type of whole bytes, such as F32, F16 or BF16");
}

}  // namespace attn
