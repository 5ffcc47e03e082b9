#include "checks/diagnosis.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <stdexcept>

#include "checks/golden.hpp"
#include "checks/likeness.hpp"
#include "verdict/words.hpp"

namespace attn::judge {

namespace {

using arma::uword;

int comparisons_so_far = 0;

/// Two axes for a matrix, or three.
std::vector<std::size_t> sizes_of(const arma::cube& x, std::size_t rank) {
  std::vector<std::size_t> sizes = {x.n_rows, x.n_cols};
  if (rank > 2 || x.n_slices != 1) sizes.push_back(x.n_slices);
  return sizes;
}

std::vector<std::size_t> place_of(const arma::cube& x, uword index) {
  const uword in_slice = index % x.n_elem_slice;
  std::vector<std::size_t> place = {in_slice % x.n_rows, in_slice / x.n_rows};
  if (x.n_slices > 1) place.push_back(index / x.n_elem_slice);
  return place;
}

/// The element that is furthest off among those that are wrong, the first NaN before all others.
std::optional<WorstElement> find_worst(const arma::cube& actual, const arma::cube& expected,
                                       const std::function<bool(double got, double want)>& is_wrong) {
  std::optional<WorstElement> worst;
  double largest = -1;
  std::size_t wrong = 0;
  for (uword i = 0; i < actual.n_elem; ++i) {
    if (!is_wrong(actual(i), expected(i))) continue;
    ++wrong;
    const double difference = std::abs(actual(i) - expected(i));
    const double off = std::isnan(difference) ? std::numeric_limits<double>::infinity() : difference;
    if (off <= largest) continue;
    largest = off;
    worst = WorstElement{place_of(actual, i), actual(i), expected(i), 0, actual.n_elem};
  }
  if (worst) worst->wrong = wrong;
  return worst;
}

ShapeFact shape_of(const arma::cube& actual, const std::vector<Axis>& expected) {
  ShapeFact shape;
  shape.got = sizes_of(actual, expected.size());
  for (const Axis& axis : expected) {
    shape.expected.push_back(axis.size);
    shape.axes.push_back(axis.name);
  }
  return shape;
}

/// Where a stretch of at most `most` begins, out of `size`, that holds `inside` and begins at `first` if it can.
uword begin_of(uword first, uword inside, uword size, uword most) {
  if (size <= most) return 0;
  const uword begin = inside < first + most ? first : inside - most + 1;
  return std::min(begin, size - most);
}

/// The numbers of the slice with the worst element: all of a small one, else those from the first that differs on.
Excerpt excerpt_of(const arma::cube& actual, const Expected& expected, const WorstElement& worst) {
  constexpr uword most = 6;
  const uword slice = worst.place.size() > 2 ? worst.place[2] : 0;
  const arma::mat& got = actual.slice(slice);
  const arma::mat& want = expected.values.slice(slice);
  uword first_row = worst.place[0];
  uword first_column = worst.place[1];
  for (uword i = 0; i < got.n_elem; ++i) {
    if (close(got(i), want(i), expected.tolerance)) continue;
    first_row = std::min(first_row, i % got.n_rows);
    first_column = std::min(first_column, i / got.n_rows);
  }
  Excerpt excerpt{begin_of(first_row, worst.place[0], got.n_rows, most),
                  begin_of(first_column, worst.place[1], got.n_cols, most),
                  {}};
  excerpt.whole = got.n_rows <= most && got.n_cols <= most;
  for (uword i = excerpt.row; i < std::min(excerpt.row + most, got.n_rows); ++i) {
    excerpt.cells.emplace_back();
    for (uword j = excerpt.column; j < std::min(excerpt.column + most, got.n_cols); ++j) {
      excerpt.cells.back().push_back({got(i, j), want(i, j), !close(got(i, j), want(i, j), expected.tolerance)});
    }
  }
  return excerpt;
}

Comparison comparison_of(int number, const arma::cube& actual, const arma::cube& expected, double tolerance) {
  return {number, fingerprint_of(expected), fingerprint_of(actual), tolerance};
}

std::string row_that_is_no_distribution(const arma::cube& weights) {
  for (uword slice = 0; slice < weights.n_slices; ++slice) {
    for (uword row = 0; row < weights.n_rows; ++row) {
      const arma::rowvec one = weights.slice(slice).row(row);
      const std::string where = "row " + std::to_string(row) + ", slice " + std::to_string(slice);
      if (one.has_nan()) return where + " holds NaN (not a number)";
      if (one.min() < 0) return where + " holds a negative weight, " + number_text(one.min());
      const double sum = arma::accu(one);
      if (!close(sum, 1.0, default_tolerance)) return where + " sums to " + distinct_texts(sum, 1.0).first + ", want 1";
    }
  }
  return {};
}

}  // namespace

void begin_comparisons() { comparisons_so_far = 0; }

void repeat_comparison() { --comparisons_so_far; }

Fingerprint fingerprint_of(const arma::cube& x) {
  return Fingerprint::of({x.n_rows, x.n_cols, x.n_slices}, x.memptr());
}

std::string line(const std::string& label, const std::string& text) {
  Failure failure;
  failure.statements.push_back({label, text});
  return encode(failure);
}

std::string given(const std::string& name, const arma::cube& x) {
  constexpr uword most = 6;
  Failure failure;
  if (x.n_rows > most || x.n_cols > most || x.n_slices > 2) return {};
  for (uword slice = 0; slice < x.n_slices; ++slice) {
    auto& cells =
        failure.given.emplace_back(x.n_slices > 1 ? name + " " + std::to_string(slice) : name, Excerpt{}).second.cells;
    for (uword i = 0; i < x.n_rows; ++i) {
      cells.emplace_back();
      for (uword j = 0; j < x.n_cols; ++j) cells.back().push_back({x(i, j, slice)});
    }
  }
  return encode(failure);
}

std::string note(const std::string& sentence) {
  Failure failure;
  failure.notes.push_back(sentence);
  return encode(failure);
}

std::string clue(const arma::cube& actual, const arma::cube& expected) {
  constexpr int first_number = 1000;  // asked for by failing assertions alone, so that it must not count
  Failure failure;
  failure.comparison = comparison_of(first_number + comparisons_so_far, actual, expected, default_tolerance);
  return encode(failure);
}

std::string likely_mistake(const std::string& id) {
  const auto& known = current_mistakes();
  if (std::none_of(known.begin(), known.end(), [&](const auto& mistake) { return mistake.id == id; })) {
    throw std::out_of_range("the lesson's catalogue has no mistake " + id);
  }
  Failure failure;
  failure.likely.push_back(id);
  return encode(failure);
}

bool hides_nan(const arma::cube& actual, const arma::cube& expected) {
  arma::cube hidden = expected;
  hidden.replace(arma::datum::nan, 0.0);
  return expected.has_nan() && all_close(actual, hidden, default_tolerance);
}

std::string diagnose_shape(const arma::cube& actual, const std::vector<Axis>& expected) {
  Failure failure;
  failure.kind = Failure::Kind::shape;
  failure.shape = shape_of(actual, expected);
  return failure.shape->got == failure.shape->expected ? "" : encode(failure);
}

std::string diagnose(const arma::cube& actual, const Expected& expected) {
  const int number = comparisons_so_far++;
  const uword sizes[] = {expected.values.n_rows, expected.values.n_cols, expected.values.n_slices};
  std::vector<Axis> axes;
  for (std::size_t i = 0; i < expected.axes.size(); ++i) axes.push_back({expected.axes[i], sizes[i]});

  Failure failure;
  failure.shape = shape_of(actual, axes);
  failure.kind = Failure::Kind::shape;
  if (failure.shape->got == failure.shape->expected) {
    failure.kind = Failure::Kind::value;
    const auto is_nan = [](double got, double want) { return std::isnan(got) && !std::isnan(want); };
    const auto differs = [&](double got, double want) { return !close(got, want, expected.tolerance); };
    failure.worst = find_worst(actual, expected.values, is_nan);
    if (!failure.worst) failure.worst = find_worst(actual, expected.values, differs);
    if (!failure.worst) return {};
  }
  failure.comparison = comparison_of(number, actual, expected.values, expected.tolerance);
  failure.likeness = likeness(actual, expected.values, expected.tolerance);
  if (failure.worst) failure.excerpt = excerpt_of(actual, expected, *failure.worst);
  return encode(failure);
}

std::string diagnose_rows_sum_to_one(const arma::cube& actual) {
  const int number = comparisons_so_far++;
  if (actual.is_empty()) {
    Failure failure;
    failure.kind = Failure::Kind::shape;
    failure.shape = ShapeFact{sizes_of(actual, 3), {}, {}};
    return encode(failure);
  }
  const std::string problem = row_that_is_no_distribution(actual);
  if (problem.empty()) return {};
  Failure failure;
  failure.statements.push_back({"value", problem});
  failure.comparison = comparison_of(number, actual, {}, default_tolerance);
  return encode(failure);
}

}  // namespace attn::judge
