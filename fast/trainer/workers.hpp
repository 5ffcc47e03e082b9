#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "panels.hpp"
#include "team.hpp"
#include "trainer/pass.hpp"
#include "trainer/sizes.hpp"

namespace attn::fast {

inline constexpr std::size_t tokens_per_strip = 256;  ///< of a product over all tokens, what is copied at a time
inline constexpr std::size_t queries_per_block = 32;  ///< whose scores are stored at the same time

/// What one thread needs for itself.
struct Scratch {
  void prepare(const ModelSizes& sizes, const Pass& pass);

  AlignedFloats normalized;        ///< (block x E)
  AlignedFloats hidden;            ///< (block x F)
  AlignedFloats strip;             ///< (tokens_per_strip x R)
  AlignedFloats scores, d_scores;  ///< (queries_per_block x score_stride)
  AlignedFloats keys, values;      ///< (D x L) in strips
  AlignedFloats key_rows;          ///< (L x D) in strips
  AlignedFloats query_rows;        ///< (queries_per_block x D) in strips
  AlignedFloats d_keys, d_values;  ///< (L x D)
  std::size_t score_stride = 0;
};

/// Kinds of tasks that threads share out among themselves: task(own, i) for i = 0 to count - 1.
struct Tasks {
  struct Kind {
    std::size_t count;
    std::function<void(Scratch& own, std::size_t i)> task;
  };
  std::vector<Kind> kinds;
};

/// The threads, each with its scratch memory.
class Workers {
 public:
  using size_t = std::size_t;

  explicit Workers(size_t threads) : scratch_(threads), team_(threads) {}

  size_t size() const { return team_.size(); }

  void prepare(const ModelSizes& sizes, const Pass& pass) {
    for (Scratch& own : scratch_) own.prepare(sizes, pass);
  }

  /// As Team's.
  void run(const std::function<void(size_t)>& work) { team_.run(work); }

  /// Within run(), called by all threads: task(own, i) for i = 0 to count - 1.
  template <class Task>
  void share_out(size_t thread, size_t count, Task task) {
    team_.share_out(thread, count, [&](size_t i) { task(scratch_[thread], i); });
  }

  /// The same for several kinds: a thread's share is its share of the first kind, then of the second, and so on.
  void share_out(size_t thread, const Tasks& tasks);

  /// The same for the blocks of a pass: each(own, block).
  template <class Each>
  void for_blocks(size_t thread, const Pass& pass, Each each) {
    share_out(thread, pass.blocks, [&](Scratch& own, size_t number) {
      const TokenBlock block = pass.block(number);
      if (block.rows > 0) each(own, block);
    });
  }

 private:
  std::vector<Scratch> scratch_;
  Team team_;
};

}  // namespace attn::fast
