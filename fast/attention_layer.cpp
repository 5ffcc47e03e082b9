#include "attention_layer.hpp"

#include <algorithm>
#include <cmath>

#include "attn/shape.hpp"
#include "threads.hpp"

namespace attn::fast {

namespace {

using std::size_t;

/// Panels of X that are packed at a time, and that are projected by one task.
constexpr size_t chunk_panels = 64, strip = 4;

/// E, after everything that the constructor is given was checked.
size_t checked_width(const Linear& qkv_proj, const Linear& output_proj, size_t num_heads) {
  const size_t E = qkv_proj.weight.n_rows;
  require_shape("qkv_proj.weight", qkv_proj.weight, {{"E", E}, {"3E", 3 * E}});
  require_shape("output_proj.weight", output_proj.weight, {{"E", E}, {"E", E}});
  if (!qkv_proj.bias.is_empty()) require_shape("qkv_proj.bias", qkv_proj.bias, {{"1", 1}, {"3E", 3 * E}});
  if (!output_proj.bias.is_empty()) require_shape("output_proj.bias", output_proj.bias, {{"1", 1}, {"E", E}});
  return require_multiple("embed_dim", E, "num_heads", num_heads);
}

}  // namespace

PackedLinear::PackedLinear(const Linear& linear, size_t block, const Kernels& kernels, size_t scaled_columns,
                           float factor)
    : kernels_(kernels), inputs_(linear.weight.n_rows), block_(block), bias_(linear.weight.n_cols) {
  weights_.reserve(inputs_ * linear.weight.n_cols);
  const size_t tiles = divided_up(block, kernels.max_tile);
  for (size_t t = 0; t < linear.weight.n_cols / block * tiles; ++t) {
    const size_t first = t / tiles * block + block * (t % tiles) / tiles;
    const size_t next = t / tiles * block + block * (t % tiles + 1) / tiles;
    float* tile = weights_.data() + first * inputs_;
    for (size_t c = first; c < next; ++c) {
      const double scale = c < scaled_columns ? factor : 1;
      for (size_t k = 0; k < inputs_; ++k) {
        tile[k * (next - first) + c - first] = static_cast<float>(linear.weight(k, c) * scale);
      }
      bias_[c] = linear.bias.is_empty() ? 0 : static_cast<float>(linear.bias(c) * scale);
    }
  }
}

void PackedLinear::project(size_t block, ConstPanels x, const std::vector<Columns>& result) const {
  const size_t tiles = divided_up(block_, kernels_.max_tile);
  for (size_t t = 0; t < tiles; ++t) {
    const size_t first = block_ * t / tiles, next = block_ * (t + 1) / tiles, column = block * block_ + first;
    for (size_t p = 0; p < result.size(); ++p) {
      const Columns to = {result[p].data + first * result[p].stride, result[p].stride, result[p].rows};
      kernels_.project(x.data + p * x.stride, weights_.data() + column * inputs_, bias_.data() + column, inputs_,
                       next - first, to);
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
      output_(output_proj, D_, kernels) {
  for (int t = 0; t < max_threads(); ++t) tiles_.emplace_back(kernels, D_);
}

void AttentionLayer::reserve() {
  inputs_.reserve(std::min(chunk_panels, panels_) * E_ * R_);
  queries_.reserve(panels_ * E_ * R_);
  keys_.reserve(panels_ * heads_together_ * D_ * R_);
  values_.reserve(panels_ * heads_together_ * D_ * R_);
}

arma::fcube AttentionLayer::forward(const arma::fcube& X, bool causal) {
  require_shape("X", X, {{"L"}, {"E", E_}, {"B"}});
  L_ = X.n_rows, B_ = X.n_slices;
  per_sequence_ = divided_up(L_, R_), panels_ = B_ * per_sequence_;
  heads_together_ = std::clamp<size_t>(memory_for_heads_ / (2 * panels_ * R_ * D_ * sizeof(float)), 1, H_);
  reserve();
  arma::fcube output(L_, E_, B_);
#pragma omp parallel num_threads(static_cast <int>(tiles_.size()))
  {
    for (Range heads = {0, heads_together_}; heads.first < H_; heads.first += heads_together_) {
      heads.count = std::min(heads_together_, H_ - heads.first);
      for (Range chunk = {0, chunk_panels}; chunk.first < panels_; chunk.first += chunk_panels) {
        chunk.count = std::min(chunk_panels, panels_ - chunk.first);
#pragma omp for
        for (size_t p = 0; p < chunk.count; ++p) pack(X, chunk, p);
#pragma omp for schedule(dynamic)
        for (size_t task = 0; task < divided_up(chunk.count, strip) * 3 * heads.count; ++task) {
          project(heads, chunk, task);
        }
      }
#pragma omp for schedule(dynamic)
      for (size_t task = 0; task < B_ * heads.count * divided_up(per_sequence_, Tiles::group); ++task) {
        attend(heads, task, causal);
      }
    }
#pragma omp for schedule(dynamic)
    for (size_t task = 0; task < divided_up(panels_, strip) * H_; ++task) project_output(task, output);
  }
  return output;
}

void AttentionLayer::pack(const arma::fcube& X, Range chunk, size_t p) {
  const size_t b = (chunk.first + p) / per_sequence_, row = (chunk.first + p) % per_sequence_ * R_;
  copy_to_panel(X.slice_memptr(b) + row, L_, E_, L_ - row, R_, 1, inputs_.data() + p * E_ * R_);
}

/// Task: a strip of panels times the queries, keys or values of one head.
void AttentionLayer::project(Range heads, Range chunk, size_t task) {
  const size_t first = task / (3 * heads.count) * strip, part = task % (3 * heads.count) / heads.count;
  const size_t head = task % heads.count;
  std::vector<Columns> to;
  for (size_t p = first; p < std::min(first + strip, chunk.count); ++p) {
    const size_t panel = chunk.first + p;
    if (part == 0) {
      to.push_back({queries_.data() + (panel * E_ + (heads.first + head) * D_) * R_, R_, R_});
    } else {
      float* place = part == 1 ? keys_.data() : values_.data();
      to.push_back({place + (panel * heads.count + head) * D_ * R_, R_, R_});
    }
  }
  qkv_.project(part * H_ + heads.first + head, {inputs_.data() + first * E_ * R_, E_ * R_}, to);
}

/// Task: a group of panels of queries of one head and sequence.
void AttentionLayer::attend(Range heads, size_t task, bool causal) {
  const size_t groups = divided_up(per_sequence_, Tiles::group);
  const size_t first = (groups - 1 - task % groups) * Tiles::group;  // causal: the longest first
  const size_t b = task / groups / heads.count, h = task / groups % heads.count;
  const size_t stride = heads.count * D_ * R_, keys = b * per_sequence_ * stride + h * D_ * R_;
  const Head head = {{keys_.data() + keys, stride}, {values_.data() + keys, stride}, L_, L_, D_, D_, L_, causal};
  const size_t query_panel = b * per_sequence_ + first;
  const Panels queries = {queries_.data() + (query_panel * E_ + (heads.first + h) * D_) * R_, E_ * R_};
  tiles_[static_cast<size_t>(this_thread())].attend(head, queries, std::min(Tiles::group, per_sequence_ - first),
                                                    first * R_, queries, nullptr);
}

/// Task: a strip of panels of the context times D columns of the output's weights.
void AttentionLayer::project_output(size_t task, arma::fcube& output) const {
  const size_t first = task / H_ * strip, block = task % H_;
  std::vector<Columns> to;
  for (size_t p = first; p < std::min(first + strip, panels_); ++p) {
    const size_t row = p % per_sequence_ * R_;
    float* column = output.slice_memptr(p / per_sequence_) + block * D_ * L_;
    to.push_back({column + row, L_, std::min(R_, L_ - row)});
  }
  output_.project(block, {queries_.data() + first * E_ * R_, E_ * R_}, to);
}

}  // namespace attn::fast
