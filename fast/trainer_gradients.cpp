#include "trainer_parts.hpp"
#include "units.hpp"

namespace attn::fast {

using std::size_t;

/// inputs^T d_outputs, and the sums of d_outputs: a task for some rows of a few strips.
void Trainer::Parts::add_gradients(Tasks& tasks, const LinearPlaces& linear, Activations inputs,
                                   Activations d_outputs) {
  const size_t parts = divided_up(linear.weight.rows, rows_per_gradient), width = strips_per_gradient * R;
  tasks.kinds.push_back({divided_up(linear.weight.columns, width) * parts, [=](Own& own, size_t i) {
                           add_strips(own, linear, inputs, d_outputs, i / parts * width, i % parts * rows_per_gradient);
                         }});
}

void Trainer::Parts::add_strips(Own& own, const LinearPlaces& linear, Activations inputs, Activations d_outputs,
                                size_t first_column, size_t first_row) {
  const Place& weight = linear.weight;
  const size_t rows = std::min(rows_per_gradient, weight.rows - first_row);
  const size_t end = std::min(first_column + strips_per_gradient * R, weight.columns);
  const bool with_bias = !linear.bias.empty() && first_row == 0;
  if (with_bias && first_pass) {
    std::fill_n(parameters.gradient(linear.bias) + first_column, end - first_column, 0.0f);
  }
  for (size_t t = 0; t < T; t += tokens_per_strip) {
    const size_t tokens = std::min(tokens_per_strip, T - t);
    for (size_t column = first_column; column < end; column += R) {
      const size_t columns = std::min(R, end - column);
      float* d_weight = parameters.gradient(weight) + column * weight.rows + first_row * R;
      kernels.train.copy_to_strip(d_outputs.numbers.data() + t * d_outputs.row + column, d_outputs.row, tokens, columns,
                                  own.strip.data(), with_bias ? parameters.gradient(linear.bias) + column : nullptr);
      kernels.train.multiply(
          {inputs.numbers.data() + t * inputs.row + first_row, 1, inputs.row}, {own.strip.data(), 0, R},
          {d_weight, 0, R, nullptr, t == 0 && first_pass ? nullptr : d_weight}, rows, columns, tokens);
    }
  }
}

/// The sums over the blocks, in their order.
void Trainer::Parts::add_gradients(Tasks& tasks, const NormPlaces& norm, size_t number) {
  tasks.kinds.push_back({1, [=](Own&, size_t) {
                           float *d_weight = parameters.gradient(norm.weight), *d_bias = parameters.gradient(norm.bias);
                           if (first_pass) {
                             std::fill_n(d_weight, E, 0.0f);
                             if (d_bias != nullptr) std::fill_n(d_bias, E, 0.0f);
                           }
                           for (size_t block = 0; block * rows_per_block < T; ++block) {
                             kernels.train.add(d_weight, partial(number, block), E);
                             if (d_bias != nullptr) kernels.train.add(d_bias, partial(number, block) + E, E);
                           }
                         }});
}

/// Each token's row gets the token's gradient: a task for each strip. A tied head has written its share before.
void Trainer::Parts::add_embeddings(Tasks& tasks) {
  tasks.kinds.push_back({divided_up(E, R), [this](Own&, size_t strip) {
                           const size_t columns = std::min(R, E - strip * R);
                           const auto table_of = [&](const Place& place, bool fresh) {
                             float* table = parameters.gradient(place) + strip * R * place.rows;
                             if (fresh) std::fill_n(table, place.rows * R, 0.0f);
                             return table;
                           };
                           float* d_tokens = table_of(parameters.tokens, first_pass && !parameters.head.empty());
                           float* d_positions =
                               parameters.positions.empty() ? nullptr : table_of(parameters.positions, first_pass);
                           for (size_t t = 0; t < T; ++t) {
                             const float* d_x = d_stream.data() + t * row_E + strip * R;
                             kernels.train.add(d_tokens + at(batch->ids, t) * R, d_x, columns);
                             if (d_positions != nullptr) kernels.train.add(d_positions + t % L * R, d_x, columns);
                           }
                         }});
}

}  // namespace attn::fast
