#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <armadillo>
#include <string>
#include <vector>

#include "attn/cross_attention.hpp"
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
const std::vector<std::string> weights_axes = {"L", "S", "H·B"};
const std::vector<std::string> memory_axes = {"S", "D", "H·n"};

/// The layer of a golden case, without dropout. Its width is query's; every case but by_hand has three heads.
CrossAttention layer_from(const GoldenCase& golden, uword num_heads = 3) {
  CrossAttention attention =
      with_projections(CrossAttention(golden.linear("query_proj").weight.n_rows, num_heads), golden);
  attention.dropout.eval();
  return attention;
}

/// A new layer without dropout.
CrossAttention new_layer(uword embed_dim, uword num_heads) {
  CrossAttention attention(embed_dim, num_heads);
  attention.dropout.eval();
  return attention;
}

/// The layer that the chapter works through, and its memory.
CrossAttention layer_by_hand() {
  CrossAttention attention = new_layer(2, 1);
  attention.query_proj.weight = {{1, 1}, {0, 1}};
  attention.key_proj.weight = {{1, 1}, {0, 1}};
  attention.value_proj.weight = {{2, 0}, {0, 1}};
  attention.output_proj.weight = {{1, 0}, {1, 1}};
  for (Linear* proj : {&attention.query_proj, &attention.key_proj, &attention.value_proj, &attention.output_proj}) {
    proj->bias = {0, 0};
  }
  return attention;
}

arma::cube memory_by_hand() {
  arma::cube memory(3, 2, 1);
  memory.slice(0) = {{1, 1}, {0, 1}, {2, 0}};
  return memory;
}

/// What the layer should give, one number at a time.
Attended naive(const CrossAttention& attention, const arma::cube& query, const arma::cube& key, const arma::cube& value,
               const Mask& mask = {}) {
  return naive_multi_head(projections_of(attention), attention.num_heads(), query, key, value, mask);
}

/// What forward throws, in words; empty when it accepts what it is given.
std::string refusal_of(CrossAttention& attention, const arma::cube& query, const arma::cube& key,
                       const arma::cube& value, const Mask& mask = {}) {
  return refusal([&] { attention.forward(query, key, value, mask); });
}

// ------------------------------------------------------------------------------------------- project_memory, 09.1

TEST(ProjectMemory, KeepsAKeyAndAValueForEachTokenOfTheMemory) {
  const CrossAttention attention = new_layer(8, 4);
  const ProjectedMemory memory = attention.project_memory(normal(7, 8, 3), normal(7, 8, 3));
  const std::string about = note("E = 8, H = 4: heads of width D = 2; B = 3 sequences of S = 7 tokens");
  const std::string likely = memory.keys.n_cols == 8 ? likely_mistake("memory_not_split") : "";
  EXPECT_THAT(memory.keys, HasShape({{"S", 7}, {"D", 2}, {"H·B", 12}})) << about << likely;
  EXPECT_THAT(memory.values, HasShape({{"S", 7}, {"D", 2}, {"H·B", 12}})) << about;
}

TEST(ProjectMemory, GivesTheKeysAndValuesWorkedByHand) {
  const GoldenCase golden = load_golden("by_hand");
  const ProjectedMemory memory = layer_by_hand().project_memory(memory_by_hand(), memory_by_hand());
  EXPECT_THAT(memory.keys, Matches(golden.expected("K")));
  EXPECT_THAT(memory.values, Matches(golden.expected("V")));
}

TEST(ProjectMemory, EqualsPyTorch) {
  const GoldenCase golden = load_golden("cross");
  const ProjectedMemory memory = layer_from(golden).project_memory(golden.cube("key"), golden.cube("value"));
  EXPECT_THAT(memory.keys, Matches(golden.expected("K"))) << note("key and value are two different cubes");
  EXPECT_THAT(memory.values, Matches(golden.expected("V")));
}

TEST(ProjectMemory, StartsAfresh) {
  const GoldenCase golden = load_golden("cross");
  const CrossAttention attention = layer_from(golden);
  const ProjectedMemory other = attention.project_memory(normal(4, 12, 3), normal(4, 12, 3));
  const ProjectedMemory memory = attention.project_memory(golden.cube("key"), golden.cube("value"));
  EXPECT_THAT(memory.keys, Matches(golden.expected("K"))) << note("another memory was made before");
  EXPECT_THAT(memory.values, Matches(golden.expected("V")));
  EXPECT_HOLDS(other.keys.n_rows == 4 && other.values.n_rows == 4, "the memory that was made before has changed");
}

TEST(ProjectMemory, LeavesItsArguments) {
  const CrossAttention attention = new_layer(6, 3);
  const arma::cube key = normal(7, 6, 2), value = normal(7, 6, 2);
  expect_leaves_its_arguments("project_memory", {{"key", key}, {"value", value}},
                              [&] { attention.project_memory(key, value); });
}

// -------------------------------------------------------------------------------------------------- forward, 09.2

TEST(CrossAttention, TakesMoreOrFewerKeysThanQueries) {
  CrossAttention attention = new_layer(6, 3);
  const arma::cube query = normal(5, 6, 2);
  const std::string same = refusal_of(attention, query, normal(5, 6, 2), normal(5, 6, 2));
  const bool slices_for_batch = same.find("5 x 6 x 2, expected L x 6 x 6") != std::string::npos;
  ASSERT_TRUE(same.empty()) << line("threw", same) << note("query, key and value were all 5 x 6 x 2, and H = 3")
                            << (slices_for_batch ? likely_mistake("batch_of_slices") : "");
  for (const uword S : {7U, 4U, 1U}) {
    const std::string threw = refusal_of(attention, query, normal(S, 6, 2), normal(S, 6, 2));
    EXPECT_TRUE(threw.empty()) << line("threw", threw)
                               << note("query was 5 x 6 x 2, key and value " + std::to_string(S) + " x 6 x 2")
                               << likely_mistake("same_length_demanded");
  }
}

TEST(CrossAttention, GivesOneRowForEachQuery) {
  CrossAttention attention = new_layer(6, 3);
  EXPECT_THAT(attention.forward(normal(5, 6, 2), normal(7, 6, 2), normal(7, 6, 2)),
              HasShape({{"L", 5}, {"E", 6}, {"B", 2}}))
      << note("query has 5 tokens, key and value have 7: each query gets one row");
}

TEST(CrossAttention, GivesTheTwoByThreeWorkedByHand) {
  const GoldenCase golden = load_golden("by_hand");
  CrossAttention attention = layer_by_hand();
  arma::cube query(2, 2, 1);
  query.slice(0) = {{1, 0}, {0, 2}};
  EXPECT_THAT(attention.forward(query, memory_by_hand(), memory_by_hand()), Matches(golden.expected("output")));
  EXPECT_THAT(attention.attention_weights(), Matches(golden.expected("weights")));
}

TEST(CrossAttention, KeepsTheWeightsOfEveryHead) {
  CrossAttention attention = new_layer(8, 4);
  attention.forward(normal(5, 8, 3), normal(7, 8, 3), normal(7, 8, 3));
  EXPECT_THAT(attention.attention_weights(), HasShape({{"L (queries)", 5}, {"S (keys)", 7}, {"H·B", 12}}))
      << note("one slice for each head of each sequence: H = 4, B = 3");
}

TEST(CrossAttention, GivesEveryQueryWeightsThatSumToOne) {
  const GoldenCase golden = load_golden("cross");
  CrossAttention attention = layer_from(golden);
  attention.forward(golden.cube("query"), golden.cube("key"), golden.cube("value"));
  EXPECT_THAT(attention.attention_weights(), RowsSumToOne());
}

TEST(CrossAttention, IsSelfAttentionForTheSameSequenceThreeTimes) {
  CrossAttention attention = new_layer(8, 4);
  const arma::cube X = normal(5, 8, 3);
  EXPECT_THAT(attention.forward(X, X, X), IsNear(naive(attention, X, X, X).output, output_axes))
      << note("query, key and value are one and the same cube");
  EXPECT_THAT(attention.attention_weights(), IsNear(naive(attention, X, X, X).weights, weights_axes));
}

TEST(CrossAttention, IsTheValueItselfForASingleKey) {
  CrossAttention attention = new_layer(8, 4);
  const arma::cube value = normal(1, 8, 3);
  const arma::cube projected = naive_linear(value, attention.value_proj.weight, attention.value_proj.bias);
  const arma::cube row = naive_linear(projected, attention.output_proj.weight, attention.output_proj.bias);
  EXPECT_THAT(attention.forward(normal(5, 8, 3), normal(1, 8, 3), value),
              IsNear(reordered(row, arma::uvec(5, arma::fill::zeros)), output_axes))
      << note("with S = 1 every query takes all of value 0, whatever the scores are");
}

TEST(CrossAttention, IgnoresTheOrderOfKeys) {
  CrossAttention attention = new_layer(8, 4);
  const arma::cube query = normal(5, 8, 3);
  Mask mask = ones(5, 7, 3);
  mask(1, 0, 0) = mask(2, 3, 1) = mask(4, 6, 2) = mask(0, 5, 2) = 0;
  expect_ignores_the_order_of_keys([&](const arma::cube& key, const arma::cube& value,
                                       const Mask& of_keys) { return attention.forward(query, key, value, of_keys); },
                                   normal(7, 8, 3), normal(7, 8, 3), mask);
}

TEST(CrossAttention, FollowsPermutedQueries) {
  CrossAttention attention = new_layer(8, 4);
  const arma::cube key = normal(7, 8, 3), value = normal(7, 8, 3);
  expect_follows_permuted_queries([&](const arma::cube& query) { return attention.forward(query, key, value); },
                                  normal(5, 8, 3));
}

TEST(CrossAttention, KeepsTheQueriesApart) {
  CrossAttention attention = new_layer(8, 4);
  const arma::cube key = normal(7, 8, 3);
  const arma::cube value = normal(7, 8, 3);
  arma::cube query = normal(5, 8, 3);
  arma::cube wanted = attention.forward(query, key, value);
  query.row(2) += 1.0;
  const arma::cube output = attention.forward(query, key, value);
  EXPECT_HOLDS(!arma::approx_equal(arma::cube(output.row(2)), arma::cube(wanted.row(2)), "absdiff", 1e-6),
               "query 2 was changed, and row 2 of the output was not");
  wanted.row(2) = output.row(2);
  EXPECT_THAT(output, IsNear(wanted, output_axes)) << note("only query 2 was changed: no other row may change");
}

TEST(CrossAttention, KeepsTheBatchApart) {
  const GoldenCase golden = load_golden("cross");
  CrossAttention attention = layer_from(golden);
  const arma::cube query = golden.cube("query"), key = golden.cube("key"), value = golden.cube("value");
  const Mask mask = golden.mask("mask_batch");
  expect_keeps_apart("sequence", query.n_slices, attention.forward(query, key, value, mask), [&](uword b) {
    return attention.forward(query.slices(b, b), key.slices(b, b), value.slices(b, b), mask.slices(b, b));
  });
}

TEST(CrossAttention, EqualsPyTorch) {
  const GoldenCase golden = load_golden("cross");
  CrossAttention attention = layer_from(golden);
  EXPECT_THAT(attention.forward(golden.cube("query"), golden.cube("key"), golden.cube("value")),
              Matches(golden.expected("output")));
  EXPECT_THAT(attention.attention_weights(), Matches(golden.expected("weights")));
}

TEST(CrossAttention, EqualsPyTorchWithAsManyKeysAsQueries) {
  const GoldenCase golden = load_golden("square");
  CrossAttention attention = layer_from(golden);
  EXPECT_THAT(attention.forward(golden.cube("query"), golden.cube("key"), golden.cube("value")),
              Matches(golden.expected("output")))
      << note("L = S here, but query, key and value are three different sequences");
  EXPECT_THAT(attention.attention_weights(), Matches(golden.expected("weights")));
}

TEST(CrossAttention, EqualsPyTorchWithFewerKeysThanQueries) {
  const GoldenCase golden = load_golden("fewer_keys");
  CrossAttention attention = layer_from(golden);
  EXPECT_THAT(attention.forward(golden.cube("query"), golden.cube("key"), golden.cube("value")),
              Matches(golden.expected("output")));
  EXPECT_THAT(attention.attention_weights(), Matches(golden.expected("weights")));
}

// ------------------------------------------------------------------------------------- decoding with a memory, 09.2

TEST(CrossAttention, TakesTheMemoryItIsGiven) {
  CrossAttention attention = new_layer(8, 4);
  const arma::cube query = normal(5, 8, 3), key = normal(7, 8, 3), value = normal(7, 8, 3);
  const arma::cube other_key = normal(4, 8, 3), other_value = normal(4, 8, 3);
  const ProjectedMemory memory = attention.project_memory(key, value);
  const ProjectedMemory other = attention.project_memory(other_key, other_value);
  const arma::cube wanted = naive(attention, query, key, value).output;
  EXPECT_THAT(attention.forward(query, memory), IsNear(wanted, output_axes)) << note("a memory of 7 keys");
  EXPECT_THAT(attention.forward(query, other),
              IsNear(naive(attention, query, other_key, other_value).output, output_axes))
      << note("the memory of another source, of 4 keys");
  EXPECT_THAT(attention.forward(query, memory), IsNear(wanted, output_axes)) << note("the first memory once more");
}

TEST(CrossAttention, GivesEachStepWhatAllQueriesAtOnceGet) {
  const GoldenCase golden = load_golden("cross");
  CrossAttention attention = layer_from(golden);
  const ProjectedMemory memory = attention.project_memory(golden.cube("key"), golden.cube("value"));
  const arma::cube query = golden.cube("query");
  const Mask mask = golden.mask("mask_batch");
  arma::cube output(arma::size(query)), masked(arma::size(query));
  for (uword i = 0; i < query.n_rows; ++i) {
    output.row(i) = attention.forward(query.row(i), memory);
    masked.row(i) = attention.forward(query.row(i), memory, mask.row(i));
    EXPECT_THAT(attention.attention_weights(), HasShape({{"L (queries)", 1}, {"S (keys)", 7}, {"H·B", 6}}))
        << note("step " + std::to_string(i) + " has one query for each of B = 2 sequences, H = 3");
  }
  const std::string about = note("row i is the output of step i: query i alone, with the memory made before step 0");
  EXPECT_THAT(output, Matches(golden.expected("output"))) << about;
  EXPECT_THAT(masked, Matches(golden.expected("output_batch"))) << about;
}

TEST(CrossAttention, ProjectsNothingButTheQueries) {
  CrossAttention attention = new_layer(8, 4);
  const arma::cube query = normal(5, 8, 3);
  const ProjectedMemory memory = attention.project_memory(normal(7, 8, 3), normal(7, 8, 3));
  const arma::cube wanted = attention.forward(query, memory);
  attention.key_proj.weight *= 2;
  attention.value_proj.bias += 1;
  EXPECT_THAT(attention.forward(query, memory), IsNear(wanted, output_axes))
      << note("key_proj and value_proj were changed after the memory was made: the memory holds what they gave before");
}

TEST(CrossAttention, NeedsLittleMemoryForAStep) {
  const uword S = 64, E = 96, H = 3, B = 2;
  CrossAttention attention = new_layer(E, H);
  const arma::cube query = normal(1, E, B);
  const ProjectedMemory memory = attention.project_memory(normal(S, E, B), normal(S, E, B));
  const auto step = [&] { attention.forward(query, memory); };
  step();
  // Projecting the memory again takes four cubes of S x E x B: each Linear makes a temporary as large as its result.
  // There is room for two, a copy of the keys and one of the values. The step itself needs less than a fifth of one.
  const std::size_t limit = 3 * S * E * B * sizeof(double), asked = allocated_bytes(step);
  EXPECT_HOLDS(asked <= limit, "a step with one query and S = 64 keys asked for " + bytes_text(asked) +
                                   ", want at most " + bytes_text(limit))
      << note("keys and values are projected already: a step projects one query");
}

// -------------------------------------------------------------------- the notes' MultiHeadAttention(q, k, v), 09.2

TEST(CrossAttention, EqualsTheNotesMultiHeadAttentionForSelfAttention) {
  const GoldenCase golden = load_golden("notes_self");
  CrossAttention attention = layer_from(golden);
  const arma::cube X = golden.cube("query");
  EXPECT_THAT(attention.forward(X, X, X), Matches(golden.expected("output")));
  EXPECT_THAT(attention.attention_weights(), Matches(golden.expected("weights")));
  EXPECT_THAT(attention.forward(X, X, X, golden.mask("mask")), Matches(golden.expected("output_masked")));
  EXPECT_THAT(attention.attention_weights(), Matches(golden.expected("weights_masked")));
}

TEST(CrossAttention, EqualsTheNotesMultiHeadAttentionForCrossAttention) {
  const GoldenCase golden = load_golden("notes_cross");  // twice as many keys as queries
  CrossAttention attention = layer_from(golden);
  const arma::cube query = golden.cube("query");
  const arma::cube memory = golden.cube("memory");
  EXPECT_THAT(attention.forward(query, memory, memory), Matches(golden.expected("output")));
  EXPECT_THAT(attention.attention_weights(), Matches(golden.expected("weights")));
  EXPECT_THAT(attention.forward(query, memory, memory, golden.mask("mask")), Matches(golden.expected("output_masked")));
  EXPECT_THAT(attention.attention_weights(), Matches(golden.expected("weights_masked")));
}

// -------------------------------------------------------------------------------------------------- the mask, 09.2

TEST(CrossAttention, ReadsTheMaskAsQueriesTimesKeys) {
  CrossAttention attention = new_layer(8, 4);
  const arma::cube query = normal(5, 8, 3);
  const arma::cube memory = normal(7, 8, 3);
  for (const uword slices : {1U, 3U, 12U}) {
    const std::string threw = refusal_of(attention, query, memory, memory, ones(5, 7, slices));
    const bool square = threw.find("expected 5 x 5") != std::string::npos;
    EXPECT_TRUE(threw.empty()) << line("threw", threw)
                               << note("L = 5, S = 7, B = 3, H = 4, and the mask was 5 x 7 x " + std::to_string(slices))
                               << (square ? likely_mistake("mask_of_self_attention") : "");
    EXPECT_TRUE(!refusal_of(attention, query, memory, memory, ones(7, 5, slices)).empty())
        << line("threw", "nothing, although L = 5, S = 7 and the mask was 7 x 5") << likely_mistake("mask_transposed");
  }
}

TEST(CrossAttention, EqualsPyTorchWithAMaskOfAsManyKeysAsQueries) {
  const GoldenCase golden = load_golden("square");
  CrossAttention attention = layer_from(golden);
  EXPECT_THAT(attention.forward(golden.cube("query"), golden.cube("key"), golden.cube("value"), golden.mask("mask")),
              Matches(golden.expected("output_masked")));
  EXPECT_THAT(attention.attention_weights(), Matches(golden.expected("weights_masked")));
}

TEST(CrossAttention, EqualsPyTorchWithASharedMask) {
  const GoldenCase golden = load_golden("cross");
  CrossAttention attention = layer_from(golden);
  EXPECT_THAT(
      attention.forward(golden.cube("query"), golden.cube("key"), golden.cube("value"), golden.mask("mask_shared")),
      Matches(golden.expected("output_shared")));
}

TEST(CrossAttention, EqualsPyTorchWithAMaskForEachSequence) {
  const GoldenCase golden = load_golden("cross");
  CrossAttention attention = layer_from(golden);
  EXPECT_THAT(
      attention.forward(golden.cube("query"), golden.cube("key"), golden.cube("value"), golden.mask("mask_batch")),
      Matches(golden.expected("output_batch")));
  EXPECT_THAT(attention.attention_weights(), Matches(golden.expected("weights_batch")));
}

TEST(CrossAttention, EqualsPyTorchWithAMaskForEachHead) {
  const GoldenCase golden = load_golden("cross");
  CrossAttention attention = layer_from(golden);
  EXPECT_THAT(
      attention.forward(golden.cube("query"), golden.cube("key"), golden.cube("value"), golden.mask("mask_heads")),
      Matches(golden.expected("output_heads")));
  EXPECT_THAT(attention.attention_weights(), Matches(golden.expected("weights_heads")));
}

TEST(CrossAttention, GivesTheBiasToAQueryWithoutKeys) {
  const GoldenCase golden = load_golden("cross");
  CrossAttention attention = layer_from(golden);
  EXPECT_THAT(
      attention.forward(golden.cube("query"), golden.cube("key"), golden.cube("value"), golden.mask("mask_nothing")),
      Matches(golden.expected("output_nothing")))
      << note("sequence 1 has no key to attend to: zeros come from its heads, and the output is output_proj's bias");
  EXPECT_HOLDS(arma::all(arma::vectorise(arma::cube(attention.attention_weights().slices(3, 5))) == 0),
               "the weights of a sequence without keys are not zeros");
}

TEST(CrossAttention, IgnoresPadding) {
  CrossAttention attention = new_layer(8, 4);
  const arma::cube query = normal(5, 8, 3);
  const arma::cube memory = normal(7, 8, 3);
  arma::cube padded = 1000 * normal(9, 8, 3);
  padded.rows(0, 6) = memory;
  Mask mask = ones(5, 9, 1);
  mask.cols(7, 8).zeros();
  const arma::cube wanted = attention.forward(query, memory, memory);
  EXPECT_THAT(attention.forward(query, padded, padded, mask), IsNear(wanted, output_axes))
      << note("two keys of padding were added and blocked: whatever they hold, nothing may change");
}

TEST(CrossAttention, TakesAnyNumberButZeroAsAllowed) {
  CrossAttention attention = new_layer(8, 4);
  const arma::cube query = normal(5, 8, 3), memory = normal(7, 8, 3);
  Mask mask = ones(5, 7, 3);
  mask(1, 2, 0) = mask(4, 0, 2) = 0;
  expect_takes_any_number_but_zero(
      [&](const Mask& numbers) { return attention.forward(query, memory, memory, numbers); }, mask);
}

// --------------------------------------------------------------------------------------------------- dropout, 09.2

TEST(CrossAttention, EqualsPyTorchWithDropout) {
  const GoldenCase golden = load_golden("cross");
  CrossAttention attention = layer_from(golden);
  attention.dropout = Dropout(0.25);
  attention.dropout.inject(golden.mask("keep"));
  EXPECT_THAT(attention.forward(golden.cube("query"), golden.cube("key"), golden.cube("value")),
              Matches(golden.expected("output_dropout")));
  EXPECT_THAT(attention.attention_weights(), Matches(golden.expected("weights_dropout")));
}

TEST(CrossAttention, AppliesTheMaskAndDropoutTogether) {
  const GoldenCase golden = load_golden("cross");
  CrossAttention attention = layer_from(golden);
  attention.dropout = Dropout(0.25);
  attention.dropout.inject(golden.mask("keep"));
  EXPECT_THAT(
      attention.forward(golden.cube("query"), golden.cube("key"), golden.cube("value"), golden.mask("mask_heads")),
      Matches(golden.expected("output_masked_dropout")))
      << note("with a mask for each head, in training, with p = 0.25");
  EXPECT_THAT(attention.attention_weights(), Matches(golden.expected("weights_masked_dropout")));
}

TEST(CrossAttention, DropsAnewAtEveryCall) {
  CrossAttention attention(8, 4, 0.5);
  const arma::cube query = normal(5, 8, 3);
  const arma::cube memory = normal(7, 8, 3);
  attention.forward(query, memory, memory);
  const arma::cube first = attention.attention_weights();
  attention.forward(query, memory, memory);
  EXPECT_HOLDS(!arma::approx_equal(first, attention.attention_weights(), "absdiff", 1e-12),
               "two calls in training dropped the same weights");
  attention.forward(query, memory, memory, arma::ones<Mask>(5, 7, 1));
  EXPECT_HOLDS(arma::any(arma::vectorise(attention.attention_weights()) == 0),
               "in training, with p = 0.5 and a mask that blocks nothing, no weight was dropped")
      << note("the mask does not decide whether dropout drops: a mask of ones gives what no mask gives");
  attention.dropout.eval();
  EXPECT_THAT(attention.forward(query, memory, memory),
              IsNear(naive(attention, query, memory, memory).output, output_axes))
      << note("after dropout.eval() nothing is dropped");
}

// ---------------------------------------------------------------------------------------- naive loops, edges, 09.2

TEST(CrossAttention, EqualsTheDefinitionForOtherSizes) {
  struct Sizes {
    uword L, S, E, H, B;
  };
  for (const Sizes& n : {Sizes{3, 5, 8, 2, 4},
                         {6, 2, 4, 4, 3},
                         {1, 7, 6, 2, 3},
                         {7, 1, 6, 3, 2},
                         {4, 3, 5, 1, 2},
                         {2, 6, 10, 5, 1},
                         {34, 3, 4, 2, 1},
                         {3, 35, 4, 2, 1},
                         {3, 5, 68, 2, 4},
                         {3, 2, 1, 1, 4},
                         {1, 1, 2, 2, 1}}) {
    CrossAttention attention = new_layer(n.E, n.H);
    const arma::cube query = 2 * normal(n.L, n.E, n.B);
    const arma::cube key = 2 * normal(n.S, n.E, n.B);
    const arma::cube value = 2 * normal(n.S, n.E, n.B);
    for (const uword slices : {uword(0), uword(1), n.B, n.H * n.B}) {
      const Mask mask = slices == 0 ? Mask() : Mask(arma::cube(n.L, n.S, slices, arma::fill::randu) < 0.7);
      const Attended wanted = naive(attention, query, key, value, mask);
      const std::string about = note("E = " + std::to_string(n.E) + ", H = " + std::to_string(n.H));
      EXPECT_THAT(attention.forward(query, key, value, mask), IsNear(wanted.output, output_axes)) << about;
      EXPECT_THAT(attention.attention_weights(), IsNear(wanted.weights, weights_axes)) << about;
    }
  }
}

TEST(CrossAttention, PassesOnANaN) {
  CrossAttention attention = new_layer(8, 4);
  arma::cube query = normal(5, 8, 3);
  query(2, 1, 0) = arma::datum::nan;
  const arma::cube memory = normal(7, 8, 3);
  const arma::cube output = attention.forward(query, memory, memory);
  expect_nan_as_wanted({output, attention.attention_weights()}, naive(attention, query, memory, memory),
                       note("query 2 of sequence 0 holds NaN: its row is NaN, and no other row"));
}

TEST(CrossAttention, AcceptsExtremeScores) {
  const GoldenCase golden = load_golden("far_from_zero");
  CrossAttention attention = layer_from(golden);
  EXPECT_THAT(attention.forward(golden.cube("query"), golden.cube("key"), golden.cube("value")),
              Matches(golden.expected("output")));
}

TEST(CrossAttention, StartsAfresh) {
  const GoldenCase golden = load_golden("cross");
  CrossAttention attention = layer_from(golden);
  const arma::cube query = golden.cube("query");
  const arma::cube key = golden.cube("key");
  const arma::cube value = golden.cube("value");
  EXPECT_HOLDS(attention.attention_weights().is_empty(), "attention_weights() is not empty before the first forward");
  const std::string about = note("forward was called before with other arguments; nothing of that call may be left");
  attention.forward(-2 * query, 3 * key, -value, golden.mask("mask_heads"));
  EXPECT_THAT(attention.forward(query, key, value), Matches(golden.expected("output"))) << about;
  EXPECT_THAT(attention.attention_weights(), Matches(golden.expected("weights"))) << about;
  const arma::cube other = attention.forward(query, -key, value);
  EXPECT_THAT(other, IsNear(naive(attention, query, -key, value).output, output_axes))
      << note("only key differs from the call before");
  EXPECT_THAT(attention.forward(query, -key, 2 * value),
              IsNear(naive(attention, query, -key, 2 * value).output, output_axes))
      << note("only value differs from the call before");
  attention.forward(query.slices(0, 0), key.slices(0, 0), value.slices(0, 0));
  EXPECT_THAT(attention.attention_weights(), HasShape({{"L (queries)", 5}, {"S (keys)", 7}, {"H·B", 3}})) << about;
  attention.forward(query, arma::cube(key.rows(0, 3)), arma::cube(value.rows(0, 3)));
  EXPECT_THAT(attention.attention_weights(), HasShape({{"L (queries)", 5}, {"S (keys)", 4}, {"H·B", 6}})) << about;
}

TEST(CrossAttention, LeavesItsFields) {
  CrossAttention attention(6, 3);
  const Projections before = projections_of(attention);
  attention.forward(normal(5, 6, 2), normal(7, 6, 2), normal(7, 6, 2));
  expect_unchanged(before, projections_of(attention));
  EXPECT_HOLDS(attention.num_heads() == 3 && attention.dropout.training() && attention.dropout.p() == 0.1,
               "forward changed num_heads() or the dropout");
  attention.dropout.eval();
  attention.forward(normal(5, 6, 2), normal(7, 6, 2), normal(7, 6, 2));
  EXPECT_HOLDS(!attention.dropout.training(), "forward set the dropout to training again");
}

TEST(CrossAttention, LeavesItsArguments) {
  CrossAttention attention = new_layer(6, 3);
  const arma::cube query = normal(5, 6, 2), key = normal(7, 6, 2), value = normal(7, 6, 2);
  const Mask mask = ones(5, 7, 2);
  expect_leaves_its_arguments("forward", {{"query", query}, {"key", key}, {"value", value}, {"mask", mask}},
                              [&] { attention.forward(query, key, value, mask); });
  const ProjectedMemory memory = attention.project_memory(key, value);
  expect_leaves_its_arguments("forward", {{"memory.keys", memory.keys}, {"memory.values", memory.values}},
                              [&] { attention.forward(query, memory, mask); });
}

TEST(CrossAttention, CopiesNoHeads) {
  const uword L = 3, S = 5, E = 96, H = 3, B = 2;
  CrossAttention attention = new_layer(E, H);
  const arma::cube query = normal(L, E, B);
  const arma::cube memory = normal(S, E, B);
  const auto forward = [&] { attention.forward(query, memory, memory); };
  forward();
  // In rows of E numbers, B of them: the projections 2 (2L + 2S), a temporary in each Linear being as large as its
  // result; the context L; scores and weights together less than 5. Over that there is room for a copy of K and of the
  // context.
  const uword rows = 2 * (2 * L + 2 * S) + L + 5 + (S + L);
  const std::size_t asked = allocated_bytes(forward);
  // A wrong answer may ask for memory for other reasons.
  const auto right = [&] {
    const auto near = [](const arma::cube& a, const arma::cube& b) {
      return arma::approx_equal(a, b, "absdiff", 1e-9);
    };
    const Linear& proj = attention.key_proj;
    const arma::cube wanted = naive_multi_head(projections_of(attention), H, query, memory, memory).output;
    return near(attention.forward(query, memory, memory), wanted) &&
           near(attention.project_memory(memory, memory).keys,
                naive_split_heads(naive_linear(memory, proj.weight, proj.bias), H));
  };
  EXPECT_TRUE(asked <= rows * E * B * sizeof(double))
      << line("memory",
              "forward asked for " + bytes_text(asked) + ", want at most " + bytes_text(rows * E * B * sizeof(double)))
      << (asked <= (rows + 2 * (L + 2 * S)) * E * B * sizeof(double) && right() ? likely_mistake("heads_copied") : "");
}

// ----------------------------------------------------------------------------------------- select_sequences, 09.3

/// Which sequence of the memory each sequence of the result is, as in golden.py.
const arma::uvec beams = {2, 0, 0, 2, 1};

TEST(SelectSequences, KeepsAllHeadsOfEverySequence) {
  const CrossAttention attention = new_layer(8, 4);
  const ProjectedMemory memory = attention.project_memory(normal(7, 8, 3), normal(7, 8, 3));
  const ProjectedMemory selected = attention.select_sequences(memory, beams);
  const std::string about = note("5 sequences were selected from a memory of B = 3, with H = 4 heads each");
  const std::string likely = selected.keys.n_slices == 5 ? likely_mistake("slices_selected") : "";
  EXPECT_THAT(selected.keys, HasShape({{"S", 7}, {"D", 2}, {"H·n", 20}})) << about << likely;
  EXPECT_THAT(selected.values, HasShape({{"S", 7}, {"D", 2}, {"H·n", 20}})) << about;
}

TEST(SelectSequences, PutsTheSequencesIntoTheirNewOrder) {
  const CrossAttention attention = new_layer(8, 4);
  const arma::cube key = normal(7, 8, 3), value = normal(7, 8, 3);
  const ProjectedMemory memory = attention.project_memory(key, value);
  const ProjectedMemory selected = attention.select_sequences(memory, arma::uvec{1, 2, 0});
  const auto wanted = [&](const Linear& proj, const arma::cube& x) {
    const arma::cube reordered = arma::join_slices(x.slices(1, 2), x.slices(0, 0));
    return IsNear(naive_split_heads(naive_linear(reordered, proj.weight, proj.bias), 4), memory_axes);
  };
  const std::string about = note("sequence 1 comes first, then 2, then 0; each has H = 4 slices");
  EXPECT_THAT(selected.keys, wanted(attention.key_proj, key)) << about;
  EXPECT_THAT(selected.values, wanted(attention.value_proj, value)) << about;
}

TEST(SelectSequences, EqualsPyTorch) {
  const GoldenCase golden = load_golden("beams");
  CrossAttention attention = layer_from(golden);
  const ProjectedMemory selected =
      attention.select_sequences(attention.project_memory(golden.cube("key"), golden.cube("value")), beams);
  const std::string about = note("sequences {2, 0, 0, 2, 1} of B = 3 were selected, with H = 3 heads each");
  EXPECT_THAT(selected.keys, Matches(golden.expected("K"))) << about;
  EXPECT_THAT(selected.values, Matches(golden.expected("V"))) << about;
  EXPECT_THAT(attention.forward(golden.cube("query"), selected, golden.mask("mask")),
              Matches(golden.expected("output")))
      << about << note("the mask has been selected, too: slice i belongs to sequence i of the selection");
}

TEST(SelectSequences, IsProjectingTheSelectedSequences) {
  struct Selection {
    uword E, H, B;
    arma::uvec sequences;
  };
  for (const Selection& n : {Selection{6, 3, 4, {3, 1}},
                             {8, 2, 3, {1, 2, 0}},
                             {6, 2, 2, {0, 0, 0, 1, 1, 1}},
                             {4, 1, 3, {2, 2}},
                             {6, 6, 1, {0, 0}},
                             {8, 4, 3, {0, 1, 2}}}) {
    const CrossAttention attention = new_layer(n.E, n.H);
    const arma::cube key = normal(5, n.E, n.B), value = normal(5, n.E, n.B);
    const ProjectedMemory selected = attention.select_sequences(attention.project_memory(key, value), n.sequences);
    arma::cube keys(5, n.E, n.sequences.n_elem), values(5, n.E, n.sequences.n_elem);
    std::string list;
    for (uword i = 0; i < n.sequences.n_elem; ++i) {
      keys.slice(i) = key.slice(n.sequences(i));
      values.slice(i) = value.slice(n.sequences(i));
      list += (i == 0 ? "" : ", ") + std::to_string(n.sequences(i));
    }
    const ProjectedMemory wanted = attention.project_memory(keys, values);
    const std::string about = note("B = " + std::to_string(n.B) + ", H = " + std::to_string(n.H) +
                                   ", and the sequences {" + list + "} were selected");
    EXPECT_THAT(selected.keys, IsNear(wanted.keys, memory_axes)) << about;
    EXPECT_THAT(selected.values, IsNear(wanted.values, memory_axes)) << about;
  }
}

TEST(SelectSequences, LeavesItsArguments) {
  const CrossAttention attention = new_layer(6, 3);
  const ProjectedMemory memory = attention.project_memory(normal(7, 6, 2), normal(7, 6, 2));
  const arma::uvec swapped = {1, 0};
  expect_leaves_its_arguments("select_sequences", {{"memory.keys", memory.keys}, {"memory.values", memory.values}},
                              [&] { attention.select_sequences(memory, swapped); });
}

// -------------------------------------------------------------------------------------- bad input: the memory, 09.1

TEST(ProjectMemory, RejectsAKeyOfTheWrongShape) {
  const CrossAttention attention = new_layer(6, 3);
  for (const arma::cube& key : {zeros(7, 8, 2), zeros(7, 2, 2), zeros(6, 7, 2), arma::cube(), arma::cube(0, 6, 2),
                                arma::cube(7, 0, 2), arma::cube(7, 6, 0)}) {
    EXPECT_PRED_FORMAT1(RejectsArgument("key", {shape_text(key), "6"}), [&] { attention.project_memory(key, key); });
  }
}

TEST(ProjectMemory, RejectsAValueOfAnotherShapeThanItsKey) {
  const CrossAttention attention = new_layer(6, 3);
  for (const arma::cube& value : {zeros(9, 6, 2), zeros(1, 6, 2), zeros(7, 8, 2), zeros(7, 6, 4), zeros(7, 6, 1),
                                  arma::cube(), arma::cube(0, 6, 2), arma::cube(7, 0, 2), arma::cube(7, 6, 0)}) {
    EXPECT_PRED_FORMAT1(RejectsArgument("value", {shape_text(value), "7 x 6 x 2"}), [&] {
      attention.project_memory(zeros(7, 6, 2), value);
    }) << note("key is 7 x 6 x 2: each key has one value");
  }
}

// --------------------------------------------------------------------------------------- bad input: forward, 09.2

TEST(CrossAttention, RejectsAQueryOfTheWrongShape) {
  CrossAttention attention = new_layer(6, 3);
  const ProjectedMemory memory = attention.project_memory(zeros(7, 6, 2), zeros(7, 6, 2));
  for (const arma::cube& query : {zeros(5, 8, 2), zeros(5, 2, 2), zeros(6, 5, 2), zeros(5, 6, 4), zeros(5, 6, 1),
                                  arma::cube(), arma::cube(0, 6, 2), arma::cube(5, 0, 2), arma::cube(5, 6, 0)}) {
    EXPECT_PRED_FORMAT1(RejectsArgument("query", {shape_text(query), "6 x 2"}), [&] {
      attention.forward(query, memory);
    }) << note("the memory has B = 2 sequences, E = 6, H = 3");
  }
}

TEST(CrossAttention, RejectsAMemoryOfTheWrongShape) {
  CrossAttention attention = new_layer(6, 3);
  const arma::cube query = zeros(5, 6, 2), right = zeros(7, 2, 6);
  EXPECT_PRED_FORMAT1(RejectsArgument("memory", {"0 x 0 x 0"}), [&] { attention.forward(query, ProjectedMemory()); });
  EXPECT_PRED_FORMAT1(RejectsArgument("memory", {"7 x 6 x 2", "2"}), [&] {
    attention.forward(query, ProjectedMemory{zeros(7, 6, 2), zeros(7, 6, 2)});
  }) << note("keys and values that are not cut into heads");
  EXPECT_PRED_FORMAT1(RejectsArgument("memory", {"4 x 2 x 6", "7"}), [&] {
    attention.forward(query, ProjectedMemory{right, zeros(4, 2, 6)});
  });
}

TEST(CrossAttention, RejectsAMaskOfTheWrongShape) {
  CrossAttention attention = new_layer(6, 3);
  const arma::cube query = zeros(5, 6, 2);
  const ProjectedMemory memory = attention.project_memory(zeros(7, 6, 2), zeros(7, 6, 2));
  for (const Mask& mask : {ones(4, 7, 1), ones(1, 7, 2), ones(5, 8, 1), ones(5, 5, 2), ones(7, 7, 2), ones(5, 1, 2),
                           ones(7, 5, 2), ones(5, 7, 3), ones(5, 7, 4), ones(5, 7, 12)}) {
    EXPECT_PRED_FORMAT1(RejectsArgument("mask", {shape_text(mask), "5 x 7"}),
                        [&] { attention.forward(query, memory, mask); });
  }
}

TEST(CrossAttention, KeepsItsConstructor) {
  CrossAttention attention(6, 3, 0.25);
  attention.forward(normal(5, 6, 2), attention.project_memory(normal(7, 6, 2), normal(7, 6, 2)));
  EXPECT_HOLDS(attention.num_heads() == 3, "num_heads() is " + std::to_string(attention.num_heads()) + ", want 3");
  expect_new_dropout(attention.dropout, 0.25);
  expect_four_projections_with_bias(projections_of(attention), 6, note("the constructor is given: leave it as it was"));
  expect_draws_each_projection_anew(projections_of(attention));
  expect_rejects_impossible_sizes([](uword embed_dim, uword num_heads) { CrossAttention(embed_dim, num_heads); });
}

// ----------------------------------------------------------------------------------- bad input: the selection, 09.3

TEST(SelectSequences, RejectsASequenceThatIsNotThere) {
  const CrossAttention attention = new_layer(6, 3);
  const ProjectedMemory memory = attention.project_memory(zeros(7, 6, 2), zeros(7, 6, 2));
  EXPECT_PRED_FORMAT1(RejectsArgument("sequences", {"2", "1"}), [&] {
    attention.select_sequences(memory, arma::uvec{0, 2, 1});
  }) << note("B = 2: there are sequences 0 and 1");
  EXPECT_PRED_FORMAT1(RejectsArgument("sequences", {"5", "1"}),
                      [&] { attention.select_sequences(memory, arma::uvec{5}); });
  EXPECT_PRED_FORMAT1(RejectsArgument("sequences", {"0"}), [&] { attention.select_sequences(memory, arma::uvec()); });
  EXPECT_PRED_FORMAT1(RejectsArgument("memory", {"0 x 0 x 0"}),
                      [&] { attention.select_sequences(ProjectedMemory(), arma::uvec{0}); });
}

// ------------------------------------------------------------------------------------------------------------- speed

ATTN_SPEED("forward, 2 sequences of 32 queries and 48 keys, E = 64, H = 4", [] {
  const arma::cube query = normal(32, 64, 2);
  const arma::cube memory = normal(48, 64, 2);
  CrossAttention layer(64, 4);
  layer.dropout.eval();
  return [layer, query, memory]() mutable { return layer.forward(query, memory, memory); };
});

}  // namespace
}  // namespace attn::judge
