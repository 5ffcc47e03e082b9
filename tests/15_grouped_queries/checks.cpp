#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <armadillo>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "attn/grouped_query_attention.hpp"
#include "attn/masking.hpp"
#include "checks/allocation.hpp"
#include "checks/draw.hpp"
#include "checks/golden.hpp"
#include "checks/matchers.hpp"
#include "checks/oracles.hpp"
#include "checks/properties.hpp"
#include "checks/speed.hpp"

namespace attn::judge {
namespace {

using arma::uword;

const std::vector<std::string> output_axes = {"L", "E", "B"};
const std::vector<std::string> weights_axes = {"L", "L", "H·B"};

/// The layer of a golden case, from num_heads and num_kv_heads.
GroupedQueryAttention layer_from(const GoldenCase& golden, uword num_heads, uword num_kv_heads) {
  return with_projections(GroupedQueryAttention(golden.linear("query_proj").weight.n_rows, num_heads, num_kv_heads),
                          golden);
}

/// The layer of lesson 07, silent. Its dropout is 0.25, as if it had been trained.
MultiHeadAttention multi_head_layer(uword embed_dim, uword num_heads) {
  MultiHeadAttention attention(embed_dim, num_heads, 0.25);
  attention.dropout.eval();
  return attention;
}

/// The layer that case "pooled" starts from: E = 12, H = 6.
MultiHeadAttention layer_to_pool(const GoldenCase& golden) { return with_projections(multi_head_layer(12, 6), golden); }

Projections key_and_value_of(const GroupedQueryAttention& attention) {
  return {{"key_proj", attention.key_proj}, {"value_proj", attention.value_proj}};
}

/// That a field's weight or bias has another shape than these axes, in words; empty when it has this one.
std::string wrong_shape(const std::string& what, const arma::mat& part, const Axis& rows, const Axis& cols) {
  if (part.n_rows == rows.size && part.n_cols == cols.size) return {};
  return line("shape", what + " is " + shape_text(part) + ", want " + shape_text(arma::mat(rows.size, cols.size)) +
                           " (" + rows.name + " x " + cols.name + ")");
}

bool equal(const arma::mat& a, const arma::mat& b) { return arma::approx_equal(a, b, "absdiff", 1e-12); }

/// The columns of head h.
arma::span head(uword h, uword D) { return arma::span(h * D, (h + 1) * D - 1); }

/// What the layer should give, one number at a time: every query head with a copy of its key/value head.
Attended naive(const GroupedQueryAttention& attention, const arma::cube& X, const Mask& mask = {}) {
  const uword H = attention.num_heads(), G = attention.num_kv_heads();
  const auto heads = [&](const Linear& proj, uword count) {
    return naive_split_heads(naive_linear(X, proj.weight, proj.bias), count);
  };
  const auto repeated = [&](const arma::cube& few) {
    arma::cube many(few.n_rows, few.n_cols, H * X.n_slices);
    for (uword b = 0; b < X.n_slices; ++b) {
      for (uword h = 0; h < H; ++h) many.slice(b * H + h) = few.slice(b * G + h / (H / G));
    }
    return many;
  };
  const arma::cube weights =
      naive_attention_weights(heads(attention.query_proj, H), repeated(heads(attention.key_proj, G)), mask);
  const arma::cube context = naive_merge_heads(naive_mix(weights, repeated(heads(attention.value_proj, G))), H);
  return {naive_linear(context, attention.output_proj.weight, attention.output_proj.bias), weights};
}

bool holds(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// ------------------------------------------------------------------------------------------------ the layer, 15.1

/// The known mistakes about the weight of keys and values, recognised by its shape: E = 24, H = 6, G = 3.
std::string likely_from_shape(const arma::mat& weight, uword D) {
  const uword width = weight.n_cols;
  if (weight.n_rows == 3 * D && width == 24) return likely_mistake("linear_arguments_swapped");
  if (weight.n_rows != 24) return {};
  if (width == 24 || width == 6 * D) return likely_mistake("kv_as_wide_as_queries");
  if (width == 2 * D) return likely_mistake("kv_width_divided");
  if (width == D) return likely_mistake("kv_width_of_one_head");
  if (width == 12) return likely_mistake("kv_without_head_dim");
  return {};
}

/// Those about the weights of queries and output, of a layer that was given a D.
std::string likely_from_outer_shape(const std::string& name, const arma::mat& weight, uword D) {
  const bool square = weight.n_rows == 24 && weight.n_cols == 24;
  if (name == "query_proj") return square ? likely_mistake("query_proj_without_head_dim") : "";
  if (square) return likely_mistake("output_proj_without_head_dim");
  return weight.n_rows == 24 && weight.n_cols == 6 * D ? likely_mistake("output_proj_turned") : "";
}

/// Whether a layer with E = 24, H = 6, G = 3 and another D has the shapes for D = E / H.
bool ignores_head_dim(const GroupedQueryAttention& attention) {
  return attention.query_proj.weight.n_cols == 24 && attention.key_proj.weight.n_cols == 12 &&
         attention.value_proj.weight.n_cols == 12 && attention.output_proj.weight.n_rows == 24;
}

/// The shapes of a layer with E = 24, H = 6, G = 3.
void expect_heads_of_width(uword D, const GroupedQueryAttention& attention, const std::string& about) {
  const bool ignored = D != 4 && ignores_head_dim(attention);
  for (const auto& [name, proj] : projections_of(attention)) {
    const bool shared = name == "key_proj" || name == "value_proj";
    const Axis heads = shared ? Axis{"G·D", 3 * D} : Axis{"H·D", 6 * D};
    const std::string wrong = name == "output_proj" ? wrong_shape(name + ".weight", proj.weight, heads, {"E", 24})
                                                    : wrong_shape(name + ".weight", proj.weight, {"E", 24}, heads);
    EXPECT_TRUE(wrong.empty()) << wrong << about
                               << (ignored  ? likely_mistake("head_dim_ignored")
                                   : shared ? likely_from_shape(proj.weight, D)
                                            : likely_from_outer_shape(name, proj.weight, D));
  }
}

TEST(GroupedQueryAttentionConstructor, HasNarrowProjectionsForKeysAndValues) {
  const std::string threw = refusal([] { GroupedQueryAttention(24, 6, 3); });
  const bool goes_with_a_width = refusal([] { GroupedQueryAttention(24, 6, 3, 4); }).empty();
  ASSERT_TRUE(threw.empty()) << line("threw", threw)
                             << (goes_with_a_width ? likely_mistake("zero_head_dim_rejected") : "");
  expect_heads_of_width(4, GroupedQueryAttention(24, 6, 3),
                        note("E = 24, H = 6, G = 3; no head_dim, so D = E / H = 4"));
}

TEST(GroupedQueryAttentionConstructor, HasHeadsAsWideAsHeadDimSays) {
  expect_heads_of_width(5, GroupedQueryAttention(24, 6, 3, 5), note("E = 24, H = 6, G = 3, head_dim = 5: so D = 5"));
}

TEST(GroupedQueryAttentionConstructor, AcceptsAnyNumberOfHeadsWhoseWidthIsGiven) {
  struct Sizes {
    uword E, H, G, D;
  };
  const bool takes_head_dim = GroupedQueryAttention(24, 6, 3, 5).query_proj.weight.n_cols == 30;
  for (const Sizes& n : {Sizes{29, 8, 2, 5}, {3, 8, 2, 7}, {29, 6, 1, 2}}) {
    const std::string about = note("E = " + std::to_string(n.E) + ", H = " + std::to_string(n.H) +
                                   ", G = " + std::to_string(n.G) + ", head_dim = " + std::to_string(n.D));
    const std::string threw = refusal([&] { GroupedQueryAttention(n.E, n.H, n.G, n.D); });
    ASSERT_TRUE(threw.empty()) << line("threw", threw) << about
                               << (takes_head_dim && holds(threw, "num_heads")
                                       ? likely_mistake("head_dim_needs_divisor")
                                       : "");
    const GroupedQueryAttention attention(n.E, n.H, n.G, n.D);
    const std::string wrong =
        wrong_shape("query_proj.weight", attention.query_proj.weight, {"E", n.E}, {"H·D", n.H * n.D}) +
        wrong_shape("key_proj.weight", attention.key_proj.weight, {"E", n.E}, {"G·D", n.G * n.D}) +
        wrong_shape("output_proj.weight", attention.output_proj.weight, {"H·D", n.H * n.D}, {"E", n.E});
    EXPECT_TRUE(wrong.empty()) << wrong << about;
  }
}

TEST(GroupedQueryAttentionConstructor, HasABiasInEveryProjection) {
  const GroupedQueryAttention attention(12, 6, 2);
  for (const auto& [name, proj] : projections_of(attention)) {
    ASSERT_HOLDS(!proj.bias.is_empty(), name + ".bias is empty") << likely_mistake("projections_without_bias");
    const std::string wrong = wrong_shape(name + ".bias", proj.bias, {"1", 1}, {"out", proj.weight.n_cols});
    EXPECT_TRUE(wrong.empty()) << wrong;
  }
}

TEST(GroupedQueryAttentionConstructor, KeepsItsNumbersOfHeads) {
  const GroupedQueryAttention attention(24, 6, 3);
  const bool swapped = attention.num_heads() == 3 && attention.num_kv_heads() == 6;
  EXPECT_HOLDS(attention.num_heads() == 6, "num_heads() is " + std::to_string(attention.num_heads()) + ", want 6")
      << (swapped ? likely_mistake("head_numbers_swapped") : "");
  EXPECT_HOLDS(attention.num_kv_heads() == 3,
               "num_kv_heads() is " + std::to_string(attention.num_kv_heads()) + ", want 3");
}

TEST(GroupedQueryAttentionConstructor, KeepsWhatLinearDraws) {
  expect_drawn_as_linear_draws(projections_of(GroupedQueryAttention(128, 8, 4)));
}

TEST(GroupedQueryAttentionConstructor, DrawsEachProjectionAnew) {
  expect_draws_each_projection_anew(projections_of(GroupedQueryAttention(6, 3, 3)));
}

TEST(GroupedQueryAttentionConstructor, LeavesSeedingToTheCaller) {
  expect_leaves_seeding_to_the_caller("the constructor", [] {
    const GroupedQueryAttention attention(6, 3, 1);
    return arma::mat(arma::join_rows(attention.query_proj.weight, attention.value_proj.weight));
  });
}

// ------------------------------------------------------------------------------------------------- forward, 15.2

/// Whether the same goes well with a key/value head for each query head, where an index of either finds its slice.
bool goes_well_with_all_heads(uword B) {
  return refusal([&] { GroupedQueryAttention(24, 6, 6).forward(normal(5, 24, B)); }).empty();
}

TEST(GroupedQueryAttentionForward, KeepsTheShapeOfItsInput) {
  GroupedQueryAttention attention(24, 6, 3);
  const std::string about = note("E = 24, H = 6, G = 3, so D = 4: keys and values are 5 x 12 x 1, three heads of D");
  const std::string alone = refusal([&] { attention.forward(normal(5, 24, 1)); });
  ASSERT_TRUE(alone.empty()) << line("threw", alone) << about
                             << (holds(alone, "slice") && goes_well_with_all_heads(1)
                                     ? likely_mistake("one_kv_head_each")
                                     : "")
                             << (holds(alone, "5x4 and 2x5") ? likely_mistake("kv_cut_into_query_heads") : "")
                             << (holds(alone, "x is 5 x 12 x 2") ? likely_mistake("merged_by_kv_heads") : "");
  const std::string batch = refusal([&] { attention.forward(normal(5, 24, 2)); });
  ASSERT_TRUE(batch.empty()) << line("threw", batch)
                             << note("X was 5 x 24 x 2; the same with one sequence, 5 x 24 x 1, went well")
                             << (holds(batch, "slice") && goes_well_with_all_heads(2)
                                     ? likely_mistake("kv_stride_of_query_heads")
                                     : "");
  EXPECT_THAT(attention.forward(normal(5, 24, 2)), HasShape({{"L", 5}, {"E", 24}, {"B", 2}}));
}

/// The known mistakes about heads that are not E / H wide, where all else is right, recognised by what they throw.
std::string likely_from_refusal(const std::string& threw) {
  GroupedQueryAttention usual(24, 6, 2);  // D = E / H
  const arma::cube X = normal(7, 24, 8);
  arma::cube output;
  if (!refusal([&] { output = usual.forward(X); }).empty()) return {};
  if (!diagnose(output, {naive(usual, X).output, output_axes, 1e-10}).empty()) return {};
  if (holds(threw, "X is 7 x 24 x 8")) return likely_mistake("input_as_wide_as_heads");
  if (holds(threw, "x is 7 x 24 x 8")) return likely_mistake("heads_cut_by_embed_dim");
  if (holds(threw, "Mat::init(): ")) return likely_mistake("room_for_embed_share");
  return {};
}

TEST(GroupedQueryAttentionForward, KeepsTheShapeOfItsInputWithHeadsOfAnyWidth) {
  GroupedQueryAttention attention(24, 6, 2, 5);
  const arma::cube X = normal(7, 24, 8);
  const std::string about = note("E = 24, H = 6, G = 2, D = 5: queries are 7 x 30 x 8, keys and values 7 x 10 x 8");
  const std::string threw = refusal([&] { attention.forward(X); });
  ASSERT_TRUE(threw.empty()) << line("threw", threw) << about << likely_from_refusal(threw);
  EXPECT_THAT(attention.forward(X), HasShape({{"L", 7}, {"E", 24}, {"B", 8}})) << about;
  EXPECT_THAT(attention.attention_weights(), HasShape({{"L (queries)", 7}, {"L (keys)", 7}, {"H·B", 48}})) << about;
}

TEST(GroupedQueryAttentionForward, KeepsTheWeightsOfEveryHead) {
  GroupedQueryAttention attention(12, 6, 2);
  const std::string threw = refusal([&] { attention.forward(normal(5, 12, 3)); });
  ASSERT_TRUE(threw.empty()) << line("threw", threw)
                             << note("H = 6, G = 2, B = 3: K and V have 6 slices, 0 to 5, and Q has 18");
  EXPECT_THAT(attention.attention_weights(), HasShape({{"L (queries)", 5}, {"L (keys)", 5}, {"H·B", 18}}))
      << note("heads share keys, not weights: H = 6, B = 3");
}

TEST(GroupedQueryAttentionForward, GivesTheSixHeadsWorkedByHand) {
  const GoldenCase golden = load_golden("by_hand");
  GroupedQueryAttention attention(5, 6, 2, 2);
  const arma::mat unit(5, 5, arma::fill::eye);
  attention.query_proj.weight = unit.cols(arma::uvec{0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 0, 1});  // (E x H·D)
  attention.output_proj.weight = attention.query_proj.weight.t();
  attention.key_proj.weight = unit.cols(arma::uvec{1, 2, 4, 0});
  attention.value_proj.weight = unit.cols(arma::uvec{0, 1, 2, 3});
  attention.query_proj.bias.zeros(12);
  attention.key_proj.bias.zeros(4);
  attention.value_proj.bias.zeros(4);
  attention.output_proj.bias.zeros(5);
  arma::cube X(3, 5, 1);
  X.slice(0) = {{0, 1, 2, 2, 2}, {2, 1, 1, 0, 1}, {2, 0, 1, 1, 0}};
  EXPECT_THAT(attention.forward(X), Matches(golden.expected("output"))) << given("X", X);
  EXPECT_THAT(attention.attention_weights(), Matches(golden.expected("weights")));
}

TEST(GroupedQueryAttentionForward, GivesEveryQueryWeightsThatSumToOne) {
  const GoldenCase golden = load_golden("batch");
  GroupedQueryAttention attention = layer_from(golden, 6, 3);
  attention.forward(golden.cube("X"));
  EXPECT_THAT(attention.attention_weights(), RowsSumToOne());
}

TEST(GroupedQueryAttentionForward, SharesKeyAndValueHeadsAmongNeighbours) {
  const uword H = 6, G = 2, D = 3;
  GroupedQueryAttention attention(H * D, H, G);
  attention.output_proj.weight.eye();
  const arma::cube X = normal(5, H * D, 4);
  arma::cube wanted = attention.forward(X);
  attention.key_proj.weight.cols(D, 2 * D - 1) *= -3;  // key/value head 1 serves the heads 3, 4 and 5
  attention.value_proj.weight.cols(D, 2 * D - 1) *= -3;
  const arma::cube output = attention.forward(X);
  for (uword h = 3; h < H; ++h) {
    const arma::cube before = wanted(arma::span::all, head(h, D), arma::span::all);
    const arma::cube after = output(arma::span::all, head(h, D), arma::span::all);
    EXPECT_HOLDS(!arma::approx_equal(before, after, "absdiff", 1e-6),
                 "key/value head 1 was changed, and query head " + std::to_string(h) + " gave the same")
        << note("H = 6, G = 2: heads 0, 1, 2 share key/value head 0, and heads 3, 4, 5 share 1");
  }
  wanted.cols(3 * D, 6 * D - 1) = output.cols(3 * D, 6 * D - 1);
  EXPECT_THAT(output, IsNear(wanted, output_axes))
      << note("only key/value head 1 was changed: heads 0, 1 and 2 (columns 0 to 8) do not use it");
}

TEST(GroupedQueryAttentionForward, IsLesson07WithAsManyKeyValueHeadsAsHeads) {
  MultiHeadAttention full = multi_head_layer(12, 4);
  GroupedQueryAttention attention(12, 4, 4);
  attention.query_proj = full.query_proj;
  attention.key_proj = full.key_proj;
  attention.value_proj = full.value_proj;
  attention.output_proj = full.output_proj;
  const arma::cube X = normal(5, 12, 3);
  const Mask mask = causal_mask(5, 5);
  const std::string about = note("G = H: every head has keys and values of its own; this is what lesson 07 gives");
  EXPECT_THAT(attention.forward(X, mask), IsNear(full.forward(X, mask), output_axes)) << about;
  EXPECT_THAT(attention.attention_weights(), IsNear(full.attention_weights(), weights_axes)) << about;
}

TEST(GroupedQueryAttentionForward, IsLesson07WithTheKeyAndValueHeadsRepeated) {
  const uword H = 6, G = 2, D = 3, E = H * D;
  GroupedQueryAttention attention(E, H, G);
  MultiHeadAttention full = multi_head_layer(E, H);
  full.query_proj = attention.query_proj;
  full.output_proj = attention.output_proj;
  for (uword h = 0; h < H; ++h) {
    const uword g = h / (H / G);
    full.key_proj.weight.cols(head(h, D)) = attention.key_proj.weight.cols(head(g, D));
    full.key_proj.bias.cols(head(h, D)) = attention.key_proj.bias.cols(head(g, D));
    full.value_proj.weight.cols(head(h, D)) = attention.value_proj.weight.cols(head(g, D));
    full.value_proj.bias.cols(head(h, D)) = attention.value_proj.bias.cols(head(g, D));
  }
  const arma::cube X = normal(5, E, 4);
  EXPECT_THAT(attention.forward(X), IsNear(full.forward(X), output_axes)) << note(
      "multi-head attention gives this, when each of its 6 heads gets a copy of the key/value head of its group");
}

TEST(GroupedQueryAttentionForward, FollowsPermutedTokens) {
  GroupedQueryAttention attention(12, 6, 3);
  expect_follows_permuted_tokens(attention, normal(5, 12, 4));
}

TEST(GroupedQueryAttentionForward, KeepsTheBatchApart) {
  GroupedQueryAttention attention(12, 6, 3);
  expect_keeps_the_batch_apart(attention, normal(5, 12, 4));
}

TEST(GroupedQueryAttentionForward, EqualsPyTorch) {
  const GoldenCase golden = load_golden("batch");
  GroupedQueryAttention attention = layer_from(golden, 6, 3);
  expect_equals_pytorch(attention, golden);
}

TEST(GroupedQueryAttentionForward, EqualsPyTorchWithGroupsOfThree) {
  const GoldenCase golden = load_golden("two_groups");
  GroupedQueryAttention attention = layer_from(golden, 6, 2);
  expect_equals_pytorch(attention, golden);
}

TEST(GroupedQueryAttentionForward, EqualsPyTorchWithHeadsOfAnyWidth) {
  const GoldenCase golden = load_golden("wide_heads");
  GroupedQueryAttention attention = with_projections(GroupedQueryAttention(24, 6, 2, 5), golden);
  expect_equals_pytorch(attention, golden, note("E = 24, H = 6, G = 2, D = 5: not E / H, which is 4"));
}

TEST(GroupedQueryAttentionForward, EqualsPyTorchAsMultiQueryAttention) {
  const GoldenCase golden = load_golden("multi_query");
  GroupedQueryAttention attention = layer_from(golden, 4, 1);
  expect_equals_pytorch(attention, golden, note("G = 1: all four heads share one key and one value head"));
}

TEST(GroupedQueryAttentionForward, EqualsPyTorchsMultiheadAttention) {
  const GoldenCase golden = load_golden("multi_head");
  GroupedQueryAttention attention = layer_from(golden, 3, 3);
  expect_equals_pytorch(attention, golden, note("G = H = 3: what nn.MultiheadAttention gives"));
}

// -------------------------------------------------------------------------------------------------------- the mask

TEST(GroupedQueryAttentionForward, TakesAMaskForEachQueryHead) {
  GroupedQueryAttention attention(12, 6, 2);
  const bool known = attention.num_heads() == 6;
  const arma::cube X = normal(5, 12, 4);
  for (const uword slices : {1U, 4U, 24U}) {
    const std::string threw = refusal([&] { attention.forward(X, ones(5, 5, slices)); });
    EXPECT_TRUE(threw.empty()) << line("threw", threw)
                               << note("L = 5, B = 4, H = 6, G = 2, and the mask was 5 x 5 x " + std::to_string(slices))
                               << (known && slices == 24 ? likely_mistake("mask_of_kv_heads") : "");
  }
}

TEST(GroupedQueryAttentionForward, EqualsPyTorchWithASharedMask) {
  const GoldenCase golden = load_golden("batch");
  GroupedQueryAttention attention = layer_from(golden, 6, 3);
  EXPECT_THAT(attention.forward(golden.cube("X"), golden.mask("mask_shared")),
              Matches(golden.expected("output_shared")));
}

TEST(GroupedQueryAttentionForward, EqualsPyTorchWithAMaskForEachSequence) {
  const GoldenCase golden = load_golden("batch");
  GroupedQueryAttention attention = layer_from(golden, 6, 3);
  EXPECT_THAT(attention.forward(golden.cube("X"), golden.mask("mask_batch")), Matches(golden.expected("output_batch")));
}

TEST(GroupedQueryAttentionForward, EqualsPyTorchWithAMaskForEachHead) {
  const GoldenCase golden = load_golden("batch");
  GroupedQueryAttention attention = layer_from(golden, 6, 3);
  EXPECT_THAT(attention.forward(golden.cube("X"), golden.mask("mask_heads")), Matches(golden.expected("output_heads")))
      << note("heads that share keys and values have masks of their own; two rows of it are blocked completely");
  EXPECT_THAT(attention.attention_weights(), Matches(golden.expected("weights_heads")));
}

TEST(GroupedQueryAttentionForward, TakesAnyNumberButZeroAsAllowed) {
  GroupedQueryAttention attention(12, 6, 3);
  Mask mask = ones(5, 5, 12);
  mask(1, 2, 0) = mask(4, 0, 2) = mask(0, 3, 11) = 0;
  expect_takes_any_number_but_zero(attention, normal(5, 12, 2), mask);
}

TEST(GroupedQueryAttentionForward, BlocksTheFuture) {
  GroupedQueryAttention attention(12, 4, 2);
  expect_blocks_the_future(attention, normal(5, 12, 3));
}

// ----------------------------------------------------------------------------------------------- naive loops, edges

TEST(GroupedQueryAttentionForward, EqualsTheDefinitionForOtherSizes) {
  struct Sizes {
    uword L, H, G, D, B;
  };
  for (const Sizes& n : {Sizes{3, 4, 2, 5, 6},
                         {7, 8, 4, 3, 2},
                         {5, 8, 2, 3, 4},
                         {2, 9, 3, 4, 5},
                         {4, 12, 3, 2, 5},
                         {4, 3, 1, 5, 2},
                         {5, 4, 4, 3, 2},
                         {1, 6, 2, 3, 4},
                         {3, 4, 2, 1, 5},
                         {34, 4, 2, 3, 1},
                         {3, 2, 1, 34, 4},
                         {4, 1, 1, 3, 2},
                         {1, 1, 1, 1, 1}}) {
    GroupedQueryAttention attention(n.H * n.D, n.H, n.G);
    const arma::cube X = 2 * normal(n.L, n.H * n.D, n.B);
    const std::string about =
        note("L = " + std::to_string(n.L) + ", H = " + std::to_string(n.H) + ", G = " + std::to_string(n.G) +
             ", D = " + std::to_string(n.D) + ", B = " + std::to_string(n.B));
    for (const uword slices : {uword(0), uword(1), n.B, n.H * n.B}) {
      const Mask mask = slices == 0 ? Mask() : Mask(arma::cube(n.L, n.L, slices, arma::fill::randu) < 0.7);
      const Attended wanted = naive(attention, X, mask);
      EXPECT_THAT(attention.forward(X, mask), IsNear(wanted.output, output_axes)) << about;
      EXPECT_THAT(attention.attention_weights(), IsNear(wanted.weights, weights_axes)) << about;
    }
  }
}

TEST(GroupedQueryAttentionForward, EqualsTheDefinitionForHeadsOfAnyWidth) {
  struct Sizes {
    uword L, E, H, G, D, B;
  };
  for (const Sizes& n : {Sizes{3, 30, 6, 2, 4, 7}, {7, 40, 8, 2, 3, 6}, {5, 24, 6, 1, 7, 2}, {4, 3, 6, 2, 7, 5}}) {
    GroupedQueryAttention attention(n.E, n.H, n.G, n.D);
    const arma::cube X = 2 * normal(n.L, n.E, n.B);
    const std::string about = note("E = " + std::to_string(n.E) + ", H = " + std::to_string(n.H) +
                                   ", G = " + std::to_string(n.G) + ", D = " + std::to_string(n.D));
    for (const uword slices : {uword(0), n.H * n.B}) {
      const Mask mask = slices == 0 ? Mask() : Mask(arma::cube(n.L, n.L, slices, arma::fill::randu) < 0.7);
      const arma::cube output = attention.forward(X, mask);
      const Attended wanted = naive(attention, X, mask);
      EXPECT_THAT(output, IsNear(wanted.output, output_axes)) << about;
      EXPECT_THAT(attention.attention_weights(), IsNear(wanted.weights, weights_axes)) << about;
    }
  }
}

TEST(GroupedQueryAttentionForward, WorksWithoutBiases) {
  GroupedQueryAttention attention(12, 6, 2);
  attention.query_proj = attention.output_proj = Linear(12, 12, false);
  attention.key_proj = Linear(12, 4, false);
  attention.value_proj = Linear(12, 4, false);
  const arma::cube X = normal(5, 12, 3);
  EXPECT_THAT(attention.forward(X), IsNear(naive(attention, X).output, output_axes))
      << note("its projections were replaced by some without a bias, as LLaMA has them");
}

TEST(GroupedQueryAttentionForward, PassesOnANaN) {
  GroupedQueryAttention attention(12, 6, 3);
  expect_passes_on_a_nan(attention, normal(5, 12, 2), [&](const arma::cube& X) { return naive(attention, X); });
}

TEST(GroupedQueryAttentionForward, AcceptsExtremeScores) {
  const GoldenCase golden = load_golden("far_from_zero");
  GroupedQueryAttention attention = layer_from(golden, 6, 3);
  expect_equals_pytorch(attention, golden);
}

TEST(GroupedQueryAttentionForward, StartsAfresh) {
  const GoldenCase golden = load_golden("batch");
  GroupedQueryAttention attention = layer_from(golden, 6, 3);
  expect_starts_afresh(attention, golden);
  const arma::cube X = golden.cube("X");
  attention.forward(X);
  attention.value_proj.weight *= 2;
  EXPECT_THAT(attention.forward(X), IsNear(naive(attention, X).output, output_axes))
      << note("value_proj was changed since the last call");
}

TEST(GroupedQueryAttentionForward, LeavesItsFieldsAndArguments) {
  GroupedQueryAttention attention(12, 6, 2);
  const Projections before = projections_of(attention);
  const arma::cube X = normal(5, 12, 3);
  const Mask mask = ones(5, 5, 3);
  expect_leaves_its_arguments("forward", {{"X", X}, {"mask", mask}}, [&] { attention.forward(X, mask); });
  expect_unchanged(before, projections_of(attention));
  EXPECT_HOLDS(attention.num_heads() == 6 && attention.num_kv_heads() == 2,
               "forward changed num_heads() or num_kv_heads()");
}

TEST(GroupedQueryAttentionForward, LeavesTheGeneratorAlone) {
  GroupedQueryAttention attention(12, 6, 2);
  const arma::cube X = normal(5, 12, 3);
  expect_leaves_the_generator_alone("forward", [&] { attention.forward(X); });
}

/// What forward asks for over the projections and the context, in cubes as large as X. The scores are small here.
TEST(GroupedQueryAttentionForward, CopiesNoKeysAndNoValues) {
  const uword L = 2, E = 128, H = 8, B = 5;
  const double unit = static_cast<double>(L * E * B * sizeof(double));
  const double room = 0.8;  // for some more scores, or for K and V before they are cut: 1 / 8 or 2 / 8 each
  std::vector<double> over;
  std::string asked;
  for (const uword G : {1U, 2U}) {
    GroupedQueryAttention attention(E, H, G);
    const arma::cube X = normal(L, E, B);
    const std::string wrong = diagnose(attention.forward(X), {naive(attention, X).output, output_axes, 1e-10});
    ASSERT_TRUE(wrong.empty()) << wrong;
    const std::size_t bytes = allocated_bytes([&] { attention.forward(X); });
    const Projections layers = projections_of(attention);
    const double needed = unit + static_cast<double>(allocated_bytes([&] {
                            for (const auto& [name, proj] : layers) proj(X);
                          }));
    over.push_back((static_cast<double>(bytes) - needed) / unit);
    if (over.back() <= room || !asked.empty()) continue;
    asked = line("memory", "forward asked for " + bytes_text(bytes) + ", want at most " +
                               bytes_text(static_cast<std::size_t>(needed + room * unit)) + "; the values are right") +
            note("H = 8, G = " + std::to_string(G) + "; a cube as large as X has " +
                 bytes_text(static_cast<std::size_t>(unit)));
  }
  // Keys and values for every query head are two more, and as large for one G as for the other. Whole cubes K and V
  // that were copied are larger for G = 2.
  const bool repeated = over[0] > 1.75 && over[1] - over[0] < 0.1;
  EXPECT_TRUE(asked.empty())
      << asked << note("use K.slice(...) and V.slice(...) in the products themselves; scale the scores, not Q")
      << note(
             "give whole cubes away, or they are copied: split_heads(query_proj(X), H), "
             "merge_heads(std::move(context), H)")
      << (repeated ? likely_mistake("kv_repeated") : "");
}

// --------------------------------------------------------------------------------------------- bytes of a cache, 15.3

/// A number of bytes, and the mistakes that give others.
struct Bytes {
  std::string of;
  uword wanted;
  std::vector<std::pair<uword, std::string>> mistakes;
};

void expect_bytes(uword got, const Bytes& bytes) {
  std::string likely;
  for (const auto& [wrong, says] : bytes.mistakes) {
    if (got == wrong && wrong != bytes.wanted) likely += says;
  }
  EXPECT_HOLDS(got == bytes.wanted,
               "got " + std::to_string(got) + " bytes per token, want " + std::to_string(bytes.wanted))
      << note(bytes.of) << likely;
}

TEST(KvBytesPerToken, CountsAKeyAndAValueOfEachHeadOfEachLayer) {
  expect_bytes(kv_bytes_per_token(7, 4, 5, 6), {"7 layers, 4 key/value heads, D = 5, 6 bytes per number",
                                                1680,
                                                {{840, likely_mistake("bytes_of_keys_only")},
                                                 {240, likely_mistake("bytes_of_one_layer")},
                                                 {420, likely_mistake("bytes_of_one_head")},
                                                 {280, likely_mistake("numbers_not_bytes")},
                                                 {210, likely_mistake("bytes_divided_by_eight")},
                                                 {1120, likely_mistake("bytes_fixed_at_four")},
                                                 {560, likely_mistake("bytes_fixed_at_two")},
                                                 {336, likely_mistake("bytes_without_head_dim")},
                                                 {3360, likely_mistake("bytes_of_four_projections")},
                                                 {2520, likely_mistake("bytes_of_three_cubes")}}});
}

TEST(KvBytesPerToken, IsAnEighthForLlama2WithItsEightHeads) {
  const std::string model = "Llama 2 70B: 80 layers, D = 128, 2 bytes per number, key/value heads: ";
  expect_bytes(kv_bytes_per_token(80, 8, 128, 2), {model + "8", 327680, {}});
  expect_bytes(kv_bytes_per_token(80, 64, 128, 2), {model + "64, one for each query head", 2621440, {}});
}

TEST(KvBytesPerToken, CountsTheSmallestCache) {
  expect_bytes(kv_bytes_per_token(1, 1, 1, 1), {"one layer, one head, D = 1, one byte: a key and a value", 2, {}});
}

TEST(KvBytesPerToken, CountsBeyondThirtyTwoBits) {
  expect_bytes(kv_bytes_per_token(1000, 512, 1024, 8),
               {"1000 layers, 512 heads, D = 1024, 8 bytes: more than 32 bits hold; arma::uword has 64",
                8388608000,
                {{4093640704, likely_mistake("bytes_in_32_bits")}}});
}

TEST(KvBytesPerToken, RejectsSizesOfZero) {
  EXPECT_PRED_FORMAT1(RejectsArgument("num_layers", {"0"}), [] { kv_bytes_per_token(0, 3, 5, 2); });
  EXPECT_PRED_FORMAT1(RejectsArgument("num_kv_heads", {"0"}), [] { kv_bytes_per_token(7, 0, 5, 2); });
  EXPECT_PRED_FORMAT1(RejectsArgument("head_dim", {"0"}), [] { kv_bytes_per_token(7, 3, 0, 2); });
  EXPECT_PRED_FORMAT1(RejectsArgument("bytes_per_number", {"0"}), [] { kv_bytes_per_token(7, 3, 5, 0); });
}

// --------------------------------------------------------------------------------------------------- pooling, 15.4

TEST(PoolHeads, MakesALayerOfFewKeyValueHeads) {
  const GroupedQueryAttention grouped = pool_heads(multi_head_layer(12, 6), 3);
  EXPECT_HOLDS(grouped.num_heads() == 6 && grouped.num_kv_heads() == 3,
               "num_heads() and num_kv_heads() are " + std::to_string(grouped.num_heads()) + " and " +
                   std::to_string(grouped.num_kv_heads()) + ", want 6 and 3");
  for (const auto& [name, proj] : key_and_value_of(grouped)) {
    const std::string wrong = wrong_shape(name + ".weight", proj.weight, {"E", 12}, {"G·D", 6}) +
                              wrong_shape(name + ".bias", proj.bias, {"1", 1}, {"G·D", 6});
    EXPECT_TRUE(wrong.empty()) << wrong;
  }
}

TEST(PoolHeads, KeepsQueriesAndOutput) {
  const MultiHeadAttention full = multi_head_layer(12, 6);
  const GroupedQueryAttention grouped = pool_heads(full, 3);
  const auto same = [](const Linear& a, const Linear& b) {
    return equal(a.weight, b.weight) && equal(arma::mat(a.bias), arma::mat(b.bias));
  };
  EXPECT_HOLDS(same(grouped.query_proj, full.query_proj) && same(grouped.output_proj, full.output_proj),
               "query_proj or output_proj is not full's")
      << likely_mistake("queries_or_output_left_out");
}

TEST(PoolHeads, GivesTheMeansThatPyTorchGives) {
  const GoldenCase golden = load_golden("pooled");
  const MultiHeadAttention full = layer_to_pool(golden);
  arma::arma_rng::set_seed(15);
  const GroupedQueryAttention fresh(12, 6, 3);
  arma::arma_rng::set_seed(15);
  const GroupedQueryAttention grouped = pool_heads(full, 3);
  const std::string about = note("H = 6, G = 3: the heads 0 and 1 are a group, 2 and 3, 4 and 5; D = 2");
  for (std::size_t i = 0; i < 2; ++i) {
    const auto [name, proj] = key_and_value_of(grouped)[i];
    const bool still_random = equal(proj.bias, key_and_value_of(fresh)[i].second.bias);
    const std::string of = "pooled." + name;
    const std::string weight = diagnose(as_cube(arma::mat(proj.weight.t())), golden.expected(of + ".weight"));
    ASSERT_TRUE(weight.empty()) << line("of", name + ".weight, as PyTorch stores it: (G·D x E)") << weight << about;
    const std::string bias = diagnose(as_cube(arma::mat(proj.bias)), golden.expected(of + ".bias"));
    EXPECT_TRUE(bias.empty()) << line("of", name + ".bias; the weight is right") << bias << about
                              << (still_random ? likely_mistake("pool_forgets_bias") : "");
  }
}

TEST(PoolHeads, GivesTheOutputThatPyTorchGives) {
  const GoldenCase golden = load_golden("pooled");
  GroupedQueryAttention grouped = pool_heads(layer_to_pool(golden), 3);
  const arma::cube output = grouped.forward(golden.cube("X"));
  EXPECT_THAT(output, Matches(golden.expected("output")));
}

TEST(PoolHeads, ChangesNothingWhereTheHeadsOfAGroupAreEqual) {
  const uword H = 6, G = 2, D = 3;
  MultiHeadAttention full = multi_head_layer(H * D, H);
  for (Linear* proj : {&full.key_proj, &full.value_proj}) {
    for (uword h = 0; h < H; ++h) {
      const uword first = h / (H / G) * (H / G);
      proj->weight.cols(head(h, D)) = arma::mat(proj->weight.cols(head(first, D)));
      proj->bias.cols(head(h, D)) = arma::mat(proj->bias.cols(head(first, D)));
    }
  }
  const arma::cube X = normal(5, H * D, 4);
  const arma::cube output = pool_heads(full, G).forward(X);
  EXPECT_THAT(output, IsNear(full.forward(X), output_axes))
      << note("the heads 0, 1, 2 have equal keys and values, and so have 3, 4, 5: their mean is the same again");
}

TEST(PoolHeads, ChangesNothingWithAsManyKeyValueHeadsAsHeads) {
  MultiHeadAttention full = multi_head_layer(12, 4);
  const arma::cube X = normal(5, 12, 3);
  const arma::cube output = pool_heads(full, 4).forward(X);
  EXPECT_THAT(output, IsNear(full.forward(X), output_axes)) << note("G = H: every group is one head");
}

TEST(PoolHeads, MakesTheMeanOfAllHeadsForOneKeyValueHead) {
  const uword H = 4, D = 3;
  const MultiHeadAttention full = multi_head_layer(H * D, H);
  arma::mat wanted(H * D, D, arma::fill::zeros);
  for (uword i = 0; i < wanted.n_rows; ++i) {
    for (uword d = 0; d < D; ++d) {
      for (uword h = 0; h < H; ++h) wanted(i, d) += full.value_proj.weight(i, h * D + d) / 4;
    }
  }
  EXPECT_THAT(pool_heads(full, 1).value_proj.weight, IsNear(wanted, {"E", "D"})) << note("G = 1, H = 4, D = 3");
}

TEST(PoolHeads, WorksWithoutBiases) {
  MultiHeadAttention full = multi_head_layer(12, 6);
  for (Linear* proj : {&full.query_proj, &full.key_proj, &full.value_proj, &full.output_proj}) {
    *proj = Linear(12, 12, false);
  }
  GroupedQueryAttention grouped(12, 6, 2);
  const std::string threw = refusal([&] { grouped = pool_heads(full, 2); });
  const bool only_here = refusal([] { pool_heads(multi_head_layer(12, 6), 2); }).empty();
  ASSERT_TRUE(threw.empty()) << line("threw", threw) << (only_here ? likely_mistake("pool_needs_bias") : "");
  for (const auto& [name, proj] : projections_of(grouped)) {
    EXPECT_HOLDS(arma::accu(arma::abs(proj.bias)) == 0, name + ".bias is neither empty nor zero")
        << note("full has no bias there, as LLaMA has none: this one is still the random one of a new layer");
  }
}

TEST(PoolHeads, LeavesItsArguments) {
  const MultiHeadAttention full = multi_head_layer(12, 6);
  const Projections before = projections_of(full);
  pool_heads(full, 2);
  expect_unchanged(before, projections_of(full), "pool_heads");
  EXPECT_HOLDS(full.num_heads() == 6, "pool_heads changed num_heads() of the layer that it was given");
}

TEST(PoolHeads, RejectsGroupsThatDoNotDivideTheHeads) {
  const MultiHeadAttention full = multi_head_layer(12, 6);
  EXPECT_PRED_FORMAT1(RejectsArgument("num_kv_heads", {"0"}), [&] { pool_heads(full, 0); });
  EXPECT_PRED_FORMAT1(RejectsArgument("num_kv_heads", {"6", "4"}), [&] { pool_heads(full, 4); });
  EXPECT_PRED_FORMAT1(RejectsArgument("num_kv_heads", {"6", "12"}), [&] { pool_heads(full, 12); });
}

// ------------------------------------------------------------------------------------------- bad input, 15.1 and 15.2

TEST(GroupedQueryAttentionConstructor, RejectsImpossibleSizes) {
  EXPECT_PRED_FORMAT1(RejectsArgument("num_kv_heads", {"0"}), [] { GroupedQueryAttention(6, 3, 0); });
  expect_rejects_impossible_sizes(
      [](uword embed_dim, uword num_heads) { GroupedQueryAttention(embed_dim, num_heads, 1); },
      likely_mistake("undivided_width_accepted"));
}

TEST(GroupedQueryAttentionConstructor, RejectsImpossibleSizesOfHeadsWhoseWidthIsGiven) {
  EXPECT_PRED_FORMAT1(RejectsArgument("embed_dim", {"0"}), [] { GroupedQueryAttention(0, 6, 3, 5); });
  EXPECT_PRED_FORMAT1(RejectsArgument("num_heads", {"0"}), [] { GroupedQueryAttention(7, 0, 3, 5); });
  EXPECT_PRED_FORMAT1(RejectsArgument("num_kv_heads", {"0"}), [] { GroupedQueryAttention(7, 6, 0, 5); });
  EXPECT_PRED_FORMAT1(
      RejectsOrNames(RejectsArgument("num_kv_heads", {"6", "4"}), likely_mistake("uneven_groups_accepted")),
      [] { GroupedQueryAttention(7, 6, 4, 5); });
}

TEST(GroupedQueryAttentionConstructor, RejectsKeyValueHeadsThatDoNotDivideTheHeads) {
  for (const uword G : {4U, 5U, 12U}) {
    const RejectsArgument rejects("num_kv_heads", {"6", std::to_string(G)});
    EXPECT_PRED_FORMAT1(RejectsOrNames(rejects, likely_mistake("uneven_groups_accepted")), [=] {
      GroupedQueryAttention(12, 6, G);
    }) << note("6 heads and " + std::to_string(G) + " key/value heads");
  }
}

TEST(GroupedQueryAttentionForward, RejectsAnInputOfTheWrongShape) {
  GroupedQueryAttention attention(12, 6, 2), wide(14, 6, 2, 5);
  expect_rejects_inputs(attention, 12);
  expect_rejects_inputs(wide, 14);
}

TEST(GroupedQueryAttentionForward, RejectsAMaskOfTheWrongShape) {
  GroupedQueryAttention attention(12, 6, 2);
  expect_rejects_masks(attention, normal(5, 12, 3), 6);
}

// -------------------------------------------------------------------------------------------------------------- speed

ATTN_SPEED("forward, 2 sequences of 32 tokens, E = 64, H = 4, G = 2", [] {
  const arma::cube X = normal(32, 64, 2);
  return [layer = GroupedQueryAttention(64, 4, 2), X]() mutable { return layer.forward(X); };
});

}  // namespace
}  // namespace attn::judge
