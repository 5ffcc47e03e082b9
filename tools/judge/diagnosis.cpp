#include "judge/diagnosis.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <set>
#include <stdexcept>

#include "judge/golden.hpp"

namespace attn::judge {

namespace {

using arma::uword;

std::string number(double value, int digits = 6) {
  char text[32];
  std::snprintf(text, sizeof text, "%.*g", digits, value);
  return text;
}

/// Both numbers with as many digits as it takes to tell them apart.
std::pair<std::string, std::string> distinct(double a, double b) {
  int digits = 6;
  while (digits < 17 && number(a, digits) == number(b, digits)) ++digits;
  return {number(a, digits), number(b, digits)};
}

std::string place(const arma::cube& x, uword index) {
  const uword in_slice = index % x.n_elem_slice;
  std::string text = "row " + std::to_string(in_slice % x.n_rows) + ", col " + std::to_string(in_slice / x.n_rows);
  if (x.n_slices > 1) text += ", slice " + std::to_string(index / x.n_elem_slice);
  return text;
}

std::string count_of(uword count, uword total, const std::string& verb) {
  return "(" + std::to_string(count) + " of " + std::to_string(total) + " " + verb + ")";
}

bool close(double actual, double wanted, double tolerance) {
  if (std::isnan(wanted)) return std::isnan(actual);
  if (std::isinf(wanted)) return actual == wanted;
  return std::abs(actual - wanted) <= tolerance * std::max(1.0, std::abs(wanted));
}

bool all_close(const arma::cube& actual, const arma::cube& wanted, double tolerance) {
  if (arma::size(actual) != arma::size(wanted)) return false;
  return std::equal(actual.begin(), actual.end(), wanted.begin(),
                    [&](double a, double w) { return close(a, w, tolerance); });
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const auto& word : words) text += (text.empty() ? "" : " x ") + word;
  return text;
}

/// "4 x 3 x 2"; a matrix (two axes) has no slices to speak of.
std::string size_text(const arma::cube& x, std::size_t rank) {
  std::string text = std::to_string(x.n_rows) + " x " + std::to_string(x.n_cols);
  if (rank > 2 || x.n_slices != 1) text += " x " + std::to_string(x.n_slices);
  return text;
}

/// The letters of the axes that the sizes betray, or empty when they fit none, or more than one.
std::string recognised(const std::vector<uword>& sizes, const std::vector<Axis>& axes) {
  std::set<uword> seen;
  for (const Axis& axis : axes) {
    if (!seen.insert(axis.size).second) return {};
  }
  std::vector<std::string> names;
  for (const uword size : sizes) {
    const auto found = std::find_if(axes.begin(), axes.end(), [&](const Axis& axis) { return axis.size == size; });
    if (found == axes.end()) return {};
    names.push_back(found->name);
  }
  return joined(names);
}

std::string mistakes_line(const arma::cube& actual, const Expected& expected) {
  std::string named;
  for (const auto& mistake : expected.mistakes) {
    if (!all_close(actual, mistake.values, expected.tolerance)) continue;
    named += named.empty() ? mistake.says : "; or " + mistake.says;
  }
  return named.empty() ? "" : line("likely", named);
}

/// The first NaN where none is wanted.
std::string diagnose_nan(const arma::cube& actual, const arma::cube& wanted) {
  uword count = 0;
  uword first = 0;
  for (uword i = actual.n_elem; i-- > 0;) {
    if (!std::isnan(actual(i)) || std::isnan(wanted(i))) continue;
    first = i;
    ++count;
  }
  if (count == 0) return {};
  return line("value", "NaN (not a number) at " + place(actual, first) + "   " +
                           count_of(count, actual.n_elem, count == 1 ? "is NaN" : "are NaN"));
}

std::string diagnose_values(const arma::cube& actual, const Expected& expected) {
  uword count = 0;
  uword worst = 0;
  double largest = -1;
  for (uword i = 0; i < actual.n_elem; ++i) {
    if (close(actual(i), expected.values(i), expected.tolerance)) continue;
    ++count;
    const double difference = std::abs(actual(i) - expected.values(i));
    const double off = std::isnan(difference) ? std::numeric_limits<double>::infinity() : difference;
    if (off > largest) {
      largest = off;
      worst = i;
    }
  }
  if (count == 0) return {};
  const auto [got, want] = distinct(actual(worst), expected.values(worst));
  const std::string nearly = largest < 1e-5 ? note("nearly right: is there a float, or a small number added?") : "";
  const std::string by = std::isinf(largest) ? "" : ", off by " + number(largest, 3);
  return line("value", "worst at " + place(actual, worst) + ": got " + got + ", want " + want + by + "   " +
                           count_of(count, actual.n_elem, count == 1 ? "differs" : "differ")) +
         nearly;
}

}  // namespace

std::string line(const std::string& label, const std::string& text) {
  const std::size_t width = 8;
  return "\n  " + label + std::string(label.size() < width ? width - label.size() : 1, ' ') + text;
}

std::string note(const std::string& sentence) { return line("note", sentence); }

bool hides_nan(const arma::cube& actual, const arma::cube& expected) {
  arma::cube hidden = expected;
  hidden.replace(arma::datum::nan, 0.0);
  return expected.has_nan() && all_close(actual, hidden, default_tolerance);
}

std::string likely_mistake(const std::string& id) {
  for (const auto& mistake : current_mistakes()) {
    if (mistake.id == id) return line("likely", mistake.says);
  }
  throw std::out_of_range("the lesson's catalogue has no mistake " + id);
}

std::string diagnose_shape(const arma::cube& actual, const std::vector<Axis>& expected) {
  std::vector<uword> sizes = {actual.n_rows, actual.n_cols};
  if (expected.size() > 2 || actual.n_slices != 1) sizes.push_back(actual.n_slices);
  std::vector<uword> wanted;
  std::vector<std::string> names;
  std::vector<std::string> numbers;
  for (const Axis& axis : expected) {
    wanted.push_back(axis.size);
    names.push_back(axis.name);
    numbers.push_back(std::to_string(axis.size));
  }
  if (sizes == wanted) return {};
  std::string text =
      "got " + size_text(actual, expected.size()) + ", want " + joined(numbers) + " (" + joined(names) + ")";
  if (actual.n_elem == 0) return line("shape", text) + line("", "what you returned is empty");
  const std::string order = recognised(sizes, expected);
  if (order.empty()) return line("shape", text);
  return line("shape", text) + line("", "you returned " + order + ", but rows are " + names[0] + ", columns are " +
                                            names[1] + (names.size() > 2 ? ", slices are " + names[2] : ""));
}

std::string diagnose(const arma::cube& actual, const Expected& expected) {
  const std::vector<uword> sizes = {expected.values.n_rows, expected.values.n_cols, expected.values.n_slices};
  std::vector<Axis> axes;
  for (std::size_t i = 0; i < expected.axes.size(); ++i) axes.push_back({expected.axes[i], sizes[i]});
  if (const std::string wrong = diagnose_shape(actual, axes); !wrong.empty()) {
    return wrong + mistakes_line(actual, expected);
  }

  std::string value = diagnose_nan(actual, expected.values);
  if (value.empty()) value = diagnose_values(actual, expected);
  if (value.empty()) return {};
  const std::string shape = size_text(actual, axes.size()) + " (" + joined(expected.axes) + ")   ok";
  return line("shape", shape) + value + mistakes_line(actual, expected);
}

std::string diagnose_rows_sum_to_one(const arma::cube& actual) {
  if (actual.n_elem == 0) return line("shape", "got " + size_text(actual, 3)) + line("", "what you returned is empty");
  for (uword slice = 0; slice < actual.n_slices; ++slice) {
    for (uword row = 0; row < actual.n_rows; ++row) {
      const arma::rowvec weights = actual.slice(slice).row(row);
      const std::string where = "row " + std::to_string(row) + ", slice " + std::to_string(slice);
      if (weights.has_nan()) return line("value", where + " holds NaN (not a number)");
      if (weights.min() < 0) return line("value", where + " holds a negative weight, " + number(weights.min()));
      const double sum = arma::accu(weights);
      if (!close(sum, 1.0, default_tolerance)) {
        return line("value", where + " sums to " + distinct(sum, 1.0).first + ", want 1");
      }
    }
  }
  return {};
}

}  // namespace attn::judge
