#include "trainer_parts.hpp"
#include "units.hpp"

namespace attn::fast {

using std::size_t;

/// inputs^T d_outputs, and the sums of d_outputs: a task for some rows of a few strips.
void Trainer::Parts::add_gradients(Tasks& tasks, const LinearPlaces& linear, Activations inputs,
                                   Activations d_outputs) {
  const size_t parts = divided_up(linear.weight.rows, rows_per_gradient), width = strips_per_gradient * R;
  const size_t count = divided_up(linear.weight.columns, width) * parts;
  tasks.kinds.push_back({halves * count, [=](Own& own, size_t i) {
                           const size_t task = i % count;
                           add_strips(own, linear, inputs, d_outputs, i / count, task / parts * width,
                                      task % parts * rows_per_gradient);
                         }});
}

void Trainer::Parts::add_strips(Own& own, const LinearPlaces& linear, Activations inputs, Activations d_outputs,
                                size_t half, size_t first_column, size_t first_row) {
  const Place& weight = linear.weight;
  const size_t rows = std::min(rows_per_gradient, weight.rows - first_row);
  const size_t end = std::min(first_column + strips_per_gradient * R, weight.columns);
  const size_t begin = first_token_of(half), end_of_half = first_token_of(half + 1);
  float* d_bias = first_row == 0 ? parameters.gradient(linear.bias, half) : nullptr;
  if (d_bias != nullptr && first_pass) std::fill(d_bias + first_column, d_bias + end, 0.0f);
  size_t t = begin;
  do {  // once even without tokens: the first pass writes zeros then
    const size_t tokens = std::min(tokens_per_strip, end_of_half - t);
    for (size_t column = first_column; column < end; column += R) {
      const size_t columns = std::min(R, end - column);
      float* d_weight = parameters.gradient(weight, half) + column * weight.rows + first_row * R;
      kernels.train.copy_to_strip(d_outputs.numbers.data() + t * d_outputs.row + column, d_outputs.row, tokens, columns,
                                  own.strip.data(), d_bias == nullptr ? nullptr : d_bias + column);
      kernels.train.multiply(
          {inputs.numbers.data() + t * inputs.row + first_row, 1, inputs.row}, {own.strip.data(), 0, R},
          {d_weight, 0, R, nullptr, t == begin && first_pass ? nullptr : d_weight}, rows, columns, tokens);
    }
    t += tokens_per_strip;
  } while (t < end_of_half);
}

/// The sums over the blocks, in their order: a task for each half.
void Trainer::Parts::add_gradients(Tasks& tasks, const NormPlaces& norm, size_t number) {
  tasks.kinds.push_back({halves, [=](Own&, size_t half) {
                           float* d_weight = parameters.gradient(norm.weight, half);
                           float* d_bias = parameters.gradient(norm.bias, half);
                           if (first_pass) {
                             std::fill_n(d_weight, E, 0.0f);
                             if (d_bias != nullptr) std::fill_n(d_bias, E, 0.0f);
                           }
                           for (size_t block = first_block_of(half);
                                block < first_block_of(half + 1) && block * rows_per_block < T; ++block) {
                             kernels.train.add(d_weight, partial(number, block), E);
                             if (d_bias != nullptr) kernels.train.add(d_bias, partial(number, block) + E, E);
                           }
                         }});
}

/// Each token's row gets the token's gradient: a task for each half and strip. A tied head has written its share before.
void Trainer::Parts::add_embeddings(Tasks& tasks) {
  const size_t strips = divided_up(E, R);
  tasks.kinds.push_back({halves * strips, [=](Own&, size_t i) {
                           const size_t half = i / strips, strip = i % strips, columns = std::min(R, E - strip * R);
                           const auto table_of = [&](const Place& place, bool fresh) {
                             float* table = parameters.gradient(place, half) + strip * R * place.rows;
                             if (fresh) std::fill_n(table, place.rows * R, 0.0f);
                             return table;
                           };
                           float* d_tokens = table_of(parameters.tokens, first_pass && !parameters.head.empty());
                           float* d_positions =
                               parameters.positions.empty() ? nullptr : table_of(parameters.positions, first_pass);
                           for (size_t t = first_token_of(half); t < first_token_of(half + 1); ++t) {
                             const float* d_x = d_stream.data() + t * row_E + strip * R;
                             kernels.train.add(d_tokens + at(batch->ids, t) * R, d_x, columns);
                             if (d_positions != nullptr) kernels.train.add(d_positions + t % L * R, d_x, columns);
                           }
                         }});
}

void Trainer::Parts::add_halves() {
  const std::vector<TrainerParameters::Section> sections = parameters.sections(numbers_per_task);
  team.run([&](size_t thread) {
    team.share_out(thread, sections.size(), [&](size_t i) {
      float* sum = parameters.gradients.data() + sections[i].first;
      for (size_t half = 1; half < halves; ++half) {
        kernels.train.add(sum, sum + half * parameters.size(), sections[i].count);
      }
    });
  });
}

}  // namespace attn::fast
