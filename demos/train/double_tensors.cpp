#include "double_tensors.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>

#include "attn/safetensors.hpp"

namespace attn::training {

namespace {

[[noreturn]] void refuse(const std::string& what) { throw std::invalid_argument(what); }

}  // namespace

DoubleTensors::DoubleTensors(std::string_view file) : file_(file) {
  for (const TensorEntry& entry : read_header(file)) entries_.emplace(entry.name, entry);
}

std::string_view DoubleTensors::numbers() const {
  std::size_t begin = file_.size();
  for (const auto& [name, entry] : entries_) begin = std::min<std::size_t>(begin, entry.begin);
  return file_.substr(begin);
}

arma::uword DoubleTensors::size_of(const std::string& name) const {
  const TensorEntry& entry = entry_of(name);
  return (entry.end - entry.begin) / sizeof(double);
}

void DoubleTensors::take(const std::string& name, double* numbers, arma::uword size) {
  const TensorEntry& entry = entry_of(name);
  if (entry.dtype != "F64" || entry.shape != std::vector<arma::uword>{size}) {
    refuse(name + " is not a list of " + std::to_string(size) + " numbers of type F64");
  }
  if (size > 0) std::memcpy(numbers, file_.data() + entry.begin, size * sizeof(double));
  const bool finite = std::all_of(numbers, numbers + size, [](double x) { return std::isfinite(x); });
  if (!finite) refuse(name + " has numbers that are not finite");
  ++taken_;
}

void DoubleTensors::require_all_taken() const {
  if (taken_ == entries_.size()) return;
  refuse("it has " + std::to_string(entries_.size()) + " tensors, expected " + std::to_string(taken_));
}

const TensorEntry& DoubleTensors::entry_of(const std::string& name) const {
  const auto found = entries_.find(name);
  if (found == entries_.end()) refuse(name + " is missing");
  return found->second;
}

}  // namespace attn::training
