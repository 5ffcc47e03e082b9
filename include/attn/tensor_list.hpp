#pragma once

#include <armadillo>
#include <string>
#include <string_view>
#include <vector>

/// What the JSON in a safetensors file says. Given: no lesson asks for it.
namespace attn {

/// One tensor of a file: its type, its shape, and where its numbers are.
struct TensorEntry {
  std::string name;
  std::string dtype;               ///< "F32", "F16", "BF16", or another one of bytes_per_number
  std::vector<arma::uword> shape;  ///< PyTorch's order: the last axis is the one whose neighbours are neighbours
  arma::uword begin = 0;           ///< its first byte, counted as the user of this struct says
  arma::uword end = 0;             ///< one after its last byte
};

/// The entries of a header, in the order of their names. begin and end are data_offsets as they are in the JSON: counted
/// from the end of the header.
///
/// @param json {"name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, ...}; "__metadata__" is left out
/// @throws std::invalid_argument naming header, when it is not such a JSON text. Nothing else is checked.
std::vector<TensorEntry> parse_tensor_list(std::string_view json);

/// 4 for "F32", 2 for "F16" and "BF16", and so on for all types of safetensors that fill whole bytes.
///
/// @throws std::invalid_argument naming dtype, when there is no such type.
arma::uword bytes_per_number(const std::string& dtype);

}  // namespace attn
