#include "trainer/gradients.hpp"

#include <algorithm>
#include <cmath>

namespace attn::fast {

using std::size_t;

namespace {

constexpr size_t rows_per_gradient = 192;  // of a weight's gradient, what is one task
constexpr size_t strips_per_gradient = 4;  // likewise: for them the inputs stay in the second cache

}  // namespace

void TrainerGradients::add_halves(Workers& workers, const TrainerModel& model) {
  const std::vector<TrainerParameters::Section> sections = model.parameters.sections();
  workers.run([&](size_t thread) {
    workers.share_out(thread, sections.size(), [&](Scratch&, size_t i) {
      float* sum = numbers_.data() + sections[i].first;
      for (size_t half = 1; half < halves; ++half) model.kernels.add(sum, sum + half * size_, sections[i].count);
    });
  });
}

/// Sections are summed up in their order, whichever thread computed them.
double TrainerGradients::norm(Workers& workers, const TrainerModel& model) const {
  const std::vector<TrainerParameters::Section> sections = model.parameters.sections();
  std::vector<float> squares(sections.size());
  workers.run([&](size_t thread) {
    workers.share_out(thread, sections.size(), [&](Scratch&, size_t i) {
      const float* numbers = numbers_.data() + sections[i].first;
      squares[i] = model.kernels.dot(numbers, numbers, sections[i].count);
    });
  });
  double sum = 0;
  for (const float square : squares) sum += static_cast<double>(square);
  return std::sqrt(sum);
}

Tasks::Kind GradientSums::of_linear(const LinearPlaces& linear, ActivationRows inputs, ActivationRows d_outputs) const {
  const size_t parts = divided_up(linear.weight.rows, rows_per_gradient), width = strips_per_gradient * model_.sizes.R;
  const size_t count = divided_up(linear.weight.columns, width) * parts;
  return {halves * count, [=](Scratch& own, size_t i) {
            const size_t task = i % count;
            add_strips(own, linear, inputs, d_outputs, i / count, task / parts * width,
                       task % parts * rows_per_gradient);
          }};
}

void GradientSums::add_strips(Scratch& own, const LinearPlaces& linear, ActivationRows inputs, ActivationRows d_outputs,
                              size_t half, size_t first_column, size_t first_row) const {
  const Place& weight = linear.weight;
  const size_t R = model_.sizes.R, rows = std::min(rows_per_gradient, weight.rows - first_row);
  const size_t end = std::min(first_column + strips_per_gradient * R, weight.columns);
  const size_t begin = pass_.first_token_of(half), end_of_half = pass_.first_token_of(half + 1);
  float* d_bias = first_row == 0 ? gradients_.of(linear.bias, half) : nullptr;
  if (d_bias != nullptr && !pass_.adds) std::fill(d_bias + first_column, d_bias + end, 0.0f);
  size_t t = begin;
  do {  // once even without tokens: the first pass writes zeros then
    const size_t tokens = std::min(tokens_per_strip, end_of_half - t);
    for (size_t column = first_column; column < end; column += R) {
      const size_t columns = std::min(R, end - column);
      float* d_weight = gradients_.of(weight, half) + column * weight.rows + first_row * R;
      model_.kernels.copy_to_strip(d_outputs.numbers.data() + t * d_outputs.row + column, d_outputs.row, tokens,
                                   columns, own.strip.data(), d_bias == nullptr ? nullptr : d_bias + column);
      model_.kernels.multiply(
          {inputs.numbers.data() + t * inputs.row + first_row, 1, inputs.row}, {own.strip.data(), 0, R},
          {d_weight, 0, R, nullptr, t == begin && !pass_.adds ? nullptr : d_weight}, rows, columns, tokens);
    }
    t += tokens_per_strip;
  } while (t < end_of_half);
}

Tasks::Kind GradientSums::of_norm(const NormPlaces& norm, const LayerGradients& d, size_t number) const {
  return {halves, [this, norm, &d, number](Scratch&, size_t half) {
            const size_t E = model_.sizes.E;
            float *d_weight = gradients_.of(norm.weight, half), *d_bias = gradients_.of(norm.bias, half);
            if (!pass_.adds) {
              std::fill_n(d_weight, E, 0.0f);
              if (d_bias != nullptr) std::fill_n(d_bias, E, 0.0f);
            }
            const size_t end = pass_.first_block_of(half + 1);
            for (size_t block = pass_.first_block_of(half); block < end && pass_.block(block).rows > 0; ++block) {
              model_.kernels.add(d_weight, d.of_norm(number, block), E);
              if (d_bias != nullptr) model_.kernels.add(d_bias, d.of_norm(number, block) + E, E);
            }
          }};
}

Tasks::Kind GradientSums::of_embeddings(ActivationRows d_embedded) const {
  const TrainerParameters& parameters = model_.parameters;
  const size_t R = model_.sizes.R, E = model_.sizes.E, strips = divided_up(E, R);
  return {halves * strips, [=, &parameters](Scratch&, size_t i) {
            const size_t half = i / strips, strip = i % strips, columns = std::min(R, E - strip * R);
            const auto table_of = [&](const Place& place, bool fresh) {
              float* table = gradients_.of(place, half) + strip * R * place.rows;
              if (fresh) std::fill_n(table, place.rows * R, 0.0f);
              return table;
            };
            float* d_tokens = table_of(parameters.tokens, !pass_.adds && !parameters.head.empty());
            float* d_positions = parameters.positions.empty() ? nullptr : table_of(parameters.positions, !pass_.adds);
            for (size_t t = pass_.first_token_of(half); t < pass_.first_token_of(half + 1); ++t) {
              const float* d_x = d_embedded.numbers.data() + t * d_embedded.row + strip * R;
              model_.kernels.add(d_tokens + pass_.id(t) * R, d_x, columns);
              if (d_positions != nullptr) model_.kernels.add(d_positions + t % pass_.L * R, d_x, columns);
            }
          }};
}

}  // namespace attn::fast
