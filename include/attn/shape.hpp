#pragma once

#include <armadillo>
#include <initializer_list>
#include <stdexcept>
#include <string>

namespace attn {

/// The size of an axis that may have any length but zero.
inline constexpr arma::uword any_size = 0;

/// One axis of a matrix or cube: its letter from docs/conventions.md, and its size.
/// Rows come first, then columns, then slices: `{{"L"}, {"E", 3}, {"B"}}` is L x 3 x B.
struct Axis {
  std::string name;
  arma::uword size = any_size;
};

/// "4 x 3": rows x columns.
inline std::string shape_text(const arma::mat& x) {
  return std::to_string(x.n_rows) + " x " + std::to_string(x.n_cols);
}

/// "4 x 3 x 2": rows x columns x slices.
inline std::string shape_text(const arma::cube& x) {
  return std::to_string(x.n_rows) + " x " + std::to_string(x.n_cols) + " x " + std::to_string(x.n_slices);
}

/// The same for other numbers: float and integers.
template <typename Number>
std::string shape_text(const arma::Mat<Number>& x) {
  return std::to_string(x.n_rows) + " x " + std::to_string(x.n_cols);
}
template <typename Number>
std::string shape_text(const arma::Cube<Number>& x) {
  return std::to_string(x.n_rows) + " x " + std::to_string(x.n_cols) + " x " + std::to_string(x.n_slices);
}

/// The expected shape, in words: "L x 3 x B".
inline std::string shape_text(std::initializer_list<Axis> axes) {
  std::string text;
  for (const Axis& axis : axes) {
    if (!text.empty()) text += " x ";
    text += axis.size == any_size ? axis.name : std::to_string(axis.size);
  }
  return text;
}

/// Checks a size that is given as a number, and returns it: `proj(require_positive("dim", dim), 3 * dim)`.
///
/// @throws std::invalid_argument "dim is 0, expected at least 1".
inline arma::uword require_positive(const std::string& name, arma::uword value) {
  if (value == 0) throw std::invalid_argument(name + " is 0, expected at least 1");
  return value;
}

/// Checks a number that has an upper limit, and returns it: `require_at_most("key_length", key_length, "S", S)`.
///
/// @throws std::invalid_argument "key_length is 8, expected at most S = 7".
inline arma::uword require_at_most(const std::string& name, arma::uword value, const std::string& limit_name,
                                   arma::uword limit) {
  if (value > limit) {
    throw std::invalid_argument(name + " is " + std::to_string(value) + ", expected at most " + limit_name + " = " +
                                std::to_string(limit));
  }
  return value;
}

/// Checks that a size splits into equal parts, and returns it: `require_multiple("embed_dim", E,
/// "num_heads", H)`.
///
/// @throws std::invalid_argument "num_heads is 0, expected at least 1" (likewise for embed_dim), or "embed_dim is 7,
///         expected a multiple of num_heads = 2".
inline arma::uword require_multiple(const std::string& name, arma::uword value, const std::string& part_name,
                                    arma::uword part) {
  require_positive(part_name, part);
  if (require_positive(name, value) % part != 0) {
    throw std::invalid_argument(name + " is " + std::to_string(value) + ", expected a multiple of " + part_name +
                                " = " + std::to_string(part));
  }
  return value;
}

namespace detail {

/// Adds up or multiplies sizes; `combine` returns whether the result so far and the next size fit into an arma::uword.
template <typename Combine>
arma::uword combined(std::initializer_list<Axis> sizes, arma::uword result, const std::string& sign,
                     const std::string& what, const Combine& combine) {
  bool fits = true;
  for (const Axis& axis : sizes) fits = fits && combine(result, axis.size);
  if (fits) return result;
  std::string names, numbers;
  for (const Axis& axis : sizes) {
    names += (names.empty() ? "" : sign) + axis.name;
    numbers += (numbers.empty() ? "" : sign) + std::to_string(axis.size);
  }
  throw std::invalid_argument(names + " is " + numbers + ", expected a " + what + " below 2^64");
}

}  // namespace detail

/// The sum of sizes: `sum_of({{"first", first}, {"L", L}})`. An arma::uword that reaches 2^64 wraps around to 0.
///
/// @throws std::invalid_argument "first + L is 18446744073709551615 + 3, expected a sum below 2^64".
inline arma::uword sum_of(std::initializer_list<Axis> sizes) {
  return detail::combined(sizes, 0, " + ", "sum", [](arma::uword& sum, arma::uword size) {
    sum += size;
    return sum >= size;
  });
}

/// The product of sizes, such as those of a new matrix: `product_of({{"L", L}, {"S", S}})`. It may wrap around, too, and
/// Armadillo does not always notice.
///
/// @throws std::invalid_argument "L x S is 4294967296 x 4294967296, expected a product below 2^64".
inline arma::uword product_of(std::initializer_list<Axis> sizes) {
  return detail::combined(sizes, 1, " x ", "product", [](arma::uword& product, arma::uword size) {
    const bool fits = size == 0 || product <= ~arma::uword(0) / size;
    product *= size;
    return fits;
  });
}

/// product_of for sizes that must not be 0: require_positive for each, first.
///
/// @throws std::invalid_argument "L is 0, expected at least 1", or as product_of.
inline arma::uword require_product(std::initializer_list<Axis> sizes) {
  for (const Axis& axis : sizes) require_positive(axis.name, axis.size);
  return product_of(sizes);
}

namespace detail {

inline void require_sizes(const std::string& name, const std::string& actual_text,
                          std::initializer_list<arma::uword> actual, std::initializer_list<Axis> expected) {
  bool fits = actual.size() == expected.size();
  auto size = actual.begin();
  for (const Axis& axis : expected) {
    if (!fits) break;
    fits = *size != 0 && (axis.size == any_size || *size == axis.size);
    ++size;
  }
  if (!fits) {
    throw std::invalid_argument(name + " is " + actual_text + ", expected " + shape_text(expected) +
                                " (no size may be 0)");
  }
}

}  // namespace detail

/// Checks the shape of a matrix: `require_shape("scores", scores, {{"L"}, {"S"}})`.
///
/// @throws std::invalid_argument "x is 4 x 5, expected L x 3 (no size may be 0)" when a given size differs or any size
///         is zero.
inline void require_shape(const std::string& name, const arma::mat& x, std::initializer_list<Axis> expected) {
  detail::require_sizes(name, shape_text(x), {x.n_rows, x.n_cols}, expected);
}

/// Checks the shape of a cube: `require_shape("X", X, {{"L"}, {"E", dim}, {"B"}})`.
///
/// @throws std::invalid_argument "X is 4 x 5 x 2, expected L x 3 x B (no size may be 0)" likewise.
inline void require_shape(const std::string& name, const arma::cube& x, std::initializer_list<Axis> expected) {
  detail::require_sizes(name, shape_text(x), {x.n_rows, x.n_cols, x.n_slices}, expected);
}

/// The same for other numbers: float and integers. Templates, so that only the files that use them compile them.
template <typename Number>
void require_shape(const std::string& name, const arma::Mat<Number>& x, std::initializer_list<Axis> expected) {
  detail::require_sizes(name, shape_text(x), {x.n_rows, x.n_cols}, expected);
}
template <typename Number>
void require_shape(const std::string& name, const arma::Cube<Number>& x, std::initializer_list<Axis> expected) {
  detail::require_sizes(name, shape_text(x), {x.n_rows, x.n_cols, x.n_slices}, expected);
}

}  // namespace attn
