#include <cmath>

#include "trainer_parts.hpp"
#include "units.hpp"

namespace attn::fast {

/// The angles of RoPE for so many tokens: (tokens x D/2).
void Trainer::Parts::find_angles(size_t tokens) {
  const arma::rowvec& speeds = config.attention.rope_speeds;
  const size_t pairs = D / 2;
  cosines.resize(tokens * pairs);
  sines.resize(tokens * pairs);
  for (size_t p = 0; p < pairs; ++p) {
    const double power = -2 * static_cast<double>(p) / static_cast<double>(D);
    const double speed = speeds.is_empty() ? std::pow(10000, power) : speeds(p);
    for (size_t i = 0; i < tokens; ++i) {
      const double angle = static_cast<double>(i) * speed;
      cosines[i * pairs + p] = static_cast<float>(std::cos(angle));
      sines[i * pairs + p] = static_cast<float>(std::sin(angle));
    }
  }
}

/// Decides how the work of a pass is cut, and makes room for it. Each array has R more numbers than it needs: the
/// kernels may read them.
void Trainer::Parts::prepare() {
  T = B * L;
  blocks = divided_up(divided_up(T, tokens_per_block), 4) * 4;  // as many for each of two or four threads
  rows_per_block = divided_up(T, blocks);
  score_stride = divided_up(L, R) * R + 16;  // columns of scores lie in different sets of the first cache
  losses.assign(blocks, 0);
  const size_t columns = divided_up(L, R) * R;
  const auto reserve = [](size_t size, std::initializer_list<AlignedFloats*> arrays) {
    for (AlignedFloats* array : arrays) array->reserve(size + max_rows);
  };
  for (AlignedFloats& stream : streams) reserve(T * row_E, {&stream});
  for (KeptLayer& layer : layers) {
    reserve(T * row_W, {&layer.qkv});
    reserve(T * row_C, {&layer.context});
    reserve(T * row_E, {&layer.h});
    reserve(T * row_U, {&layer.up});
    layer.attention_norm.resize(T);
    layer.feed_forward_norm.resize(T);
    layer.softmax.resize(T * H);
  }
  reserve(T * row_V, {&logits});
  reserve(T * row_E, {&final_normalized});
  final_norm.resize(T);
  for (Own& own : owns) {
    reserve(rows_per_block * row_E, {&own.normalized});
    reserve(rows_per_block * row_F, {&own.hidden});
    reserve(queries_per_block * score_stride, {&own.scores});
    reserve(columns * D, {&own.keys});
  }
  if (!with_backward) return;
  reserve(T * row_E, {&d_stream, &d_h, &normalized, &normalized_h});
  reserve(T * row_C, {&d_context});
  reserve(T * row_U, {&d_up});
  reserve(2 * blocks * 2 * E, {&partials});
  for (Own& own : owns) {
    reserve(tokens_per_strip * R, {&own.strip});
    reserve(queries_per_block * score_stride, {&own.d_scores});
    reserve(columns * D, {&own.values, &own.d_keys, &own.d_values});
  }
}

/// Transposes what a product also needs transposed: all weights for the backward pass, a tied head for the forward pass.
/// (rows x columns) becomes (columns x rows): a task for each strip of the result.
void Trainer::Parts::turn_weights() {
  Tasks tasks;
  const auto turn = [&](const Place& weight, Turned& turned) {
    turned.numbers.reserve(divided_up(weight.rows, R) * R * weight.columns + max_rows);
    tasks.kinds.push_back({divided_up(weight.rows, R), [this, &weight, &turned](Own&, size_t strip) {
                             const size_t rows = std::min(R, weight.rows - strip * R);
                             for (size_t c = 0; c < weight.columns; c += R) {
                               kernels.train.turn_to_strip(parameters.value(weight) + c * weight.rows + strip * R * R,
                                                           R, rows, std::min(R, weight.columns - c),
                                                           turned.numbers.data() + (strip * weight.columns + c) * R);
                             }
                           }});
  };
  const bool tied = parameters.head.empty();
  if (tied || with_backward) turn(tied ? parameters.tokens : parameters.head, head);
  for (size_t n = 0; with_backward && n < layers.size(); ++n) {
    const BlockPlaces& places = parameters.blocks[n];
    turn(places.qkv.weight, layers[n].qkv_turned);
    turn(places.output.weight, layers[n].output_turned);
    turn(places.up.weight, layers[n].up_turned);
    turn(places.down.weight, layers[n].down_turned);
  }
  team.run([&](size_t thread) { share_out(thread, tasks); });
}

void Trainer::Parts::forward(size_t thread) {
  for_blocks(thread, [&](Own& own, size_t, size_t first_row, size_t rows) {
    embed(first_row, rows);
    before_attention(own, 0, first_row, rows);
  });
  for (size_t n = 0; n < layers.size(); ++n) {
    team.share_out(thread, B * H, [&](size_t i) { attend(owns[thread], layers[n], i / H, i % H); });
    for_blocks(thread, [&](Own& own, size_t block, size_t first_row, size_t rows) {
      after_attention(own, n, first_row, rows);
      if (n + 1 < layers.size()) {
        before_attention(own, n + 1, first_row, rows);
      } else {
        finish(own, block, first_row, rows);
      }
    });
  }
}

void Trainer::Parts::embed(size_t first, size_t rows) {
  const Place &table = parameters.tokens, &positions = parameters.positions;
  for (size_t t = first; t < first + rows; ++t) {
    const arma::uword id = at(batch->ids, t);
    for (size_t c = 0; c < E; c += R) {
      const size_t count = std::min(R, E - c);
      float* to = streams.front().data() + t * row_E + c;
      std::copy_n(parameters.value(table) + c * table.rows + id * R, count, to);
      if (!positions.empty()) {
        kernels.train.add(to, parameters.value(positions) + c * positions.rows + t % L * R, count);
      }
    }
  }
}

void Trainer::Parts::before_attention(Own& own, size_t n, size_t first, size_t rows) {
  const BlockPlaces& places = parameters.blocks[n];
  KeptLayer& layer = layers[n];
  const auto epsilon = static_cast<float>(config.norm_epsilon);
  for (size_t i = 0; i < rows; ++i) {
    kernels.train.normalize(streams[n].data() + (first + i) * row_E, E, parameters.value(places.attention_norm.weight),
                            parameters.value(places.attention_norm.bias), epsilon, own.normalized.data() + i * row_E,
                            &layer.attention_norm[first + i]);
  }
  float* to = layer.qkv.data() + first * row_W;
  kernels.train.multiply({own.normalized.data(), row_E, 1}, strips_of(places.qkv.weight),
                         {to, R, row_W, parameters.value(places.qkv.bias)}, rows, W, E);
  if (gated) turn_rows(to, rows, first, 1);
}

void Trainer::Parts::after_attention(Own& own, size_t n, size_t first, size_t rows) {
  const BlockPlaces& places = parameters.blocks[n];
  KeptLayer& layer = layers[n];
  const auto epsilon = static_cast<float>(config.norm_epsilon);
  float* h = layer.h.data() + first * row_E;
  kernels.train.multiply({layer.context.data() + first * row_C, row_C, 1}, strips_of(places.output.weight),
                         {h, R, row_E, parameters.value(places.output.bias), streams[n].data() + first * row_E}, rows,
                         E, H * D);
  for (size_t i = 0; i < rows; ++i) {
    kernels.train.normalize(h + i * row_E, E, parameters.value(places.feed_forward_norm.weight),
                            parameters.value(places.feed_forward_norm.bias), epsilon, own.normalized.data() + i * row_E,
                            &layer.feed_forward_norm[first + i]);
  }
  float* of_up = layer.up.data() + first * row_U;
  kernels.train.multiply({own.normalized.data(), row_E, 1}, strips_of(places.up.weight),
                         {of_up, R, row_U, parameters.value(places.up.bias)}, rows, U, E);
  const auto activate = gated ? kernels.train.gated : kernels.train.gelu;
  for (size_t i = 0; i < rows; ++i) activate(of_up + i * row_U, F, own.hidden.data() + i * row_F);
  kernels.train.multiply({own.hidden.data(), row_F, 1}, strips_of(places.down.weight),
                         {streams[n + 1].data() + first * row_E, R, row_E, parameters.value(places.down.bias), h}, rows,
                         E, F);
}

/// Final norm, head and loss; and backward, up to the gradient of the stream.
void Trainer::Parts::finish(Own& own, size_t block, size_t first, size_t rows) {
  const bool tied = parameters.head.empty();
  const float* x = streams.back().data() + first * row_E;
  float* y = final_normalized.data() + first * row_E;
  const float* weight = parameters.value(parameters.final_norm.weight);
  const float* bias = parameters.value(parameters.final_norm.bias);
  for (size_t i = 0; i < rows; ++i) {
    kernels.train.normalize(x + i * row_E, E, weight, bias, static_cast<float>(config.norm_epsilon), y + i * row_E,
                            &final_norm[first + i]);
  }
  float* scores = logits.data() + first * row_V;
  kernels.train.multiply({y, row_E, 1}, tied ? head.strips(E, R) : strips_of(parameters.head), {scores, R, row_V}, rows,
                         V, E);
  for (size_t i = 0; i < rows; ++i) losses[block] += lose(scores + i * row_V, first + i);
  if (!with_backward) return;
  kernels.train.multiply({scores, row_V, 1}, tied ? strips_of(parameters.tokens) : head.strips(V, R),
                         {own.normalized.data(), R, row_E}, rows, E, V);
  float* d_weight = partial(0, block);
  float* d_x = d_stream.data() + first * row_E;
  std::fill_n(d_weight, 2 * E, 0.0f);
  std::fill_n(d_x, rows * row_E, 0.0f);
  for (size_t i = 0; i < rows; ++i) {
    kernels.train.normalize_backward(x + i * row_E, own.normalized.data() + i * row_E, E, weight, final_norm[first + i],
                                     d_x + i * row_E, d_x + i * row_E, d_weight,
                                     bias == nullptr ? nullptr : d_weight + E);
  }
}

/// The loss of one token, whose logits become their gradient.
double Trainer::Parts::lose(float* scores, size_t token) const {
  const size_t width = divided_up(V, R) * R;
  const arma::uword target = at(batch->targets, token);
  if (target == ignored_target) {
    std::fill_n(scores, width, 0.0f);
    return 0;
  }
  const auto score = static_cast<double>(scores[target]);
  const SoftmaxStatistics how = kernels.train.softmax(scores, 0, V, width, log2e, share);
  scores[target] -= share;
  return static_cast<double>(how.maximum) / static_cast<double>(log2e) - std::log(static_cast<double>(how.inverse)) -
         score;
}

}  // namespace attn::fast
