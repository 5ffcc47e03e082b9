#pragma once

#include <armadillo>
#include <filesystem>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "attn/memory_map.hpp"
#include "attn/safetensors.hpp"

namespace attn {

/// All tensors of a model, from one file or several. Given: no lesson asks for it. It opens files with read_header, reads
/// numbers with read_matrix, and remembers which tensors were read.
class TensorFiles {
 public:
  /// @throws std::invalid_argument naming the file and what read_header says, or a tensor that is in two files.
  explicit TensorFiles(const std::vector<std::filesystem::path>& files) : files_(files) {
    for (const std::filesystem::path& file : files_) add(file);
  }

  bool has(const std::string& name) const { return entries_.count(name) != 0; }

  /// The names of all tensors.
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& entry : entries_) names.push_back(entry.first);
    return names;
  }

  /// Checks a tensor by the header alone: that it is there, with this shape, and of a type that can be read.
  ///
  /// @throws std::invalid_argument as matrix; or "wte.weight has the dtype I64, expected F32, F16 or BF16".
  void require(const std::string& name, const std::vector<arma::uword>& shape) const {
    const std::string& dtype = find(name, shape).entry.dtype;
    if (dtype == "F32" || dtype == "F16" || dtype == "BF16") return;
    throw std::invalid_argument(name + " has the dtype " + dtype + ", expected F32, F16 or BF16");
  }

  /// A tensor of two axes, as it is in the file.
  ///
  /// @return (rows x columns)
  /// @throws std::invalid_argument naming the tensor: "wte.weight is not in the file", "wte.weight is 5 x 3, expected
  ///         7 x 3", or "model.safetensors: wte.weight has NaN or infinity, expected finite numbers".
  arma::mat matrix(const std::string& name, arma::uword rows, arma::uword columns) {
    return read(name, {rows, columns}, rows, columns);
  }

  /// A tensor of one axis. (1 x size)
  arma::rowvec row(const std::string& name, arma::uword size) { return read(name, {size}, 1, size); }

  /// The names of the tensors that were not read yet.
  std::vector<std::string> unused() const {
    std::vector<std::string> names;
    for (const auto& entry : entries_) {
      if (used_.count(entry.first) == 0) names.push_back(entry.first);
    }
    return names;
  }

 private:
  void add(const std::filesystem::path& file) {
    maps_.emplace_back(file);
    try {
      for (TensorEntry& entry : read_header(maps_.back().bytes())) {
        const std::string name = entry.name;
        const bool is_new = entries_.emplace(name, Place{maps_.size() - 1, std::move(entry)}).second;
        if (!is_new) throw std::invalid_argument(name + " is in two files");
      }
    } catch (const std::invalid_argument& error) {
      throw std::invalid_argument(file.string() + ": " + error.what());
    }
  }

  struct Place {
    std::size_t file;
    TensorEntry entry;
  };

  const Place& find(const std::string& name, const std::vector<arma::uword>& shape) const {
    const auto found = entries_.find(name);
    if (found == entries_.end()) throw std::invalid_argument(name + " is not in the file");
    const TensorEntry& entry = found->second.entry;
    if (entry.shape != shape) {
      throw std::invalid_argument(name + " is " + text_of(entry.shape) + ", expected " + text_of(shape));
    }
    return found->second;
  }

  arma::mat read(const std::string& name, const std::vector<arma::uword>& shape, arma::uword rows,
                 arma::uword columns) {
    const Place& place = find(name, shape);
    const TensorEntry& entry = place.entry;
    used_.insert(name);
    const std::string_view bytes = maps_[place.file].bytes().substr(entry.begin, entry.end - entry.begin);
    arma::mat numbers;  // (rows x columns)
    try {
      numbers = read_matrix(bytes, entry.dtype, rows, columns);
    } catch (const std::invalid_argument& error) {
      throw std::invalid_argument(name + ": " + error.what());
    }
    if (numbers.is_finite()) return numbers;
    throw std::invalid_argument(files_[place.file].string() + ": " + name +
                                " has NaN or infinity, expected finite numbers");
  }

  static std::string text_of(const std::vector<arma::uword>& shape) {
    std::string text;
    for (const arma::uword size : shape) text += (text.empty() ? "" : " x ") + std::to_string(size);
    return text.empty() ? "a single number" : text;
  }

  std::vector<std::filesystem::path> files_;
  std::vector<MemoryMap> maps_;
  std::map<std::string, Place> entries_;
  std::set<std::string> used_;
};

}  // namespace attn
