#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <armadillo>
#include <string>
#include <vector>

#include "attn/fused_multi_head_attention.hpp"
#include "attn/masking.hpp"
#include "attn/multi_head_attention.hpp"
#include "attn/self_attention_v3.hpp"
#include "checks/allocation.hpp"
#include "checks/draw.hpp"
#include "checks/golden.hpp"
#include "checks/matchers.hpp"
#include "checks/oracles.hpp"
#include "checks/properties.hpp"
#include "checks/speed.hpp"

namespace attn::judge {
namespace {

/// The layer of a golden case, without dropout.
FusedMultiHeadAttention layer_from(const GoldenCase& golden, arma::uword num_heads) {
  FusedMultiHeadAttention attention(golden.linear("qkv_proj").weight.n_rows, num_heads);
  attention.qkv_proj = golden.linear("qkv_proj");
  attention.output_proj = golden.linear("output_proj");
  attention.dropout.eval();
  return attention;
}

FusedMultiHeadAttention layer_without_dropout(arma::uword embed_dim, arma::uword num_heads) {
  FusedMultiHeadAttention attention(embed_dim, num_heads);
  attention.dropout.eval();
  return attention;
}

MultiHeadAttention separate_layer_from(const GoldenCase& golden, arma::uword num_heads) {
  MultiHeadAttention attention =
      with_projections(MultiHeadAttention(golden.linear("query_proj").weight.n_rows, num_heads), golden);
  attention.dropout.eval();
  return attention;
}

Projections linears_of(const FusedMultiHeadAttention& attention) {
  return {{"qkv_proj", attention.qkv_proj}, {"output_proj", attention.output_proj}};
}

/// The projections of queries, keys, values and output.
Projections four_of(const FusedMultiHeadAttention& attention) {
  Projections four = thirds_of("qkv_proj", attention.qkv_proj);
  four.emplace_back("output_proj", attention.output_proj);
  return four;
}

/// What a layer must give, one number at a time.
Attended by_definition(const FusedMultiHeadAttention& attention, arma::uword num_heads, const arma::cube& X,
                       const Mask& mask = {}) {
  return naive_multi_head(four_of(attention), num_heads, X, X, X, mask);
}

// ------------------------------------------------------------------------------------------------ the layer, 08.1

TEST(FusedMultiHeadAttention, HasOneProjectionThreeTimesAsWideAndOneForTheOutput) {
  const FusedMultiHeadAttention attention(6, 2);
  EXPECT_THAT(attention.qkv_proj.weight, HasShape({{"E", 6}, {"3E", 18}}));
  EXPECT_THAT(attention.output_proj.weight, HasShape({{"E (in)", 6}, {"E (out)", 6}}));
}

TEST(FusedMultiHeadAttention, HasABiasInEveryProjection) {
  const FusedMultiHeadAttention attention(6, 2);
  EXPECT_THAT(arma::mat(attention.qkv_proj.bias), HasShape({{"1", 1}, {"3E", 18}}))
      << note("leave out the third argument of Linear: then it has a bias");
  EXPECT_THAT(arma::mat(attention.output_proj.bias), HasShape({{"1", 1}, {"E", 6}}))
      << note("leave out the third argument of Linear: then it has a bias");
}

TEST(FusedMultiHeadAttention, KeepsItsNumberOfHeadsAndItsDropout) {
  const FusedMultiHeadAttention attention(12, 3, 0.25);
  EXPECT_EQ(attention.num_heads(), 3U) << note("num_heads() must return the number that the constructor got");
  expect_new_dropout(attention.dropout, 0.25);
  expect_new_dropout(FusedMultiHeadAttention(12, 3).dropout, 0.1);
}

TEST(FusedMultiHeadAttention, KeepsWhatLinearDraws) {
  expect_drawn_as_linear_draws(four_of(FusedMultiHeadAttention(50, 2)));
}

TEST(FusedMultiHeadAttention, DrawsEachProjectionAnew) {
  const FusedMultiHeadAttention attention(6, 2);
  ASSERT_THAT(attention.qkv_proj.weight, HasShape({{"E", 6}, {"3E", 18}}));
  expect_draws_each_projection_anew(four_of(attention));
}

TEST(FusedMultiHeadAttention, LeavesSeedingToTheCaller) {
  expect_leaves_seeding_to_the_caller("the constructor", [] {
    const FusedMultiHeadAttention attention(6, 2);
    return arma::mat(arma::join_rows(attention.qkv_proj.weight, attention.output_proj.weight));
  });
}

// ------------------------------------------------------------------------------------------------- forward, 08.2

TEST(FusedMultiHeadAttention, KeepsTheShapeOfItsInput) {
  FusedMultiHeadAttention attention(6, 2);
  EXPECT_THAT(attention.forward(normal(5, 6, 3)), HasShape({{"L", 5}, {"E", 6}, {"B", 3}}));
}

TEST(FusedMultiHeadAttention, KeepsTheWeightsOfEveryHead) {
  FusedMultiHeadAttention attention(12, 4);
  attention.forward(normal(5, 12, 3));
  EXPECT_THAT(attention.attention_weights(), HasShape({{"L (queries)", 5}, {"L (keys)", 5}, {"H·B", 12}}));
}

TEST(FusedMultiHeadAttention, GivesTheTwoHeadsWorkedByHand) {
  const GoldenCase golden = load_golden("by_hand");
  FusedMultiHeadAttention attention(4, 2);
  attention.dropout.eval();
  attention.qkv_proj.weight = {{1, 0, 0, 1, 1, 0, 1, 1, 1, 0, 0, 2},
                               {0, 1, 1, 0, 0, 1, 0, 1, 0, 1, 1, 0},
                               {1, 1, 0, 0, 0, 1, 1, 0, 0, 0, 1, 0},
                               {0, 0, 1, 1, 1, 0, 0, 0, 2, 0, 0, 1}};
  attention.qkv_proj.bias = {0, 1, 0, 0, 0, 0, 1, 0, 0, 1, 0, -1};
  attention.output_proj.weight = {{1, 0, 0, 0}, {0, 1, 0, 0}, {1, 0, 1, 0}, {0, 1, 0, 1}};
  attention.output_proj.bias = {0, 0, 1, 0};
  arma::cube X(2, 4, 1);
  X.slice(0) = {{1, 0, 1, 0}, {0, 2, 0, 1}};
  EXPECT_THAT(attention.forward(X), Matches(golden.expected("output"))) << given("X", X);
  EXPECT_THAT(attention.attention_weights(), Matches(golden.expected("weights")));
}

TEST(FusedMultiHeadAttention, GivesEveryQueryWeightsThatSumToOne) {
  const GoldenCase golden = load_golden("batch");
  FusedMultiHeadAttention attention = layer_from(golden, 2);
  attention.forward(golden.cube("X"));
  EXPECT_THAT(attention.attention_weights(), RowsSumToOne());
}

TEST(FusedMultiHeadAttention, IsSelfAttentionForOneHead) {
  FusedMultiHeadAttention attention = layer_without_dropout(6, 1);
  SelfAttentionV3 single(6, 0);
  single.proj = attention.qkv_proj;
  single.output_proj = attention.output_proj;
  const arma::cube X = normal(5, 6, 3);
  const std::string about = note("with H = 1 the layer is SelfAttentionV3; this is what that gives");
  EXPECT_THAT(attention.forward(X), IsNear(single.forward(X), {"L", "E", "B"})) << about;
  EXPECT_THAT(attention.attention_weights(), IsNear(single.attention_weights(), {"L", "L", "B"})) << about;
}

TEST(FusedMultiHeadAttention, FollowsPermutedTokens) {
  const GoldenCase golden = load_golden("batch");
  FusedMultiHeadAttention attention = layer_from(golden, 2);
  expect_follows_permuted_tokens(attention, golden.cube("X"));
}

TEST(FusedMultiHeadAttention, KeepsTheBatchApart) {
  const GoldenCase golden = load_golden("batch");
  FusedMultiHeadAttention attention = layer_from(golden, 2);
  expect_keeps_the_batch_apart(attention, golden.cube("X"));
}

TEST(FusedMultiHeadAttention, KeepsTheHeadsApart) {
  const arma::uword D = 2;
  FusedMultiHeadAttention attention = layer_without_dropout(3 * D, 3);
  attention.output_proj.weight.eye();
  const arma::cube X(5, 3 * D, 4, arma::fill::randn);
  const arma::cube before = attention.forward(X);
  for (const arma::uword first : {D, 4 * D, 7 * D}) {  // head 1 of the queries, the keys, the values
    attention.qkv_proj.weight.cols(first, first + D - 1) *= -3;
  }
  arma::cube after = attention.forward(X);
  EXPECT_HOLDS(!arma::approx_equal(after.cols(D, 2 * D - 1), before.cols(D, 2 * D - 1), "absdiff", 1e-6),
               "the columns of head 1 did not change with its weights");
  after.cols(D, 2 * D - 1) = before.cols(D, 2 * D - 1);
  EXPECT_THAT(after, IsNear(before, {"L", "E", "B"}))
      << note("only the weights of head 1 were changed; the columns of heads 0 and 2 must stay as they were");
}

TEST(FusedMultiHeadAttention, EqualsPyTorch) {
  const GoldenCase golden = load_golden("batch");
  FusedMultiHeadAttention attention = layer_from(golden, 2);
  EXPECT_THAT(attention.forward(golden.cube("X")), Matches(golden.expected("output")));
}

TEST(FusedMultiHeadAttention, KeepsTheWeightsThatPyTorchHas) {
  const GoldenCase golden = load_golden("batch");
  FusedMultiHeadAttention attention = layer_from(golden, 2);
  attention.forward(golden.cube("X"));
  EXPECT_THAT(attention.attention_weights(), Matches(golden.expected("weights")));
}

TEST(FusedMultiHeadAttention, EqualsTheDefinitionForOtherSizes) {
  struct Sizes {
    arma::uword L, E, H, B;
  };
  for (const Sizes& n : {Sizes{4, 6, 3, 5},
                         {5, 6, 6, 2},
                         {7, 8, 4, 3},
                         {3, 10, 2, 1},
                         {1, 6, 2, 4},
                         {2, 1, 1, 3},
                         {70, 6, 2, 3},
                         {2, 40, 20, 4},
                         {3, 80, 2, 4},
                         {3, 24, 8, 2}}) {
    const arma::cube X(n.L, n.E, n.B, arma::fill::randn);
    FusedMultiHeadAttention attention = layer_without_dropout(n.E, n.H);
    const Attended wanted = by_definition(attention, n.H, X);
    const std::string about = note("L = " + std::to_string(n.L) + ", E = " + std::to_string(n.E) +
                                   ", H = " + std::to_string(n.H) + ", B = " + std::to_string(n.B));
    EXPECT_THAT(attention.forward(X), IsNear(wanted.output, {"L", "E", "B"})) << about;
    EXPECT_THAT(attention.attention_weights(), IsNear(wanted.weights, {"L", "L", "H·B"})) << about;
  }
}

// -------------------------------------------------------------------------------------------- masks, dropout, 08.2

TEST(FusedMultiHeadAttention, BlocksTheFuture) {
  FusedMultiHeadAttention attention = layer_without_dropout(6, 3);
  expect_blocks_the_future(attention, normal(5, 6, 2));
}

TEST(FusedMultiHeadAttention, IgnoresPadding) {
  const GoldenCase golden = load_golden("padding");
  FusedMultiHeadAttention attention = layer_from(golden, 2);
  expect_equals_pytorch(attention, golden);
}

TEST(FusedMultiHeadAttention, TakesASharedMaskOrOneForEachSequenceOrHead) {
  const arma::uword L = 5, H = 3, B = 2;
  FusedMultiHeadAttention attention = layer_without_dropout(12, H);
  const arma::cube X = normal(L, 12, B);
  for (const arma::uword slices : {arma::uword{1}, B, H * B}) {
    const Mask mask = arma::randi<Mask>(L, L, slices, arma::distr_param(0, 1));
    const Attended wanted = by_definition(attention, H, X, mask);
    const std::string about = note("the mask is " + shape_text(mask) + ", for H = 3 heads of B = 2 sequences");
    EXPECT_THAT(attention.forward(X, mask), IsNear(wanted.output, {"L", "E", "B"})) << about;
    EXPECT_THAT(attention.attention_weights(), IsNear(wanted.weights, {"L", "L", "H·B"})) << about;
  }
}

TEST(FusedMultiHeadAttention, TakesAnyNumberButZeroAsAllowed) {
  FusedMultiHeadAttention attention = layer_without_dropout(6, 3);
  expect_takes_any_number_but_zero(attention, normal(5, 6, 2), causal_mask(5, 5));
}

TEST(FusedMultiHeadAttention, EqualsTheNotebooksMultiHeadAttentionUnderItsMask) {
  const GoldenCase golden = load_golden("notebook");
  FusedMultiHeadAttention attention = layer_from(golden, 4);
  expect_equals_pytorch(attention, golden);
}

TEST(FusedMultiHeadAttention, GivesTheBiasToAQueryWithoutKeys) {
  const GoldenCase golden = load_golden("notebook");
  FusedMultiHeadAttention attention = layer_from(golden, 4);
  const arma::cube output = attention.forward(golden.cube("X"), golden.mask("mask"));
  ASSERT_THAT(output, HasShape({{"L", 2}, {"E", 8}, {"B", 3}}));
  // The other two see one key each, whose weight is 1 in many a wrong answer too.
  const arma::cube unmasked = by_definition(attention, 4, golden.cube("X")).output;
  const bool right = arma::approx_equal(attention.forward(golden.cube("X")), unmasked, "absdiff", 1e-9);
  EXPECT_HOLDS(!output.slice(1).has_nan(), "sequence 1, which may attend to no key, holds NaN (not a number)")
      << (right ? likely_mistake("blocked_row_nan") : "");
  EXPECT_THAT(arma::mat(output.slice(1)), IsNear(arma::repmat(attention.output_proj.bias, 2, 1), {"L", "E"}))
      << note("sequence 1 may attend to no key: its contexts are zeros, and only the bias of output_proj is left");
}

TEST(FusedMultiHeadAttention, EqualsPyTorchWithDropout) {
  const GoldenCase golden = load_golden("dropout");
  FusedMultiHeadAttention attention(8, 2, 0.4);
  attention.qkv_proj = golden.linear("qkv_proj");
  attention.output_proj = golden.linear("output_proj");
  attention.dropout.inject(golden.mask("keep"));
  expect_equals_pytorch(attention, golden);
}

TEST(FusedMultiHeadAttention, AppliesTheMaskAndDropoutTogether) {
  const GoldenCase golden = load_golden("masked_dropout");
  FusedMultiHeadAttention attention(8, 2, 0.4);
  attention.qkv_proj = golden.linear("qkv_proj");
  attention.output_proj = golden.linear("output_proj");
  attention.dropout.inject(golden.mask("keep"));
  expect_equals_pytorch(attention, golden, note("with a mask, in training, with p = 0.4"));
}

TEST(FusedMultiHeadAttention, DropsAnewAtEveryCall) {
  FusedMultiHeadAttention attention(6, 2, 0.5);
  expect_drops_anew(attention, normal(7, 6, 3));
}

// ----------------------------------------------------------------------------------------------------- edges, 08.2

TEST(FusedMultiHeadAttention, StartsAfresh) {
  const GoldenCase golden = load_golden("batch");
  FusedMultiHeadAttention attention = layer_from(golden, 2);
  expect_starts_afresh(attention, golden);
}

TEST(FusedMultiHeadAttention, LeavesItsFieldsAndArguments) {
  FusedMultiHeadAttention attention(6, 2, 0.25);
  const Projections before = linears_of(attention);
  const arma::cube X = normal(5, 6, 3);
  const Mask mask = causal_mask(5, 5);
  expect_leaves_its_arguments("forward", {{"X", X}, {"mask", mask}}, [&] { attention.forward(X, mask); });
  expect_unchanged(before, linears_of(attention));
  EXPECT_HOLDS(attention.dropout.training() && attention.dropout.p() == 0.25 && attention.num_heads() == 2,
               "forward changed the dropout or the number of heads");
}

TEST(FusedMultiHeadAttention, AcceptsExtremeScores) {
  const GoldenCase golden = load_golden("far_from_zero");
  FusedMultiHeadAttention attention = layer_from(golden, 2);
  EXPECT_THAT(attention.forward(golden.cube("X")), Matches(golden.expected("output")));
}

TEST(FusedMultiHeadAttention, PassesOnANaN) {
  FusedMultiHeadAttention attention = layer_without_dropout(6, 3);
  expect_passes_on_a_nan(attention, normal(5, 6, 2),
                         [&](const arma::cube& X) { return by_definition(attention, 3, X); });
}

TEST(FusedMultiHeadAttention, CopiesNoHeads) {
  const arma::uword L = 4, E = 96, H = 3, B = 2;
  FusedMultiHeadAttention attention = layer_without_dropout(E, H);
  const arma::cube X = normal(L, E, B);
  attention.forward(X);
  const std::size_t one = L * E * B * sizeof(double);  // as much as X, or as all queries together
  const std::size_t bytes = allocated_bytes([&] { attention.forward(X); });
  // About 10 times X is what it takes: 3 for the projection and 3 inside Linear, 1 for the contexts and 1 for the
  // products that go there, 1 for the output and 1 inside Linear; the scores are small here.
  const bool copied_heads = bytes < 25 * one;  // a copy of the weight alone is 36 times X
  // A wrong answer may ask for memory for other reasons.
  const auto right = [&] {
    return arma::approx_equal(attention.forward(X), by_definition(attention, H, X).output, "absdiff", 1e-9);
  };
  EXPECT_HOLDS(2 * bytes <= 23 * one, "forward asked for " + bytes_text(bytes) + ", want at most " +
                                          bytes_text(23 * one / 2) + " (11.5 times as much as X)")
      << (!copied_heads ? note("a layer or a weight is copied: use it where it is")
          : right()     ? likely_mistake("heads_copied")
                        : "");
}

// -------------------------------------------------------------------------------------------- join_columns, 08.3

TEST(JoinColumns, PutsWeightsAndBiasesSideBySide) {
  const GoldenCase golden = load_golden("join_two");
  const Linear joined = join_columns({golden.linear("layer0"), golden.linear("layer1")});
  EXPECT_THAT(joined.weight, Matches(golden.expected("weight")));
  EXPECT_THAT(arma::mat(joined.bias), Matches(golden.expected("bias")));
}

TEST(JoinColumns, TakesTheBiasesOver) {
  Linear first(4, 3), second(4, 2);
  first.bias.fill(100);
  second.bias.fill(200);
  const arma::mat bias = join_columns({first, second}).bias;
  ASSERT_THAT(bias, HasShape({{"1", 1}, {"sum of out", 5}}));
  const bool random = arma::abs(bias).max() < 1;
  const arma::mat wanted = {{100, 100, 100, 200, 200}};
  EXPECT_THAT(bias, IsNear(wanted, {"1", "out"})) << (random ? likely_mistake("join_bias_left") : "");
}

TEST(JoinColumns, JoinsLayersOfDifferentWidths) {
  const GoldenCase golden = load_golden("join");
  const Linear joined = join_columns({golden.linear("layer0"), golden.linear("layer1"), golden.linear("layer2")});
  EXPECT_THAT(joined.weight, Matches(golden.expected("weight")));
  EXPECT_THAT(arma::mat(joined.bias), Matches(golden.expected("bias")));
  EXPECT_THAT(joined(golden.cube("x")), Matches(golden.expected("output")));
}

TEST(JoinColumns, GivesTheResultsSideBySide) {
  for (const bool with_bias : {true, false}) {
    const std::vector<Linear> layers = {{4, 3, with_bias}, {4, 1, with_bias}, {4, 2, with_bias}, {4, 6, with_bias}};
    const arma::cube x = normal(5, 4, 7);
    arma::cube wanted(5, 12, 7);
    arma::uword column = 0;
    for (const Linear& layer : layers) {
      wanted.cols(column, column + layer.weight.n_cols - 1) = naive_linear(x, layer.weight, layer.bias);
      column += layer.weight.n_cols;
    }
    EXPECT_THAT(join_columns(layers)(x), IsNear(wanted, {"L", "out", "B"}))
        << note(std::string("the layers are 4 -> 3, 1, 2 and 6, ") + (with_bias ? "with" : "without") + " bias");
    EXPECT_HOLDS(join_columns(layers).bias.is_empty() == !with_bias,
                 with_bias ? "the bias is empty" : "the result has a bias, and no layer has one")
        << (with_bias ? "" : likely_mistake("join_bias_of_zeros"));
  }
}

TEST(JoinColumns, ReturnsASingleLayer) {
  const Linear layer(4, 3);
  const Linear joined = join_columns({layer});
  EXPECT_THAT(joined.weight, IsNear(layer.weight, {"in", "out"}));
  EXPECT_THAT(arma::mat(joined.bias), IsNear(arma::mat(layer.bias), {"1", "out"}));
  EXPECT_HOLDS(join_columns({Linear(4, 3, false)}).bias.is_empty(), "the result has a bias, and the layer has none")
      << likely_mistake("join_bias_of_zeros");
}

TEST(JoinColumns, LeavesItsArguments) {
  const std::vector<Linear> layers = {{4, 3}, {4, 2}};
  const Projections before = {{"layers[0]", layers[0]}, {"layers[1]", layers[1]}};
  const Linear joined = join_columns(layers);
  EXPECT_EQ(joined.weight.n_cols, 5U);
  expect_unchanged(before, {{"layers[0]", layers[0]}, {"layers[1]", layers[1]}}, "join_columns");
}

TEST(JoinColumns, MakesSmallLinearsForEachHeadOneProjection) {
  const arma::uword L = 5, H = 3, D = 4, E = H * D, B = 2;
  std::vector<Linear> layers;
  for (arma::uword i = 0; i < 3 * H; ++i) layers.emplace_back(E, D);  // each drawn anew
  FusedMultiHeadAttention attention = layer_without_dropout(E, H);
  attention.qkv_proj = join_columns(layers);

  const arma::cube X = normal(L, E, B);
  arma::cube context(L, E, B);
  arma::cube weights(L, L, H * B);
  for (arma::uword h = 0; h < H; ++h) {  // each head on its own, from its own three layers
    const auto part = [&](arma::uword i) { return naive_linear(X, layers[i].weight, layers[i].bias); };
    const arma::cube Q = part(h), K = part(H + h), V = part(2 * H + h);
    context.cols(h * D, h * D + D - 1) = naive_attention(Q, K, V);
    const arma::cube of_head = naive_attention_weights(Q, K);
    for (arma::uword b = 0; b < B; ++b) weights.slice(b * H + h) = of_head.slice(b);
  }
  const Linear& output_proj = attention.output_proj;
  const std::string about =
      note("expected: what the 9 small layers give, each head computed alone (needs forward too)");
  EXPECT_THAT(attention.forward(X),
              IsNear(naive_linear(context, output_proj.weight, output_proj.bias), {"L", "E", "B"}))
      << about;
  EXPECT_THAT(attention.attention_weights(), IsNear(weights, {"L", "L", "H·B"})) << about;
}

// ------------------------------------------------------------------------------------ fused = separate, 08.4

TEST(Fuse, PutsTheThreeProjectionsSideBySide) {
  const GoldenCase golden = load_golden("fuse");
  const FusedMultiHeadAttention fused = fuse(separate_layer_from(golden, 2));
  EXPECT_THAT(fused.qkv_proj.weight, Matches(golden.expected("fused_weight")));
  EXPECT_THAT(arma::mat(fused.qkv_proj.bias), Matches(golden.expected("fused_bias")));
}

TEST(Fuse, TakesTheBiasesOver) {
  MultiHeadAttention separate(6, 2);
  separate.query_proj.bias.fill(100);
  separate.key_proj.bias.fill(200);
  separate.value_proj.bias.fill(300);
  const FusedMultiHeadAttention fused = fuse(separate);
  const arma::mat bias = fused.qkv_proj.bias;
  ASSERT_THAT(bias, HasShape({{"1", 1}, {"3E", 18}}));
  const bool random = arma::abs(bias).max() < 1 && arma::abs(bias).max() > 0;
  const arma::mat wanted = arma::join_rows(arma::mat(separate.query_proj.bias), arma::mat(separate.key_proj.bias),
                                           arma::mat(separate.value_proj.bias));
  EXPECT_THAT(bias, IsNear(wanted, {"1", "3E"})) << (random ? likely_mistake("fuse_bias_left") : "");
}

TEST(Fuse, TakesTheOutputProjectionOver) {
  MultiHeadAttention separate(6, 2);
  separate.output_proj.weight *= 100;
  separate.output_proj.bias *= 100;
  const FusedMultiHeadAttention fused = fuse(separate);
  const bool random = arma::abs(fused.output_proj.weight).max() < 1;
  const std::string likely = random ? likely_mistake("fuse_output_proj_left") : "";
  EXPECT_THAT(fused.output_proj.weight, IsNear(separate.output_proj.weight, {"in", "out"})) << likely;
  EXPECT_THAT(arma::mat(fused.output_proj.bias), IsNear(arma::mat(separate.output_proj.bias), {"1", "out"})) << likely;
}

TEST(Fuse, TakesTheNumberOfHeadsOver) {
  for (const arma::uword num_heads : {1U, 2U, 3U, 6U}) {
    const FusedMultiHeadAttention fused = fuse(MultiHeadAttention(6, num_heads));
    EXPECT_HOLDS(fused.num_heads() == num_heads,
                 "got " + std::to_string(fused.num_heads()) + " heads, want " + std::to_string(num_heads))
        << likely_mistake("fuse_num_heads_left");
  }
}

TEST(Fuse, TakesTheDropoutOver) {
  MultiHeadAttention separate(6, 2, 0.25);
  EXPECT_HOLDS(fuse(separate).dropout.p() == 0.25 && fuse(separate).dropout.training(),
               "the fused layer's p is " + std::to_string(fuse(separate).dropout.p()) +
                   ", want 0.25; or it is not training, as the separate layer is")
      << likely_mistake("fuse_dropout_left");
  separate.dropout.eval();
  EXPECT_HOLDS(!fuse(separate).dropout.training(), "the fused layer is training, although the separate one is not")
      << likely_mistake("fuse_dropout_left");
  separate.dropout.train();
  separate.dropout.inject(Dropout::draw(5, 5, 6, 0.5));
  const arma::cube X = normal(5, 6, 3);
  EXPECT_THAT(fuse(separate).forward(X), IsNear(separate.forward(X), {"L", "E", "B"}))
      << note("the separate layer's dropout has an injected mask: its dropout goes over with all that it holds");
}

TEST(Fuse, GivesWhatTheSeparateLayerGives) {
  const GoldenCase golden = load_golden("fuse");
  FusedMultiHeadAttention fused = fuse(separate_layer_from(golden, 2));
  expect_equals_pytorch(fused, golden);
}

TEST(Fuse, WorksForOtherSizesAndUnderMasks) {
  struct Sizes {
    arma::uword L, E, H, B;
  };
  for (const Sizes& n : {Sizes{5, 12, 4, 3}, {4, 6, 1, 2}, {3, 8, 8, 2}, {1, 6, 2, 4}, {34, 4, 2, 3}}) {
    MultiHeadAttention separate(n.E, n.H);
    separate.dropout.eval();
    FusedMultiHeadAttention fused = fuse(separate);
    EXPECT_HOLDS(fused.attention_weights().is_empty(), "attention_weights() is not empty before the first forward");
    const arma::cube X(n.L, n.E, n.B, arma::fill::randn);
    const Mask mask = causal_mask(n.L, n.L);
    const std::string about = note("expected: what the separate layer of lesson 07 gives");
    EXPECT_THAT(fused.forward(X), IsNear(separate.forward(X), {"L", "E", "B"})) << about;
    EXPECT_THAT(fused.forward(X, mask), IsNear(separate.forward(X, mask), {"L", "E", "B"})) << about;
    EXPECT_THAT(fused.attention_weights(), IsNear(separate.attention_weights(), {"L", "L", "H·B"})) << about;
  }
}

TEST(Fuse, LeavesItsArguments) {
  const GoldenCase golden = load_golden("fuse");
  const MultiHeadAttention separate = separate_layer_from(golden, 2);
  const Projections before = projections_of(separate);
  FusedMultiHeadAttention fused = fuse(separate);
  fused.qkv_proj.weight.zeros();
  expect_unchanged(before, projections_of(separate), "fuse");
}

// ------------------------------------------------------------------------------------------------- compose, 08.5

TEST(Compose, MakesOneLayerOfTwo) {
  const GoldenCase golden = load_golden("compose");
  const Linear composed = compose(golden.linear("first"), golden.linear("second"));
  ASSERT_THAT(composed.weight, Matches(golden.expected("weight")));
  ASSERT_THAT(arma::mat(composed.bias), Matches(golden.expected("bias")));
  EXPECT_THAT(composed(golden.cube("x")), Matches(golden.expected("output")));
}

TEST(Compose, KeepsTheOrderOfSquareLayers) {
  const GoldenCase golden = load_golden("compose_square");
  const Linear composed = compose(golden.linear("first"), golden.linear("second"));
  ASSERT_THAT(composed.weight, Matches(golden.expected("weight")));
  ASSERT_THAT(arma::mat(composed.bias), Matches(golden.expected("bias")));
  EXPECT_THAT(composed(golden.cube("x")), Matches(golden.expected("output")));
}

TEST(Compose, TakesLayersWithAndWithoutBias) {
  for (const bool first_bias : {true, false}) {
    for (const bool second_bias : {true, false}) {
      const Linear first(4, 3, first_bias), second(3, 6, second_bias);
      const arma::cube x = normal(5, 4, 2);
      const arma::cube wanted = naive_linear(naive_linear(x, first.weight, first.bias), second.weight, second.bias);
      EXPECT_THAT(compose(first, second)(x), IsNear(wanted, {"L", "out", "B"}))
          << note(std::string("the first layer is ") + (first_bias ? "with" : "without") + " bias, the second " +
                  (second_bias ? "with" : "without"));
      EXPECT_HOLDS(compose(first, second).bias.is_empty() == (!first_bias && !second_bias),
                   first_bias || second_bias ? "the bias is empty" : "the result has a bias, and neither layer has one")
          << (first_bias || second_bias ? "" : likely_mistake("compose_bias_of_zeros"));
    }
  }
}

TEST(Compose, DoesWhatBothDoForOtherSizes) {
  struct Widths {
    arma::uword in, middle, out;
  };
  for (const Widths& n : {Widths{5, 1, 4}, {1, 6, 3}, {7, 2, 1}, {2, 70, 3}}) {
    const Linear first(n.in, n.middle), second(n.middle, n.out);
    const arma::cube x(3, n.in, 2, arma::fill::randn);
    const arma::cube wanted = naive_linear(naive_linear(x, first.weight, first.bias), second.weight, second.bias);
    EXPECT_THAT(compose(first, second)(x), IsNear(wanted, {"L", "out", "B"}));
  }
}

TEST(Compose, LeavesItsArguments) {
  const GoldenCase golden = load_golden("compose_square");
  const Linear first = golden.linear("first"), second = golden.linear("second");
  const Projections before = {{"first", first}, {"second", second}};
  compose(first, second);
  expect_unchanged(before, {{"first", first}, {"second", second}}, "compose");
}

TEST(Compose, MakesTheArticlesStackedSmallLinearsOneLayer) {
  const GoldenCase golden = load_golden("article");
  const arma::uword E = 16, H = 8;
  std::vector<Linear> parts;
  for (arma::uword part = 0; part < 3; ++part) {  // queries, keys, values
    std::vector<Linear> small;
    for (arma::uword h = 0; h < H; ++h) small.push_back(golden.linear("small" + std::to_string(part * H + h)));
    parts.push_back(compose(golden.linear("first" + std::to_string(part)), join_columns(small)));
  }
  FusedMultiHeadAttention attention(E, H, 0);
  attention.qkv_proj = join_columns(parts);
  attention.output_proj = golden.linear("output_proj");
  const std::string about = note("expected: what 3 layers E -> E and 24 small ones on top of them give in PyTorch");
  EXPECT_THAT(attention.forward(golden.cube("X")), Matches(golden.expected("output"))) << about;
  EXPECT_THAT(attention.attention_weights(), Matches(golden.expected("weights"))) << about;
}

// -------------------------------------------------------------------------------------- bad input: the layer, 08.1

TEST(FusedMultiHeadAttention, RejectsImpossibleSizes) {
  expect_rejects_impossible_sizes(
      [](arma::uword embed_dim, arma::uword num_heads) { FusedMultiHeadAttention(embed_dim, num_heads); });
}

TEST(FusedMultiHeadAttention, RejectsAnImpossibleProbability) {
  expect_rejects_impossible_probabilities([](double p) { FusedMultiHeadAttention(6, 2, p); });
}

// ---------------------------------------------------------------------------------------- bad input: forward, 08.2

TEST(FusedMultiHeadAttention, RejectsAnInputOfTheWrongShape) {
  FusedMultiHeadAttention attention(6, 2);
  expect_rejects_inputs(attention, 6);
}

TEST(FusedMultiHeadAttention, RejectsAMaskOfTheWrongShape) {
  FusedMultiHeadAttention attention(6, 2);
  expect_rejects_masks(attention, normal(5, 6, 3), 2);
}

// ----------------------------------------------------------------------------------- bad input: join_columns, 08.3

TEST(JoinColumns, RejectsLayersThatCannotBeJoined) {
  EXPECT_PRED_FORMAT1(RejectsArgument("layers", {}), [] { join_columns({}); });
  EXPECT_PRED_FORMAT1(RejectsArgument("layers", {"4", "5"}), [] { join_columns({Linear(4, 3), Linear(5, 3)}); });
  EXPECT_PRED_FORMAT1(RejectsArgument("layers", {"4", "1"}), [] {
    join_columns({Linear(4, 3), Linear(4, 2), Linear(1, 3)});
  });
}

TEST(JoinColumns, RejectsLayersOfWhichOnlySomeHaveABias) {
  EXPECT_PRED_FORMAT1(RejectsArgument("layers", {"bias"}), [] { join_columns({Linear(4, 3), Linear(4, 3, false)}); });
  EXPECT_PRED_FORMAT1(RejectsArgument("layers", {"bias"}), [] {
    join_columns({Linear(4, 3, false), Linear(4, 2, false), Linear(4, 3)});
  });
}

// ---------------------------------------------------------------------------------------- bad input: compose, 08.5

TEST(Compose, RejectsASecondLayerOfAnotherWidth) {
  EXPECT_PRED_FORMAT1(RejectsArgument("second", {"5", "3"}), [] { compose(Linear(4, 3), Linear(5, 6)); });
  EXPECT_PRED_FORMAT1(RejectsArgument("second", {"4", "3"}), [] { compose(Linear(4, 3), Linear(4, 3)); });
  EXPECT_PRED_FORMAT1(RejectsArgument("second", {"1", "3"}), [] { compose(Linear(4, 3), Linear(1, 3)); });
}

// ---------------------------------------------------------------------------------------------------------- speed

ATTN_SPEED("forward, 2 sequences of 32 tokens, E = 64, H = 4", [] {
  const arma::cube X = normal(32, 64, 2);
  FusedMultiHeadAttention layer(64, 4);
  layer.dropout.eval();
  return [layer, X]() mutable { return layer.forward(X); };
});

}  // namespace
}  // namespace attn::judge
