#include "write_tensors.hpp"

#include <nlohmann/json.hpp>

namespace attn::training {

namespace {

template <typename Number>
std::string bytes_of(const Number* numbers, arma::uword size) {
  return {reinterpret_cast<const char*>(numbers), size * sizeof(Number)};
}

}  // namespace

WrittenTensor float_matrix(const std::string& name, const arma::mat& x) {
  const arma::fmat rows = arma::conv_to<arma::fmat>::from(x.t());  // column-major: its columns are x's rows
  return {name, "F32", {x.n_rows, x.n_cols}, bytes_of(rows.memptr(), rows.n_elem)};
}

WrittenTensor float_row(const std::string& name, const arma::rowvec& x) {
  WrittenTensor tensor = float_matrix(name, x);
  tensor.shape = {x.n_elem};
  return tensor;
}

WrittenTensor double_list(const std::string& name, const double* numbers, arma::uword size) {
  return {name, "F64", {size}, bytes_of(numbers, size)};
}

std::string safetensors_file(const std::vector<WrittenTensor>& tensors,
                             const std::map<std::string, std::string>& metadata) {
  nlohmann::json header = {{"__metadata__", metadata}};
  std::size_t end = 0;
  for (const WrittenTensor& tensor : tensors) {
    const std::size_t begin = end;
    end += tensor.bytes.size();
    header[tensor.name] = {{"dtype", tensor.dtype}, {"shape", tensor.shape}, {"data_offsets", {begin, end}}};
  }
  std::string text = header.dump();
  text.append((8 - text.size() % 8) % 8, ' ');
  std::string file;
  file.reserve(8 + text.size() + end);
  for (unsigned shift = 0; shift < 64; shift += 8) file += static_cast<char>(text.size() >> shift & 0xFFU);
  file += text;
  for (const WrittenTensor& tensor : tensors) file += tensor.bytes;
  return file;
}

}  // namespace attn::training
