#pragma once

#include <armadillo>
#include <string>
#include <string_view>
#include <vector>

#include "attn/tensor_list.hpp"

/// Files of tensors: https://huggingface.co/docs/safetensors
///
///   bytes 0 to 7       N, the length of the header, little-endian: byte 0 is the lowest
///   bytes 8 to 7 + N   the header: JSON, perhaps with spaces at its end
///   bytes from 8 + N   the numbers of all tensors, little-endian, row by row, without gaps
namespace attn {

/// A header that is longer is refused, as the safetensors library does.
inline constexpr arma::uword longest_header = 100'000'000;

/// The tensors of a file, sorted by begin; tensors without numbers before others at the same place. begin and end are
/// counted from the start of the file: the bytes of a tensor are file.substr(begin, end - begin).
///
/// A file may come from anybody. When this returns, every tensor has as many bytes as its shape and its type need, all
/// of them are in the file, no two tensors share a byte, and no byte is left over.
///
/// @param file all of its bytes
/// @throws std::invalid_argument naming
///         - file: it has fewer than 8 bytes ("file has 5 bytes, expected at least 8");
///         - header: N is above longest_header, or above what follows ("header has 900 bytes, expected at most 40, the
///           rest of the file"), or parse_tensor_list refuses it;
///         - dtype, when there is no such type;
///         - a tensor by its own name: it ends before it begins; its number of bytes is not that of its shape and type
///           ("wte.weight has 20 bytes, expected 24, those of 2 x 3 numbers of type F32"), also where that product does
///           not fit into 64 bits; it begins elsewhere than where the tensor before it ends ("h.0.ln_1.bias begins at byte 96,
///           expected 100, where the tensor before it ends"), both counted from the start of the file;
///         - file again: it ends elsewhere than the last tensor does ("file has 120 bytes, expected 124").
std::vector<TensorEntry> read_header(std::string_view file);

/// The numbers of a tensor as a matrix: number i · columns + j of the bytes becomes element (i, j).
///
/// @param bytes   of this tensor alone
/// @param dtype   "F32", "F16" or "BF16"
/// @return        (rows x columns)
/// @throws std::invalid_argument naming dtype, when it is another one; bytes, with their number and the number that
///         rows x columns numbers of this type need, when these differ; or rows and columns, when that is 2^64 or more.
arma::mat read_matrix(std::string_view bytes, const std::string& dtype, arma::uword rows, arma::uword columns);

}  // namespace attn
