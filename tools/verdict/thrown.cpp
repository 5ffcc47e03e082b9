#include "verdict/thrown.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <optional>
#include <utility>

namespace attn::judge {

namespace {

struct Size {
  std::size_t rows = 0;
  std::size_t cols = 0;

  bool empty() const { return rows == 0 || cols == 0; }
};

bool operator==(const Size& a, const Size& b) { return a.rows == b.rows && a.cols == b.cols; }

bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

/// The two sizes of "...: incompatible matrix dimensions: 4x5 and 4x1", or of "...; expected 4x1, got 1x5".
std::optional<std::pair<Size, Size>> sizes_in(const std::string& thrown) {
  Size a;
  Size b;
  for (const auto& [before, format] : {std::pair{"matrix dimensions: ", "matrix dimensions: %zux%zu and %zux%zu"},
                                       std::pair{"expected ", "expected %zux%zu, got %zux%zu"}}) {
    const auto at = thrown.rfind(before);
    if (at == std::string::npos) continue;
    if (std::sscanf(thrown.c_str() + at, format, &a.rows, &a.cols, &b.rows, &b.cols) == 4) return std::pair{a, b};
  }
  return {};
}

std::string explain_product(const Size& a, const Size& b) {
  if (a == b) {
    return "`*` is the matrix product, (a x b) * (b x c): one of two equal sizes has to be transposed, with .t(); `%` "
           "multiplies element by element";
  }
  return "a product needs (a x b) * (b x c): is a factor transposed, or cut wrongly?";
}

/// Of a sum, a difference, a quotient or a product element by element.
std::string explain_elements(const std::string& operation, const std::string& sign, const Size& a, const Size& b) {
  if (sign == "%" && a.cols == b.rows && !a.empty()) {
    return "`%` multiplies element by element; `*` is the matrix product";
  }
  if (a.empty() || b.empty()) {
    return operation + " needs two of the same size, and one is empty (a layer without bias has an empty one)";
  }
  const bool column = a.rows == b.rows && (a.cols == 1 || b.cols == 1);
  const bool row = a.cols == b.cols && (a.rows == 1 || b.rows == 1);
  if (column) return "Armadillo does not broadcast a column: write A.each_col() " + sign + "= v";
  if (row) return "Armadillo does not broadcast a row: write A.each_row() " + sign + "= v";
  return operation + " needs two of the same size";
}

std::string explain_each(const std::string& thrown, const Size& want, const Size& got) {
  const bool turned = want.rows == 1 ? got.cols == 1 : got.rows == 1;
  if (has(thrown, "each_col()")) {
    return turned ? "each_col() needs a column, and this is a row: arma::max(A) and arma::sum(A) give one number for "
                    "each column; arma::max(A, 1) and arma::sum(A, 1) one for each row, as a column"
                  : "the column must be as high as the matrix";
  }
  return turned ? "each_row() needs a row, and this is a column: transpose it with .t(), or is it meant for each_col()?"
                : "the row must be as wide as the matrix";
}

/// Of messages whose sizes say what is wrong.
std::string explain_sizes(const std::string& thrown) {
  const auto sizes = sizes_in(thrown);
  if (!sizes) return {};
  const auto& [a, b] = *sizes;
  if (has(thrown, "multiplication: ") && !has(thrown, "element-wise")) return explain_product(a, b);
  if (has(thrown, "addition: ")) return explain_elements("a sum", "+", a, b);
  if (has(thrown, "subtraction: ")) return explain_elements("a difference", "-", a, b);
  if (has(thrown, "element-wise division: ")) return explain_elements("a division", "/", a, b);
  if (has(thrown, "element-wise multiplication: ")) return explain_elements("`%`", "%", a, b);
  if (has(thrown, "each_col(): ") || has(thrown, "each_row(): ")) return explain_each(thrown, a, b);
  if (has(thrown, "copy into submatrix: ") && a.rows == b.cols && a.cols == b.rows) {
    return "the block and what it was given differ by a transposition: .t()";
  }
  return {};
}

}  // namespace

std::string explain_thrown(const std::string& thrown) {
  static constexpr std::pair<const char*, const char*> meanings[] = {
      {"requested size is too large", "a size went below zero? an arma::uword then goes round to a huge number"},
      {"Mat::init(): size is fixed",
       "a slice of a cube keeps its size, and it was given a matrix of another size: compare with the cube's n_rows "
       "and "
       "n_cols"},
      {"copy into submatrix", "a block was given a matrix of another size: cols(first, last) includes the last"},
      {"incompatible cube dimensions",
       "the two cubes must have the same size (a matrix is combined with every slice by A.each_slice() += M)"},
      {"each_slice(): incompatible size", "the matrix must have the size of a slice: as many rows and columns"},
      {"slices(): indices out of bounds", "slices count from 0, and slices(first, last) includes the last"},
      {"submat(): indices", "rows and columns count from 0, and submat(r0, c0, r1, c1) includes row r1 and column c1"},
      {"keep is ", "dropout was given a cube of another size than the weights: it acts on the weights, in one call"},
      {"in is 0, expected at least 1", "a Linear was made with no inputs: which size should it have?"},
      {"slice(): index out of bounds",
       "slices count from 0 to n_slices - 1, and a cube that was given no size yet has none"},
      {"cols(): indices out of bounds", "columns count from 0, and cols(first, last) includes the last"},
      {"rows(): indices out of bounds", "rows count from 0, and rows(first, last) includes the last"},
      {"row(): index out of bounds",
       "rows count from 0 to n_rows - 1, and a matrix that was given no size yet has none"},
      {"col(): index out of bounds",
       "columns count from 0 to n_cols - 1, and a matrix that was given no size yet has none"},
      {"rows(): size out of bounds", "more rows were asked for than there are"},
      {"cols(): size out of bounds", "more columns were asked for than there are"},
      {"slices(): size out of bounds", "more slices were asked for than there are"},
      {"index out of bounds",
       "an index is not below its size: (row, column, slice), each counted from 0; what was given no size yet has "
       "none"},
      {"_M_range_check", "an index is not below the vector's size(): they count from 0 to size() - 1"},
      {"object has no elements", "what was given is empty, so it has no largest or smallest element"},
      {"incorrect distribution parameters", "distr_param(lo, hi) needs lo < hi: an integer division that gives 0?"},
      {"not compatible with column vector layout",
       "a matrix was put where a column (arma::vec) belongs; between { }, do the fields stand in the struct's order?"},
      {"not compatible with row vector layout",
       "an arma::rowvec holds one row only; one of n zeros is arma::zeros<arma::rowvec>(n)"},
  };
  const std::string meaning = explain_sizes(thrown);
  if (!meaning.empty()) return meaning;
  const auto* const found = std::find_if(std::begin(meanings), std::end(meanings),
                                         [&](const auto& entry) { return has(thrown, entry.first); });
  return found == std::end(meanings) ? "" : found->second;
}

}  // namespace attn::judge
