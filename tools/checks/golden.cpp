#include "checks/golden.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <stdexcept>

namespace attn::judge {

static void from_json(const nlohmann::json& in, GoldenCase::Array& array) {
  in.at("axes").get_to(array.axes);
  in.at("shape").get_to(array.shape);
  for (const auto& number : in.at("data")) array.data.push_back(number_from_json(number));
}

namespace {

/// The cases of a golden file, by their names. A program has one lesson, so it is read once: that takes as long as some
/// twenty checks.
const std::map<std::string, GoldenCase>& read_cases(const std::string& file) {
  static std::map<std::string, std::map<std::string, GoldenCase>> read;
  if (const auto found = read.find(file); found != read.end()) return found->second;
  auto& cases = read[file];
  const nlohmann::json golden = lesson::read_json(file);
  for (const auto& [name, one] : golden.at("cases").items()) {
    cases.emplace(name, GoldenCase(name, one.at("arrays").get<GoldenCase::Arrays>()));
  }
  return cases;
}

/// Row-major (batches..., rows, cols) -> cube (rows x cols x batches).
arma::cube to_cube(const GoldenCase::Array& array) {
  const std::size_t rank = array.shape.size();
  const arma::uword cols = array.shape[rank - 1];
  const arma::uword rows = rank >= 2 ? array.shape[rank - 2] : 1;
  arma::uword slices = 1;
  for (std::size_t axis = 0; axis + 2 < rank; ++axis) slices *= array.shape[axis];
  arma::cube cube(rows, cols, slices);
  std::size_t next = 0;
  for (arma::uword s = 0; s < slices; ++s)
    for (arma::uword r = 0; r < rows; ++r)
      for (arma::uword c = 0; c < cols; ++c) cube(r, c, s) = array.data.at(next++);
  return cube;
}

/// PyTorch's axes in our order: (B, H, L, S) -> L, S, H·B.
std::vector<std::string> our_axes(const std::vector<std::string>& axes) {
  switch (axes.size()) {
    case 1: return {"1", axes[0]};
    case 2: return {axes[0], axes[1]};
    case 3: return {axes[1], axes[2], axes[0]};
    default: return {axes[2], axes[3], axes[1] + "·" + axes[0]};
  }
}

}  // namespace

const GoldenCase::Array& GoldenCase::find(const std::string& array) const {
  const auto found = arrays_.find(array);
  if (found == arrays_.end()) throw std::out_of_range("golden case " + name_ + " has no array " + array);
  return found->second;
}

arma::cube GoldenCase::cube(const std::string& array) const { return to_cube(find(array)); }

arma::mat GoldenCase::mat(const std::string& array) const {
  const Array& found = find(array);
  if (found.shape.size() > 2) throw std::logic_error("golden array " + array + " is not a matrix");
  return to_cube(found).slice(0);
}

arma::rowvec GoldenCase::rowvec(const std::string& array) const {
  const arma::mat row = mat(array);
  if (row.n_rows != 1) throw std::logic_error("golden array " + array + " is not a row");
  return row.row(0);
}

Mask GoldenCase::mask(const std::string& array) const { return arma::conv_to<Mask>::from(cube(array)); }

Expected GoldenCase::expected(const std::string& array) const {
  return {cube(array), our_axes(find(array).axes), default_tolerance};
}

lesson::Lesson current_lesson() {
  const ::testing::TestInfo* check = ::testing::UnitTest::GetInstance()->current_test_info();
  if (check == nullptr) throw std::logic_error("current_lesson() is only known inside a check");
  return lesson::lesson_of(check->file());
}

const std::vector<lesson::Mistake>& current_mistakes() {
  static const std::vector<lesson::Mistake> mistakes = current_lesson().mistakes();
  return mistakes;
}

GoldenCase load_golden(const std::string& case_name) {
  const std::string file = current_lesson().golden_file();
  const auto& cases = read_cases(file);
  const auto found = cases.find(case_name);
  if (found == cases.end()) throw std::out_of_range(file + " has no case " + case_name);
  return found->second;
}

}  // namespace attn::judge
