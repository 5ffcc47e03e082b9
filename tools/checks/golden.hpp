#pragma once

#include <armadillo>
#include <map>
#include <string>
#include <vector>

#include "attn/linear.hpp"
#include "attn/mask.hpp"
#include "checks/diagnosis.hpp"
#include "lesson/lesson.hpp"

namespace attn::judge {

/// One case of tests/NN_name/golden.json: inputs, weights and outputs as PyTorch computed them, and what PyTorch gives
/// for each catalogued mistake. PyTorch's order is turned into ours on the way:
///
///   (A)          -> rowvec (1 x A)
///   (R, C)       -> mat    (R x C)
///   (B, L, E)    -> cube   (L x E x B)
///   (B, H, L, S) -> cube   (L x S x H·B), slice b*H + h
class GoldenCase {
 public:
  struct Array {
    std::vector<std::string> axes;  ///< PyTorch's order, one letter an axis
    std::vector<arma::uword> shape;
    std::vector<double> data;  ///< row-major
  };
  using Arrays = std::map<std::string, Array>;

  GoldenCase(std::string name, Arrays arrays) : name_(std::move(name)), arrays_(std::move(arrays)) {}

  /// @throws std::out_of_range naming the case and the array when there is none; std::logic_error for a wrong rank.
  arma::cube cube(const std::string& array) const;
  arma::mat mat(const std::string& array) const;
  arma::rowvec rowvec(const std::string& array) const;
  Mask mask(const std::string& array) const;  ///< ones and zeros, as a cube

  /// PyTorch's layer `name` ("proj.weight", and "proj.bias" if it is there), its weight turned to (in x out).
  /// Inline: the Linear that it builds is the one under test in lesson 00.
  Linear linear(const std::string& name) const {
    const arma::mat weight = mat(name + ".weight");  // (out x in)
    Linear layer(weight.n_cols, weight.n_rows, has(name + ".bias"));
    layer.weight = weight.t();
    if (has(name + ".bias")) layer.bias = rowvec(name + ".bias");
    return layer;
  }

  bool has(const std::string& array) const { return arrays_.count(array) != 0; }

  /// An array as the right result.
  Expected expected(const std::string& array) const;

 private:
  const Array& find(const std::string& array) const;

  std::string name_;
  Arrays arrays_;
};

/// The lesson of the check that is running.
/// @throws std::logic_error outside a check.
lesson::Lesson current_lesson();

/// Its catalogue of mistakes, read once: a program has one lesson.
const std::vector<lesson::Mistake>& current_mistakes();

/// A case from the golden file of the lesson that is being checked.
/// @throws std::runtime_error naming the file when it cannot be read; std::out_of_range when it has no such case.
GoldenCase load_golden(const std::string& case_name);

}  // namespace attn::judge
