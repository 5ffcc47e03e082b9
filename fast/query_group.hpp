#pragma once

#include <cstddef>

#include "kernels.hpp"
#include "panels.hpp"

namespace attn::fast {

/// One sequence and one head, in panels (kernels.hpp).
struct Head {
  ConstPanels keys;    ///< columns: D
  ConstPanels values;  ///< columns: Dv. Panels after the last key that any query sees are not read
  std::size_t L, S, head_dim, value_dim;
  std::size_t key_length;  ///< keys from here on are padding
  bool causal;             ///< query i sees the keys j <= i + S - L

  /// As attn::visible_keys, for sizes that were checked before: this is called for every query of every block.
  std::size_t visible_keys(std::size_t query) const;
};

/// The queries that one thread works on, and what it needs for them: the scores of one panel with one block of keys,
/// and what the queries have gathered so far. Its size depends on the sizes of a head alone, not on L or S.
class QueryGroup {
 public:
  QueryGroup(const Kernels& kernels, std::size_t value_dim);

  /// Attention of up to a group of panels of queries over all keys that they see: flash attention's inner loop (Dao
  /// 2023, algorithm 1, lines 5 to 14).
  ///
  /// @param queries     columns: D, scores being Q K^T in base 2: they hold the factor log2(e) / sqrt(D)
  /// @param count       panels
  /// @param first_query the number of the first query of the first panel; a multiple of R
  /// @param output      columns: Dv; may be the queries' own place, as long as no other head reads them
  /// @param log_sum_exp (count · R), or nullptr
  void attend(const Head& head, ConstPanels queries, std::size_t count, std::size_t first_query, Panels output,
              float* log_sum_exp);

 private:
  void add_block(const Head& head, const float* queries, std::size_t q, std::size_t first_query, std::size_t first_key);
  void finish(const Head& head, std::size_t q, float* output, float* log_sum_exp) const;

  float* gathered(std::size_t q) const { return gathered_.data() + q * value_dim_ * R_; }

  const Kernels& kernels_;
  std::size_t R_, value_dim_;
  AlignedFloats scores_;                   // (R x keys_per_block)
  AlignedFloats gathered_;                 // a group of panels of Dv columns, not yet divided
  AlignedFloats maximum_, sum_, rescale_;  // (panels_per_group · R), (panels_per_group · R), (R)
};

}  // namespace attn::fast
