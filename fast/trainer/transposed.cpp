#include "trainer/transposed.hpp"

#include <algorithm>

#include "trainer/arrays.hpp"

namespace attn::fast {

using std::size_t;

/// (rows x columns) becomes (columns x rows): a task for each strip of the result.
void TransposedWeights::update(Workers& workers, const TrainKernels& kernels, const TrainerParameters& parameters,
                               size_t R, bool with_backward) {
  Tasks tasks;
  const auto transpose = [&](const Place& weight, Transposed& result) {
    reserve(result.numbers, divided_up(weight.rows, R) * R * weight.columns);
    tasks.kinds.push_back({divided_up(weight.rows, R), [&, R](Scratch&, size_t strip) {
                             const size_t rows = std::min(R, weight.rows - strip * R);
                             for (size_t c = 0; c < weight.columns; c += R) {
                               kernels.turn_to_strip(parameters.value(weight) + c * weight.rows + strip * R * R, R,
                                                     rows, std::min(R, weight.columns - c),
                                                     result.numbers.data() + (strip * weight.columns + c) * R);
                             }
                           }});
  };
  const bool tied = parameters.head.empty();
  if (tied || with_backward) transpose(tied ? parameters.tokens : parameters.head, head);
  for (size_t n = 0; with_backward && n < layers.size(); ++n) {
    const BlockPlaces& places = parameters.blocks[n];
    transpose(places.qkv.weight, layers[n].qkv);
    transpose(places.output.weight, layers[n].output);
    transpose(places.up.weight, layers[n].up);
    transpose(places.down.weight, layers[n].down);
  }
  workers.run([&](size_t thread) { workers.share_out(thread, tasks); });
}

}  // namespace attn::fast
