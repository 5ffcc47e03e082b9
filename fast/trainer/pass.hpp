#pragma once

#include <algorithm>
#include <cstddef>

#include "attn/batches.hpp"
#include "units.hpp"

namespace attn::fast {

/// Sums over tokens are computed for so many parts of a pass, whose sums are added at the end: what another processor
/// wrote is slow to read, and so each thread reads mostly what it wrote itself. As many for any number of threads: the
/// result must not depend on it.
inline constexpr std::size_t halves = 2;

inline constexpr std::size_t tokens_per_block = 96;  ///< about as many rows go through a layer together

/// About as many tokens go forward and backward together. What is saved of a narrow model then fits into the caches; the
/// gradients of a wide one are read less often.
inline constexpr std::size_t tokens_per_pass(std::size_t E) { return E < 256 ? 512 : 1024; }

/// Tokens that go through a layer together: rows of all activations.
struct TokenBlock {
  std::size_t number, first, rows;
};

/// The sequences of a batch that go forward and backward together, and how their tokens are cut into blocks. The tokens
/// are numbered from 0 to T - 1, one sequence after the other.
struct Pass {
  using size_t = std::size_t;

  Pass(const Batch& of_step, size_t first_of_batch, size_t sequences)
      : batch(of_step), first_sequence(first_of_batch), B(sequences), L(of_step.ids.n_rows), T(B * L) {
    blocks = divided_up(divided_up(T, tokens_per_block), 4) * 4;  // as many for each of two or four threads
    rows_per_block = divided_up(T, blocks);
  }

  arma::uword id(size_t token) const { return batch.ids(token % L, first_sequence + token / L); }
  arma::uword target(size_t token) const { return batch.targets(token % L, first_sequence + token / L); }

  /// The last blocks may have no rows.
  TokenBlock block(size_t number) const {
    const size_t first = std::min(T, number * rows_per_block);
    return {number, first, std::min(rows_per_block, T - first)};
  }
  size_t first_block_of(size_t half) const { return blocks * half / halves; }
  size_t first_token_of(size_t half) const { return block(first_block_of(half)).first; }

  const Batch& batch;
  size_t first_sequence;
  size_t B, L, T;  ///< sequences, tokens of each, tokens
  size_t blocks = 0, rows_per_block = 0;
  float share = 0;             ///< of the loss: 1 / targets that count, of all passes of the step
  bool adds = false;           ///< to the gradients of the passes before it; the first one writes them
  bool with_backward = false;  ///< or the loss alone
};

}  // namespace attn::fast
