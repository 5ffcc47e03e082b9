// Lesson 19's flash_attention once more, with the quick kernels. It passes the same checks.
#include "flash_attention.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "attend.hpp"
#include "attn/shape.hpp"
#include "threads.hpp"
#include "usable_kernels.hpp"

namespace attn {

namespace {

using fast::AlignedFloats;
using fast::ConstPanels;
using std::size_t;

/// All slices of a cube in panels, slice after slice.
struct PackedCube {
  /// @param lengths as key_lengths: rows from there on are padding. They become 0 and are not read, as 0 times a NaN
  ///                that stands there would be NaN.
  PackedCube(const arma::fcube& x, size_t R, float factor, const arma::uvec& lengths = {})
      : per_slice(fast::divided_up(x.n_rows, R)), panel(x.n_cols * R) {
    floats.reserve(x.n_slices * per_slice * panel);
#pragma omp parallel for
    for (size_t p = 0; p < x.n_slices * per_slice; ++p) {
      const size_t slice = p / per_slice, row = p % per_slice * R;
      const size_t end = lengths.is_empty() ? x.n_rows : lengths(slice * lengths.n_elem / x.n_slices);
      fast::copy_to_panel(x.slice_memptr(slice) + row, x.n_rows, x.n_cols, end - std::min(end, row), R, factor,
                          floats.data() + p * panel);
    }
  }

  ConstPanels at(size_t slice, size_t p) const { return {floats.data() + (slice * per_slice + p) * panel, panel}; }

  size_t per_slice, panel;  // panels of a slice, floats of a panel
  AlignedFloats floats;
};

/// One thread's tiles, and its panels of the result.
class Worker {
 public:
  Worker(const fast::Kernels& kernels, size_t value_dim)
      : R_(kernels.rows), panel_(value_dim * R_), tiles_(kernels, value_dim) {
    output_.reserve(fast::Tiles::group * panel_);
    log_sum_exp_.reserve(fast::Tiles::group * R_);
  }

  /// Queries first ... of slice n.
  void attend(const fast::Head& head, ConstPanels queries, size_t count, size_t first, size_t n, FlashResult& result) {
    tiles_.attend(head, queries, count, first, {output_.data(), panel_}, log_sum_exp_.data());
    for (size_t i = first; i < std::min(head.L, first + count * R_); ++i) {
      result.log_sum_exp(i, n) = log_sum_exp_.data()[i - first];
      const float* row = output_.data() + (i - first) / R_ * panel_ + (i - first) % R_;
      for (size_t d = 0; d < head.value_dim; ++d) result.output(i, d, n) = row[d * R_];
    }
  }

 private:
  size_t R_, panel_;
  fast::Tiles tiles_;
  AlignedFloats output_, log_sum_exp_;
};

/// As the readable flash_attention rejects them.
void require_inputs(const arma::fcube& Q, const arma::fcube& K, const arma::fcube& V, const FlashOptions& options) {
  require_shape("Q", Q, {{"L"}, {"D"}, {"H·B"}});
  require_shape("K", K, {{"S"}, {"D", Q.n_cols}, {"G·B"}});
  require_shape("V", V, {{"S", K.n_rows}, {"Dv"}, {"G·B", K.n_slices}});
  require_multiple("H·B (slices of Q)", Q.n_slices, "G·B (slices of K)", K.n_slices);
  require_positive("query_block", options.query_block);
  require_positive("key_block", options.key_block);
  if (options.key_lengths.is_empty()) return;
  require_multiple("G·B (slices of K)", K.n_slices, "B (size of key_lengths)", options.key_lengths.n_elem);
  require_at_most("key_lengths.max()", options.key_lengths.max(), "S", K.n_rows);
}

}  // namespace

namespace fast {

FlashResult flash_attention(const arma::fcube& Q, const arma::fcube& K, const arma::fcube& V,
                            const FlashOptions& options, const Kernels& kernels) {
  require_inputs(Q, K, V, options);
  const size_t R = kernels.rows, L = Q.n_rows, N = Q.n_slices, Dv = V.n_cols;
  const PackedCube queries(Q, R, log2e / std::sqrt(static_cast<float>(Q.n_cols)));
  const PackedCube keys(K, R, 1, options.key_lengths), values(V, R, 1, options.key_lengths);
  FlashResult result = {arma::fcube(L, Dv, N), arma::fmat(L, N)};
  std::vector<Worker> workers;
  for (int t = 0; t < max_threads(); ++t) workers.emplace_back(kernels, Dv);

  const size_t groups = divided_up(queries.per_slice, Tiles::group);
#pragma omp parallel for schedule(dynamic)
  for (size_t task = 0; task < N * groups; ++task) {
    const size_t n = task / groups, kv = n * K.n_slices / N;
    const size_t first = (groups - 1 - task % groups) * Tiles::group;  // in causal order the longest first
    const size_t count = std::min(Tiles::group, queries.per_slice - first);
    const arma::uvec& lengths = options.key_lengths;
    const size_t length = lengths.is_empty() ? K.n_rows : lengths(n * lengths.n_elem / N);
    const Head head = {keys.at(kv, 0), values.at(kv, 0), L, K.n_rows, Q.n_cols, Dv, length, options.causal};
    workers[static_cast<size_t>(this_thread())].attend(head, queries.at(n, first), count, first * R, n, result);
  }
  return result;
}

}  // namespace fast

FlashResult flash_attention(const arma::fcube& Q, const arma::fcube& K, const arma::fcube& V,
                            const FlashOptions& options) {
  return fast::flash_attention(Q, K, V, options, *fast::usable_kernels().front());
}

}  // namespace attn
