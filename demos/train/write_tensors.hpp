#pragma once

#include <armadillo>
#include <map>
#include <string>
#include <vector>

namespace attn::training {

/// One tensor of a safetensors file that is to be written.
struct WrittenTensor {
  std::string name;
  std::string dtype;               ///< "F32" or "F64"
  std::vector<arma::uword> shape;  ///< PyTorch's order
  std::string bytes;
};

/// A matrix row by row, as PyTorch has it, in single precision.
/// @param x (rows x columns)
WrittenTensor float_matrix(const std::string& name, const arma::mat& x);
/// @param x (1 x size); a tensor of one axis
WrittenTensor float_row(const std::string& name, const arma::rowvec& x);
/// All numbers, one after the other; a tensor of one axis.
WrittenTensor double_list(const std::string& name, const double* numbers, arma::uword size);

/// A whole safetensors file: see attn/safetensors.hpp.
/// @param metadata texts for __metadata__
std::string safetensors_file(const std::vector<WrittenTensor>& tensors,
                             const std::map<std::string, std::string>& metadata);

}  // namespace attn::training
