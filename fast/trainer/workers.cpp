#include "trainer/workers.hpp"

#include "trainer/arrays.hpp"

namespace attn::fast {

using std::size_t;

void Scratch::prepare(const ModelSizes& sizes, const Pass& pass) {
  const size_t columns = divided_up(pass.L, sizes.R) * sizes.R;
  score_stride = columns + 16;  // columns of scores lie in different sets of the first cache
  reserve(normalized, pass.rows_per_block * sizes.row_E);
  reserve(hidden, pass.rows_per_block * sizes.row_F);
  reserve(scores, queries_per_block * score_stride);
  reserve(keys, columns * sizes.D);
  if (!pass.with_backward) return;
  reserve(strip, tokens_per_strip * sizes.R);
  reserve(d_scores, queries_per_block * score_stride);
  for (AlignedFloats* array : {&values, &d_keys, &d_values}) reserve(*array, columns * sizes.D);
  const size_t strips = divided_up(sizes.D, sizes.R) * sizes.R;
  reserve(key_rows, pass.L * strips);
  reserve(query_rows, queries_per_block * strips);
}

void Workers::share_out(size_t thread, const Tasks& tasks) {
  size_t count = 0;
  for (const Tasks::Kind& kind : tasks.kinds) count += kind.count;
  share_out(thread, count, [&](Scratch& scratch, size_t i) {
    for (size_t owner = 0;; ++owner) {
      for (const Tasks::Kind& kind : tasks.kinds) {
        const size_t first = team_.first_of(owner, kind.count), own = team_.first_of(owner + 1, kind.count) - first;
        if (i < own) return kind.task(scratch, first + i);
        i -= own;
      }
    }
  });
}

}  // namespace attn::fast
