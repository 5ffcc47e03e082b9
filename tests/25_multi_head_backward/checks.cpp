#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <armadillo>
#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "attn/attention_backward.hpp"
#include "attn/decoder_attention.hpp"
#include "attn/dropout.hpp"
#include "attn/fused_multi_head_attention.hpp"
#include "attn/fused_qkv_backward.hpp"
#include "attn/heads_backward.hpp"
#include "attn/linear_backward.hpp"
#include "attn/masking.hpp"
#include "attn/multi_head_backward.hpp"
#include "checks/differences.hpp"
#include "checks/draw.hpp"
#include "checks/golden.hpp"
#include "checks/matchers.hpp"
#include "checks/oracles.hpp"
#include "checks/properties.hpp"
#include "checks/speed.hpp"

namespace attn::judge {
namespace {

using arma::uword;
using Strings = std::vector<std::string>;

const Strings input_axes = {"L", "in", "B"};
const Strings weight_axes = {"in", "out"};
const Strings bias_axes = {"1", "out"};
const Strings rope_axes = {"L", "D", "N"};
const Strings head_axes = {"L", "D", "H·B"};
const Strings shared_axes = {"S", "D", "G·B"};
const Strings token_axes = {"L", "E", "B"};
const Strings merged_axes = {"L", "H·D", "B"};

// ------------------------------------------------------------------------- the definitions, one number at a time

/// d_X(i, k, b) = sum_o d_Y(i, o, b) W(k, o), d_W(k, o) = sum_ib X(i, k, b) d_Y(i, o, b), d_bias(o) = sum_ib d_Y(i, o, b)
LinearBackward naive_linear_backward(const Linear& layer, const arma::cube& X, const arma::cube& d_Y) {
  const arma::mat& W = layer.weight;
  LinearBackward back{
      arma::cube(arma::size(X), arma::fill::zeros),
      {arma::mat(arma::size(W), arma::fill::zeros), arma::rowvec(layer.bias.n_elem, arma::fill::zeros)}};
  for (uword b = 0; b < X.n_slices; ++b) {
    for (uword i = 0; i < X.n_rows; ++i) {
      for (uword o = 0; o < W.n_cols; ++o) {
        for (uword k = 0; k < W.n_rows; ++k) {
          back.d_X(i, k, b) += d_Y(i, o, b) * W(k, o);
          back.d_layer.weight(k, o) += X(i, k, b) * d_Y(i, o, b);
        }
        if (!layer.bias.is_empty()) back.d_layer.bias(o) += d_Y(i, o, b);
      }
    }
  }
  return back;
}

/// Through the matrix of each row's rotation: what apply_rope makes of a unit vector is a row of it.
arma::cube through_the_rotation(const arma::cube& d_Y, RopePairing pairing, const arma::umat& positions = {},
                                const arma::rowvec& speeds = {}) {
  arma::cube d_X(arma::size(d_Y), arma::fill::zeros);
  for (uword d = 0; d < d_Y.n_cols; ++d) {
    arma::cube unit(arma::size(d_Y), arma::fill::zeros);
    unit.col(d).ones();
    const arma::cube turned = apply_rope(unit, pairing, positions, speeds);
    d_X.col(d) = arma::sum(arma::cube(turned % d_Y), 1);
  }
  return d_X;
}

arma::cube naive_sum_over_groups(const arma::cube& d_heads, uword group_size) {
  arma::cube sums(d_heads.n_rows, d_heads.n_cols, d_heads.n_slices / group_size, arma::fill::zeros);
  for (uword g = 0; g < sums.n_slices; ++g) {
    for (uword copy = 0; copy < group_size; ++copy) sums.slice(g) += d_heads.slice(g * group_size + copy);
  }
  return sums;
}

/// Dropout's factor for each weight: 0 or 1 / (1 - p).
arma::cube factors(const KeptAttention& kept) {
  arma::cube factor(arma::size(kept.weights), arma::fill::ones);
  for (uword k = 0; k < kept.keep.n_elem; ++k) factor(k) = kept.keep(k) != 0 ? 1 / (1 - kept.p) : 0;
  return factor;
}

arma::cube projected(const arma::cube& X, const Linear& layer) { return naive_linear(X, layer.weight, layer.bias); }

/// What a right forward pass gives: multi_head_backward is judged without the learner's multi_head_forward.
MultiHeadForward right_forward(const DecoderAttention& layer, const arma::cube& X, const Mask& mask = {},
                               const Mask& keep = {}, double p = 0) {
  const DecoderAttentionConfig& config = layer.config();
  const uword H = config.num_heads, G = config.num_kv_heads;
  const auto turned = [&](const arma::cube& x) { return apply_rope(x, config.pairing, {}, config.rope_speeds); };
  KeptAttention heads;
  heads.Q = turned(naive_split_heads(projected(X, layer.query_proj), H));
  heads.K = repeat_heads(turned(naive_split_heads(projected(X, layer.key_proj), G)), H / G);
  heads.V = repeat_heads(naive_split_heads(projected(X, layer.value_proj), G), H / G);
  heads.weights = naive_attention_weights(heads.Q, heads.K, mask);
  heads.keep = keep;
  heads.p = p;
  const arma::cube merged = naive_merge_heads(naive_mix(heads.weights % factors(heads), heads.V), H);
  return {projected(merged, layer.output_proj), {X, heads, merged}};
}

MultiHeadBackward naive_multi_head_backward(const DecoderAttention& layer, const arma::cube& d_output,
                                            const KeptMultiHead& kept) {
  const DecoderAttentionConfig& config = layer.config();
  const uword H = config.num_heads, G = config.num_kv_heads;
  const auto back = [&](const arma::cube& x) {
    return through_the_rotation(x, config.pairing, {}, config.rope_speeds);
  };
  const LinearBackward output = naive_linear_backward(layer.output_proj, kept.merged, d_output);
  const AttentionGradients heads = attention_backward(naive_split_heads(output.d_X, H), kept.attention);
  const LinearBackward query = naive_linear_backward(layer.query_proj, kept.X, naive_merge_heads(back(heads.d_Q), H));
  const LinearBackward key = naive_linear_backward(layer.key_proj, kept.X,
                                                   naive_merge_heads(back(naive_sum_over_groups(heads.d_K, H / G)), G));
  const LinearBackward value =
      naive_linear_backward(layer.value_proj, kept.X, naive_merge_heads(naive_sum_over_groups(heads.d_V, H / G), G));
  return {query.d_X + key.d_X + value.d_X, {query.d_layer, key.d_layer, value.d_layer, output.d_layer}};
}

// -------------------------------------------------------------------------------------- inputs, golden and drawn

struct Sizes {
  uword E, H, G, D;
};

DecoderAttentionConfig config_of(const Sizes& n, bool bias = true) {
  DecoderAttentionConfig config;
  config.embed_dim = n.E;
  config.num_heads = n.H;
  config.num_kv_heads = n.G;
  config.head_dim = n.D;
  config.bias = bias;
  return config;
}

/// Without a rotation: the speed of each pair is 0.
DecoderAttentionConfig unturned(DecoderAttentionConfig config) {
  config.rope_speeds = arma::zeros<arma::rowvec>(config.head_dim / 2);
  return config;
}

double golden_p(const std::string& name) { return name == "everything" ? 0.3 : 0; }

DecoderAttention layer_of(const std::string& name) {
  const GoldenCase golden = load_golden(name);
  DecoderAttentionConfig config = name == "by_hand" ? config_of({2, 2, 1, 2}, false)
                                  : name == "plain" ? config_of({5, 3, 3, 2})
                                  : name == "llama" ? config_of({7, 6, 2, 4}, false)
                                                    : config_of({7, 4, 2, 6});
  if (name == "everything") config.pairing = RopePairing::interleaved;
  if (golden.has("speeds")) config.rope_speeds = golden.rowvec("speeds");
  return with_projections(DecoderAttention(config), golden);
}

Mask mask_of(const GoldenCase& golden) { return golden.has("mask") ? golden.mask("mask") : Mask(); }
Mask keep_of(const GoldenCase& golden) { return golden.has("keep") ? golden.mask("keep") : Mask(); }

MultiHeadForward forward_of(const std::string& name) {
  const GoldenCase golden = load_golden(name);
  return multi_head_forward(layer_of(name), golden.cube("X"), mask_of(golden), keep_of(golden), golden_p(name));
}

KeptMultiHead kept_of(const std::string& name) {
  const GoldenCase golden = load_golden(name);
  return right_forward(layer_of(name), golden.cube("X"), mask_of(golden), keep_of(golden), golden_p(name)).kept;
}

std::string about(const std::string& name) {
  if (name == "by_hand") return note("2 query heads share a key/value head; RoPE by 90 degrees per token; causal");
  if (name == "plain") return note("H = G = 3: each query head has a key/value head of its own; no mask");
  if (name == "llama") return note("H = 6, G = 2, no bias, half-split RoPE, causal");
  return note("H = 4, G = 2, interleaved RoPE, a mask for each sequence, dropout with p = 0.3");
}

const Strings all_cases = {"plain", "llama", "everything"};

// ---------------------------------------------------------------------------------------------------- comparisons

std::string in(const std::string& name) { return note("the gradient of " + name); }

void expect_parameters(const LinearGradients& got, const LinearGradients& wanted, const std::string& name,
                       const std::string& about) {
  EXPECT_THAT(got.weight, IsNear(wanted.weight, weight_axes)) << in(name + ".weight") << about;
  if (wanted.bias.is_empty()) {
    EXPECT_HOLDS(got.bias.is_empty(), "the gradient of " + name + ".bias is not empty, and the layer has no bias");
  } else {
    EXPECT_THAT(arma::mat(got.bias), IsNear(arma::mat(wanted.bias), bias_axes)) << in(name + ".bias") << about;
  }
}

void expect_linear(const LinearBackward& got, const LinearBackward& wanted, const std::string& about) {
  EXPECT_THAT(got.d_X, IsNear(wanted.d_X, input_axes)) << note("d_X") << about;
  expect_parameters(got.d_layer, wanted.d_layer, "layer", about);
}

void expect_gradients(const MultiHeadBackward& got, const MultiHeadBackward& wanted, const std::string& about) {
  expect_parameters(got.d_layer.output_proj, wanted.d_layer.output_proj, "output_proj", about);
  expect_parameters(got.d_layer.value_proj, wanted.d_layer.value_proj, "value_proj", about);
  expect_parameters(got.d_layer.key_proj, wanted.d_layer.key_proj, "key_proj", about);
  expect_parameters(got.d_layer.query_proj, wanted.d_layer.query_proj, "query_proj", about);
  EXPECT_THAT(got.d_X, IsNear(wanted.d_X, token_axes)) << note("d_X") << about;
}

void expect_golden_parameters(const LinearGradients& got, const GoldenCase& golden, const std::string& name,
                              const std::string& about) {
  EXPECT_THAT(got.weight, Matches(golden.expected("d_" + name + ".weight"))) << in(name + ".weight") << about;
  if (golden.has("d_" + name + ".bias")) {
    EXPECT_THAT(arma::mat(got.bias), Matches(golden.expected("d_" + name + ".bias"))) << in(name + ".bias") << about;
  } else {
    EXPECT_HOLDS(got.bias.is_empty(), "the gradient of " + name + ".bias is not empty, and the layer has no bias");
  }
}

void expect_golden_gradients(const MultiHeadBackward& got, const std::string& name) {
  const GoldenCase golden = load_golden(name);
  expect_golden_parameters(got.d_layer.output_proj, golden, "output_proj", about(name));
  expect_golden_parameters(got.d_layer.value_proj, golden, "value_proj", about(name));
  expect_golden_parameters(got.d_layer.key_proj, golden, "key_proj", about(name));
  expect_golden_parameters(got.d_layer.query_proj, golden, "query_proj", about(name));
  EXPECT_THAT(got.d_X, Matches(golden.expected("d_X"))) << note("d_X") << about(name);
}

LinearGradients plus(double a, const LinearGradients& x, double b, const LinearGradients& y) {
  return {a * x.weight + b * y.weight, a * x.bias + b * y.bias};
}

bool have_shapes_of(const LinearGradients& gradients, const Linear& layer) {
  return arma::size(gradients.weight) == arma::size(layer.weight) && gradients.bias.n_elem == layer.bias.n_elem;
}

bool have_shapes_of(const MultiHeadBackward& got, const DecoderAttention& layer, const arma::cube& X) {
  return arma::size(got.d_X) == arma::size(X) && have_shapes_of(got.d_layer.query_proj, layer.query_proj) &&
         have_shapes_of(got.d_layer.key_proj, layer.key_proj) &&
         have_shapes_of(got.d_layer.value_proj, layer.value_proj) &&
         have_shapes_of(got.d_layer.output_proj, layer.output_proj);
}

const char* const wrong_shapes =
    "the gradients have not the shapes of X and the layer's parameters: see the first check";

arma::mat number(double x) { return x * arma::mat(1, 1, arma::fill::ones); }
double dot(const arma::cube& x, const arma::cube& y) { return arma::accu(x % y); }

const std::string by_differences = note("expected: the slope of the loss, by differences");

// ------------------------------------------------------------------------------------------- linear_backward, 25.1

TEST(LinearBackward, HasTheShapesOfTheChapter) {
  const Linear layer(2, 5);
  const LinearBackward back = linear_backward(layer, normal(4, 2, 3), normal(4, 5, 3));
  EXPECT_THAT(back.d_X, HasShape({{"L", 4}, {"in", 2}, {"B", 3}})) << note("d_X");
  EXPECT_THAT(back.d_layer.weight, HasShape({{"in", 2}, {"out", 5}})) << in("weight");
  EXPECT_THAT(arma::mat(back.d_layer.bias), HasShape({{"1", 1}, {"out", 5}})) << in("bias");
}

TEST(LinearBackward, GivesTheExampleWorkedByHand) {
  const GoldenCase golden = load_golden("linear_by_hand");
  const arma::cube X = golden.cube("X"), d_Y = golden.cube("d_Y");
  const Linear layer = golden.linear("layer");
  const LinearBackward back = linear_backward(layer, X, d_Y);
  const std::string inputs = given("X", X) + given("weight", layer.weight) + given("d_Y", d_Y);
  EXPECT_THAT(back.d_X, Matches(golden.expected("d_X"))) << note("d_X") << inputs;
  EXPECT_THAT(back.d_layer.weight, Matches(golden.expected("d_layer.weight"))) << in("weight") << inputs;
  EXPECT_THAT(arma::mat(back.d_layer.bias), Matches(golden.expected("d_layer.bias"))) << in("bias") << inputs;
}

TEST(LinearBackward, GivesTheBiasTheSumOfAllRows) {
  const Linear layer(2, 5);
  const arma::cube d_Y = normal(4, 5, 3);
  arma::rowvec sums(5, arma::fill::zeros);
  for (uword k = 0; k < d_Y.n_elem; ++k) sums(k / 4 % 5) += d_Y(k);
  EXPECT_THAT(arma::mat(linear_backward(layer, normal(4, 2, 3), d_Y).d_layer.bias), IsNear(arma::mat(sums), bias_axes))
      << note("the bias was added to 4 rows of 3 sequences: its gradient is the sum of 12 rows of d_Y");
}

TEST(LinearBackward, HasNoGradientForABiasThatIsNotThere) {
  const Linear layer(2, 5, false);
  EXPECT_HOLDS(linear_backward(layer, normal(4, 2, 3), normal(4, 5, 3)).d_layer.bias.is_empty(),
               "the gradient of the bias is not empty, and the layer has no bias")
      << likely_mistake("bias_always");
}

TEST(LinearBackward, AddsUpOverTheBatch) {
  const Linear layer(2, 5);
  const arma::cube X = normal(4, 2, 3), d_Y = normal(4, 5, 3);
  const LinearBackward together = linear_backward(layer, X, d_Y);
  ASSERT_HOLDS(have_shapes_of(together.d_layer, layer) && arma::size(together.d_X) == arma::size(X), wrong_shapes);
  LinearBackward sum{zeros(4, 2, 3), {0 * layer.weight, 0 * layer.bias}};
  for (uword b = 0; b < 3; ++b) {
    const LinearBackward alone = linear_backward(layer, X.slices(b, b), d_Y.slices(b, b));
    sum.d_X.slices(b, b) = alone.d_X;
    sum.d_layer = plus(1, sum.d_layer, 1, alone.d_layer);
  }
  expect_linear(
      together, sum,
      note("three sequences; expected: d_X of each alone, and the sum of their gradients of weight and bias"));
}

TEST(LinearBackward, FollowsPermutedTokens) {
  const Linear layer(2, 5);
  const arma::cube X = normal(4, 2, 3), d_Y = normal(4, 5, 3);
  const arma::uvec order = shuffled(4);
  const LinearBackward back = linear_backward(layer, X, d_Y);
  ASSERT_HOLDS(have_shapes_of(back.d_layer, layer) && arma::size(back.d_X) == arma::size(X), wrong_shapes);
  expect_linear(linear_backward(layer, reordered(X, order), reordered(d_Y, order)),
                {reordered(back.d_X, order), back.d_layer},
                note("the tokens were put in another order: d_X follows, the sums over all tokens stay"));
}

TEST(LinearBackward, IsLinearInTheGradientOfTheResult) {
  const Linear layer(2, 5);
  const arma::cube X = normal(4, 2, 3), one = normal(4, 5, 3), other = normal(4, 5, 3);
  const LinearBackward a = linear_backward(layer, X, one), b = linear_backward(layer, X, other);
  ASSERT_HOLDS(have_shapes_of(a.d_layer, layer) && arma::size(a.d_X) == arma::size(X), wrong_shapes);
  expect_linear(linear_backward(layer, X, 2 * one - other), {2 * a.d_X - b.d_X, plus(2, a.d_layer, -1, b.d_layer)},
                note("d_Y is 2 times one less another"));
}

TEST(LinearBackward, EqualsPyTorch) {
  for (const std::string name : {"linear", "no_bias"}) {
    const GoldenCase golden = load_golden(name);
    const LinearBackward back = linear_backward(golden.linear("layer"), golden.cube("X"), golden.cube("d_Y"));
    EXPECT_THAT(back.d_X, Matches(golden.expected("d_X"))) << note("d_X");
    expect_golden_parameters(back.d_layer, golden, "layer", "");
  }
}

TEST(LinearBackward, EqualsTheDifferences) {
  const Linear layer(2, 5);
  const arma::cube X = normal(4, 2, 3), d_Y = normal(4, 5, 3);
  const LinearBackward back = linear_backward(layer, X, d_Y);
  const auto of_X = [&](const arma::cube& x) { return projected(x, layer); };
  const auto of_W = [&](const arma::cube& x) { return naive_linear(X, x.slice(0), layer.bias); };
  const auto of_b = [&](const arma::cube& x) { return naive_linear(X, layer.weight, x.slice(0).row(0)); };
  EXPECT_THAT(back.d_X, Matches(gradient_by_differences(of_X, d_Y, X, input_axes))) << note("d_X") << by_differences;
  EXPECT_THAT(back.d_layer.weight, Matches(gradient_by_differences(of_W, d_Y, as_cube(layer.weight), weight_axes)))
      << in("weight") << by_differences;
  EXPECT_THAT(arma::mat(back.d_layer.bias),
              Matches(gradient_by_differences(of_b, d_Y, as_cube(arma::mat(layer.bias)), bias_axes)))
      << in("bias") << by_differences;
}

TEST(LinearBackward, EqualsTheDefinitionForOtherSizes) {
  struct Shape {
    uword L, in, out, B;
  };
  for (const Shape& n : {Shape{1, 2, 5, 3}, {4, 1, 5, 3}, {4, 2, 1, 3}, {6, 2, 5, 1}, {9, 17, 8, 4}}) {
    const Linear layer(n.in, n.out);
    const arma::cube X = normal(n.L, n.in, n.B), d_Y = normal(n.L, n.out, n.B);
    expect_linear(linear_backward(layer, X, d_Y), naive_linear_backward(layer, X, d_Y), "");
  }
}

// Here a factor that is transposed wrongly, or the wrong one, fits: it gives numbers, by which it is named.
TEST(LinearBackward, EqualsTheDefinitionWhereAllSizesAreEqual) {
  const Linear layer(4, 4);
  const arma::cube X = normal(4, 4, 3), d_Y = normal(4, 4, 3);
  expect_linear(linear_backward(layer, X, d_Y), naive_linear_backward(layer, X, d_Y), note("L = in = out = 4"));
}

TEST(LinearBackward, LeavesItsArguments) {
  const Linear layer(2, 5);
  const arma::cube X = normal(4, 2, 3), d_Y = normal(4, 5, 3);
  expect_leaves_its_arguments("linear_backward", {{"X", X}, {"d_Y", d_Y}, {"weight", layer.weight}},
                              [&] { linear_backward(layer, X, d_Y); });
}

// --------------------------------------------------------------------------------------------- rope_backward, 25.2

const std::vector<RopePairing> both_pairings = {RopePairing::interleaved, RopePairing::half_split};

std::string with(RopePairing pairing) {
  return note(pairing == RopePairing::interleaved ? "interleaved pairs" : "half-split pairs");
}

TEST(RopeBackward, HasTheShapeOfTheGradient) {
  EXPECT_THAT(rope_backward(normal(5, 4, 3), RopePairing::half_split), HasShape({{"L", 5}, {"D", 4}, {"N", 3}}));
}

TEST(RopeBackward, TurnsBackByAQuarter) {
  arma::cube d_Y(2, 4, 1), wanted(2, 4, 1);
  const arma::rowvec speeds = {arma::datum::pi / 2, 0};
  d_Y.slice(0) = {{1, 2, 3, 4}, {1, 2, 3, 4}};
  wanted.slice(0) = {{1, 2, 3, 4}, {3, 2, -1, 4}};
  EXPECT_THAT(rope_backward(d_Y, RopePairing::half_split, {}, speeds), IsNear(wanted, rope_axes))
      << given("d_Y", d_Y) << note("half-split pairs: 1 with 3, 2 with 4; speeds: 90 degrees per token, and 0");
}

TEST(RopeBackward, LeavesTheTokenAtPositionZero) {
  const arma::cube d_Y = normal(5, 4, 3);
  for (const RopePairing pairing : both_pairings) {
    const arma::cube d_X = rope_backward(d_Y, pairing);
    ASSERT_THAT(d_X, HasShape({{"L", 5}, {"D", 4}, {"N", 3}}));
    EXPECT_THAT(arma::cube(d_X.rows(0, 0)), IsNear(arma::cube(d_Y.rows(0, 0)), rope_axes))
        << with(pairing) << note("row 0: apply_rope did not rotate it, positions begin at 0");
  }
}

TEST(RopeBackward, KeepsTheLengthOfEachRow) {
  const arma::cube d_Y = normal(5, 6, 4);
  for (const RopePairing pairing : both_pairings) {
    const arma::cube d_X = rope_backward(d_Y, pairing);
    ASSERT_THAT(d_X, HasShape({{"L", 5}, {"D", 6}, {"N", 4}}));
    EXPECT_THAT(arma::cube(arma::sum(arma::square(d_X), 1)),
                IsNear(arma::cube(arma::sum(arma::square(d_Y), 1)), {"L", "1", "N"}))
        << with(pairing) << note("the squared length of each row: a rotation keeps it");
  }
}

TEST(RopeBackward, UndoesTheRotation) {
  const arma::cube X = normal(5, 6, 4);
  const arma::umat positions = {{3, 0}, {4, 1}, {5, 9}, {6, 10}, {7, 11}};
  const arma::rowvec speeds = {0.9, 0.4, 0.05};
  for (const RopePairing pairing : both_pairings) {
    EXPECT_THAT(rope_backward(apply_rope(X, pairing, positions, speeds), pairing, positions, speeds),
                IsNear(X, rope_axes))
        << with(pairing) << note("apply_rope, then rope_backward: rotated by an angle, and back");
  }
}

TEST(RopeBackward, IsTheTransposeOfTheRotation) {
  const arma::cube X = normal(5, 6, 4), d_Y = normal(5, 6, 4);
  for (const RopePairing pairing : both_pairings) {
    const arma::cube d_X = rope_backward(d_Y, pairing);
    ASSERT_THAT(d_X, HasShape({{"L", 5}, {"D", 6}, {"N", 4}}));
    EXPECT_THAT(number(dot(d_X, X)), IsNear(number(dot(d_Y, apply_rope(X, pairing))), {"1", "1"}))
        << with(pairing) << note("the sum of d_X ∘ X; expected: that of d_Y ∘ apply_rope(X)");
  }
}

TEST(RopeBackward, EqualsPyTorch) {
  for (const RopePairing pairing : both_pairings) {
    const GoldenCase golden = load_golden(pairing == RopePairing::interleaved ? "interleaved" : "half_split");
    const arma::umat positions = arma::conv_to<arma::umat>::from(golden.mat("positions"));
    EXPECT_THAT(rope_backward(golden.cube("d_Y"), pairing, positions, golden.rowvec("speeds")),
                Matches(golden.expected("d_X")))
        << with(pairing) << note("3 sequences of 2 heads, each sequence with positions of its own");
  }
}

TEST(RopeBackward, EqualsTheDifferences) {
  const arma::cube X = normal(3, 4, 2), d_Y = normal(3, 4, 2);
  for (const RopePairing pairing : both_pairings) {
    const auto of_X = [&](const arma::cube& x) { return apply_rope(x, pairing); };
    EXPECT_THAT(rope_backward(d_Y, pairing), Matches(gradient_by_differences(of_X, d_Y, X, rope_axes)))
        << with(pairing) << by_differences;
  }
}

TEST(RopeBackward, EqualsTheTransposeForOtherSizes) {
  struct Shape {
    uword L, D, N;
  };
  for (const RopePairing pairing : both_pairings) {
    for (const Shape& n : {Shape{1, 4, 3}, {3, 2, 4}, {6, 8, 1}, {40, 10, 2}}) {
      const arma::cube d_Y = normal(n.L, n.D, n.N);
      EXPECT_THAT(rope_backward(d_Y, pairing), IsNear(through_the_rotation(d_Y, pairing), rope_axes)) << with(pairing);
      const arma::rowvec speeds = normal(1, n.D / 2, 1).slice(0);
      EXPECT_THAT(rope_backward(d_Y, pairing, {}, speeds),
                  IsNear(through_the_rotation(d_Y, pairing, {}, speeds), rope_axes))
          << with(pairing) << note("with speeds of both signs");
    }
  }
}

TEST(RopeBackward, LeavesItsArguments) {
  const arma::cube d_Y = normal(5, 6, 4);
  const arma::rowvec speeds = {0.9, 0.4, 0.05};
  expect_leaves_its_arguments("rope_backward", {{"d_Y", d_Y}, {"speeds", speeds}},
                              [&] { rope_backward(d_Y, RopePairing::half_split, {}, speeds); });
}

// ------------------------------------------------------------------------------------------- sum_over_groups, 25.3

TEST(SumOverGroups, HasASliceForEachKeyHead) {
  EXPECT_THAT(sum_over_groups(normal(4, 5, 6), 2), HasShape({{"S", 4}, {"D", 5}, {"G·B", 3}}));
}

TEST(SumOverGroups, AddsUpNeighbours) {
  arma::cube d_heads(1, 2, 4), wanted(1, 2, 2);
  for (uword n = 0; n < 4; ++n) d_heads.slice(n) = {{std::pow(10.0, static_cast<double>(n)), 1}};
  wanted.slice(0) = {{11, 2}};
  wanted.slice(1) = {{1100, 2}};
  EXPECT_THAT(sum_over_groups(d_heads, 2), IsNear(wanted, shared_axes))
      << note("slices of (1, 1), (10, 1), (100, 1), (1000, 1) in groups of 2: slices 0 and 1 shared a key head");
}

TEST(SumOverGroups, LeavesGroupsOfOne) {
  const arma::cube d_heads = normal(4, 5, 3);
  EXPECT_THAT(sum_over_groups(d_heads, 1), IsNear(d_heads, shared_axes)) << note("H = G: nothing is shared");
}

TEST(SumOverGroups, IsTheTransposeOfRepeating) {
  const arma::cube X = normal(4, 5, 2), d_heads = normal(4, 5, 6);
  const arma::cube sums = sum_over_groups(d_heads, 3);
  ASSERT_THAT(sums, HasShape({{"S", 4}, {"D", 5}, {"G·B", 2}}));
  EXPECT_THAT(number(dot(sums, X)), IsNear(number(dot(d_heads, repeat_heads(X, 3))), {"1", "1"}))
      << note("the sum of sum_over_groups(d_heads) ∘ X; expected: that of d_heads ∘ repeat_heads(X)");
}

TEST(SumOverGroups, EqualsPyTorch) {
  const GoldenCase golden = load_golden("groups");
  EXPECT_THAT(sum_over_groups(golden.cube("d_heads"), 3), Matches(golden.expected("d_X")))
      << note("H = 6, G = 2, 2 sequences: 4 key heads, groups of 3");
}

TEST(SumOverGroups, EqualsTheDifferences) {
  const arma::cube X = normal(2, 3, 4), d_heads = normal(2, 3, 8);
  const auto repeated = [](const arma::cube& x) { return repeat_heads(x, 2); };
  EXPECT_THAT(sum_over_groups(d_heads, 2), Matches(gradient_by_differences(repeated, d_heads, X, shared_axes)))
      << by_differences;
}

TEST(SumOverGroups, EqualsTheDefinitionForOtherSizes) {
  for (const uword group_size : {uword(1), uword(2), uword(4), uword(8)}) {
    const arma::cube d_heads = normal(3, 5, 8);
    EXPECT_THAT(sum_over_groups(d_heads, group_size), IsNear(naive_sum_over_groups(d_heads, group_size), shared_axes))
        << note("8 slices in groups of " + std::to_string(group_size));
  }
}

// ---------------------------------------------------------------------------------------- fused_qkv_backward, 25.4

TEST(FusedQkvBackward, HasTheShapesOfTheChapter) {
  const Linear qkv(5, 14);
  const LinearBackward back =
      fused_qkv_backward(qkv, normal(3, 5, 2), normal(3, 6, 2), normal(3, 4, 2), normal(3, 4, 2));
  EXPECT_THAT(back.d_X, HasShape({{"L", 3}, {"E", 5}, {"B", 2}})) << note("d_X");
  EXPECT_THAT(back.d_layer.weight, HasShape({{"E", 5}, {"(H + 2G)·D", 14}})) << in("weight");
  EXPECT_THAT(arma::mat(back.d_layer.bias), HasShape({{"1", 1}, {"(H + 2G)·D", 14}})) << in("bias");
}

TEST(FusedQkvBackward, EqualsThreeProjections) {
  const Linear query(5, 6), key(5, 4), value(5, 4);
  const arma::cube X = normal(3, 5, 2), d_Q = normal(3, 6, 2), d_K = normal(3, 4, 2), d_V = normal(3, 4, 2);
  const LinearBackward q = naive_linear_backward(query, X, d_Q), k = naive_linear_backward(key, X, d_K),
                       v = naive_linear_backward(value, X, d_V);
  const LinearGradients side_by_side = {arma::join_rows(q.d_layer.weight, k.d_layer.weight, v.d_layer.weight),
                                        arma::rowvec(arma::join_rows(q.d_layer.bias, k.d_layer.bias, v.d_layer.bias))};
  expect_linear(fused_qkv_backward(join_columns({query, key, value}), X, d_Q, d_K, d_V),
                {q.d_X + k.d_X + v.d_X, side_by_side},
                note("expected: three calls of linear_backward, their d_X added up, their weights side by side"));
}

TEST(FusedQkvBackward, EqualsPyTorch) {
  for (const std::string name : {"fused", "fused_no_bias"}) {
    const GoldenCase golden = load_golden(name);
    const LinearBackward back = fused_qkv_backward(golden.linear("qkv_proj"), golden.cube("X"), golden.cube("d_Q"),
                                                   golden.cube("d_K"), golden.cube("d_V"));
    EXPECT_THAT(back.d_X, Matches(golden.expected("d_X"))) << note("d_X");
    expect_golden_parameters(back.d_layer, golden, "qkv_proj", "");
  }
}

TEST(FusedQkvBackward, EqualsTheDefinitionForOtherSizes) {
  struct Shape {
    uword L, E, queries, keys, B;
  };
  for (const Shape& n : {Shape{1, 3, 4, 2, 5}, {4, 1, 6, 2, 3}, {3, 4, 4, 4, 1}, {7, 9, 8, 2, 4}}) {
    const Linear qkv(n.E, n.queries + 2 * n.keys);
    const arma::cube X = normal(n.L, n.E, n.B), d_Q = normal(n.L, n.queries, n.B);
    const arma::cube d_K = normal(n.L, n.keys, n.B), d_V = normal(n.L, n.keys, n.B);
    arma::cube d_QKV(n.L, n.queries + 2 * n.keys, n.B);
    for (uword b = 0; b < n.B; ++b) d_QKV.slice(b) = arma::join_rows(d_Q.slice(b), d_K.slice(b), d_V.slice(b));
    expect_linear(fused_qkv_backward(qkv, X, d_Q, d_K, d_V), naive_linear_backward(qkv, X, d_QKV), "");
  }
}

// ---------------------------------------------------------------------------------------- multi_head_forward, 25.5

TEST(MultiHeadForward, HasTheShapesOfTheChapter) {
  const MultiHeadForward forward = multi_head_forward(DecoderAttention(config_of({7, 6, 2, 4})), normal(5, 7, 3));
  EXPECT_THAT(forward.output, HasShape({{"L", 5}, {"E", 7}, {"B", 3}}));
  EXPECT_THAT(forward.kept.X, HasShape({{"L", 5}, {"E", 7}, {"B", 3}})) << note("kept.X");
  EXPECT_THAT(forward.kept.merged, HasShape({{"L", 5}, {"H·D", 24}, {"B", 3}})) << note("kept.merged");
  EXPECT_THAT(forward.kept.attention.Q, HasShape({{"L", 5}, {"D", 4}, {"H·B", 18}})) << note("kept.attention.Q");
  EXPECT_THAT(forward.kept.attention.K, HasShape({{"S", 5}, {"D", 4}, {"H·B", 18}}))
      << note("kept.attention.K: once for each query head");
}

TEST(MultiHeadForward, GivesTheExampleWorkedByHand) {
  const GoldenCase golden = load_golden("by_hand");
  const MultiHeadForward forward = forward_of("by_hand");
  EXPECT_THAT(forward.kept.merged, Matches(golden.expected("merged"))) << about("by_hand") << note("kept.merged");
  EXPECT_THAT(forward.output, Matches(golden.expected("output"))) << about("by_hand");
}

TEST(MultiHeadForward, KeepsWhatTheWayBackNeeds) {
  const DecoderAttention layer(config_of({7, 6, 2, 4}));
  const arma::cube X = normal(5, 7, 3);
  const Mask mask = causal_mask(5, 5), keep = Dropout::draw(5, 5, 18, 0.4);
  const KeptMultiHead kept = multi_head_forward(layer, X, mask, keep, 0.4).kept;
  const KeptMultiHead wanted = right_forward(layer, X, mask, keep, 0.4).kept;
  EXPECT_THAT(kept.X, IsNear(wanted.X, token_axes)) << note("kept.X");
  EXPECT_THAT(kept.attention.Q, IsNear(wanted.attention.Q, head_axes)) << note("kept.attention.Q, after RoPE");
  EXPECT_THAT(kept.attention.K, IsNear(wanted.attention.K, head_axes))
      << note("kept.attention.K, after RoPE: heads 0 to 2 share the first key head, 3 to 5 the second");
  EXPECT_THAT(kept.attention.V, IsNear(wanted.attention.V, head_axes)) << note("kept.attention.V, not rotated");
  EXPECT_THAT(kept.attention.weights, IsNear(wanted.attention.weights, {"L", "S", "H·B"}))
      << note("kept.attention.weights, before dropout");
  EXPECT_THAT(arma::conv_to<arma::cube>::from(kept.attention.keep),
              IsNear(arma::conv_to<arma::cube>::from(keep), {"L", "S", "H·B"}))
      << note("kept.attention.keep");
  EXPECT_THAT(number(kept.attention.p), IsNear(number(0.4), {"1", "1"})) << note("kept.attention.p");
  EXPECT_THAT(kept.merged, IsNear(wanted.merged, merged_axes)) << note("kept.merged, before the output projection");
}

TEST(MultiHeadForward, EqualsTheLayerOfLesson21) {
  for (const bool bias : {false, true}) {
    DecoderAttention layer(config_of({7, 6, 2, 4}, bias));
    const arma::cube X = normal(5, 7, 3);
    const arma::cube wanted = layer.extend(X);
    EXPECT_THAT(multi_head_forward(layer, X, causal_mask(5, 5)).output, IsNear(wanted, token_axes))
        << note("under a causal mask; expected: what DecoderAttention::extend gives for a whole prompt");
  }
}

TEST(MultiHeadForward, SeesEverythingWithoutAMask) {
  const DecoderAttention layer(config_of({7, 6, 2, 4}));
  const arma::cube X = normal(5, 7, 3);
  EXPECT_THAT(multi_head_forward(layer, X).output, IsNear(right_forward(layer, X).output, token_axes))
      << note("an empty mask blocks nothing: the first token sees the last one");
}

TEST(MultiHeadForward, EqualsPyTorch) {
  for (const std::string& name : all_cases) {
    const GoldenCase golden = load_golden(name);
    const MultiHeadForward forward = forward_of(name);
    EXPECT_THAT(forward.kept.merged, Matches(golden.expected("merged"))) << about(name) << note("kept.merged");
    EXPECT_THAT(forward.output, Matches(golden.expected("output"))) << about(name);
  }
}

TEST(MultiHeadForward, EqualsTheDefinitionForOtherSizes) {
  for (const Sizes& n : {Sizes{5, 1, 1, 2}, {3, 4, 1, 2}, {6, 4, 4, 8}, {9, 8, 2, 4}}) {
    const DecoderAttention layer(config_of(n));
    for (const bool each_head : {false, true}) {
      const uword L = each_head ? 14 : 4;
      const arma::cube X = normal(L, n.E, 2);
      const Mask mask = random_mask(L, L, each_head ? 2 * n.H : 2), keep = Dropout::draw(L, L, 2 * n.H, 0.3);
      EXPECT_THAT(multi_head_forward(layer, X, mask, keep, 0.3).output,
                  IsNear(right_forward(layer, X, mask, keep, 0.3).output, token_axes))
          << note(each_head ? "a mask for each head" : "a mask for each sequence");
    }
  }
}

TEST(MultiHeadForward, LeavesTheWindowToTheMask) {
  DecoderAttentionConfig config = config_of({7, 6, 2, 4});
  config.window = 2;
  const DecoderAttention layer(config);
  const arma::cube X = normal(5, 7, 3);
  EXPECT_THAT(multi_head_forward(layer, X, causal_mask(5, 5)).output,
              IsNear(right_forward(layer, X, causal_mask(5, 5)).output, token_axes))
      << note("the configuration has a window of 2, and the mask has none: only the mask is read");
}

TEST(MultiHeadForward, DrawsNothing) {
  const DecoderAttention layer(config_of({7, 6, 2, 4}));
  const arma::cube X = normal(5, 7, 3);
  const Mask keep = Dropout::draw(5, 5, 18, 0.5);
  expect_leaves_the_generator_alone("multi_head_forward", [&] { multi_head_forward(layer, X, {}, keep, 0.5); });
}

// --------------------------------------------------------------------------------------- multi_head_backward, 25.6

TEST(MultiHeadBackward, GivesXAndEachParameterAGradientOfItsShape) {
  const DecoderAttention layer(config_of({7, 6, 2, 4}));
  const MultiHeadBackward back =
      multi_head_backward(layer, normal(5, 7, 3), right_forward(layer, normal(5, 7, 3)).kept);
  EXPECT_THAT(back.d_X, HasShape({{"L", 5}, {"E", 7}, {"B", 3}})) << note("d_X");
  EXPECT_THAT(back.d_layer.query_proj.weight, HasShape({{"E", 7}, {"H·D", 24}})) << in("query_proj.weight");
  EXPECT_THAT(back.d_layer.key_proj.weight, HasShape({{"E", 7}, {"G·D", 8}})) << in("key_proj.weight");
  EXPECT_THAT(back.d_layer.value_proj.weight, HasShape({{"E", 7}, {"G·D", 8}})) << in("value_proj.weight");
  EXPECT_THAT(back.d_layer.output_proj.weight, HasShape({{"H·D", 24}, {"E", 7}})) << in("output_proj.weight");
  EXPECT_THAT(arma::mat(back.d_layer.key_proj.bias), HasShape({{"1", 1}, {"G·D", 8}})) << in("key_proj.bias");
}

TEST(MultiHeadBackward, GivesTheExampleWorkedByHand) {
  expect_golden_gradients(
      multi_head_backward(layer_of("by_hand"), load_golden("by_hand").cube("d_output"), kept_of("by_hand")), "by_hand");
}

TEST(MultiHeadBackward, IsZeroWhereTheLossIgnoresTheOutput) {
  const DecoderAttention layer(config_of({7, 6, 2, 4}));
  const MultiHeadBackward back = multi_head_backward(layer, zeros(5, 7, 3), right_forward(layer, normal(5, 7, 3)).kept);
  EXPECT_THAT(back.d_X, IsNear(zeros(5, 7, 3), token_axes)) << note("d_output is zero; d_X");
  EXPECT_THAT(arma::mat(back.d_layer.output_proj.bias), IsNear(arma::mat(1, 7, arma::fill::zeros), bias_axes))
      << in("output_proj.bias");
}

TEST(MultiHeadBackward, GivesTheOutputBiasTheSumOfAllRows) {
  const DecoderAttention layer(config_of({7, 6, 2, 4}));
  const arma::cube d_output = normal(5, 7, 3);
  EXPECT_THAT(
      arma::mat(
          multi_head_backward(layer, d_output, right_forward(layer, normal(5, 7, 3)).kept).d_layer.output_proj.bias),
      IsNear(arma::mat(naive_linear_backward(layer.output_proj, zeros(5, 24, 3), d_output).d_layer.bias), bias_axes))
      << in("output_proj.bias") << note("the sum of the rows of d_output, over all tokens of all sequences");
}

TEST(MultiHeadBackward, GivesNothingToAKeyBiasWithoutRope) {
  const DecoderAttention layer(unturned(config_of({7, 6, 2, 4})));
  const MultiHeadBackward back =
      multi_head_backward(layer, normal(5, 7, 3), right_forward(layer, normal(5, 7, 3), causal_mask(5, 5)).kept);
  EXPECT_THAT(arma::mat(back.d_layer.key_proj.bias), IsNear(arma::mat(1, 8, arma::fill::zeros), bias_axes))
      << in("key_proj.bias")
      << note("without a rotation the same vector on all keys adds the same number to all scores of a query");
}

TEST(MultiHeadBackward, GivesNothingToTheFuture) {
  const DecoderAttention layer(config_of({7, 6, 2, 4}));
  arma::cube d_output = zeros(5, 7, 3);
  d_output.row(2) = normal(1, 7, 3).row(0);
  const MultiHeadBackward back =
      multi_head_backward(layer, d_output, right_forward(layer, normal(5, 7, 3), causal_mask(5, 5)).kept);
  ASSERT_THAT(back.d_X, HasShape({{"L", 5}, {"E", 7}, {"B", 3}}));
  EXPECT_THAT(arma::cube(back.d_X.rows(3, 4)), IsNear(zeros(2, 7, 3), token_axes))
      << note("rows 3 and 4 of d_X; the loss reads row 2 of the output, which sees tokens 0 to 2");
}

TEST(MultiHeadBackward, KeepsTheHeadsApart) {
  DecoderAttention layer(config_of({7, 3, 3, 4}));
  layer.output_proj.weight.rows(0, 3).zeros();   // head 0
  layer.output_proj.weight.rows(8, 11).zeros();  // head 2
  const KeptMultiHead kept = right_forward(layer, normal(5, 7, 6)).kept;
  const arma::cube d_output = normal(5, 7, 6);
  const MultiHeadBackward back = multi_head_backward(layer, d_output, kept);
  ASSERT_HOLDS(have_shapes_of(back, layer, kept.X), wrong_shapes);
  expect_gradients(back, naive_multi_head_backward(layer, d_output, kept),
                   note("the output projection reads head 1 of 3 only: the other heads' columns get zeros"));
}

TEST(MultiHeadBackward, GivesValuesAndOutputTheirShareOfTheLoss) {
  const DecoderAttention layer(config_of({7, 6, 2, 4}));
  const arma::cube d_output = normal(5, 7, 3);
  const MultiHeadForward forward = right_forward(layer, normal(5, 7, 3), causal_mask(5, 5));
  const MultiHeadGradients got = multi_head_backward(layer, d_output, forward.kept).d_layer;
  ASSERT_HOLDS(have_shapes_of(got.value_proj, layer.value_proj) && have_shapes_of(got.output_proj, layer.output_proj),
               wrong_shapes);
  const double constant = arma::accu(layer.output_proj.bias % got.output_proj.bias);
  const arma::mat wanted = number(dot(d_output, forward.output) - constant);
  EXPECT_THAT(number(arma::accu(got.output_proj.weight % layer.output_proj.weight)), IsNear(wanted, {"1", "1"}))
      << note(
             "the output is linear in output_proj.weight: weight ∘ its gradient adds up to d_output ∘ (output - bias)");
  EXPECT_THAT(number(arma::accu(got.value_proj.weight % layer.value_proj.weight) +
                     arma::accu(got.value_proj.bias % layer.value_proj.bias)),
              IsNear(wanted, {"1", "1"}))
      << note("and it is linear in value_proj's weight and bias together: through heads, split and merged, to them");
}

TEST(MultiHeadBackward, AddsUpOverTheBatch) {
  const DecoderAttention layer(config_of({7, 6, 2, 4}));
  const arma::cube X = normal(5, 7, 2), d_output = normal(5, 7, 2);
  const auto alone = [&](uword b) {
    return multi_head_backward(layer, d_output.slices(b, b), right_forward(layer, X.slices(b, b)).kept);
  };
  const MultiHeadBackward first = alone(0), second = alone(1);
  ASSERT_HOLDS(have_shapes_of(first, layer, X.slices(0, 0)) && have_shapes_of(second, layer, X.slices(1, 1)),
               wrong_shapes);
  const MultiHeadBackward wanted = {arma::join_slices(first.d_X, second.d_X),
                                    {plus(1, first.d_layer.query_proj, 1, second.d_layer.query_proj),
                                     plus(1, first.d_layer.key_proj, 1, second.d_layer.key_proj),
                                     plus(1, first.d_layer.value_proj, 1, second.d_layer.value_proj),
                                     plus(1, first.d_layer.output_proj, 1, second.d_layer.output_proj)}};
  expect_gradients(multi_head_backward(layer, d_output, right_forward(layer, X).kept), wanted,
                   note("two sequences; expected: d_X of each alone, and the sum of both gradients of each parameter"));
}

TEST(MultiHeadBackward, FollowsPermutedTokensWithoutRope) {
  const DecoderAttention layer(unturned(config_of({7, 6, 2, 4})));
  const arma::cube X = normal(5, 7, 3), d_output = normal(5, 7, 3);
  const arma::uvec order = shuffled(5);
  const MultiHeadBackward back = multi_head_backward(layer, d_output, right_forward(layer, X).kept);
  ASSERT_HOLDS(have_shapes_of(back, layer, X), wrong_shapes);
  expect_gradients(
      multi_head_backward(layer, reordered(d_output, order), right_forward(layer, reordered(X, order)).kept),
      {reordered(back.d_X, order), back.d_layer},
      note("no rotation, no mask, the tokens in another order: d_X follows, the gradients of the parameters stay"));
}

/// A layer with a key/value head for each query head, each group's copies of one.
DecoderAttention with_copied_heads(const DecoderAttention& grouped) {
  DecoderAttentionConfig config = grouped.config();
  config.num_kv_heads = config.num_heads;
  DecoderAttention full(config);
  const uword D = config.head_dim, group_size = config.num_heads / grouped.config().num_kv_heads;
  full.query_proj = grouped.query_proj;
  full.output_proj = grouped.output_proj;
  for (uword column = 0; column < D * config.num_heads; ++column) {
    const uword from = column / D / group_size * D + column % D;
    full.key_proj.weight.col(column) = grouped.key_proj.weight.col(from);
    full.value_proj.weight.col(column) = grouped.value_proj.weight.col(from);
    full.key_proj.bias(column) = grouped.key_proj.bias(from);
    full.value_proj.bias(column) = grouped.value_proj.bias(from);
  }
  return full;
}

TEST(MultiHeadBackward, AddsUpOverQueryHeadsThatShareAKey) {
  const DecoderAttention grouped(config_of({7, 6, 2, 4})), full = with_copied_heads(grouped);
  const arma::cube X = normal(5, 7, 3), d_output = normal(5, 7, 3);
  const MultiHeadBackward got = multi_head_backward(grouped, d_output, right_forward(grouped, X).kept);
  const MultiHeadBackward copies = multi_head_backward(full, d_output, right_forward(full, X).kept);
  ASSERT_HOLDS(have_shapes_of(got, grouped, X) && have_shapes_of(copies, full, X), wrong_shapes);
  MultiHeadBackward wanted = copies;
  const auto summed = [](const arma::mat& heads) {  // (rows x 6·4) -> (rows x 2·4)
    arma::mat sums(heads.n_rows, 8, arma::fill::zeros);
    for (uword column = 0; column < 24; ++column) sums.col(column / 12 * 4 + column % 4) += heads.col(column);
    return sums;
  };
  wanted.d_layer.key_proj = {summed(copies.d_layer.key_proj.weight),
                             arma::rowvec(summed(copies.d_layer.key_proj.bias))};
  wanted.d_layer.value_proj = {summed(copies.d_layer.value_proj.weight),
                               arma::rowvec(summed(copies.d_layer.value_proj.bias))};
  expect_gradients(
      got, wanted,
      note("H = 6, G = 2; expected: the layer with H = G = 6 whose heads are copies, its gradients added up"));
}

TEST(MultiHeadBackward, EqualsPyTorch) {
  for (const std::string& name : all_cases) {
    expect_golden_gradients(multi_head_backward(layer_of(name), load_golden(name).cube("d_output"), kept_of(name)),
                            name);
  }
}

TEST(MultiHeadBackward, EqualsPyTorchWithWhatTheForwardPassKept) {
  for (const std::string& name : all_cases) {
    expect_golden_gradients(
        multi_head_backward(layer_of(name), load_golden(name).cube("d_output"), forward_of(name).kept), name);
  }
}

TEST(MultiHeadBackward, EqualsTheDifferences) {
  const DecoderAttention layer(config_of({3, 2, 1, 2}));
  const arma::cube X = normal(4, 3, 2), d_output = normal(4, 3, 2);
  const Mask mask = causal_mask(4, 4), keep = Dropout::draw(4, 4, 4, 0.3);
  const MultiHeadBackward back = multi_head_backward(layer, d_output, right_forward(layer, X, mask, keep, 0.3).kept);
  const auto output = [&](const DecoderAttention& changed, const arma::cube& x) {
    return right_forward(changed, x, mask, keep, 0.3).output;
  };
  const auto expect_slopes = [&](const LinearGradients& got, Linear DecoderAttention::*projection,
                                 const std::string& name) {
    const auto of_weight = [&](const arma::cube& x) {
      DecoderAttention changed = layer;
      (changed.*projection).weight = x.slice(0);
      return output(changed, X);
    };
    const auto of_bias = [&](const arma::cube& x) {
      DecoderAttention changed = layer;
      (changed.*projection).bias = x.slice(0).row(0);
      return output(changed, X);
    };
    const Linear& at = layer.*projection;
    EXPECT_THAT(got.weight, Matches(gradient_by_differences(of_weight, d_output, as_cube(at.weight), weight_axes)))
        << in(name + ".weight") << by_differences;
    EXPECT_THAT(arma::mat(got.bias),
                Matches(gradient_by_differences(of_bias, d_output, as_cube(arma::mat(at.bias)), bias_axes)))
        << in(name + ".bias") << by_differences;
  };
  expect_slopes(back.d_layer.output_proj, &DecoderAttention::output_proj, "output_proj");
  expect_slopes(back.d_layer.value_proj, &DecoderAttention::value_proj, "value_proj");
  expect_slopes(back.d_layer.key_proj, &DecoderAttention::key_proj, "key_proj");
  expect_slopes(back.d_layer.query_proj, &DecoderAttention::query_proj, "query_proj");
  const auto of_X = [&](const arma::cube& x) { return output(layer, x); };
  EXPECT_THAT(back.d_X, Matches(gradient_by_differences(of_X, d_output, X, token_axes)))
      << note("d_X") << by_differences;
}

TEST(MultiHeadBackward, EqualsTheDefinitionForOtherSizes) {
  for (const Sizes& n : {Sizes{5, 1, 1, 2}, {3, 4, 1, 2}, {6, 4, 4, 8}, {9, 8, 2, 4}}) {
    const DecoderAttention layer(config_of(n));
    const uword L = n.H == 8 ? 14 : 4;
    const arma::cube d_output = normal(L, n.E, 2);
    const Mask mask = random_mask(L, L, 2 * n.H), keep = Dropout::draw(L, L, 2 * n.H, 0.3);
    const KeptMultiHead kept = right_forward(layer, normal(L, n.E, 2), mask, keep, 0.3).kept;
    expect_gradients(multi_head_backward(layer, d_output, kept), naive_multi_head_backward(layer, d_output, kept),
                     note("E, H, G, D = " + std::to_string(n.E) + ", " + std::to_string(n.H) + ", " +
                          std::to_string(n.G) + ", " + std::to_string(n.D)));
  }
}

// Here X fits where the merged heads belong: a mix-up gives numbers, by which it is named.
TEST(MultiHeadBackward, EqualsTheDefinitionWhereXIsAsWideAsTheHeads) {
  const DecoderAttention layer(config_of({8, 2, 1, 4}));
  const arma::cube d_output = normal(5, 8, 3);
  const KeptMultiHead kept = right_forward(layer, normal(5, 8, 3), causal_mask(5, 5)).kept;
  expect_gradients(multi_head_backward(layer, d_output, kept), naive_multi_head_backward(layer, d_output, kept),
                   note("E = H·D = 8"));
}

TEST(MultiHeadBackward, DropsWhatTheForwardPassDropped) {
  const DecoderAttention layer(config_of({7, 6, 2, 4}));
  const arma::cube d_output = normal(5, 7, 3);
  const KeptMultiHead kept = right_forward(layer, normal(5, 7, 3), {}, Dropout::draw(5, 5, 18, 0.5), 0.5).kept;
  expect_leaves_the_generator_alone("multi_head_backward", [&] { multi_head_backward(layer, d_output, kept); });
  expect_gradients(multi_head_backward(layer, d_output, kept), naive_multi_head_backward(layer, d_output, kept),
                   note("with dropout, p = 0.5; the mask is in kept.attention"));
}

TEST(MultiHeadBackward, ReadsWhatItIsGivenAndNotTheNewestForwardPass) {
  const DecoderAttention layer(config_of({7, 6, 2, 4}));
  const arma::cube d_output = normal(5, 7, 3);
  const KeptMultiHead first = right_forward(layer, normal(5, 7, 3)).kept;
  const KeptMultiHead second = right_forward(layer, normal(5, 7, 3)).kept;
  for (const KeptMultiHead* kept : {&first, &second}) {
    expect_gradients(multi_head_backward(layer, d_output, *kept), naive_multi_head_backward(layer, d_output, *kept),
                     note("two forward passes, and then their two backward passes"));
  }
}

TEST(MultiHeadBackward, LeavesItsArguments) {
  const DecoderAttention layer(config_of({7, 6, 2, 4}));
  const arma::cube d_output = normal(5, 7, 3);
  const KeptMultiHead kept = right_forward(layer, normal(5, 7, 3)).kept;
  expect_leaves_its_arguments("multi_head_backward",
                              {{"d_output", d_output},
                               {"kept.X", kept.X},
                               {"kept.attention.Q", kept.attention.Q},
                               {"kept.attention.weights", kept.attention.weights},
                               {"kept.merged", kept.merged}},
                              [&] { multi_head_backward(layer, d_output, kept); });
}

// ------------------------------------------------------------------------------------------ bad input: linear_backward

TEST(LinearBackward, RejectsShapesThatDoNotFit) {
  const Linear layer(3, 5);
  EXPECT_PRED_FORMAT1(RejectsArgument("X", {"4 x 6 x 2", "3"}),
                      [&] { linear_backward(layer, zeros(4, 6, 2), zeros(4, 5, 2)); });
  EXPECT_PRED_FORMAT1(RejectsArgument("d_Y", {"4 x 3 x 2", "5"}),
                      [&] { linear_backward(layer, zeros(4, 3, 2), zeros(4, 3, 2)); });
  EXPECT_PRED_FORMAT1(RejectsArgument("d_Y", {"4 x 5 x 1", "2"}),
                      [&] { linear_backward(layer, zeros(4, 3, 2), zeros(4, 5, 1)); });
  EXPECT_PRED_FORMAT1(RejectsArgument("d_Y", {"3 x 5 x 2", "4"}),
                      [&] { linear_backward(layer, zeros(4, 3, 2), zeros(3, 5, 2)); });
}

// ------------------------------------------------------------------------- bad input: rope_backward, sum_over_groups

TEST(RopeBackward, RejectsAnOddWidth) {
  EXPECT_PRED_FORMAT1(RejectsArgument("d_Y", {"5"}), [&] { rope_backward(zeros(4, 5, 2), RopePairing::half_split); });
}

TEST(SumOverGroups, RejectsAGroupThatDoesNotDivideTheHeads) {
  EXPECT_PRED_FORMAT1(RejectsArgument("d_heads", {"6", "4"}), [&] { sum_over_groups(zeros(3, 5, 6), 4); });
}

// -------------------------------------------------------------------------------- bad input: fused_qkv_backward, 25.4

TEST(FusedQkvBackward, RejectsShapesThatDoNotFit) {
  const Linear qkv(5, 14);
  const arma::cube X = zeros(3, 5, 2), d_Q = zeros(3, 6, 2), d_K = zeros(3, 4, 2);
  EXPECT_PRED_FORMAT1(RejectsArgument("d_V", {"3 x 6 x 2", "4"}), [&] { fused_qkv_backward(qkv, X, d_Q, d_K, d_Q); });
  EXPECT_PRED_FORMAT1(RejectsArgument("d_Q", {"16", "14"}),
                      [&] { fused_qkv_backward(qkv, X, zeros(3, 8, 2), d_K, d_K); });
  EXPECT_PRED_FORMAT1(RejectsArgument("d_Q", {"12", "14"}),
                      [&] { fused_qkv_backward(qkv, X, zeros(3, 4, 2), d_K, d_K); });
}

// ------------------------------------------------------------- bad input: multi_head_forward and multi_head_backward

TEST(MultiHeadForward, RejectsWhatDoesNotFit) {
  const DecoderAttention layer(config_of({7, 6, 2, 4}));
  EXPECT_PRED_FORMAT1(RejectsArgument("X", {"5 x 6 x 3", "7"}), [&] { multi_head_forward(layer, zeros(5, 6, 3)); });
  EXPECT_PRED_FORMAT1(RejectsArgument("mask", {"5 x 4 x 1"}),
                      [&] { multi_head_forward(layer, zeros(5, 7, 3), ones(5, 4, 1)); });
  DecoderAttentionConfig config = config_of({7, 6, 2, 4});
  config.qk_norm = true;
  EXPECT_PRED_FORMAT1(RejectsArgument("qk_norm", {}),
                      [&] { multi_head_forward(DecoderAttention(config), zeros(5, 7, 3)); });
  config.qk_norm = false;
  config.soft_cap = 0.5;
  EXPECT_PRED_FORMAT1(RejectsArgument("soft_cap", {"0.5"}),
                      [&] { multi_head_forward(DecoderAttention(config), zeros(5, 7, 3)); });
}

TEST(MultiHeadBackward, RejectsAGradientOfAnotherShape) {
  const DecoderAttention layer(config_of({7, 6, 2, 4}));
  const KeptMultiHead kept = right_forward(layer, normal(5, 7, 3)).kept;
  EXPECT_PRED_FORMAT1(RejectsArgument("d_output", {"5 x 24 x 3", "7"}),
                      [&] { multi_head_backward(layer, zeros(5, 24, 3), kept); });
  EXPECT_PRED_FORMAT1(RejectsArgument("d_output", {"4 x 7 x 3", "5"}),
                      [&] { multi_head_backward(layer, zeros(4, 7, 3), kept); });
  EXPECT_PRED_FORMAT1(RejectsArgument("d_output", {"5 x 7 x 2", "3"}),
                      [&] { multi_head_backward(layer, zeros(5, 7, 2), kept); });
}

// --------------------------------------------------------------------------------------------------------------- speed

ATTN_SPEED("forward and backward, 2 sequences of 32 tokens, E = 96, H = 4, G = 2", [] {
  const DecoderAttention layer(config_of({96, 4, 2, 24}));
  const arma::cube X = normal(32, 96, 2), d_output = normal(32, 96, 2);
  return [layer, X, d_output] { return multi_head_backward(layer, d_output, multi_head_forward(layer, X).kept).d_X; };
});

}  // namespace
}  // namespace attn::judge
