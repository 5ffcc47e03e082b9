#include "attention_layer.hpp"

#include <algorithm>
#include <cmath>

#include "attn/shape.hpp"
#include "threads.hpp"
#include "units.hpp"

namespace attn::fast {

namespace {

using std::size_t;

/// Checks everything that the constructor is given, and returns E.
size_t checked_width(const Linear& qkv_proj, const Linear& output_proj, size_t num_heads) {
  const size_t E = qkv_proj.weight.n_rows;
  require_shape("qkv_proj.weight", qkv_proj.weight, {{"E", E}, {"3E", 3 * E}});
  require_shape("output_proj.weight", output_proj.weight, {{"E", E}, {"E", E}});
  if (!qkv_proj.bias.is_empty()) require_shape("qkv_proj.bias", qkv_proj.bias, {{"1", 1}, {"3E", 3 * E}});
  if (!output_proj.bias.is_empty()) require_shape("output_proj.bias", output_proj.bias, {{"1", 1}, {"E", E}});
  return require_multiple("embed_dim", E, "num_heads", num_heads);
}

}  // namespace

PackedLinear::PackedLinear(const Linear& linear, size_t band, const Kernels& kernels, size_t scaled_columns,
                           float factor)
    : kernels_(kernels),
      inputs_(linear.weight.n_rows),
      band_(band),
      tiles_(divided_up(band, kernels.tile_columns)),
      bias_(linear.weight.n_cols) {
  weights_.reserve(inputs_ * linear.weight.n_cols + max_rows);  // project_few reads a little further
  for (size_t begin = 0; begin < linear.weight.n_cols; begin += band) {
    for (size_t t = 0; t < tiles_; ++t) {
      const Range columns = tile_at(t);
      const size_t first = begin + columns.first;
      float* tile = weights_.data() + first * inputs_;  // (inputs x count), row-major
      for (size_t c = 0; c < columns.count; ++c) {
        const double scale = first + c < scaled_columns ? factor : 1;
        for (size_t k = 0; k < inputs_; ++k) {
          tile[k * columns.count + c] = static_cast<float>(linear.weight(k, first + c) * scale);
        }
        bias_[first + c] = linear.bias.is_empty() ? 0 : static_cast<float>(linear.bias(first + c) * scale);
      }
    }
  }
}

Range PackedLinear::tile_at(size_t tile) const {
  const size_t first = band_ * tile / tiles_;
  return {first, band_ * (tile + 1) / tiles_ - first};
}

void PackedLinear::project(size_t number, ConstPanels x, const std::vector<Columns>& result) const {
  for (size_t t = 0; t < tiles_; ++t) {
    const Range columns = tile_at(t);
    const size_t first = number * band_ + columns.first;
    for (size_t p = 0; p < result.size(); ++p) {
      const Columns to = {result[p].data + columns.first * result[p].stride, result[p].stride, result[p].rows};
      kernels_.project(x.data + p * x.stride, weights_.data() + first * inputs_, bias_.data() + first, inputs_,
                       columns.count, to);
    }
  }
}

AttentionLayer::AttentionLayer(const Linear& qkv_proj, const Linear& output_proj, arma::uword num_heads,
                               const Kernels& kernels, size_t memory_for_heads)
    : E_(checked_width(qkv_proj, output_proj, num_heads)),
      H_(num_heads),
      D_(E_ / H_),
      R_(kernels.rows),
      memory_for_heads_(memory_for_heads),
      qkv_(qkv_proj, D_, kernels, E_, log2e / std::sqrt(static_cast<float>(D_))),
      output_(output_proj, D_, kernels),
      team_(static_cast<size_t>(max_threads())) {
  for (size_t t = 0; t < team_.size(); ++t) query_groups_.emplace_back(kernels, D_);
}

void AttentionLayer::reserve() {
  inputs_.reserve(std::min(panels_per_chunk, panels_) * E_ * R_);
  queries_.reserve(panels_ * E_ * R_);
  keys_.reserve(panels_ * heads_together_ * D_ * R_);
  values_.reserve(panels_ * heads_together_ * D_ * R_);
}

arma::fcube AttentionLayer::forward(const arma::fcube& X, bool causal) {
  require_shape("X", X, {{"L"}, {"E", E_}, {"B"}});
  L_ = X.n_rows;
  B_ = X.n_slices;
  if (L_ * B_ <= few_rows) return forward_few(X, causal);
  per_sequence_ = divided_up(L_, R_);
  panels_ = B_ * per_sequence_;
  heads_together_ = std::clamp<size_t>(memory_for_heads_ / (2 * panels_ * R_ * D_ * sizeof(float)), 1, H_);
  reserve();
  arma::fcube output(L_, E_, B_);
  team_.run([&](size_t thread) {
    for (Range heads = {0, heads_together_}; heads.first < H_; heads.first += heads_together_) {
      heads.count = std::min(heads_together_, H_ - heads.first);
      for (Range chunk = {0, panels_per_chunk}; chunk.first < panels_; chunk.first += panels_per_chunk) {
        chunk.count = std::min(panels_per_chunk, panels_ - chunk.first);
        team_.share_out(thread, chunk.count, [&](size_t p) { pack(X, chunk.first + p, p); });
        const ProjectionTasks projections = {chunk.count, 3, heads.count};
        team_.share_out(thread, projections.size(), [&](size_t i) { project(heads, chunk, projections.at(i)); });
      }
      const AttentionTasks tasks = {B_ * heads.count, per_sequence_};
      team_.share_out(thread, tasks.size(),
                      [&](size_t i) { attend(heads, tasks.at(i), causal, query_groups_[thread]); });
    }
    const ProjectionTasks projections = {panels_, 1, H_};
    team_.share_out(thread, projections.size(), [&](size_t i) { project_output(projections.at(i), output); });
  });
  return output;
}

/// @param slot the panel's number within the chunk
void AttentionLayer::pack(const arma::fcube& X, size_t panel, size_t slot) {
  const auto [b, row] = place_of(panel);
  copy_to_panel(X.slice_memptr(b) + row, L_, E_, L_ - row, R_, 1, inputs_.data() + slot * E_ * R_);
}

/// The queries, keys or values of one head. The task's panels and head are counted within the chunk and `heads`.
void AttentionLayer::project(Range heads, Range chunk, const ProjectionTask& task) {
  const size_t head = heads.first + task.head;
  std::vector<Columns> to;
  for (size_t p = 0; p < task.panels.count; ++p) {
    const size_t panel = chunk.first + task.panels.first + p;
    float* first = queries_.data() + (panel * E_ + head * D_) * R_;
    if (task.part != 0) {
      float* part = task.part == 1 ? keys_.data() : values_.data();
      first = part + (panel * heads.count + task.head) * D_ * R_;
    }
    const bool half_empty = L_ - place_of(panel).row <= R_ / 2;
    if (half_empty && task.part == 2) {  // what blocked keys mix in has to be finite
      for (size_t d = 0; d < D_; ++d) std::fill_n(first + d * R_ + R_ / 2, R_ / 2, 0.0f);
    }
    to.push_back({first, R_, half_empty ? R_ / 2 : R_});
  }
  qkv_.project(task.part * H_ + head, {inputs_.data() + task.panels.first * E_ * R_, E_ * R_}, to);
}

/// The task's slice counts the heads of `heads`, sequence after sequence.
void AttentionLayer::attend(Range heads, const AttentionTask& task, bool causal, QueryGroup& own) {
  const size_t b = task.slice / heads.count, h = task.slice % heads.count;
  const size_t stride = heads.count * D_ * R_, keys = b * per_sequence_ * stride + h * D_ * R_;
  const Head head = {{keys_.data() + keys, stride}, {values_.data() + keys, stride}, L_, L_, D_, D_, L_, causal};
  const size_t query_panel = b * per_sequence_ + task.panels.first;
  const Panels queries = {queries_.data() + (query_panel * E_ + (heads.first + h) * D_) * R_, E_ * R_};
  own.attend(head, queries, task.panels.count, task.panels.first * R_, queries, nullptr);
}

/// The context times one band of the output's weights.
void AttentionLayer::project_output(const ProjectionTask& task, arma::fcube& output) const {
  std::vector<Columns> to;
  for (size_t p = 0; p < task.panels.count; ++p) {
    const auto [b, row] = place_of(task.panels.first + p);
    float* column = output.slice_memptr(b) + task.head * D_ * L_;
    to.push_back({column + row, L_, std::min(R_, L_ - row)});
  }
  output_.project(task.head, {queries_.data() + task.panels.first * E_ * R_, E_ * R_}, to);
}

}  // namespace attn::fast
