#pragma once

#include <armadillo>
#include <map>
#include <string>
#include <string_view>

#include "attn/tensor_list.hpp"

namespace attn::training {

/// The tensors of a safetensors file whose numbers are doubles, to be taken one by one.
class DoubleTensors {
 public:
  /// @param file all bytes, which have to outlive this
  /// @throws std::invalid_argument as read_header.
  explicit DoubleTensors(std::string_view file);

  /// The bytes of all tensors.
  std::string_view numbers() const;

  /// How many numbers a tensor has.
  /// @throws std::invalid_argument naming it, when it is missing.
  arma::uword size_of(const std::string& name) const;

  /// Copies a tensor of one axis.
  /// @param numbers where they are put: `size` of them
  /// @throws std::invalid_argument naming it, when it is missing, of another size or type, or not finite.
  void take(const std::string& name, double* numbers, arma::uword size);

  /// @throws std::invalid_argument when there are other tensors than those that were taken.
  void require_all_taken() const;

 private:
  const TensorEntry& entry_of(const std::string& name) const;

  std::string_view file_;
  std::map<std::string, TensorEntry> entries_;
  std::size_t taken_ = 0;
};

}  // namespace attn::training
