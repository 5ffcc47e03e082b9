#include <algorithm>
#include <cmath>

#include "attention_layer.hpp"

namespace attn::fast {

using std::size_t;

void PackedLinear::project_few(size_t number, ConstRows x, size_t L, Rows result) const {
  for (size_t t = 0; t < tiles_; ++t) {
    const Range columns = tile_at(t);
    const size_t first = number * band_ + columns.first;
    kernels_.stream.multiply_tile(x, L, weights_.data() + first * inputs_, bias_.data() + first, inputs_, columns.count,
                                  {result.data + first, result.stride});
  }
}

/// With a token or a few, a panel would be nearly empty: they stay in rows. What takes the time is reading the weights.
arma::fcube AttentionLayer::forward_few(const arma::fcube& X, bool causal) {
  const size_t rows = L_ * B_;
  inputs_.reserve(rows * E_);
  queries_.reserve(rows * 3 * E_);  // with keys and values
  for (size_t b = 0; b < B_; ++b) {
    for (size_t i = 0; i < L_; ++i) {
      for (size_t c = 0; c < E_; ++c) inputs_.data()[(b * L_ + i) * E_ + c] = X(i, c, b);
    }
  }
  arma::fmat result(E_, rows);
  team_.run([&](size_t thread) {
    team_.share_out(thread, 3 * H_, [&](size_t band) {
      qkv_.project_few(band, {inputs_.data(), E_}, rows, {queries_.data(), 3 * E_});
    });
    team_.share_out(thread, B_ * H_, [&](size_t slice) { attend_few(slice / H_, slice % H_, causal); });
    team_.share_out(thread, H_, [&](size_t band) {
      output_.project_few(band, {queries_.data(), 3 * E_}, rows, {result.memptr(), E_});
    });
  });
  arma::fcube output(L_, E_, B_);
  for (size_t b = 0; b < B_; ++b) output.slice(b) = result.cols(b * L_, (b + 1) * L_ - 1).t();
  return output;
}

/// One head of one sequence. Its context takes the queries' place.
void AttentionLayer::attend_few(size_t b, size_t h, bool causal) {
  const auto row = [&](size_t part, size_t i) { return queries_.data() + (b * L_ + i) * 3 * E_ + part * E_ + h * D_; };
  for (size_t i = 0; i < L_; ++i) {
    float* query = row(0, i);
    const size_t keys = causal ? i + 1 : L_;
    float weights[few_rows] = {}, largest = lowest_maximum, sum = 0;
    for (size_t j = 0; j < keys; ++j) {
      for (size_t d = 0; d < D_; ++d) weights[j] += query[d] * row(1, j)[d];
      largest = std::max(largest, weights[j]);
    }
    for (size_t j = 0; j < keys; ++j) sum += weights[j] = std::exp2(weights[j] - largest);
    for (size_t d = 0; d < D_; ++d) {
      float mixed = 0;
      for (size_t j = 0; j < keys; ++j) mixed += weights[j] * row(2, j)[d];
      query[d] = mixed / sum;
    }
  }
}

}  // namespace attn::fast
