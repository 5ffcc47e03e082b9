#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <armadillo>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "attn/activations.hpp"
#include "attn/feed_forward.hpp"
#include "attn/masking.hpp"
#include "attn/norm.hpp"
#include "attn/transformer_block.hpp"
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

const Strings token_axes = {"L", "E", "B"};
const Strings head_axes = {"L", "D", "H·B"};
const Strings row_axes = {"1", "E"};

const std::vector<Activation> all_activations = {Activation::relu, Activation::gelu, Activation::gelu_tanh,
                                                 Activation::silu};
const std::vector<NormPlacement> both_placements = {NormPlacement::pre, NormPlacement::post};

std::string name_of(Activation activation) {
  return Strings{"relu", "gelu", "gelu_tanh", "silu"}.at(static_cast<std::size_t>(activation));
}

std::string name_of(NormPlacement placement) { return placement == NormPlacement::pre ? "pre" : "post"; }

/// The rows of the chapter: one of them holds a number four times.
arma::cube rows_by_hand() {
  arma::cube X(3, 4, 1);
  X.slice(0) = {{8, 2, 2, 0}, {5, 5, 5, 5}, {1, 3, 5, 7}};
  return X;
}

// ------------------------------------------------------------- the definitions, one number at a time

/// A norm with a mean that is subtracted, or without.
arma::cube naive_norm(const arma::cube& X, bool centred, const arma::rowvec& weight, const arma::rowvec& bias,
                      double epsilon) {
  const double E = static_cast<double>(X.n_cols);
  arma::cube result(arma::size(X));
  for (uword b = 0; b < X.n_slices; ++b) {
    for (uword i = 0; i < X.n_rows; ++i) {
      double mean = 0, squares = 0;
      for (uword d = 0; d < X.n_cols && centred; ++d) mean += X(i, d, b) / E;
      for (uword d = 0; d < X.n_cols; ++d) squares += (X(i, d, b) - mean) * (X(i, d, b) - mean) / E;
      for (uword d = 0; d < X.n_cols; ++d) {
        result(i, d, b) = (X(i, d, b) - mean) / std::sqrt(squares + epsilon) * weight(d) + bias(d);
      }
    }
  }
  return result;
}

arma::cube naive(const LayerNorm& norm, const arma::cube& X) {
  return naive_norm(X, true, norm.weight, norm.bias, norm.epsilon);
}

arma::cube naive(const RMSNorm& norm, const arma::cube& X) {
  return naive_norm(X, false, norm.weight, arma::rowvec(X.n_cols, arma::fill::zeros), norm.epsilon);
}

double naive(Activation activation, double x) {
  switch (activation) {
    case Activation::relu: return std::fmax(x, 0);
    case Activation::gelu: return x * std::erfc(-x / std::sqrt(2)) / 2;
    case Activation::gelu_tanh:
      return x / 2 * (1 + std::tanh(std::sqrt(2 / arma::datum::pi) * (x + 0.044715 * std::pow(x, 3))));
    default: return x / (1 + std::exp(-x));
  }
}

arma::cube naive(Activation activation, arma::cube x) {
  for (double& number : x) number = naive(activation, number);
  return x;
}

arma::cube through(const Linear& layer, const arma::cube& x) { return naive_linear(x, layer.weight, layer.bias); }

arma::cube naive(const FeedForward& layer, const arma::cube& X) {
  return through(layer.down_proj, naive(layer.activation, through(layer.up_proj, X)));
}

arma::cube naive(const SwiGLU& layer, const arma::cube& X) {
  const arma::cube gate = naive(Activation::silu, through(layer.gate_proj, X));
  const arma::cube up = through(layer.up_proj, X);
  arma::cube product(arma::size(up));
  for (uword k = 0; k < up.n_elem; ++k) product(k) = gate(k) * up(k);
  return through(layer.down_proj, product);
}

Attended naive(const TransformerBlock& block, const arma::cube& X, const Mask& mask = {}, const Mask& keep = {}) {
  const bool pre = block.norm_placement == NormPlacement::pre;
  const arma::cube asked = pre ? naive(block.attention_norm, X) : X;
  Attended attended = naive_multi_head(projections_of(block.attention), block.attention.num_heads(), asked, asked,
                                       asked, mask, keep, block.attention.dropout.p());
  arma::cube h = X + attended.output;
  if (!pre) h = naive(block.attention_norm, h);
  const arma::cube sum = h + naive(block.feed_forward, pre ? naive(block.feed_forward_norm, h) : h);
  attended.output = pre ? sum : naive(block.feed_forward_norm, sum);
  return attended;
}

// ------------------------------------------------------------------------- layers with golden or drawn parts

LayerNorm layer_norm_of(const GoldenCase& golden, const std::string& name = "", double epsilon = 1e-5) {
  const arma::rowvec weight = golden.rowvec(name + "weight");
  LayerNorm norm(weight.n_elem, epsilon);
  norm.weight = weight;
  norm.bias = golden.rowvec(name + "bias");
  return norm;
}

RMSNorm rms_norm_of(const GoldenCase& golden, double epsilon = 1e-6) {
  const arma::rowvec weight = golden.rowvec("weight");
  RMSNorm norm(weight.n_elem, epsilon);
  norm.weight = weight;
  return norm;
}

LayerNorm drawn_layer_norm(uword dim, double epsilon = 1e-5) {
  LayerNorm norm(dim, epsilon);
  norm.weight.randn();
  norm.bias.randn();
  return norm;
}

RMSNorm drawn_rms_norm(uword dim, double epsilon = 1e-6) {
  RMSNorm norm(dim, epsilon);
  norm.weight.randn();
  return norm;
}

FeedForward feed_forward_of(const GoldenCase& golden, Activation activation = Activation::gelu) {
  const Linear up = golden.linear("up_proj");
  FeedForward layer(up.weight.n_rows, up.weight.n_cols, activation);
  layer.up_proj = up;
  layer.down_proj = golden.linear("down_proj");
  return layer;
}

SwiGLU swiglu_of(const GoldenCase& golden) {
  const Linear gate = golden.linear("gate_proj");
  SwiGLU layer(gate.weight.n_rows, gate.weight.n_cols);
  layer.gate_proj = gate;
  layer.up_proj = golden.linear("up_proj");
  layer.down_proj = golden.linear("down_proj");
  return layer;
}

/// A block as the properties of attention see it: with the weights that its attention keeps.
struct Watched {
  TransformerBlock block;

  arma::cube forward(const arma::cube& X, const Mask& mask = {}) { return block.forward(X, mask); }
  const arma::cube& attention_weights() const { return block.attention.attention_weights(); }
};

Watched block_of(const GoldenCase& golden, uword num_heads, NormPlacement placement) {
  const Linear up = golden.linear("up_proj");
  TransformerBlock block(up.weight.n_rows, num_heads, up.weight.n_cols, 0.1, placement);
  block.attention = with_projections(block.attention, golden);
  block.attention.dropout.eval();
  block.feed_forward.up_proj = up;
  block.feed_forward.down_proj = golden.linear("down_proj");
  block.attention_norm = layer_norm_of(golden, "attention_norm.");
  block.feed_forward_norm = layer_norm_of(golden, "feed_forward_norm.");
  return {block};
}

/// A new block whose norms were drawn, too.
Watched drawn_block(uword embed_dim, uword num_heads, uword hidden_dim, NormPlacement placement, double p = 0.1) {
  TransformerBlock block(embed_dim, num_heads, hidden_dim, p, placement);
  block.attention_norm = drawn_layer_norm(embed_dim);
  block.feed_forward_norm = drawn_layer_norm(embed_dim);
  return {block};
}

/// The same, whose dropout is off.
Watched quiet_block(uword embed_dim, uword num_heads, uword hidden_dim, NormPlacement placement) {
  Watched watched = drawn_block(embed_dim, num_heads, hidden_dim, placement);
  watched.block.attention.dropout.eval();
  return watched;
}

/// So that a branch gives zeros.
void silence(Linear& last) {
  last.weight.zeros();
  last.bias.zeros();
}

std::string about(NormPlacement placement, const std::string& sentence = {}) {
  return note("the norm's placement is " + name_of(placement) + (sentence.empty() ? "" : "; " + sentence));
}

std::string sizes_note(const std::vector<std::pair<std::string, uword>>& sizes) {
  std::string text;
  for (const auto& [name, size] : sizes) text += (text.empty() ? "" : ", ") + name + " = " + std::to_string(size);
  return note(text);
}

// ----------------------------------------------------------------------------------------------- LayerNorm, 20.1

TEST(LayerNorm, BeginsWithAWeightOfOnesAndABiasOfZeros) {
  const LayerNorm norm(6);
  EXPECT_THAT(arma::mat(norm.weight), IsNear(arma::mat(1, 6, arma::fill::ones), row_axes))
      << (norm.weight.n_elem == 6 && !arma::any(norm.weight != 0) ? likely_mistake("ln_weight_zeros") : "");
  EXPECT_THAT(arma::mat(norm.bias), IsNear(arma::mat(1, 6, arma::fill::zeros), row_axes));
}

TEST(LayerNorm, TakesTheEpsilonItIsGiven) {
  EXPECT_HOLDS(LayerNorm(6).epsilon == 1e-5, "epsilon is not 1e-5, its default");
  EXPECT_HOLDS(LayerNorm(6, 0.5).epsilon == 0.5, "epsilon is not the 0.5 that the constructor was given")
      << likely_mistake("ln_epsilon_fixed");
}

TEST(LayerNorm, KeepsTheShape) { EXPECT_THAT(LayerNorm(6)(normal(5, 6, 2)), HasShape({{"L", 5}, {"E", 6}, {"B", 2}})); }

TEST(LayerNorm, GivesTheRowsWorkedByHand) {
  EXPECT_THAT(LayerNorm(4)(rows_by_hand()), Matches(load_golden("norms_by_hand").expected("layer_norm")))
      << given("X", rows_by_hand());
}

TEST(LayerNorm, GivesEveryRowAMeanOfZero) {
  const arma::cube normalized = LayerNorm(6)(3 * normal(5, 6, 2) + 4);
  ASSERT_THAT(normalized, HasShape({{"L", 5}, {"E", 6}, {"B", 2}}));
  const arma::cube means = arma::mean(normalized, 1);
  EXPECT_THAT(means, IsNear(zeros(5, 1, 2), {"L", "1", "B"})) << note("these are the means of the rows of the result");
}

TEST(LayerNorm, GivesEveryRowAVarianceOfOne) {
  const arma::cube normalized = LayerNorm(6, 0)(3 * normal(5, 6, 2) + 4);
  ASSERT_THAT(normalized, HasShape({{"L", 5}, {"E", 6}, {"B", 2}}));
  const arma::cube mean_squares = arma::mean(arma::square(normalized), 1);
  EXPECT_THAT(mean_squares, IsNear(arma::cube(5, 1, 2, arma::fill::ones), {"L", "1", "B"}))
      << note("these are the means of the squares of each row of the result; epsilon is 0");
}

TEST(LayerNorm, IgnoresTheLevelAndTheScaleOfEachRow) {
  const LayerNorm norm(6, 0);
  const arma::cube X = normal(5, 6, 2);
  arma::cube other = X;
  for (uword i = 0; i < 5; ++i)
    other.row(i) = (static_cast<double>(i) + 0.5) * X.row(i) + 7 - 3 * static_cast<double>(i);
  EXPECT_THAT(norm(other), IsNear(norm(X), token_axes))
      << note("each row was multiplied by a positive number, and another number was added: nothing may change");
}

TEST(LayerNorm, TreatsEveryTokenAlone) {
  const LayerNorm norm = drawn_layer_norm(6);
  const arma::cube X = normal(5, 6, 2);
  const arma::cube together = norm(X);
  ASSERT_THAT(together, HasShape({{"L", 5}, {"E", 6}, {"B", 2}}));
  for (uword i = 0; i < 5; ++i) {
    EXPECT_THAT(norm(X.rows(i, i)), IsNear(arma::cube(together.rows(i, i)), token_axes))
        << note("row " + std::to_string(i) + " was given alone: it must come out as among the others");
  }
  expect_keeps_apart("sequence", 2, together, [&](uword b) { return norm(arma::cube(X.slices(b, b))); });
}

TEST(LayerNorm, MultipliesByTheWeightThenAddsTheBias) {
  LayerNorm norm(6);
  const arma::cube X = normal(5, 6, 2);
  arma::cube expected = norm(X);
  ASSERT_THAT(expected, HasShape({{"L", 5}, {"E", 6}, {"B", 2}}));
  norm.weight = {1, -2, 3, 0.5, 0, 4};
  norm.bias = {0, 10, -20, 5, 7, 30};
  for (arma::uword b = 0; b < 2; ++b) {
    expected.slice(b).each_row() %= norm.weight;
    expected.slice(b).each_row() += norm.bias;
  }
  EXPECT_THAT(norm(X), IsNear(expected, token_axes))
      << note("expected: what a weight of ones and a bias of zeros give, times the weight, plus the bias");
}

TEST(LayerNorm, EqualsPyTorch) {
  const GoldenCase golden = load_golden("norms");
  EXPECT_THAT(layer_norm_of(golden)(golden.cube("X")), Matches(golden.expected("layer_norm")));
}

TEST(LayerNorm, EqualsPyTorchWithALargeEpsilon) {
  const GoldenCase golden = load_golden("norms");
  EXPECT_THAT(layer_norm_of(golden, "", 0.5)(golden.cube("X")), Matches(golden.expected("layer_norm_half")))
      << note("epsilon is 0.5");
}

TEST(LayerNorm, EqualsPyTorchForSmallNumbers) {
  const GoldenCase golden = load_golden("norms");
  EXPECT_THAT(layer_norm_of(golden)(golden.cube("X") / 1000), Matches(golden.expected("layer_norm_small")))
      << note("X is so small that epsilon, 1e-5, counts");
}

TEST(LayerNorm, StaysExactFarFromZero) {
  const GoldenCase golden = load_golden("norms");
  const LayerNorm norm = layer_norm_of(golden);
  const auto equals = [&](const arma::cube& normalized, const std::string& array, double tolerance) {
    const arma::cube expected = golden.cube(array);
    return arma::size(normalized) == arma::size(expected) &&
           arma::approx_equal(normalized, expected, "absdiff", tolerance);
  };
  const arma::cube normalized = norm(golden.cube("X") + 10000);
  const bool digits_lost =
      equals(norm(golden.cube("X")), "layer_norm", 1e-10) && equals(normalized, "layer_norm_far", 1e-5);
  EXPECT_THAT(normalized, Matches(golden.expected("layer_norm_far")))
      << note("10000 was added to every number of X") << (digits_lost ? likely_mistake("ln_variance_by_squares") : "");
}

TEST(LayerNorm, EqualsTheDefinitionForOtherSizes) {
  struct Sizes {
    uword L, E, B;
  };
  for (const auto& [L, E, B] : {Sizes{3, 8, 4}, {7, 2, 3}, {1, 10, 2}, {4, 1, 3}, {6, 5, 1}, {2, 40, 3}, {4, 4, 2}}) {
    const LayerNorm norm = drawn_layer_norm(E, 1e-3);
    const arma::cube X = 2 * normal(L, E, B) - 1;
    EXPECT_THAT(norm(X), IsNear(naive(norm, X), token_axes)) << sizes_note({{"L", L}, {"E", E}, {"B", B}});
  }
}

TEST(LayerNorm, GivesTheBiasToARowOfEqualNumbers) {
  LayerNorm norm = drawn_layer_norm(6);
  arma::cube X = normal(5, 6, 2);
  X.row(3).fill(8);
  X.row(1).zeros();
  arma::cube expected = naive(norm, X);
  for (const uword i : {1U, 3U}) {
    for (uword b = 0; b < 2; ++b) expected.slice(b).row(i) = norm.bias;
  }
  EXPECT_THAT(norm(X), IsNear(expected, token_axes)) << note("rows 1 and 3 hold one number six times: variance 0");
}

TEST(LayerNorm, PassesOnANaN) {
  const LayerNorm norm = drawn_layer_norm(6);
  arma::cube X = normal(5, 6, 2);
  X(2, 1, 0) = arma::datum::nan;
  EXPECT_THAT(norm(X), IsNear(naive(norm, X), token_axes))
      << note("token 2 of sequence 0 holds NaN: its row is NaN, and no other");
}

TEST(LayerNorm, LeavesItsFieldsAndArguments) {
  const LayerNorm norm = drawn_layer_norm(6);
  const arma::cube X = normal(5, 6, 2);
  expect_leaves_its_arguments("LayerNorm", {{"X", X}, {"weight", arma::mat(norm.weight)}}, [&] { norm(X); });
  expect_leaves_the_generator_alone("LayerNorm", [] { LayerNorm{6}; });
}

// ------------------------------------------------------------------------------------------------- RMSNorm, 20.2

TEST(RMSNorm, BeginsWithAWeightOfOnes) {
  const RMSNorm norm(6);
  EXPECT_THAT(arma::mat(norm.weight), IsNear(arma::mat(1, 6, arma::fill::ones), row_axes))
      << (norm.weight.n_elem == 6 && !arma::any(norm.weight != 0) ? likely_mistake("rms_weight_zeros") : "");
}

TEST(RMSNorm, TakesTheEpsilonItIsGiven) {
  EXPECT_HOLDS(RMSNorm(6).epsilon == 1e-6, "epsilon is not 1e-6, its default");
  EXPECT_HOLDS(RMSNorm(6, 0.5).epsilon == 0.5, "epsilon is not the 0.5 that the constructor was given")
      << likely_mistake("rms_epsilon_fixed");
}

TEST(RMSNorm, KeepsTheShape) { EXPECT_THAT(RMSNorm(6)(normal(5, 6, 2)), HasShape({{"L", 5}, {"E", 6}, {"N", 2}})); }

TEST(RMSNorm, GivesTheRowsWorkedByHand) {
  EXPECT_THAT(RMSNorm(4)(rows_by_hand()), Matches(load_golden("norms_by_hand").expected("rms_norm")))
      << given("X", rows_by_hand());
}

TEST(RMSNorm, GivesEveryRowAMeanSquareOfOne) {
  const arma::cube normalized = RMSNorm(6, 0)(3 * normal(5, 6, 2) + 4);
  ASSERT_THAT(normalized, HasShape({{"L", 5}, {"E", 6}, {"N", 2}}));
  const arma::cube mean_squares = arma::mean(arma::square(normalized), 1);
  EXPECT_THAT(mean_squares, IsNear(arma::cube(5, 1, 2, arma::fill::ones), {"L", "1", "N"}))
      << note("these are the means of the squares of each row of the result; epsilon is 0");
}

TEST(RMSNorm, SubtractsNoMean) {
  arma::cube X(5, 6, 2);
  for (uword i = 0; i < 5; ++i) X.row(i).fill(i % 2 == 0 ? 3 : -4);
  arma::cube expected(5, 6, 2);
  for (uword i = 0; i < 5; ++i) expected.row(i).fill(i % 2 == 0 ? 1 : -1);
  EXPECT_THAT(RMSNorm(6, 0)(X), IsNear(expected, token_axes))
      << note("each row holds one number six times, 3 or -4: divided by the root of its mean square it is 1 or -1");
}

TEST(RMSNorm, IgnoresTheScaleOfEachRow) {
  const RMSNorm norm(6, 0);
  const arma::cube X = normal(5, 6, 2);
  arma::cube other = X;
  for (uword i = 0; i < 5; ++i) other.row(i) = (static_cast<double>(i) + 0.5) * X.row(i);
  EXPECT_THAT(norm(other), IsNear(norm(X), token_axes))
      << note("each row was multiplied by a positive number: nothing may change");
}

TEST(RMSNorm, TreatsEveryTokenAlone) {
  const RMSNorm norm = drawn_rms_norm(6);
  const arma::cube X = normal(5, 6, 2);
  const arma::cube together = norm(X);
  ASSERT_THAT(together, HasShape({{"L", 5}, {"E", 6}, {"N", 2}}));
  for (uword i = 0; i < 5; ++i) {
    EXPECT_THAT(norm(X.rows(i, i)), IsNear(arma::cube(together.rows(i, i)), token_axes))
        << note("row " + std::to_string(i) + " was given alone: it must come out as among the others");
  }
  expect_keeps_apart("slice", 2, together, [&](uword n) { return norm(arma::cube(X.slices(n, n))); });
}

TEST(RMSNorm, EqualsPyTorch) {
  const GoldenCase golden = load_golden("norms");
  EXPECT_THAT(rms_norm_of(golden)(golden.cube("X")), Matches(golden.expected("rms_norm")));
}

TEST(RMSNorm, EqualsPyTorchWithALargeEpsilon) {
  const GoldenCase golden = load_golden("norms");
  EXPECT_THAT(rms_norm_of(golden, 0.5)(golden.cube("X")), Matches(golden.expected("rms_norm_half")))
      << note("epsilon is 0.5");
}

TEST(RMSNorm, EqualsPyTorchForSmallNumbers) {
  const GoldenCase golden = load_golden("norms");
  EXPECT_THAT(rms_norm_of(golden)(golden.cube("X") / 1000), Matches(golden.expected("rms_norm_small")))
      << note("X is so small that epsilon, 1e-6, counts");
}

TEST(RMSNorm, EqualsPyTorchForTheQueriesOfHeads) {
  const GoldenCase golden = load_golden("heads");
  Expected expected = golden.expected("rms_norm");
  expected.axes = head_axes;
  EXPECT_THAT(rms_norm_of(golden)(golden.cube("Q")), Matches(expected))
      << note("Q has the heads of two sequences, 3 of width 4 each: dim is the width of a head");
}

TEST(RMSNorm, EqualsTheDefinitionForOtherSizes) {
  struct Sizes {
    uword L, E, N;
  };
  for (const auto& [L, E, N] : {Sizes{3, 8, 4}, {7, 2, 3}, {1, 10, 2}, {4, 1, 3}, {6, 5, 1}, {2, 40, 3}, {4, 4, 2}}) {
    const RMSNorm norm = drawn_rms_norm(E, 1e-3);
    const arma::cube X = 2 * normal(L, E, N) - 1;
    EXPECT_THAT(norm(X), IsNear(naive(norm, X), token_axes)) << sizes_note({{"L", L}, {"E", E}, {"N", N}});
  }
}

TEST(RMSNorm, GivesZerosToARowOfZeros) {
  const RMSNorm norm = drawn_rms_norm(6);
  arma::cube X = normal(5, 6, 2);
  X.row(3).zeros();
  EXPECT_THAT(norm(X), IsNear(naive(norm, X), token_axes)) << note("row 3 holds zeros, and stays so");
}

TEST(RMSNorm, PassesOnANaN) {
  const RMSNorm norm = drawn_rms_norm(6);
  arma::cube X = normal(5, 6, 2);
  X(2, 1, 0) = arma::datum::nan;
  EXPECT_THAT(norm(X), IsNear(naive(norm, X), token_axes))
      << note("token 2 of slice 0 holds NaN: its row is NaN, and no other");
}

TEST(RMSNorm, LeavesItsFieldsAndArguments) {
  const RMSNorm norm = drawn_rms_norm(6);
  const arma::cube X = normal(5, 6, 2);
  expect_leaves_its_arguments("RMSNorm", {{"X", X}, {"weight", arma::mat(norm.weight)}}, [&] { norm(X); });
  expect_leaves_the_generator_alone("RMSNorm", [] { RMSNorm{6}; });
}

// --------------------------------------------------------------------------------------------- activations, 20.3

/// Both golden cases and the definition, for one function.
void expect_equals_pytorch_and_definition(Activation activation) {
  for (const std::string name : {"activations_by_hand", "activations"}) {
    const GoldenCase golden = load_golden(name);
    EXPECT_THAT(activate(activation, golden.cube("x")), Matches(golden.expected(name_of(activation))));
  }
  const arma::cube x = 3 * normal(7, 4, 3);
  EXPECT_THAT(activate(activation, x), IsNear(naive(activation, x), token_axes));
}

void expect_right_for_large_numbers(Activation activation) {
  const GoldenCase golden = load_golden("large");
  EXPECT_THAT(activate(activation, golden.cube("x")), Matches(golden.expected(name_of(activation))))
      << note("the numbers go from -10000 to 10000: far below 0 the result is 0, far above it is x");
}

void expect_difference_of_signs_is_x(Activation activation) {
  const arma::cube x = 2 * normal(5, 6, 2);
  EXPECT_THAT(arma::cube(activate(activation, x) - activate(activation, -x)), IsNear(x, token_axes))
      << note(name_of(activation) + "(x) - " + name_of(activation) + "(-x) must be x, as the two factors add up to 1");
}

TEST(Relu, EqualsPyTorch) { expect_equals_pytorch_and_definition(Activation::relu); }
TEST(Relu, IsRightForLargeNumbers) { expect_right_for_large_numbers(Activation::relu); }

TEST(Gelu, EqualsPyTorch) { expect_equals_pytorch_and_definition(Activation::gelu); }
TEST(Gelu, GivesXAsADifference) { expect_difference_of_signs_is_x(Activation::gelu); }
TEST(Gelu, IsRightForLargeNumbers) { expect_right_for_large_numbers(Activation::gelu); }

TEST(GeluTanh, EqualsPyTorch) { expect_equals_pytorch_and_definition(Activation::gelu_tanh); }
TEST(GeluTanh, GivesXAsADifference) { expect_difference_of_signs_is_x(Activation::gelu_tanh); }
TEST(GeluTanh, IsRightForLargeNumbers) { expect_right_for_large_numbers(Activation::gelu_tanh); }

TEST(Silu, EqualsPyTorch) { expect_equals_pytorch_and_definition(Activation::silu); }
TEST(Silu, GivesXAsADifference) { expect_difference_of_signs_is_x(Activation::silu); }
TEST(Silu, IsRightForLargeNumbers) { expect_right_for_large_numbers(Activation::silu); }

TEST(Gelu, LeavesItsArgumentAndPassesOnANaN) {
  arma::cube x = normal(5, 6, 2);
  x(2, 1, 0) = arma::datum::nan;
  for (const Activation activation : all_activations) {
    expect_leaves_its_arguments(name_of(activation), {{"x", x}}, [&] { activate(activation, x); });
    arma::cube expected = naive(activation, x);
    expected(2, 1, 0) = arma::datum::nan;
    EXPECT_THAT(activate(activation, x), IsNear(expected, token_axes)) << note("one number is NaN, and stays so");
  }
}

// --------------------------------------------------------------------------------------------- FeedForward, 20.4

TEST(FeedForward, HasTwoProjectionsWithBias) {
  const FeedForward layer(6, 11);
  const std::string bare =
      layer.up_proj.bias.is_empty() || layer.down_proj.bias.is_empty() ? likely_mistake("ff_without_bias") : "";
  const std::string four = layer.up_proj.weight.n_cols == 24 ? likely_mistake("ff_hidden_is_four_times") : "";
  EXPECT_THAT(layer.up_proj.weight, HasShape({{"E", 6}, {"F", 11}})) << four;
  EXPECT_THAT(arma::mat(layer.up_proj.bias), HasShape({{"1", 1}, {"F", 11}})) << four << bare;
  EXPECT_THAT(layer.down_proj.weight, HasShape({{"F", 11}, {"E", 6}})) << four;
  EXPECT_THAT(arma::mat(layer.down_proj.bias), HasShape({{"1", 1}, {"E", 6}})) << bare;
}

TEST(FeedForward, TakesTheActivationItIsGiven) {
  EXPECT_HOLDS(FeedForward(6, 11).activation == Activation::gelu, "the activation is not gelu, its default");
  for (const Activation activation : all_activations) {
    EXPECT_HOLDS(FeedForward(6, 11, activation).activation == activation,
                 "the activation is not the one that the constructor was given, " + name_of(activation))
        << likely_mistake("ff_activation_not_stored");
  }
}

TEST(FeedForward, KeepsWhatLinearDraws) {
  const FeedForward layer(48, 60);
  expect_drawn_as_linear_draws({{"up_proj", layer.up_proj}, {"down_proj", layer.down_proj}});
}

TEST(FeedForward, KeepsTheShape) {
  EXPECT_THAT(FeedForward(6, 11)(normal(5, 6, 2)), HasShape({{"L", 5}, {"E", 6}, {"B", 2}}));
}

TEST(FeedForward, GivesTheRowsWorkedByHand) {
  const GoldenCase golden = load_golden("feed_forward_by_hand");
  EXPECT_THAT(feed_forward_of(golden)(golden.cube("X")), Matches(golden.expected("output")))
      << given("X", golden.cube("X"));
}

TEST(FeedForward, TreatsEveryTokenAlone) {
  const FeedForward layer(6, 11);
  const arma::cube X = normal(5, 6, 2);
  const arma::cube together = layer(X);
  ASSERT_THAT(together, HasShape({{"L", 5}, {"E", 6}, {"B", 2}}));
  for (uword i = 0; i < 5; ++i) {
    EXPECT_THAT(layer(X.rows(i, i)), IsNear(arma::cube(together.rows(i, i)), token_axes))
        << note("row " + std::to_string(i) + " was given alone: it must come out as among the others");
  }
  expect_keeps_apart("sequence", 2, together, [&](uword b) { return layer(arma::cube(X.slices(b, b))); });
}

TEST(FeedForward, EqualsPyTorch) {
  const GoldenCase golden = load_golden("feed_forward");
  for (const Activation activation : {Activation::gelu, Activation::relu, Activation::gelu_tanh, Activation::silu}) {
    EXPECT_THAT(feed_forward_of(golden, activation)(golden.cube("X")), Matches(golden.expected(name_of(activation))))
        << note("the activation is " + name_of(activation));
  }
}

TEST(FeedForward, EqualsTheDefinitionForOtherSizes) {
  struct Sizes {
    uword L, E, F, B;
  };
  for (const auto& [L, E, F, B] :
       {Sizes{3, 8, 5, 4}, {7, 2, 9, 3}, {1, 10, 4, 2}, {4, 1, 6, 3}, {6, 5, 1, 2}, {2, 6, 24, 1}, {5, 4, 4, 3}}) {
    for (const Activation activation : all_activations) {
      const FeedForward layer(E, F, activation);
      const arma::cube X = 4 * normal(L, E, B);
      EXPECT_THAT(layer(X), IsNear(naive(layer, X), token_axes))
          << sizes_note({{"L", L}, {"E", E}, {"F", F}, {"B", B}}) << note("the activation is " + name_of(activation));
    }
  }
}

TEST(FeedForward, PassesOnANaN) {
  const FeedForward layer(6, 11);
  arma::cube X = normal(5, 6, 2);
  X(2, 1, 0) = arma::datum::nan;
  EXPECT_THAT(layer(X), IsNear(naive(layer, X), token_axes))
      << note("token 2 of sequence 0 holds NaN: its row is NaN, and no other");
}

TEST(FeedForward, LeavesItsFieldsAndArguments) {
  const FeedForward layer(6, 11);
  const Projections before = {{"up_proj", layer.up_proj}, {"down_proj", layer.down_proj}};
  const arma::cube X = normal(5, 6, 2);
  expect_leaves_its_arguments("FeedForward", {{"X", X}}, [&] { layer(X); });
  expect_unchanged(before, {{"up_proj", layer.up_proj}, {"down_proj", layer.down_proj}}, "FeedForward");
}

// -------------------------------------------------------------------------------------------------- SwiGLU, 20.5

Projections layers_of(const SwiGLU& layer) {
  return {{"gate_proj", layer.gate_proj}, {"up_proj", layer.up_proj}, {"down_proj", layer.down_proj}};
}

TEST(SwiGLU, HasThreeProjectionsWithoutBias) {
  const SwiGLU layer(6, 11);
  EXPECT_THAT(layer.gate_proj.weight, HasShape({{"E", 6}, {"F", 11}}));
  EXPECT_THAT(layer.up_proj.weight, HasShape({{"E", 6}, {"F", 11}}));
  EXPECT_THAT(layer.down_proj.weight, HasShape({{"F", 11}, {"E", 6}}));
  for (const auto& [name, proj] : layers_of(layer)) {
    EXPECT_HOLDS(proj.bias.is_empty(), name + " has a bias") << likely_mistake("swiglu_with_bias");
  }
}

TEST(SwiGLU, KeepsWhatLinearDraws) {
  expect_drawn_as_linear_draws(layers_of(SwiGLU(48, 60)), false);
  expect_draws_each_projection_anew(layers_of(SwiGLU(7, 7)));
}

TEST(SwiGLU, KeepsTheShape) { EXPECT_THAT(SwiGLU(6, 11)(normal(5, 6, 2)), HasShape({{"L", 5}, {"E", 6}, {"B", 2}})); }

TEST(SwiGLU, GivesTheRowsWorkedByHand) {
  const GoldenCase golden = load_golden("swiglu_by_hand");
  EXPECT_THAT(swiglu_of(golden)(golden.cube("X")), Matches(golden.expected("output"))) << given("X", golden.cube("X"));
}

TEST(SwiGLU, IsClosedWhereTheGateIsZero) {
  SwiGLU layer(6, 11);
  layer.gate_proj.weight.zeros();
  EXPECT_THAT(layer(normal(5, 6, 2)), IsNear(zeros(5, 6, 2), token_axes))
      << note("gate_proj gives zeros, and silu(0) is 0: nothing passes");
}

TEST(SwiGLU, DoublesWithTheUpProjection) {
  SwiGLU layer(6, 11);
  const arma::cube X = normal(5, 6, 2);
  const arma::cube once = layer(X);
  layer.up_proj.weight *= 2;
  EXPECT_THAT(layer(X), IsNear(arma::cube(2 * once), token_axes))
      << note("up_proj was doubled. Only the gate goes through silu, so the result must double");
}

TEST(SwiGLU, EqualsPyTorch) {
  const GoldenCase golden = load_golden("swiglu");
  EXPECT_THAT(swiglu_of(golden)(golden.cube("X")), Matches(golden.expected("output")));
}

TEST(SwiGLU, EqualsTheDefinitionForOtherSizes) {
  struct Sizes {
    uword L, E, F, B;
  };
  for (const auto& [L, E, F, B] :
       {Sizes{3, 8, 5, 4}, {7, 2, 9, 3}, {1, 10, 4, 2}, {4, 1, 6, 3}, {6, 5, 1, 2}, {2, 6, 24, 1}, {5, 4, 4, 3}}) {
    const SwiGLU layer(E, F);
    const arma::cube X = 4 * normal(L, E, B);
    EXPECT_THAT(layer(X), IsNear(naive(layer, X), token_axes)) << sizes_note({{"L", L}, {"E", E}, {"F", F}, {"B", B}});
  }
}

TEST(SwiGLU, TreatsEveryTokenAlone) {
  const SwiGLU layer(6, 11);
  const arma::cube X = normal(5, 6, 2);
  const arma::cube together = layer(X);
  ASSERT_THAT(together, HasShape({{"L", 5}, {"E", 6}, {"B", 2}}));
  for (uword i = 0; i < 5; ++i) {
    EXPECT_THAT(layer(X.rows(i, i)), IsNear(arma::cube(together.rows(i, i)), token_axes))
        << note("row " + std::to_string(i) + " was given alone: it must come out as among the others");
  }
}

TEST(SwiGLU, LeavesItsFieldsAndArguments) {
  const SwiGLU layer(6, 11);
  const Projections before = layers_of(layer);
  const arma::cube X = normal(5, 6, 2);
  expect_leaves_its_arguments("SwiGLU", {{"X", X}}, [&] { layer(X); });
  expect_unchanged(before, layers_of(layer), "SwiGLU");
}

// ---------------------------------------------------------------------------------------- TransformerBlock, 20.6

TEST(TransformerBlock, HasItsPartsInTheSizesItIsGiven) {
  const TransformerBlock block(12, 4, 20, 0.25);
  expect_four_projections_with_bias(projections_of(block.attention), 12, "");
  EXPECT_HOLDS(block.attention.num_heads() == 4, "attention does not have the H heads that the constructor was given");
  EXPECT_THAT(block.feed_forward.up_proj.weight, HasShape({{"E", 12}, {"F", 20}}));
  EXPECT_THAT(block.feed_forward.down_proj.weight, HasShape({{"F", 20}, {"E", 12}}));
  EXPECT_THAT(arma::mat(block.attention_norm.weight), HasShape({{"1", 1}, {"E", 12}}));
  EXPECT_THAT(arma::mat(block.feed_forward_norm.weight), HasShape({{"1", 1}, {"E", 12}}));
}

TEST(TransformerBlock, TakesTheDropoutAndThePlacementItIsGiven) {
  const TransformerBlock block(12, 4, 20, 0.25);
  EXPECT_HOLDS(block.attention.dropout.p() == 0.25, "attention does not have the dropout_p that the block was given")
      << likely_mistake("block_dropout_not_passed");
  EXPECT_HOLDS(block.attention.dropout.training(), "the dropout of a new block is not training");
  EXPECT_HOLDS(TransformerBlock(12, 4, 20).attention.dropout.p() == 0.1, "dropout_p is not 0.1, its default")
      << likely_mistake("block_dropout_not_passed");
  EXPECT_HOLDS(block.feed_forward.activation == Activation::gelu, "the feed-forward network does not have gelu");
  EXPECT_HOLDS(block.norm_placement == NormPlacement::pre, "norm_placement is not pre, its default");
  EXPECT_HOLDS(TransformerBlock(12, 4, 20, 0, NormPlacement::post).norm_placement == NormPlacement::post,
               "norm_placement is not the post that the constructor was given");
}

TEST(TransformerBlock, KeepsTheShape) {
  for (const NormPlacement placement : both_placements) {
    EXPECT_THAT(quiet_block(12, 4, 20, placement).forward(normal(5, 12, 2)), HasShape({{"L", 5}, {"E", 12}, {"B", 2}}))
        << about(placement);
  }
}

TEST(TransformerBlock, GivesTheTokensWorkedByHandWithPreNorm) {
  const GoldenCase golden = load_golden("block_by_hand");
  EXPECT_THAT(block_of(golden, 2, NormPlacement::pre).forward(golden.cube("X")), Matches(golden.expected("pre")))
      << given("X", golden.cube("X"));
}

TEST(TransformerBlock, GivesTheTokensWorkedByHandWithPostNorm) {
  const GoldenCase golden = load_golden("block_by_hand");
  EXPECT_THAT(block_of(golden, 2, NormPlacement::post).forward(golden.cube("X")), Matches(golden.expected("post")))
      << given("X", golden.cube("X"));
}

TEST(TransformerBlock, PassesXThroughWhenBothBranchesGiveZeros) {
  Watched watched = quiet_block(12, 4, 20, NormPlacement::pre);
  silence(watched.block.attention.output_proj);
  silence(watched.block.feed_forward.down_proj);
  const arma::cube X = 3 * normal(5, 12, 2) + 1;
  EXPECT_THAT(watched.forward(X), IsNear(X, token_axes))
      << about(NormPlacement::pre, "the last layer of both branches is zero, so nothing is added to X");
  watched.block.norm_placement = NormPlacement::post;
  EXPECT_THAT(watched.forward(X),
              IsNear(naive(watched.block.feed_forward_norm, naive(watched.block.attention_norm, X)), token_axes))
      << about(NormPlacement::post, "the last layer of both branches is zero: X is normalized twice, and that is all");
}

TEST(TransformerBlock, AddsWhatAttentionGives) {
  for (const NormPlacement placement : both_placements) {
    Watched watched = quiet_block(12, 4, 20, placement);
    silence(watched.block.feed_forward.down_proj);
    const arma::cube X = 2 * normal(5, 12, 2) + 1;
    EXPECT_THAT(watched.forward(X), IsNear(naive(watched.block, X).output, token_axes))
        << about(placement, "the feed-forward network gives zeros, so only attention's branch counts");
  }
}

TEST(TransformerBlock, AddsWhatTheFeedForwardNetworkGives) {
  for (const NormPlacement placement : both_placements) {
    Watched watched = quiet_block(12, 4, 20, placement);
    silence(watched.block.attention.output_proj);
    const arma::cube X = 2 * normal(5, 12, 2) + 1;
    EXPECT_THAT(watched.forward(X), IsNear(naive(watched.block, X).output, token_axes))
        << about(placement, "attention gives zeros, so only the feed-forward network's branch counts");
  }
}

TEST(TransformerBlock, NormalizesItsOutputWithPostNormOnly) {
  const arma::cube X = 3 * normal(5, 12, 2) + 4;
  TransformerBlock block(12, 4, 20, 0, NormPlacement::post);
  const arma::cube output = block.forward(X);
  ASSERT_THAT(output, HasShape({{"L", 5}, {"E", 12}, {"B", 2}}));
  const arma::cube means = arma::mean(output, 1);
  EXPECT_THAT(means, IsNear(zeros(5, 1, 2), {"L", "1", "B"}))
      << about(NormPlacement::post, "these are the means of the rows of the output");
}

TEST(TransformerBlock, EqualsPyTorchWithPreNorm) {
  const GoldenCase golden = load_golden("block");
  Watched watched = block_of(golden, 4, NormPlacement::pre);
  EXPECT_THAT(watched.forward(golden.cube("X")), Matches(golden.expected("pre")));
  EXPECT_THAT(watched.attention_weights(), Matches(golden.expected("weights_pre")))
      << note("these are the weights that attention keeps");
}

TEST(TransformerBlock, EqualsPyTorchWithPostNorm) {
  const GoldenCase golden = load_golden("block");
  Watched watched = block_of(golden, 4, NormPlacement::post);
  EXPECT_THAT(watched.forward(golden.cube("X")), Matches(golden.expected("post")));
  EXPECT_THAT(watched.attention_weights(), Matches(golden.expected("weights_post")))
      << note("these are the weights that attention keeps");
}

TEST(TransformerBlock, EqualsPyTorchWithMasks) {
  const GoldenCase block = load_golden("block");
  for (const std::string name : {"mask_one", "mask_batch", "mask_heads"}) {
    const GoldenCase golden = load_golden(name);
    for (const NormPlacement placement : both_placements) {
      EXPECT_THAT(block_of(block, 4, placement).forward(block.cube("X"), golden.mask("mask")),
                  Matches(golden.expected(name_of(placement))))
          << about(placement, "the mask is " + shape_text(golden.mask("mask")) + ", H is 4");
    }
  }
}

TEST(TransformerBlock, KeepsTheBatchApart) {
  const GoldenCase golden = load_golden("block");
  for (const NormPlacement placement : both_placements) {
    Watched watched = block_of(golden, 4, placement);
    expect_keeps_the_batch_apart(watched, golden.cube("X"));
  }
}

TEST(TransformerBlock, FollowsPermutedTokens) {
  const GoldenCase golden = load_golden("block");
  for (const NormPlacement placement : both_placements) {
    Watched watched = block_of(golden, 4, placement);
    expect_follows_permuted_tokens(watched, golden.cube("X"));
  }
}

TEST(TransformerBlock, BlocksTheFuture) {
  const GoldenCase golden = load_golden("block");
  for (const NormPlacement placement : both_placements) {
    Watched watched = block_of(golden, 4, placement);
    expect_blocks_the_future(watched, golden.cube("X"));
  }
}

TEST(TransformerBlock, EqualsTheDefinitionForOtherSizes) {
  struct Sizes {
    uword L, E, F, B, H;
  };
  for (const auto& [L, E, F, B, H] : {Sizes{3, 10, 7, 4, 2},
                                      {6, 5, 12, 2, 5},
                                      {1, 6, 9, 4, 2},
                                      {4, 2, 5, 3, 1},
                                      {7, 6, 3, 2, 3},
                                      {2, 12, 48, 1, 4},
                                      {4, 8, 8, 3, 2}}) {
    for (const NormPlacement placement : both_placements) {
      Watched watched = quiet_block(E, H, F, placement);
      const arma::cube X = 2 * normal(L, E, B) - 1;
      const Attended expected = naive(watched.block, X);
      EXPECT_THAT(watched.forward(X), IsNear(expected.output, token_axes))
          << about(placement) << sizes_note({{"L", L}, {"E", E}, {"F", F}, {"B", B}, {"H", H}});
    }
  }
}

TEST(TransformerBlock, EqualsTheDefinitionWithMaskAndDropout) {
  for (const NormPlacement placement : both_placements) {
    Watched watched = drawn_block(12, 4, 20, placement, 0.25);
    const Mask mask = random_mask(5, 5, 2);  // some queries may attend to no key
    const Mask keep = Dropout::draw(5, 5, 8, 0.25);
    watched.block.attention.dropout.inject(keep);
    const arma::cube X = normal(5, 12, 2);
    const Attended expected = naive(watched.block, X, mask, keep);
    EXPECT_THAT(watched.forward(X, mask), IsNear(expected.output, token_axes))
        << about(placement, "in training: the only dropout is the one of attention's weights");
    EXPECT_THAT(watched.attention_weights(), IsNear(expected.weights, {"L (queries)", "L (keys)", "H·B"}));
  }
}

TEST(TransformerBlock, DropsOnlyInAttentionAndOnlyOnce) {
  for (const NormPlacement placement : both_placements) {
    Watched watched = drawn_block(12, 4, 20, placement, 0.5);  // in training, and drawing masks of its own
    const arma::cube X = normal(5, 12, 2);
    const arma::cube output = watched.forward(X);
    ASSERT_THAT(watched.attention_weights(), HasShape({{"L (queries)", 5}, {"L (keys)", 5}, {"H·B", 8}}));
    const Mask keep = watched.attention_weights() != 0;
    EXPECT_THAT(output, IsNear(naive(watched.block, X, {}, keep).output, token_axes))
        << about(placement, "in training: expected is what the weights that attention keeps make of X");
  }
}

TEST(TransformerBlock, UsesTheActivationOfItsFeedForwardNetwork) {
  Watched watched = quiet_block(12, 4, 20, NormPlacement::pre);
  watched.block.feed_forward.activation = Activation::relu;
  const arma::cube X = normal(5, 12, 2);
  EXPECT_THAT(watched.forward(X), IsNear(naive(watched.block, X).output, token_axes))
      << note("feed_forward.activation was set to relu");
}

TEST(TransformerBlock, DropsAnewAtEveryCall) {
  Watched watched = drawn_block(12, 4, 20, NormPlacement::pre, 0.5);
  expect_drops_anew(watched, normal(5, 12, 2));
}

TEST(TransformerBlock, PassesOnANaN) {
  arma::cube X = normal(5, 12, 2);
  X(2, 1, 0) = arma::datum::nan;
  for (const NormPlacement placement : both_placements) {
    Watched watched = quiet_block(12, 4, 20, placement);
    EXPECT_THAT(watched.forward(X), IsNear(naive(watched.block, X).output, token_axes))
        << about(placement, "token 2 of sequence 0 holds NaN: every query of that sequence gets NaN, no other one");
  }
}

TEST(TransformerBlock, StartsAfresh) {
  const GoldenCase golden = load_golden("block");
  for (const NormPlacement placement : both_placements) {
    Watched watched = block_of(golden, 4, placement);
    watched.forward(-2 * golden.cube("X"), causal_mask(5, 5));
    EXPECT_THAT(watched.forward(golden.cube("X")), Matches(golden.expected(name_of(placement))))
        << about(placement, "forward was called before with other arguments; nothing of that call may be left");
  }
}

TEST(TransformerBlock, LeavesItsFieldsAndArguments) {
  Watched watched = drawn_block(12, 4, 20, NormPlacement::pre);
  const auto all = [&] {
    Projections layers = projections_of(watched.block.attention);
    layers.emplace_back("up_proj", watched.block.feed_forward.up_proj);
    layers.emplace_back("down_proj", watched.block.feed_forward.down_proj);
    return layers;
  };
  const Projections before = all();
  const arma::cube X = normal(5, 12, 2);
  const Mask mask = causal_mask(5, 5);
  const auto& norm = watched.block.attention_norm;
  expect_leaves_its_arguments("forward", {{"X", X}, {"mask", mask}, {"attention_norm.weight", arma::mat(norm.weight)}},
                              [&] { watched.forward(X, mask); });
  expect_unchanged(before, all());
  EXPECT_HOLDS(watched.block.attention.dropout.training(), "forward changed the mode of attention's dropout");
}

// -------------------------------------------------------------------------------------- bad input: LayerNorm, 20.1

TEST(LayerNorm, RejectsAWrongWidth) {
  EXPECT_PRED_FORMAT1(RejectsArgument("dim", {"0"}), [] { LayerNorm{0}; });
  for (const arma::cube& X : {zeros(5, 1, 2), zeros(5, 7, 2), zeros(6, 5, 2), zeros(0, 6, 2), zeros(5, 6, 0)}) {
    EXPECT_PRED_FORMAT1(RejectsArgument("X", {shape_text(X), "6"}), [&] { LayerNorm(6)(X); });
  }
}

// ---------------------------------------------------------------------------------------- bad input: RMSNorm, 20.2

TEST(RMSNorm, RejectsAWrongWidth) {
  EXPECT_PRED_FORMAT1(RejectsArgument("dim", {"0"}), [] { RMSNorm{0}; });
  for (const arma::cube& X : {zeros(5, 1, 2), zeros(5, 7, 2), zeros(6, 5, 2), zeros(0, 6, 2), zeros(5, 6, 0)}) {
    EXPECT_PRED_FORMAT1(RejectsArgument("X", {shape_text(X), "6"}), [&] { RMSNorm(6)(X); });
  }
}

// ------------------------------------------------------------------------------------ bad input: FeedForward, 20.4

TEST(FeedForward, RejectsWrongSizes) {
  EXPECT_PRED_FORMAT1(RejectsArgument("embed_dim", {"0"}), [] { FeedForward(0, 11); });
  EXPECT_PRED_FORMAT1(RejectsArgument("hidden_dim", {"0"}), [] { FeedForward(6, 0); });
  for (const arma::cube& X : {zeros(5, 1, 2), zeros(5, 11, 2), zeros(6, 5, 2), zeros(0, 6, 2), zeros(5, 6, 0)}) {
    EXPECT_PRED_FORMAT1(RejectsArgument("X", {shape_text(X), "6"}), [&] { FeedForward(6, 11)(X); });
  }
}

// ----------------------------------------------------------------------------------------- bad input: SwiGLU, 20.5

TEST(SwiGLU, RejectsWrongSizes) {
  EXPECT_PRED_FORMAT1(RejectsArgument("embed_dim", {"0"}), [] { SwiGLU(0, 11); });
  EXPECT_PRED_FORMAT1(RejectsArgument("hidden_dim", {"0"}), [] { SwiGLU(6, 0); });
  for (const arma::cube& X : {zeros(5, 1, 2), zeros(5, 11, 2), zeros(6, 5, 2), zeros(0, 6, 2), zeros(5, 6, 0)}) {
    EXPECT_PRED_FORMAT1(RejectsArgument("X", {shape_text(X), "6"}), [&] { SwiGLU(6, 11)(X); });
  }
}

// ------------------------------------------------------------------------------- bad input: TransformerBlock, 20.6

TEST(TransformerBlock, RejectsImpossibleSizes) {
  expect_rejects_impossible_sizes([](uword embed_dim, uword num_heads) { TransformerBlock(embed_dim, num_heads, 7); });
  EXPECT_PRED_FORMAT1(RejectsArgument("hidden_dim", {"0"}), [] { TransformerBlock(12, 4, 0); });
  expect_rejects_impossible_probabilities([](double p) { TransformerBlock(12, 4, 20, p); });
}

TEST(TransformerBlock, RejectsAnInputOrAMaskOfTheWrongShape) {
  for (const NormPlacement placement : both_placements) {
    Watched watched = quiet_block(12, 4, 20, placement);
    expect_rejects_inputs(watched, 12);
    expect_rejects_masks(watched, normal(5, 12, 2), 4);
  }
}

// ---------------------------------------------------------------------------------------------------------- speed

ATTN_SPEED("forward, 2 sequences of 32 tokens, E = 64, H = 4, F = 160", [] {
  const arma::cube X = normal(32, 64, 2);
  TransformerBlock block(64, 4, 160);
  block.attention.dropout.eval();
  return [block, X]() mutable { return block.forward(X); };
});

}  // namespace
}  // namespace attn::judge
