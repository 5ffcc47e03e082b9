#include "flash_attention.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "panels.hpp"
#include "query_group.hpp"
#include "tasks.hpp"
#include "threads.hpp"
#include "units.hpp"

namespace attn::fast {

namespace {

using std::size_t;

/// All slices of a cube in panels, slice after slice.
struct PackedCube {
  /// @param lengths as key_lengths: rows from there on are padding. They become 0 and are not read, as 0 times a NaN
  ///                in the padding would be NaN.
  PackedCube(const arma::fcube& x, size_t R, float factor, const arma::uvec& lengths = {})
      : per_slice(divided_up(x.n_rows, R)), panel(x.n_cols * R) {
    floats.reserve(x.n_slices * per_slice * panel);
#pragma omp parallel for
    for (size_t p = 0; p < x.n_slices * per_slice; ++p) {
      const size_t slice = p / per_slice, row = p % per_slice * R;
      const size_t end = lengths.is_empty() ? x.n_rows : lengths(slice * lengths.n_elem / x.n_slices);
      copy_to_panel(x.slice_memptr(slice) + row, x.n_rows, x.n_cols, end - std::min(end, row), R, factor,
                    floats.data() + p * panel);
    }
  }

  ConstPanels at(size_t slice, size_t p) const { return {floats.data() + (slice * per_slice + p) * panel, panel}; }

  size_t per_slice, panel;  // panels of a slice, floats of a panel
  AlignedFloats floats;
};

/// One thread's queries, and their panels of the result.
class Worker {
 public:
  Worker(const Kernels& kernels, size_t value_dim)
      : R_(kernels.rows), panel_(value_dim * R_), queries_(kernels, value_dim) {
    output_.reserve(panels_per_group * panel_);
    log_sum_exp_.reserve(panels_per_group * R_);
  }

  /// The queries of one task.
  void attend(const Head& head, ConstPanels queries, const AttentionTask& task, FlashResult& result) {
    const size_t first = task.panels.first * R_, n = task.slice;
    queries_.attend(head, queries, task.panels.count, first, {output_.data(), panel_}, log_sum_exp_.data());
    for (size_t i = first; i < std::min(head.L, first + task.panels.count * R_); ++i) {
      result.log_sum_exp(i, n) = log_sum_exp_.data()[i - first];
      const float* row = output_.data() + (i - first) / R_ * panel_ + (i - first) % R_;
      for (size_t d = 0; d < head.value_dim; ++d) result.output(i, d, n) = row[d * R_];
    }
  }

 private:
  size_t R_, panel_;
  QueryGroup queries_;
  AlignedFloats output_, log_sum_exp_;
};

}  // namespace

FlashResult flash_attention(const arma::fcube& Q, const arma::fcube& K, const arma::fcube& V,
                            const FlashOptions& options, const Kernels& kernels) {
  require_flash_inputs(Q, K, V, options);
  const size_t R = kernels.rows, L = Q.n_rows, N = Q.n_slices, Dv = V.n_cols;
  const arma::uvec& lengths = options.key_lengths;
  const PackedCube queries(Q, R, log2e / std::sqrt(static_cast<float>(Q.n_cols)));
  const PackedCube keys(K, R, 1, lengths), values(V, R, 1, lengths);
  FlashResult result = {arma::fcube(L, Dv, N), arma::fmat(L, N)};
  std::vector<Worker> workers;
  for (int t = 0; t < max_threads(); ++t) workers.emplace_back(kernels, Dv);

  const AttentionTasks tasks = {N, queries.per_slice};
#pragma omp parallel for schedule(dynamic)
  for (size_t i = 0; i < tasks.size(); ++i) {
    const AttentionTask task = tasks.at(i);
    const size_t n = task.slice, kv = n * K.n_slices / N;
    const size_t length = lengths.is_empty() ? K.n_rows : lengths(n * lengths.n_elem / N);
    const Head head = {keys.at(kv, 0), values.at(kv, 0), L, K.n_rows, Q.n_cols, Dv, length, options.causal};
    workers[static_cast<size_t>(this_thread())].attend(head, queries.at(n, task.panels.first), task, result);
  }
  return result;
}

}  // namespace attn::fast
