#include "query_group.hpp"

#include <algorithm>
#include <cmath>

#include "units.hpp"

namespace attn::fast {

std::size_t Head::visible_keys(std::size_t query) const {
  if (!causal) return key_length;
  return std::min(key_length, query + 1 + S > L ? query + 1 + S - L : 0);
}

QueryGroup::QueryGroup(const Kernels& kernels, std::size_t value_dim)
    : kernels_(kernels), R_(kernels.rows), value_dim_(value_dim) {
  scores_.reserve(R_ * keys_per_block);
  gathered_.reserve(panels_per_group * R_ * value_dim);
  maximum_.reserve(panels_per_group * R_);
  sum_.reserve(panels_per_group * R_);
  rescale_.reserve(R_);
}

void QueryGroup::attend(const Head& head, ConstPanels queries, std::size_t count, std::size_t first_query,
                        Panels output, float* log_sum_exp) {
  std::fill_n(gathered_.data(), count * value_dim_ * R_, 0.0f);
  std::fill_n(maximum_.data(), panels_per_group * R_, lowest_maximum);
  std::fill_n(sum_.data(), panels_per_group * R_, 0.0f);
  const std::size_t end = std::min(head.L, first_query + count * R_);
  const std::size_t keys = head.visible_keys(end - 1);  // the last query sees the most
  for (std::size_t first_key = 0; first_key < keys; first_key += keys_per_block) {
    for (std::size_t q = 0; q < count; ++q) {
      add_block(head, queries.data + q * queries.stride, q, first_query + q * R_, first_key);
    }
  }
  for (std::size_t q = 0; q < count; ++q) {
    finish(head, q, output.data + q * output.stride, log_sum_exp == nullptr ? nullptr : log_sum_exp + q * R_);
  }
}

void QueryGroup::add_block(const Head& head, const float* queries, std::size_t q, std::size_t first_query,
                           std::size_t first_key) {
  const std::size_t last_query = std::min(head.L, first_query + R_) - 1;
  const std::size_t keys = std::min(head.visible_keys(last_query), first_key + keys_per_block);  // the block's end
  if (keys <= first_key) return;

  const std::size_t all_see = head.visible_keys(first_query), panels = divided_up(keys - first_key, R_);
  for (std::size_t p = 0; p < panels; ++p) {
    const std::size_t key = first_key + p * R_;
    float* scores = scores_.data() + p * R_ * R_;
    kernels_.scores(queries, head.keys.data + key / R_ * head.keys.stride, head.head_dim, scores);
    if (key + R_ <= all_see) continue;
    int visible[max_rows];
    for (std::size_t i = 0; i < R_; ++i) {
      const std::size_t end = head.visible_keys(first_query + i);
      visible[i] = static_cast<int>(std::min(end - std::min(end, key), R_));
    }
    kernels_.mask(scores, visible);
  }
  kernels_.exponentials(scores_.data(), panels, maximum_.data() + q * R_, sum_.data() + q * R_, rescale_.data());
  kernels_.mix(scores_.data(), {head.values.data + first_key / R_ * head.values.stride, head.values.stride}, panels,
               head.value_dim, rescale_.data(), gathered(q));
}

void QueryGroup::finish(const Head& head, std::size_t q, float* output, float* log_sum_exp) const {
  const float* sum = sum_.data() + q * R_;
  const float* maximum = maximum_.data() + q * R_;
  const float* from = gathered(q);
  float factor[max_rows];  // a query that saw no key has gathered zeros
  for (std::size_t i = 0; i < R_; ++i) factor[i] = sum[i] == 0 ? 0 : 1 / sum[i];
  for (std::size_t d = 0; d < head.value_dim; ++d) {
    for (std::size_t i = 0; i < R_; ++i) output[d * R_ + i] = from[d * R_ + i] * factor[i];
  }
  if (log_sum_exp == nullptr) return;
  for (std::size_t i = 0; i < R_; ++i) {
    log_sum_exp[i] = sum[i] == 0 ? -HUGE_VALF : (maximum[i] + std::log2(sum[i])) * ln2;
  }
}

}  // namespace attn::fast
