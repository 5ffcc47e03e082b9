#include "checks/likeness.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <vector>

#include "verdict/words.hpp"

namespace attn::judge {

namespace {

using arma::cube;
using arma::uword;

/// A wrong result beside the right one, of the same shape.
struct Pair {
  const cube& got;
  const cube& expected;
  double tolerance;

  bool equal(double a, double b) const { return close(a, b, tolerance); }
  bool equals(const cube& other) const { return all_close(got, other, tolerance); }
  bool is_exact() const { return tolerance == 0; }  ///< counts, or copies: no bias or sum explains them
};

template <typename Holds>
bool all_of(const cube& x, const Holds& holds) {
  return std::all_of(x.begin(), x.end(), holds);
}

cube row_of(const cube& x, uword i) { return x.rows(i, i); }
cube column_of(const cube& x, uword i) { return x.cols(i, i); }
cube slice_of(const cube& x, uword i) { return x.slices(i, i); }

struct Axis {
  const char* one;                             ///< "row"
  const char* many;                            ///< "rows"
  cube (*part)(const cube& of, uword number);  ///< such as a row of all its slices
  uword size;
};

std::vector<Axis> axes_of(const cube& x) {
  return {{"slice", "slices", slice_of, x.n_slices},
          {"row", "rows", row_of, x.n_rows},
          {"column", "columns", column_of, x.n_cols}};
}

// -------------------------------------------------------------------------------------------------- the whole result

std::string all_the_same_number(const Pair& pair) {
  if (all_of(pair.got, [](double x) { return std::isnan(x); })) return "all values are NaN";
  if (all_of(pair.got, [](double x) { return x == 0; })) return "all values are 0";
  const double first = pair.got(0);
  if (pair.got.n_elem < 3 || !all_of(pair.got, [&](double x) { return pair.equal(x, first); })) return {};
  return "all values are " + number_text(first, 4);
}

/// got = factor * expected, for all numbers; at least three must tell.
std::optional<double> common_factor(const cube& got, const cube& expected, double tolerance) {
  constexpr double tiny = 1e-6;
  std::optional<double> factor;
  int telling = 0;
  for (uword i = 0; i < got.n_elem; ++i) {
    if (!std::isfinite(got(i)) || !std::isfinite(expected(i))) return {};
    if (std::abs(expected(i)) < tiny) {
      if (!close(got(i), expected(i), 10 * tolerance)) return {};
      continue;
    }
    if (!factor) factor = got(i) / expected(i);
    if (!close(got(i), *factor * expected(i), std::max(1e-9, tolerance))) return {};
    ++telling;
  }
  return telling >= 3 ? factor : std::nullopt;
}

std::string scaled(const Pair& pair) {
  const auto factor = common_factor(pair.got, pair.expected, pair.tolerance);
  if (!factor) return {};
  if (close(*factor, -1, 1e-9)) return "every value has the wrong sign";
  return "every value is " + number_text(*factor, 4) + " times the expected one";
}

std::string shifted(const Pair& pair) {
  const double by = pair.got(0) - pair.expected(0);
  if (pair.got.n_elem < 3 || !std::isfinite(by)) return {};
  if (!pair.equals(pair.expected + by)) return {};
  return "every value is " + number_text(std::abs(by), 4) + (by > 0 ? " too large" : " too small");
}

cube transposed(const cube& x) {
  cube result(x.n_cols, x.n_rows, x.n_slices);
  for (uword n = 0; n < x.n_slices; ++n) result.slice(n) = x.slice(n).t();
  return result;
}

std::string is_transposed(const Pair& pair) {
  if (pair.expected.n_rows < 2 && pair.expected.n_cols < 2) return {};
  if (!pair.equals(transposed(pair.expected))) return {};
  return pair.got.n_slices > 1 ? "every slice is the transpose of what is expected"
                               : "this is the transpose of what is expected";
}

// ------------------------------------------------------------------------------------------------- weights in rows

bool sums_to_one(const cube& x) { return close(arma::accu(x), 1, 1e-9); }

std::string another_softmax(const Pair& pair) {
  const auto rows_sum_to_one = [](const cube& x) {
    for (uword n = 0; n < x.n_slices; ++n) {
      for (uword i = 0; i < x.n_rows; ++i) {
        if (!close(arma::accu(x.slice(n).row(i)), 1, 1e-9)) return false;
      }
    }
    return true;
  };
  const bool weights = pair.expected.n_cols > 1 && pair.expected.min() >= 0 && rows_sum_to_one(pair.expected);
  if (!weights || !pair.got.is_finite() || rows_sum_to_one(pair.got)) return {};
  if (pair.got.n_rows > 1 && rows_sum_to_one(transposed(pair.got))) {
    return "the columns sum to one, but the rows have to: a weight for each key";
  }
  for (uword n = 0; n < pair.got.n_slices; ++n) {
    if (!sums_to_one(slice_of(pair.got, n))) return "the rows do not sum to one";
  }
  return "all values of a slice together sum to one, but every row has to";
}

// ------------------------------------------------------------------------------------------- rows, columns, slices

/// "row 0 is", "rows 0 and 2 are", "rows 0 to 3 are"; empty where that would be long.
std::string parts_text(const Axis& axis, const std::vector<uword>& numbers) {
  constexpr std::size_t few = 4;
  if (numbers.size() == 1) return axis.one + (" " + std::to_string(numbers[0]) + " is");
  std::string text = axis.many + std::string(" ");
  if (numbers.size() > 2 && numbers.back() - numbers.front() + 1 == numbers.size()) {
    return text + std::to_string(numbers.front()) + " to " + std::to_string(numbers.back()) + " are";
  }
  if (numbers.size() > few) return {};
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    text += (i == 0 ? "" : i + 1 == numbers.size() ? " and " : ", ") + std::to_string(numbers[i]);
  }
  return text + " are";
}

/// Rows, columns or slices that are right, but in other places.
std::string reordered(const Pair& pair, const Axis& axis) {
  std::set<uword> taken;
  std::string example;
  bool tells = false;  // whether the example is of more than zeros
  for (uword i = 0; i < axis.size; ++i) {
    const cube part = axis.part(pair.got, i);
    uword from = 0;
    while (from < axis.size &&
           (taken.count(from) != 0 || !all_close(part, axis.part(pair.expected, from), pair.tolerance))) {
      ++from;
    }
    if (from == axis.size) return {};
    taken.insert(from);
    if (!tells && from != i) {
      tells = !part.is_zero();
      example =
          axis.one + (" " + std::to_string(i)) + " holds what belongs in " + axis.one + " " + std::to_string(from);
    }
  }
  return std::string("the ") + axis.many + " are right, but in another order: " + example;
}

/// Whether there are numbers enough, and they differ, so that a part is not equal to another one by chance.
bool is_telling(const cube& part) {
  constexpr uword few = 3;
  return part.n_elem >= few && part.is_finite() && part.max() - part.min() > 1e-6;
}

/// Wrong rows, columns or slices that hold what belongs in others: all the same one, or each the one beside it.
std::string from_elsewhere(const Pair& pair, const Axis& axis) {
  std::vector<uword> wrong;
  std::set<uword> sources;
  std::set<int> shifts;
  for (uword i = 0; i < axis.size; ++i) {
    const cube part = axis.part(pair.got, i);
    if (all_close(part, axis.part(pair.expected, i), pair.tolerance)) continue;
    uword from = 0;
    while (from < axis.size && !all_close(part, axis.part(pair.expected, from), pair.tolerance)) ++from;
    if (from == axis.size || !is_telling(part)) return {};
    wrong.push_back(i);
    sources.insert(from);
    shifts.insert(static_cast<int>(from) - static_cast<int>(i));
  }
  if (wrong.empty() || (sources.size() > 1 && shifts.size() > 1)) return {};
  const std::string one = axis.one;
  if (wrong.size() == 1 || sources.size() > 1) {
    std::string text = one + " " + std::to_string(wrong[0]) + " holds what belongs in " + one + " " +
                       std::to_string(static_cast<int>(wrong[0]) + *shifts.begin());
    return wrong.size() == 1 ? text : text + ", and so on";
  }
  return "what belongs in " + one + " " + std::to_string(*sources.begin()) + " is in " +
         (wrong.size() + 1 >= axis.size ? "the other " : "other ") + axis.many + ", too";
}

bool all_alike(const cube& x, const Axis& axis, double tolerance) {
  const cube first = axis.part(x, 0);
  for (uword i = 1; i < axis.size; ++i) {
    if (!all_close(axis.part(x, i), first, tolerance)) return false;
  }
  return true;
}

std::string alike(const Pair& pair, const Axis& axis) {
  if (axis.size < 2 || !all_alike(pair.got, axis, pair.tolerance)) return {};
  if (all_alike(pair.expected, axis, pair.tolerance)) return {};
  return std::string("all ") + axis.many + " are the same, and should differ";
}

std::string partly_right(const Pair& pair, const Axis& axis) {
  std::vector<uword> right;
  std::vector<uword> wrong;
  for (uword i = 0; i < axis.size; ++i) {
    const bool same = all_close(axis.part(pair.got, i), axis.part(pair.expected, i), pair.tolerance);
    (same ? right : wrong).push_back(i);
  }
  if (right.empty()) return {};
  const std::string right_text = parts_text(axis, right);
  const std::string wrong_text = parts_text(axis, wrong);
  if (right_text.empty() && wrong_text.empty()) {
    return std::to_string(right.size()) + " of " + std::to_string(axis.size) + " " + axis.many + " are right";
  }
  if (right_text.empty()) return wrong_text + " wrong, the others are right";
  return right_text + " right, " + (wrong_text.empty() ? std::string("the others are") : wrong_text) + " not";
}

/// got = factor * expected in each row, with factors of their own.
std::string rows_scaled(const Pair& pair) {
  if (pair.got.n_cols < 3 || pair.is_exact()) return {};
  std::string example;
  for (uword n = 0; n < pair.got.n_slices; ++n) {
    for (uword i = 0; i < pair.got.n_rows; ++i) {
      const cube got = row_of(slice_of(pair.got, n), i);
      const auto factor = common_factor(got, row_of(slice_of(pair.expected, n), i), pair.tolerance);
      if (!factor) return {};
      if (example.empty() && !close(*factor, 1, 1e-9)) {
        example = "row " + std::to_string(i) + " is " + number_text(*factor, 4) + " times";
      }
    }
  }
  return "every row is a multiple of the expected one (" + example + "): is each divided by its own sum?";
}

/// The same numbers added to every row.
std::string rows_shifted(const Pair& pair) {
  if (pair.got.n_rows < 2 || pair.is_exact() || !pair.got.is_finite() || !pair.expected.is_finite()) return {};
  const arma::rowvec by = pair.got.slice(0).row(0) - pair.expected.slice(0).row(0);
  cube moved = pair.expected;
  moved.each_slice([&](arma::mat& x) { x.each_row() += by; });
  if (!all_close(pair.got, moved, std::max(1e-9, pair.tolerance))) return {};
  return "every row is off by the same numbers: is a bias left out, or wrong?";
}

// --------------------------------------------------------------------------------------------------- single numbers

std::string right_or_zero(const Pair& pair) {
  uword zeros = 0;
  for (uword i = 0; i < pair.got.n_elem; ++i) {
    if (pair.equal(pair.got(i), pair.expected(i))) continue;
    if (pair.got(i) != 0) return {};
    ++zeros;
  }
  return "the values are right but for " + std::to_string(zeros) + " that are 0";
}

std::string in_other_places(const Pair& pair) {
  std::vector<double> got(pair.got.begin(), pair.got.end());
  std::vector<double> expected(pair.expected.begin(), pair.expected.end());
  std::sort(got.begin(), got.end());
  std::sort(expected.begin(), expected.end());
  const bool same = pair.got.n_elem > 3 && std::equal(got.begin(), got.end(), expected.begin(),
                                                      [&](double a, double b) { return pair.equal(a, b); });
  return same ? "these are the right numbers, but in other places" : "";
}

/// What the slices, the rows or the columns answer first.
template <std::string (*question)(const Pair&, const Axis&)>
std::string of_an_axis(const Pair& pair) {
  for (const auto& axis : axes_of(pair.got)) {
    if (std::string answer = question(pair, axis); !answer.empty()) return answer;
  }
  return {};
}

}  // namespace

bool close(double got, double expected, double tolerance) {
  if (std::isnan(expected)) return std::isnan(got);
  if (std::isinf(expected)) return got == expected;
  return std::abs(got - expected) <= tolerance * std::max(1.0, std::abs(expected));
}

bool all_close(const cube& got, const cube& expected, double tolerance) {
  if (arma::size(got) != arma::size(expected)) return false;
  return std::equal(got.begin(), got.end(), expected.begin(),
                    [&](double a, double b) { return close(a, b, tolerance); });
}

std::string likeness(const cube& got, const cube& expected, double tolerance) {
  if (got.is_empty() || expected.is_empty()) return {};
  const Pair pair{got, expected, tolerance};
  if (arma::size(got) != arma::size(expected)) return is_transposed(pair);
  constexpr uword large = 4096;  // numbers; what is larger is not gone through so often
  std::vector<std::string (*)(const Pair&)> questions = {all_the_same_number, scaled, shifted, is_transposed,
                                                         another_softmax};
  if (got.n_elem <= large) {
    questions.insert(questions.end(),
                     {of_an_axis<reordered>, of_an_axis<alike>, rows_shifted, rows_scaled, of_an_axis<from_elsewhere>,
                      of_an_axis<partly_right>, right_or_zero, in_other_places});
  }
  for (const auto question : questions) {
    if (std::string answer = question(pair); !answer.empty()) return answer;
  }
  return {};
}

}  // namespace attn::judge
