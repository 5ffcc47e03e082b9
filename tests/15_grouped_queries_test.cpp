#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <armadillo>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "attn/grouped_query_attention.hpp"
#include "attn/masking.hpp"
#include "support/allocation.hpp"
#include "support/golden.hpp"
#include "support/matchers.hpp"
#include "support/oracles.hpp"
#include "support/speed.hpp"

namespace attn::testing {
namespace {

using arma::uword;

const std::vector<std::string> output_axes = {"L", "E", "B"};
const std::vector<std::string> weights_axes = {"L", "L", "H·B"};

/// The layer of a golden case, from num_heads and num_kv_heads.
GroupedQueryAttention layer_from(const GoldenCase& golden, uword num_heads, uword num_kv_heads) {
  GroupedQueryAttention attention(golden.linear("query_proj").weight.n_rows, num_heads, num_kv_heads);
  attention.query_proj = golden.linear("query_proj");
  attention.key_proj = golden.linear("key_proj");
  attention.value_proj = golden.linear("value_proj");
  attention.output_proj = golden.linear("output_proj");
  return attention;
}

/// The layer of lesson 07, silent. Its dropout is 0.25, as if it had been trained.
MultiHeadAttention multi_head_layer(uword embed_dim, uword num_heads) {
  MultiHeadAttention attention(embed_dim, num_heads, 0.25);
  attention.dropout.eval();
  return attention;
}

/// The layer that case "pooled" starts from: E = 12, H = 6.
MultiHeadAttention layer_to_pool(const GoldenCase& golden) {
  MultiHeadAttention full = multi_head_layer(12, 6);
  full.query_proj = golden.linear("query_proj");
  full.key_proj = golden.linear("key_proj");
  full.value_proj = golden.linear("value_proj");
  full.output_proj = golden.linear("output_proj");
  return full;
}

arma::cube normal(uword rows, uword cols, uword slices) { return {rows, cols, slices, arma::fill::randn}; }
arma::cube zeros(uword rows, uword cols, uword slices) { return {rows, cols, slices, arma::fill::zeros}; }
Mask ones(uword rows, uword cols, uword slices) { return {rows, cols, slices, arma::fill::ones}; }

std::vector<const Linear*> projections_of(const GroupedQueryAttention& attention) {
  return {&attention.query_proj, &attention.key_proj, &attention.value_proj, &attention.output_proj};
}

bool equal(const arma::mat& a, const arma::mat& b) { return arma::approx_equal(a, b, "absdiff", 1e-12); }

/// The columns of head h.
arma::span head(uword h, uword D) { return arma::span(h * D, (h + 1) * D - 1); }

/// What the layer should give, one number at a time: every query head with a copy of its key/value head.
struct Naive {
  arma::cube weights, output;
};
Naive naive(const GroupedQueryAttention& attention, const arma::cube& X, const Mask& mask = {}) {
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
  return {weights, naive_linear(context, attention.output_proj.weight, attention.output_proj.bias)};
}

/// What a call throws, in words; empty when it throws nothing.
std::string refusal(const std::function<void()>& call) {
  try {
    call();
  } catch (const NotWritten&) {
    throw;
  } catch (const std::exception& error) {
    return type_name(error) + ": " + error.what();
  }
  return {};
}

bool holds(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// ------------------------------------------------------------------------------------------------ the layer, 15.1

/// The known mistakes about the width of keys and values, told by the width: E = 24, H = 6, G = 3, D = 4.
std::string likely_from_width(uword width) {
  if (width == 24) return likely_mistake("kv_as_wide_as_queries");
  if (width == 8) return likely_mistake("kv_width_divided");
  if (width == 4) return likely_mistake("kv_width_of_one_head");
  return {};
}

TEST(GroupedQueryAttention, HasNarrowProjectionsForKeysAndValues) {
  const GroupedQueryAttention attention(24, 6, 3);
  for (const Linear* proj : {&attention.key_proj, &attention.value_proj}) {
    EXPECT_THAT(proj->weight, HasShape({{"E", 24}, {"G·D", 12}})) << likely_from_width(proj->weight.n_cols);
  }
  for (const Linear* proj : {&attention.query_proj, &attention.output_proj}) {
    EXPECT_THAT(proj->weight, HasShape({{"E (in)", 24}, {"E (out)", 24}}));
  }
}

TEST(GroupedQueryAttention, HasABiasInEveryProjection) {
  const GroupedQueryAttention attention(12, 6, 2);
  for (const Linear* proj : projections_of(attention)) {
    ASSERT_FALSE(proj->bias.is_empty()) << diagnosis_mark << likely_mistake("projections_without_bias");
    EXPECT_THAT(arma::mat(proj->bias), HasShape({{"1", 1}, {"out", proj->weight.n_cols}}));
  }
}

TEST(GroupedQueryAttention, KnowsItsTwoNumbersOfHeads) {
  const GroupedQueryAttention attention(24, 6, 3);
  EXPECT_TRUE(attention.num_heads() == 6)
      << diagnosis_mark << line("value", "num_heads() is " + std::to_string(attention.num_heads()) + ", want 6");
  EXPECT_TRUE(attention.num_kv_heads() == 3)
      << diagnosis_mark << line("value", "num_kv_heads() is " + std::to_string(attention.num_kv_heads()) + ", want 3");
}

TEST(GroupedQueryAttention, KeepsWhatLinearDraws) {
  const GroupedQueryAttention attention(64, 8, 4);
  for (const Linear* proj : projections_of(attention)) {
    const arma::mat bias = proj->bias;
    for (const arma::mat* part : {&proj->weight, &bias}) {
      EXPECT_TRUE(arma::abs(*part).max() <= 1 / 8.0 && arma::stddev(arma::vectorise(*part)) > 0.04)
          << diagnosis_mark << line("value", "the weight or the bias of a projection is not as Linear draws it")
          << note("construct the four Linear with their sizes, and leave their weights and biases alone");
    }
  }
}

TEST(GroupedQueryAttention, DrawsEachProjectionAnew) {
  const GroupedQueryAttention attention(6, 3, 3);
  const std::vector<const Linear*> all = projections_of(attention);
  for (std::size_t a = 0; a < all.size(); ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      EXPECT_FALSE(equal(all[a]->weight, all[b]->weight))
          << diagnosis_mark << line("value", "two of the four projections have the same weight")
          << note("one Linear was copied; construct each with its sizes");
    }
  }
}

TEST(GroupedQueryAttention, LeavesTheRandomGeneratorToTheCaller) {
  const GroupedQueryAttention first(6, 3, 1);
  const GroupedQueryAttention second(6, 3, 1);
  EXPECT_FALSE(equal(first.query_proj.weight, second.query_proj.weight) ||
               equal(first.value_proj.weight, second.value_proj.weight))
      << diagnosis_mark << line("value", "two new layers have the same weight")
      << note("the constructor seeds the generator itself; leave that to the caller");
}

// ------------------------------------------------------------------------------------------------- forward, 15.2

TEST(GroupedQueryAttention, KeepsTheShapeOfItsInput) {
  GroupedQueryAttention attention(24, 6, 3);
  const std::string about = note("E = 24, H = 6, G = 3, so D = 4: keys and values are 5 x 12 x 1, three heads of D");
  const std::string alone = refusal([&] { attention.forward(normal(5, 24, 1)); });
  ASSERT_TRUE(alone.empty()) << diagnosis_mark << line("threw", alone) << about
                             << (holds(alone, "slice") ? likely_mistake("one_kv_head_each") : "")
                             << (holds(alone, "5x4 and 2x5") ? likely_mistake("kv_cut_into_query_heads") : "");
  const std::string batch = refusal([&] { attention.forward(normal(5, 24, 2)); });
  ASSERT_TRUE(batch.empty()) << diagnosis_mark << line("threw", batch)
                             << note("X was 5 x 24 x 2; the same with one sequence, 5 x 24 x 1, went well")
                             << (holds(batch, "slice") ? likely_mistake("kv_stride_of_query_heads") : "");
  EXPECT_THAT(attention.forward(normal(5, 24, 2)), HasShape({{"L", 5}, {"E", 24}, {"B", 2}}));
}

TEST(GroupedQueryAttention, KeepsOneSliceOfWeightsForEachQueryHead) {
  GroupedQueryAttention attention(12, 6, 2);
  attention.forward(normal(5, 12, 3));
  EXPECT_THAT(attention.attention_weights(), HasShape({{"L (queries)", 5}, {"L (keys)", 5}, {"H·B", 18}}))
      << note("heads share keys, not weights: H = 6, B = 3");
}

TEST(GroupedQueryAttention, GivesTheFourHeadsWorkedByHand) {
  const GoldenCase golden = load_golden("by_hand");
  GroupedQueryAttention attention(8, 4, 2);
  const arma::mat unit(8, 8, arma::fill::eye);
  attention.query_proj.weight = attention.output_proj.weight = unit;
  attention.key_proj.weight = unit.cols(arma::uvec{0, 1, 6, 7});
  attention.value_proj.weight = unit.cols(arma::uvec{2, 3, 4, 5});
  attention.query_proj.bias = attention.output_proj.bias = arma::rowvec(8, arma::fill::zeros);
  attention.key_proj.bias = attention.value_proj.bias = arma::rowvec(4, arma::fill::zeros);
  arma::cube X(3, 8, 1);
  X.slice(0) = {{1, 0, 0, 1, 2, 1, 0, 2}, {0, 2, 1, 0, 1, 0, 1, 1}, {1, 1, 2, 0, 0, 1, 1, 0}};
  EXPECT_THAT(attention.forward(X), Matches(golden.expected("output")));
  EXPECT_THAT(attention.attention_weights(), Matches(golden.expected("weights")));
}

TEST(GroupedQueryAttention, GivesEveryQueryWeightsThatSumToOne) {
  const GoldenCase golden = load_golden("batch");
  GroupedQueryAttention attention = layer_from(golden, 6, 3);
  attention.forward(golden.cube("X"));
  EXPECT_THAT(attention.attention_weights(), RowsSumToOne());
}

TEST(GroupedQueryAttention, LetsNeighboursShareAKeyAndAValueHead) {
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
    EXPECT_FALSE(arma::approx_equal(before, after, "absdiff", 1e-6))
        << diagnosis_mark
        << line("value", "key/value head 1 was changed, and query head " + std::to_string(h) + " gave the same")
        << note("H = 6, G = 2: heads 0, 1, 2 share key/value head 0, and heads 3, 4, 5 share 1");
  }
  wanted.cols(3 * D, 6 * D - 1) = output.cols(3 * D, 6 * D - 1);
  EXPECT_THAT(output, IsNear(wanted, output_axes))
      << note("only key/value head 1 was changed: heads 0, 1 and 2 (columns 0 to 8) do not use it");
}

TEST(GroupedQueryAttention, IsLesson07WithAsManyKeyValueHeadsAsHeads) {
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

TEST(GroupedQueryAttention, IsLesson07WithTheKeyAndValueHeadsRepeated) {
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

TEST(GroupedQueryAttention, FollowsTheTokensWhenTheyArePermuted) {
  GroupedQueryAttention attention(12, 6, 3);
  const arma::cube X = normal(5, 12, 4);
  const arma::uvec order = {2, 0, 4, 1, 3};
  arma::cube permuted_X = X;
  arma::cube permuted_output = attention.forward(X);
  for (uword b = 0; b < X.n_slices; ++b) {
    permuted_X.slice(b) = arma::mat(X.slice(b)).rows(order);
    permuted_output.slice(b) = arma::mat(permuted_output.slice(b)).rows(order);
  }
  EXPECT_THAT(attention.forward(permuted_X), IsNear(permuted_output, output_axes))
      << note("attention knows no order: permuted tokens must give the same rows, permuted");
}

TEST(GroupedQueryAttention, KeepsTheSequencesOfABatchApart) {
  const uword H = 6;
  GroupedQueryAttention attention(12, H, 3);
  const arma::cube X = normal(5, 12, 4);
  const arma::cube together = attention.forward(X);
  const arma::cube weights = attention.attention_weights();
  ASSERT_THAT(weights, HasShape({{"L (queries)", 5}, {"L (keys)", 5}, {"H·B", 24}}));
  for (uword b = 0; b < X.n_slices; ++b) {
    const std::string about =
        note("this is sequence " + std::to_string(b) + " of the batch; alone, the same sequence gives what is wanted");
    const arma::cube alone = attention.forward(X.slices(b, b));
    EXPECT_THAT(arma::cube(together.slices(b, b)), IsNear(alone, output_axes)) << about;
    EXPECT_THAT(arma::cube(weights.slices(b * H, b * H + H - 1)), IsNear(attention.attention_weights(), weights_axes))
        << about;
  }
}

TEST(GroupedQueryAttention, EqualsPyTorch) {
  const GoldenCase golden = load_golden("batch");
  GroupedQueryAttention attention = layer_from(golden, 6, 3);
  EXPECT_THAT(attention.forward(golden.cube("X")), Matches(golden.expected("output")));
  EXPECT_THAT(attention.attention_weights(), Matches(golden.expected("weights")));
}

TEST(GroupedQueryAttention, EqualsPyTorchWithGroupsOfThree) {
  const GoldenCase golden = load_golden("two_groups");
  GroupedQueryAttention attention = layer_from(golden, 6, 2);
  EXPECT_THAT(attention.forward(golden.cube("X")), Matches(golden.expected("output")));
  EXPECT_THAT(attention.attention_weights(), Matches(golden.expected("weights")));
}

TEST(GroupedQueryAttention, EqualsPyTorchAsMultiQueryAttention) {
  const GoldenCase golden = load_golden("multi_query");
  GroupedQueryAttention attention = layer_from(golden, 4, 1);
  EXPECT_THAT(attention.forward(golden.cube("X")), Matches(golden.expected("output")))
      << note("G = 1: all four heads share one key and one value head");
  EXPECT_THAT(attention.attention_weights(), Matches(golden.expected("weights")));
}

TEST(GroupedQueryAttention, EqualsPyTorchsMultiheadAttention) {
  const GoldenCase golden = load_golden("multi_head");
  GroupedQueryAttention attention = layer_from(golden, 3, 3);
  EXPECT_THAT(attention.forward(golden.cube("X")), Matches(golden.expected("output")))
      << note("G = H = 3: what nn.MultiheadAttention gives");
  EXPECT_THAT(attention.attention_weights(), Matches(golden.expected("weights")));
}

// -------------------------------------------------------------------------------------------------------- the mask

TEST(GroupedQueryAttention, TakesAMaskForEachQueryHead) {
  GroupedQueryAttention attention(12, 6, 2);
  const arma::cube X = normal(5, 12, 4);
  for (const uword slices : {1U, 4U, 24U}) {
    const std::string threw = refusal([&] { attention.forward(X, ones(5, 5, slices)); });
    EXPECT_TRUE(threw.empty()) << diagnosis_mark << line("threw", threw)
                               << note("L = 5, B = 4, H = 6, G = 2, and the mask was 5 x 5 x " + std::to_string(slices))
                               << (slices == 24 ? likely_mistake("mask_of_kv_heads") : "");
  }
}

TEST(GroupedQueryAttention, SharesAMaskOfOneSlice) {
  const GoldenCase golden = load_golden("batch");
  GroupedQueryAttention attention = layer_from(golden, 6, 3);
  EXPECT_THAT(attention.forward(golden.cube("X"), golden.mask("mask_shared")),
              Matches(golden.expected("output_shared")));
}

TEST(GroupedQueryAttention, GivesEverySequenceItsMask) {
  const GoldenCase golden = load_golden("batch");
  GroupedQueryAttention attention = layer_from(golden, 6, 3);
  EXPECT_THAT(attention.forward(golden.cube("X"), golden.mask("mask_batch")), Matches(golden.expected("output_batch")));
}

TEST(GroupedQueryAttention, GivesEveryHeadItsMask) {
  const GoldenCase golden = load_golden("batch");
  GroupedQueryAttention attention = layer_from(golden, 6, 3);
  EXPECT_THAT(attention.forward(golden.cube("X"), golden.mask("mask_heads")), Matches(golden.expected("output_heads")))
      << note("heads that share keys and values have masks of their own; two rows of it are blocked completely");
  EXPECT_THAT(attention.attention_weights(), Matches(golden.expected("weights_heads")));
}

TEST(GroupedQueryAttention, TakesEveryNumberButZeroAsAllowed) {
  GroupedQueryAttention attention(12, 6, 3);
  const arma::cube X = normal(5, 12, 2);
  Mask mask = ones(5, 5, 12);
  mask(1, 2, 0) = mask(4, 0, 2) = mask(0, 3, 11) = 0;
  const arma::cube wanted = attention.forward(X, mask);
  EXPECT_THAT(attention.forward(X, 5 * mask), IsNear(wanted, output_axes))
      << note("the mask has 5 where it had 1: every number but 0 means may attend");
}

TEST(GroupedQueryAttention, DoesNotSeeTheFuture) {
  GroupedQueryAttention attention(12, 4, 2);
  arma::cube X = normal(5, 12, 3);
  const arma::cube wanted = attention.forward(X, causal_mask(5, 5));
  X.row(4) += 1.0;
  const arma::cube output = attention.forward(X, causal_mask(5, 5));
  EXPECT_THAT(arma::cube(output.rows(0, 3)), IsNear(arma::cube(wanted.rows(0, 3)), output_axes))
      << note("under a causal mask the last token was changed: the rows before it may not change");
  EXPECT_FALSE(arma::approx_equal(output.row(4), wanted.row(4), "absdiff", 1e-6))
      << diagnosis_mark << line("value", "the last token was changed, and its row of the output was not");
}

// ----------------------------------------------------------------------------------------------- naive loops, edges

TEST(GroupedQueryAttention, EqualsTheDefinitionForOtherSizes) {
  arma::arma_rng::set_seed(15);
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
                         {70, 4, 2, 3, 1},
                         {4, 1, 1, 3, 2},
                         {1, 1, 1, 1, 1}}) {
    GroupedQueryAttention attention(n.H * n.D, n.H, n.G);
    const arma::cube X = 2 * normal(n.L, n.H * n.D, n.B);
    const std::string about =
        note("L = " + std::to_string(n.L) + ", H = " + std::to_string(n.H) + ", G = " + std::to_string(n.G) +
             ", D = " + std::to_string(n.D) + ", B = " + std::to_string(n.B));
    for (const uword slices : {uword(0), uword(1), n.B, n.H * n.B}) {
      const Mask mask = slices == 0 ? Mask() : Mask(arma::cube(n.L, n.L, slices, arma::fill::randu) < 0.7);
      const Naive wanted = naive(attention, X, mask);
      EXPECT_THAT(attention.forward(X, mask), IsNear(wanted.output, output_axes)) << about;
      EXPECT_THAT(attention.attention_weights(), IsNear(wanted.weights, weights_axes)) << about;
    }
  }
}

TEST(GroupedQueryAttention, WorksWithoutBiases) {
  GroupedQueryAttention attention(12, 6, 2);
  attention.query_proj = attention.output_proj = Linear(12, 12, false);
  attention.key_proj = Linear(12, 4, false);
  attention.value_proj = Linear(12, 4, false);
  const arma::cube X = normal(5, 12, 3);
  EXPECT_THAT(attention.forward(X), IsNear(naive(attention, X).output, output_axes))
      << note("its projections were replaced by some without a bias, as LLaMA has them");
}

TEST(GroupedQueryAttention, StandsScoresFarFromZero) {
  const GoldenCase golden = load_golden("far_from_zero");
  GroupedQueryAttention attention = layer_from(golden, 6, 3);
  EXPECT_THAT(attention.forward(golden.cube("X")), Matches(golden.expected("output")));
  EXPECT_THAT(attention.attention_weights(), Matches(golden.expected("weights")));
}

TEST(GroupedQueryAttention, StartsAfreshAtEveryCall) {
  const GoldenCase golden = load_golden("batch");
  GroupedQueryAttention attention = layer_from(golden, 6, 3);
  const arma::cube X = golden.cube("X");
  EXPECT_TRUE(attention.attention_weights().is_empty())
      << diagnosis_mark << line("value", "attention_weights() is not empty before the first forward");
  const std::string about = note("forward was called before with other arguments; nothing of that call may be left");
  attention.forward(-3 * X, golden.mask("mask_heads"));
  EXPECT_THAT(attention.forward(X), Matches(golden.expected("output"))) << about;
  EXPECT_THAT(attention.attention_weights(), Matches(golden.expected("weights"))) << about;
  attention.value_proj.weight *= 2;
  EXPECT_THAT(attention.forward(X), IsNear(naive(attention, X).output, output_axes))
      << note("value_proj was changed since the last call");
  attention.forward(arma::cube(X.tube(0, 0, 2, 23)));
  EXPECT_THAT(attention.attention_weights(), HasShape({{"L (queries)", 3}, {"L (keys)", 3}, {"H·B", 12}})) << about;
  attention.forward(X.slices(0, 0));
  EXPECT_THAT(attention.attention_weights(), HasShape({{"L (queries)", 5}, {"L (keys)", 5}, {"H·B", 6}})) << about;
}

TEST(GroupedQueryAttention, LeavesFieldsAndArgumentsAsTheyWere) {
  GroupedQueryAttention attention(12, 6, 2);
  const GroupedQueryAttention before = attention;
  const arma::cube X = normal(5, 12, 3);
  const arma::cube X_before = X;
  const Mask mask = ones(5, 5, 3);
  arma::arma_rng::set_seed(3);
  attention.forward(X, mask);
  const double after_the_call = arma::randu();
  arma::arma_rng::set_seed(3);
  EXPECT_TRUE(after_the_call == arma::randu())
      << diagnosis_mark << line("value", "forward changed the state of the random generator")
      << note("there is no dropout here: nothing is drawn");
  for (std::size_t i = 0; i < 4; ++i) {
    const Linear& after = *projections_of(attention)[i];
    const Linear& original = *projections_of(before)[i];
    EXPECT_THAT(after.weight, IsNear(original.weight, {"in", "out"})) << note("forward changed a projection");
    EXPECT_THAT(arma::mat(after.bias), IsNear(arma::mat(original.bias), {"1", "out"}))
        << note("forward changed a projection");
  }
  EXPECT_TRUE(attention.num_heads() == 6 && attention.num_kv_heads() == 2)
      << diagnosis_mark << line("value", "forward changed num_heads() or num_kv_heads()");
  EXPECT_THAT(X, IsNear(X_before, output_axes)) << note("forward changed X");
  EXPECT_TRUE(mask.min() == 1 && mask.max() == 1) << diagnosis_mark << line("value", "forward changed mask");
}

TEST(GroupedQueryAttention, CopiesNoKeysAndNoValues) {
  const uword L = 3, E = 192, H = 6, B = 2;
  for (const uword G : {1U, 2U}) {
    GroupedQueryAttention attention(E, H, G);
    const arma::cube X = normal(L, E, B);
    const auto forward = [&] { attention.forward(X); };
    forward();
    // In cubes as large as X: the projections of query and output 2 each, a temporary in each Linear being as large as
    // its result; those of key and value G / H of that; the context 1; scores, weights and what is small 0.4. Over that
    // there is room for one and a half, such as a scaled Q. K and V for every query head would be two.
    const double cubes = 2 * (2 + 2 * static_cast<double>(G) / static_cast<double>(H)) + 1 + 0.4 + 1.5;
    const auto limit = static_cast<std::size_t>(cubes * static_cast<double>(L * E * B * sizeof(double)));
    const std::size_t asked = allocated_bytes(forward);
    const std::string wrong = diagnose(attention.forward(X), {naive(attention, X).output, output_axes, 1e-10, {}});
    ASSERT_TRUE(wrong.empty()) << diagnosis_mark << wrong;
    EXPECT_TRUE(asked <= limit) << diagnosis_mark
                                << line("memory", "forward asked for " + bytes_text(asked) + ", want at most " +
                                                      bytes_text(limit) + "; the values are right")
                                << note("H = 6, G = " + std::to_string(G)) << likely_mistake("kv_repeated");
  }
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
  EXPECT_TRUE(got == bytes.wanted) << diagnosis_mark
                                   << line("value", "got " + std::to_string(got) + " bytes a token, want " +
                                                        std::to_string(bytes.wanted))
                                   << note(bytes.of) << likely;
}

TEST(KvBytesPerToken, CountsAKeyAndAValueOfEachHeadOfEachLayer) {
  expect_bytes(kv_bytes_per_token(7, 3, 5, 4), {"7 layers, 3 key/value heads, D = 5, 4 bytes a number",
                                                840,
                                                {{420, likely_mistake("bytes_of_keys_only")},
                                                 {120, likely_mistake("bytes_of_one_layer")},
                                                 {280, likely_mistake("bytes_of_one_head")},
                                                 {210, likely_mistake("numbers_not_bytes")}}});
}

TEST(KvBytesPerToken, IsAnEighthForLlama2WithItsEightHeads) {
  const std::string model = "Llama 2 70B: 80 layers, D = 128, 2 bytes a number, key/value heads: ";
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

TEST(KvBytesPerToken, RejectsZero) {
  EXPECT_PRED_FORMAT1(RejectsArgument("num_layers", {"0"}), [] { kv_bytes_per_token(0, 3, 5, 2); });
  EXPECT_PRED_FORMAT1(RejectsArgument("num_kv_heads", {"0"}), [] { kv_bytes_per_token(7, 0, 5, 2); });
  EXPECT_PRED_FORMAT1(RejectsArgument("head_dim", {"0"}), [] { kv_bytes_per_token(7, 3, 0, 2); });
  EXPECT_PRED_FORMAT1(RejectsArgument("bytes_per_number", {"0"}), [] { kv_bytes_per_token(7, 3, 5, 0); });
}

// --------------------------------------------------------------------------------------------------- pooling, 15.4

TEST(PoolHeads, MakesALayerOfFewKeyValueHeads) {
  const GroupedQueryAttention grouped = pool_heads(multi_head_layer(12, 6), 3);
  EXPECT_TRUE(grouped.num_heads() == 6 && grouped.num_kv_heads() == 3)
      << diagnosis_mark
      << line("value", "num_heads() and num_kv_heads() are " + std::to_string(grouped.num_heads()) + " and " +
                           std::to_string(grouped.num_kv_heads()) + ", want 6 and 3");
  for (const Linear* proj : {&grouped.key_proj, &grouped.value_proj}) {
    EXPECT_THAT(proj->weight, HasShape({{"E", 12}, {"G·D", 6}}));
    EXPECT_THAT(arma::mat(proj->bias), HasShape({{"1", 1}, {"G·D", 6}}));
  }
}

TEST(PoolHeads, KeepsQueriesAndOutput) {
  const MultiHeadAttention full = multi_head_layer(12, 6);
  const GroupedQueryAttention grouped = pool_heads(full, 3);
  const auto same = [](const Linear& a, const Linear& b) {
    return equal(a.weight, b.weight) && equal(arma::mat(a.bias), arma::mat(b.bias));
  };
  EXPECT_TRUE(same(grouped.query_proj, full.query_proj) && same(grouped.output_proj, full.output_proj))
      << diagnosis_mark << line("value", "query_proj or output_proj is not full's")
      << likely_mistake("queries_or_output_left_out");
}

TEST(PoolHeads, GivesTheMeansThatPyTorchGives) {
  const GoldenCase golden = load_golden("pooled");
  const GroupedQueryAttention grouped = pool_heads(layer_to_pool(golden), 3);
  const std::string about = note("H = 6, G = 3: the heads 0 and 1 are a group, 2 and 3, 4 and 5; D = 2");
  for (const std::string name : {"key_proj", "value_proj"}) {
    const Linear& proj = name == "key_proj" ? grouped.key_proj : grouped.value_proj;
    ASSERT_THAT(arma::mat(proj.weight.t()), Matches(golden.expected("pooled." + name + ".weight")))
        << note(name + ".weight, printed as PyTorch stores it: (G·D x E)") << about;
    EXPECT_THAT(arma::mat(proj.bias), Matches(golden.expected("pooled." + name + ".bias")))
        << note(name + ".bias; the weight is right") << about << likely_mistake("pool_forgets_bias");
  }
}

TEST(PoolHeads, GivesTheOutputThatPyTorchGives) {
  const GoldenCase golden = load_golden("pooled");
  GroupedQueryAttention grouped = pool_heads(layer_to_pool(golden), 3);
  EXPECT_THAT(grouped.forward(golden.cube("X")), Matches(golden.expected("output")));
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
  EXPECT_THAT(pool_heads(full, G).forward(X), IsNear(full.forward(X), output_axes))
      << note("the heads 0, 1, 2 have equal keys and values, and so have 3, 4, 5: their mean is the same again");
}

TEST(PoolHeads, ChangesNothingWithAsManyKeyValueHeadsAsHeads) {
  MultiHeadAttention full = multi_head_layer(12, 4);
  const arma::cube X = normal(5, 12, 3);
  EXPECT_THAT(pool_heads(full, 4).forward(X), IsNear(full.forward(X), output_axes))
      << note("G = H: every group is one head");
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

TEST(PoolHeads, LeavesTheFullLayerAsItWas) {
  const MultiHeadAttention full = multi_head_layer(12, 6);
  const MultiHeadAttention before = full;
  pool_heads(full, 2);
  EXPECT_TRUE(equal(full.key_proj.weight, before.key_proj.weight) &&
              equal(full.value_proj.weight, before.value_proj.weight) && full.num_heads() == 6)
      << diagnosis_mark << line("value", "pool_heads changed the layer that it was given");
}

TEST(PoolHeads, RejectsGroupsThatDoNotDivideTheHeads) {
  const MultiHeadAttention full = multi_head_layer(12, 6);
  EXPECT_PRED_FORMAT1(RejectsArgument("num_kv_heads", {"0"}), [&] { pool_heads(full, 0); });
  EXPECT_PRED_FORMAT1(RejectsArgument("num_kv_heads", {"6", "4"}), [&] { pool_heads(full, 4); });
  EXPECT_PRED_FORMAT1(RejectsArgument("num_kv_heads", {"6", "12"}), [&] { pool_heads(full, 12); });
}

// ------------------------------------------------------------------------------------------- bad input, 15.1 and 15.2

TEST(GroupedQueryAttention, RejectsSizesThatMakeNoLayer) {
  EXPECT_PRED_FORMAT1(RejectsArgument("embed_dim", {"0"}), [] { GroupedQueryAttention(0, 3, 1); });
  EXPECT_PRED_FORMAT1(RejectsArgument("num_heads", {"0"}), [] { GroupedQueryAttention(6, 0, 1); });
  EXPECT_PRED_FORMAT1(RejectsArgument("num_kv_heads", {"0"}), [] { GroupedQueryAttention(6, 3, 0); });
  EXPECT_PRED_FORMAT1(RejectsArgument("embed_dim", {"7", "3"}), [] { GroupedQueryAttention(7, 3, 1); });
  EXPECT_PRED_FORMAT1(RejectsArgument("embed_dim", {"3", "6"}), [] { GroupedQueryAttention(3, 6, 2); });
}

TEST(GroupedQueryAttention, RejectsKeyValueHeadsThatDoNotDivideTheHeads) {
  for (const uword G : {4U, 5U, 12U}) {
    const auto call = [=] { GroupedQueryAttention(12, 6, G); };
    ASSERT_FALSE(refusal(call).empty()) << diagnosis_mark
                                        << line("threw",
                                                "nothing, for 6 heads and " + std::to_string(G) + " key/value heads")
                                        << likely_mistake("uneven_groups_accepted");
    EXPECT_PRED_FORMAT1(RejectsArgument("num_kv_heads", {"6", std::to_string(G)}), call);
  }
}

TEST(GroupedQueryAttention, RejectsAnXOfTheWrongShape) {
  GroupedQueryAttention attention(12, 6, 2);
  const auto with = [&](const arma::cube& X) { return [&attention, X] { attention.forward(X); }; };
  EXPECT_PRED_FORMAT1(RejectsArgument("X", {"5 x 8 x 3", "12"}), with(zeros(5, 8, 3)));
  EXPECT_PRED_FORMAT1(RejectsArgument("X", {"5 x 4 x 3", "12"}), with(zeros(5, 4, 3)));
  EXPECT_PRED_FORMAT1(RejectsArgument("X", {"5 x 24 x 3", "12"}), with(zeros(5, 24, 3)));
  EXPECT_PRED_FORMAT1(RejectsArgument("X", {"12 x 5 x 3", "12"}), with(zeros(12, 5, 3)));
  EXPECT_PRED_FORMAT1(RejectsArgument("X", {"0 x 0 x 0"}), with(arma::cube()));
  EXPECT_PRED_FORMAT1(RejectsArgument("X", {"0 x 12 x 3"}), with(arma::cube(0, 12, 3)));
  EXPECT_PRED_FORMAT1(RejectsArgument("X", {"5 x 0 x 3"}), with(arma::cube(5, 0, 3)));
  EXPECT_PRED_FORMAT1(RejectsArgument("X", {"5 x 12 x 0"}), with(arma::cube(5, 12, 0)));
}

TEST(GroupedQueryAttention, RejectsAMaskOfTheWrongShape) {
  GroupedQueryAttention attention(12, 6, 2);
  const arma::cube X = zeros(5, 12, 3);
  const auto with = [&](uword rows, uword cols, uword slices) {
    return [&attention, &X, mask = ones(rows, cols, slices)] { attention.forward(X, mask); };
  };
  EXPECT_PRED_FORMAT1(RejectsArgument("mask", {"4 x 5 x 1", "5 x 5"}), with(4, 5, 1));
  EXPECT_PRED_FORMAT1(RejectsArgument("mask", {"5 x 4 x 1", "5 x 5"}), with(5, 4, 1));
  EXPECT_PRED_FORMAT1(RejectsArgument("mask", {"1 x 5 x 3", "5 x 5"}), with(1, 5, 3));
  EXPECT_PRED_FORMAT1(RejectsArgument("mask", {"5 x 5 x 2", "5 x 5"}), with(5, 5, 2));  // 2 divides H·B = 18
  EXPECT_PRED_FORMAT1(RejectsArgument("mask", {"5 x 5 x 6", "5 x 5"}), with(5, 5, 6));  // G·B = 6
  EXPECT_PRED_FORMAT1(RejectsArgument("mask", {"5 x 5 x 36", "5 x 5"}), with(5, 5, 36));
}

// -------------------------------------------------------------------------------------------------------------- speed

ATTN_SPEED("forward, 2 sequences of 32 tokens, E = 64, H = 4, G = 2", [] {
  const arma::cube X(32, 64, 2, arma::fill::randn);
  return [layer = GroupedQueryAttention(64, 4, 2), X]() mutable { return layer.forward(X); };
});

}  // namespace
}  // namespace attn::testing
