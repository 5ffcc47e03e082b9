#include "attn/safetensors.hpp"

#include "attn/float16.hpp"
#include "attn/shape.hpp"
#include "attn/todo.hpp"

namespace attn {

std::vector<TensorEntry> read_header(std::string_view file) {
  // TODO(23.2): read the length of the header, then the header with parse_tensor_list. Sort the tensors by their place, count
  // their bytes from the start of the file, and reject every file in which a number could lie outside or twice.
  todo("23.2");
}

// bytes of a tensor, row by row -> (rows x columns)
arma::mat read_matrix(std::string_view bytes, const std::string& dtype, arma::uword rows, arma::uword columns) {
  // TODO(23.3): put every number in its place. A type of 16 bits needs 23.1. Reject another dtype, and bytes that are too
  // few or too many.
  todo("23.3");
}

}  // namespace attn
