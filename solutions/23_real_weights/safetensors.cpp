#include "attn/safetensors.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <tuple>

#include "attn/float16.hpp"
#include "attn/shape.hpp"

namespace attn {

namespace {

std::string shape_of(const TensorEntry& tensor) {
  std::string text;
  for (const arma::uword size : tensor.shape) text += (text.empty() ? "" : " x ") + std::to_string(size);
  return text.empty() ? "1" : text;
}

[[noreturn]] void refuse(const std::string& name, const std::string& what) {
  throw std::invalid_argument(name + " " + what);
}

/// An unsigned integer of so many bytes, the lowest first.
std::uint64_t little_endian(const char* bytes, int count) {
  std::uint64_t number = 0;
  for (int i = count - 1; i >= 0; --i) number = (number << 8U) | static_cast<unsigned char>(bytes[i]);
  return number;
}

/// How many bytes the shape and the type need.
arma::uword bytes_needed(const TensorEntry& tensor) {
  arma::uword bytes = bytes_per_number(tensor.dtype);
  if (std::count(tensor.shape.begin(), tensor.shape.end(), 0) != 0) return 0;
  for (const arma::uword size : tensor.shape) {
    if (bytes > ~arma::uword(0) / size)
      refuse(tensor.name, "is " + shape_of(tensor) + ": more bytes than 64 bits count");
    bytes *= size;
  }
  return bytes;
}

void require_bytes(const TensorEntry& tensor) {
  if (tensor.begin > tensor.end) {
    refuse(tensor.name,
           "begins at " + std::to_string(tensor.begin) + " and ends before, at " + std::to_string(tensor.end));
  }
  const arma::uword bytes = tensor.end - tensor.begin, needed = bytes_needed(tensor);
  if (bytes == needed) return;
  refuse(tensor.name, "has " + std::to_string(bytes) + " bytes, expected " + std::to_string(needed) + ", those of " +
                          shape_of(tensor) + " numbers of type " + tensor.dtype);
}

}  // namespace

std::vector<TensorEntry> read_header(std::string_view file) {
  if (file.size() < 8) refuse("file", "has " + std::to_string(file.size()) + " bytes, expected at least 8");
  const arma::uword length = little_endian(file.data(), 8);
  const arma::uword most = std::min<arma::uword>(file.size() - 8, longest_header);
  if (length > most) {
    refuse("header", "has " + std::to_string(length) + " bytes, expected at most " + std::to_string(most) +
                         (most == longest_header ? "" : ", the rest of the file"));
  }
  std::vector<TensorEntry> tensors = parse_tensor_list(file.substr(8, length));
  for (const TensorEntry& tensor : tensors) require_bytes(tensor);
  std::sort(tensors.begin(), tensors.end(), [](const TensorEntry& a, const TensorEntry& b) {
    return std::tie(a.begin, a.end) < std::tie(b.begin, b.end);
  });

  arma::uword end = 8 + length;  // of the tensor before
  for (TensorEntry& tensor : tensors) {
    tensor.begin += 8 + length;
    tensor.end += 8 + length;
    if (tensor.begin != end) {
      refuse(tensor.name, "begins at byte " + std::to_string(tensor.begin) + ", expected " + std::to_string(end) +
                              ", where the tensor before it ends");
    }
    end = tensor.end;
  }
  if (end != file.size()) {
    refuse("file", "has " + std::to_string(file.size()) + " bytes, expected " + std::to_string(end));
  }
  return tensors;
}

arma::mat read_matrix(std::string_view bytes, const std::string& dtype, arma::uword rows, arma::uword columns) {
  const bool is_known = dtype == "F32" || dtype == "F16" || dtype == "BF16";
  if (!is_known) refuse("dtype", "is " + dtype + ", expected F32, F16 or BF16");
  const arma::uword size = dtype == "F32" ? 4 : 2;
  const arma::uword needed = product_of({{"rows", rows}, {"columns", columns}, {"the bytes of a number", size}});
  if (bytes.size() != needed) {
    refuse("bytes", "has size " + std::to_string(bytes.size()) + ", expected " + std::to_string(needed));
  }
  arma::mat matrix(rows, columns);
  for (arma::uword i = 0; i < rows; ++i) {
    for (arma::uword j = 0; j < columns; ++j) {  // a row of the file is contiguous
      const auto bits =
          static_cast<std::uint32_t>(little_endian(&bytes[(i * columns + j) * size], static_cast<int>(size)));
      float number = 0;
      std::memcpy(&number, &bits, sizeof number);
      matrix(i, j) = dtype == "F32"   ? number
                     : dtype == "F16" ? from_float16(static_cast<std::uint16_t>(bits))
                                      : from_bfloat16(static_cast<std::uint16_t>(bits));
    }
  }
  return matrix;
}

}  // namespace attn
