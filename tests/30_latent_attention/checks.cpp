#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <armadillo>
#include <cfenv>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "attn/latent_attention.hpp"
#include "checks/allocation.hpp"
#include "checks/draw.hpp"
#include "checks/function_view.hpp"
#include "checks/golden.hpp"
#include "checks/matchers.hpp"
#include "checks/oracles.hpp"
#include "checks/properties.hpp"
#include "checks/speed.hpp"

namespace attn::judge {
namespace {

using arma::uword;
using Strings = std::vector<std::string>;

const Strings row_axes = {"L", "C+R", "B"};
const Strings query_axes = {"L", "D+R", "H·B"};
const Strings context_axes = {"L", "Dv", "H·B"};
const Strings output_axes = {"L", "E", "B"};
const Strings cache_axes = {"S", "C+R", "B"};

// ------------------------------------------------------------------------- the definitions, one number at a time

/// Columns first to last, as a copy.
arma::cube columns(const arma::cube& X, uword first, uword count) { return X.cols(first, first + count - 1); }
arma::cube rows_from(const arma::cube& X, uword first) { return X.rows(first, X.n_rows - 1); }

arma::cube beside(const arma::cube& a, const arma::cube& b) {
  arma::cube both(a.n_rows, a.n_cols + b.n_cols, a.n_slices);
  both.cols(0, a.n_cols - 1) = a;
  both.cols(a.n_cols, both.n_cols - 1) = b;
  return both;
}

arma::cube naive_norm(arma::cube x, const RMSNorm& norm) {
  for (uword n = 0; n < x.n_slices; ++n) {
    for (uword i = 0; i < x.n_rows; ++i) {
      double squares = 0;
      for (uword d = 0; d < x.n_cols; ++d) squares += x(i, d, n) * x(i, d, n) / static_cast<double>(x.n_cols);
      for (uword d = 0; d < x.n_cols; ++d) x(i, d, n) *= norm.weight(d) / std::sqrt(squares + norm.epsilon);
    }
  }
  return x;
}

/// Each pair of neighbours rotated; row i is at first_position + i.
arma::cube naive_rope(const arma::cube& x, uword first_position) {
  arma::cube rotated(arma::size(x));
  for (uword n = 0; n < x.n_slices; ++n) {
    for (uword i = 0; i < x.n_rows; ++i) {
      for (uword p = 0; p < x.n_cols / 2; ++p) {
        const double speed = std::pow(10000, -static_cast<double>(2 * p) / static_cast<double>(x.n_cols));
        const double angle = static_cast<double>(first_position + i) * speed;
        const double a = x(i, 2 * p, n), b = x(i, 2 * p + 1, n);
        rotated(i, 2 * p, n) = a * std::cos(angle) - b * std::sin(angle);
        rotated(i, 2 * p + 1, n) = a * std::sin(angle) + b * std::cos(angle);
      }
    }
  }
  return rotated;
}

arma::cube naive_rows(const LatentAttention& layer, const LatentAttentionConfig& sizes, const arma::cube& X,
                      uword first_position = 0) {
  const arma::cube down = naive_linear(X, layer.latent_down.weight, {});
  return beside(naive_norm(columns(down, 0, sizes.latent_dim), layer.latent_norm),
                naive_rope(columns(down, sizes.latent_dim, sizes.rope_dim), first_position));
}

arma::cube naive_queries(const LatentAttention& layer, const LatentAttentionConfig& sizes, const arma::cube& X,
                         uword first_position = 0) {
  const arma::cube latents = naive_norm(naive_linear(X, layer.query_down.weight, {}), layer.query_norm);
  const arma::cube heads = naive_split_heads(naive_linear(latents, layer.query_up.weight, {}), sizes.num_heads);
  return beside(columns(heads, 0, sizes.head_dim),
                naive_rope(columns(heads, sizes.head_dim, sizes.rope_dim), first_position));
}

arma::cube naive_context(const LatentAttention& layer, const LatentAttentionConfig& sizes, const arma::cube& Q,
                         const arma::cube& rows) {
  const uword H = sizes.num_heads;
  const arma::cube expanded = naive_split_heads(
      naive_linear(columns(rows, 0, sizes.latent_dim), layer.latent_up.weight, {}), H);  // (S x D+Dv x H·B)
  arma::cube rotated(rows.n_rows, sizes.rope_dim, Q.n_slices);
  Mask causal(Q.n_rows, rows.n_rows, 1);
  for (uword n = 0; n < Q.n_slices; ++n) rotated.slice(n) = rows.slice(n / H).tail_cols(sizes.rope_dim);
  for (uword i = 0; i < Q.n_rows; ++i) {
    for (uword j = 0; j < rows.n_rows; ++j) causal(i, j, 0) = j + Q.n_rows <= i + rows.n_rows ? 1 : 0;
  }
  return naive_attention(Q, beside(columns(expanded, 0, sizes.head_dim), rotated),
                         columns(expanded, sizes.head_dim, sizes.value_dim), causal);
}

arma::cube naive_output(const LatentAttention& layer, const LatentAttentionConfig& sizes, const arma::cube& X) {
  const arma::cube context = naive_context(layer, sizes, naive_queries(layer, sizes, X), naive_rows(layer, sizes, X));
  return naive_linear(naive_merge_heads(context, sizes.num_heads), layer.output_proj.weight, {});
}

// ---------------------------------------------------------------------------------------------------------- layers

LatentAttentionConfig sizes(uword E, uword H, uword D, uword R, uword Dv, uword C, uword Cq) {
  LatentAttentionConfig config;
  config.embed_dim = E;
  config.num_heads = H;
  config.head_dim = D;
  config.rope_dim = R;
  config.value_dim = Dv;
  config.latent_dim = C;
  config.query_latent_dim = Cq;
  return config;
}

const LatentAttentionConfig golden_sizes = sizes(9, 3, 4, 6, 7, 8, 13);
const LatentAttentionConfig other_sizes = sizes(7, 4, 5, 2, 3, 6, 8);
const LatentAttentionConfig sizes_by_hand = sizes(4, 2, 1, 2, 1, 2, 2);
const LatentAttentionConfig deepseek_v2 = sizes(5120, 128, 128, 64, 128, 512, 1536);
const LatentAttentionConfig deepseek_v3 = sizes(7168, 128, 128, 64, 128, 512, 1536);

LatentAttention layer_of(const GoldenCase& golden) {
  LatentAttention layer(golden_sizes);
  layer.query_down = golden.linear("query_down");
  layer.query_norm.weight = golden.rowvec("query_norm");
  layer.query_up = golden.linear("query_up");
  layer.latent_down = golden.linear("latent_down");
  layer.latent_norm.weight = golden.rowvec("latent_norm");
  layer.latent_up = golden.linear("latent_up");
  layer.output_proj = golden.linear("output_proj");
  return layer;
}

/// A new layer whose norms were drawn, too.
LatentAttention drawn_layer(const LatentAttentionConfig& config) {
  LatentAttention layer(config);
  layer.query_norm.weight.randn();
  layer.latent_norm.weight.randn();
  return layer;
}

/// The example of the chapter.
LatentAttention layer_by_hand() {
  LatentAttention layer(sizes_by_hand);
  layer.query_down.weight = {{1, 0}, {0, 1}, {0, 0}, {0, 0}};
  layer.query_up.weight = {{1, 1, 0, 0, 0, 0}, {0, 0, 1, 1, 0, 1}};
  layer.latent_down.weight = arma::eye(4, 4);
  layer.latent_up.weight = {{1, 1, 0, 1}, {2, 0, 1, -1}};
  layer.output_proj.weight = {{1, 0, 1, 0}, {0, 1, 0, 1}};
  return layer;
}
arma::cube tokens_by_hand() { return as_cube(arma::mat{{1, 1, 1, 0}, {7, 1, 1, 0}, {1, -1, 0, 1}}); }

/// X in calls of so many tokens each, what they give put together again. What has a wrong shape is returned as it is.
arma::cube in_calls(LatentAttention& layer, const arma::cube& X, const arma::uvec& calls) {
  arma::cube output(arma::size(X));
  uword first = 0;
  for (const uword L : calls) {
    const arma::cube chunk = X.rows(first, first + L - 1);
    const arma::cube Y = layer.extend(chunk);
    if (Y.n_rows != L || Y.n_cols != X.n_cols || Y.n_slices != X.n_slices) return Y;
    output.rows(first, first + L - 1) = Y;
    first += L;
  }
  return output;
}

Projections projections(const LatentAttention& layer) {
  return {{"query_down", layer.query_down},
          {"query_up", layer.query_up},
          {"latent_down", layer.latent_down},
          {"latent_up", layer.latent_up},
          {"output_proj", layer.output_proj}};
}

/// Both ways to attend, for the properties that they share.
enum class Way { expanded, absorbed };
arma::cube attend(Way way, const LatentAttention& layer, const arma::cube& Q, const arma::cube& rows) {
  return way == Way::expanded ? layer.attend_expanded(Q, rows) : layer.attend_absorbed(Q, rows);
}

void expect_context_by_hand(Way way) {
  const LatentAttention layer = layer_by_hand();
  const arma::cube Q = naive_queries(layer, sizes_by_hand, tokens_by_hand());
  const arma::cube rows = naive_rows(layer, sizes_by_hand, tokens_by_hand());
  EXPECT_THAT(attend(way, layer, Q, rows), Matches(load_golden("by_hand").expected("context")))
      << given("rows", rows) << note("one sequence, two heads: slices 0 and 1");
}

/// The last five of eleven tokens.
void expect_golden_context(Way way, const std::string& golden_case) {
  const GoldenCase golden = load_golden(golden_case);
  EXPECT_THAT(attend(way, layer_of(golden), golden.cube("queries"), golden.cube("rows")),
              Matches(golden.expected("context")));
}

void expect_definition(Way way) {
  for (const LatentAttentionConfig& config : {other_sizes, sizes(3, 2, 6, 4, 5, 1, 2)}) {
    const LatentAttention layer = drawn_layer(config);
    const arma::cube X = normal(9, config.embed_dim, 3);
    const arma::cube Q = naive_queries(layer, config, X), rows = naive_rows(layer, config, X);
    EXPECT_THAT(attend(way, layer, Q, rows), IsNear(naive_context(layer, config, Q, rows), context_axes));
    const arma::cube last = rows_from(Q, 7);
    EXPECT_THAT(attend(way, layer, last, rows), IsNear(naive_context(layer, config, last, rows), context_axes))
        << note("the last 2 of 9 tokens");
  }
}

/// With a single token the weight is one.
void expect_the_value_of_a_single_token(Way way) {
  const LatentAttention layer = drawn_layer(other_sizes);
  const arma::cube rows = normal(1, 8, 3);
  const arma::cube values = columns(naive_split_heads(naive_linear(columns(rows, 0, 6), layer.latent_up.weight, {}), 4),
                                    5, 3);  // (1 x Dv x H·B)
  EXPECT_THAT(attend(way, layer, normal(1, 7, 12), rows), IsNear(values, context_axes))
      << note("one query and one row: the weight is 1, so the context is the token's value in each head");
}

void expect_blocks_later_tokens(Way way) {
  const LatentAttention layer = drawn_layer(other_sizes);
  const arma::cube Q = normal(4, 7, 12);
  const arma::cube rows = normal(6, 8, 3);
  arma::cube changed = rows;
  changed.rows(4, 5).randn();
  const arma::cube before = attend(way, layer, Q, rows), after = attend(way, layer, Q, changed);
  ASSERT_THAT(after, HasShape({{"L", 4}, {"Dv", 3}, {"H·B", 12}}));
  EXPECT_THAT(arma::cube(after.rows(0, 1)), IsNear(arma::cube(before.rows(0, 1)), context_axes)) << note(
      "6 tokens, of which the last 4 are queries; tokens 4 and 5 were changed. Queries 0 and 1 are tokens 2 and 3, "
      "and do not see them");
}

void expect_shift_invariance(Way way) {
  const LatentAttention layer = drawn_layer(other_sizes);
  const arma::cube X = normal(5, 7, 2);
  const auto at = [&](uword first) {
    return attend(way, layer, naive_queries(layer, other_sizes, X, first), naive_rows(layer, other_sizes, X, first));
  };
  EXPECT_THAT(at(1000), IsNear(at(0), context_axes, 1e-9))
      << note("the same tokens, at positions 1000 to 1004 and at 0 to 4: only differences of positions count");
}

// ------------------------------------------------------------------------------------------- the constructor, 30.1

/// A weight's shape. `likely`: the mistakes that are recognised by their number of columns.
void expect_shape(const std::string& name, const arma::mat& weight, const Axis& rows, const Axis& cols,
                  const std::vector<std::pair<uword, std::string>>& likely) {
  std::string mistake;
  for (const auto& [n_cols, id] : likely) {
    if (weight.n_cols == n_cols) mistake = likely_mistake(id);
  }
  EXPECT_THAT(weight, HasShape({rows, cols})) << note(name) << mistake;
}

TEST(LatentAttention, HasThePartsOfItsConfiguration) {
  const LatentAttention layer(golden_sizes);  // E = 9, H = 3, D = 4, R = 6, Dv = 7, C = 8, Cq = 13
  expect_shape("query_down.weight", layer.query_down.weight, {"E", 9}, {"Cq", 13}, {});
  expect_shape("query_norm.weight", layer.query_norm.weight, {"1", 1}, {"Cq", 13}, {{10, "query_norm_of_a_head"}});
  expect_shape("query_up.weight", layer.query_up.weight, {"Cq", 13}, {"H·(D+R)", 30}, {{12, "query_up_without_rope"}});
  expect_shape("latent_down.weight", layer.latent_down.weight, {"E", 9}, {"C+R", 14},
               {{8, "latent_down_without_key"}, {26, "key_for_each_head"}});
  expect_shape("latent_norm.weight", layer.latent_norm.weight, {"1", 1}, {"C", 8}, {{14, "latent_norm_of_whole_row"}});
  expect_shape("latent_up.weight", layer.latent_up.weight, {"C", 8}, {"H·(D+Dv)", 33},
               {{12, "latent_up_without_values"}, {51, "latent_up_with_rope"}, {24, "value_dim_ignored"}});
  const uword n_rows = layer.output_proj.weight.n_rows;
  const std::string widths = layer.latent_up.weight.n_cols == 24 ? "value_dim_ignored" : "output_from_head_dim";
  EXPECT_THAT(layer.output_proj.weight, HasShape({{"H·Dv", 21}, {"E", 9}}))
      << note("output_proj.weight")
      << (n_rows == 30   ? likely_mistake("output_from_queries")
          : n_rows == 12 ? likely_mistake(widths)
                         : "");
}

TEST(LatentAttention, HasNoBias) {
  for (const auto& [name, linear] : projections(LatentAttention(golden_sizes))) {
    EXPECT_HOLDS(linear.bias.is_empty(), name + " has a bias; the projections of this layer have none")
        << likely_mistake("with_bias");
  }
}

TEST(LatentAttention, KeepsItsConfigurationAndBeginsEmpty) {
  const LatentAttention layer(golden_sizes);
  EXPECT_HOLDS(layer.config().num_heads == 3 && layer.config().value_dim == 7, "config() is not what was given");
  EXPECT_HOLDS(layer.cache().is_empty(), "the cache of a new layer is " + shape_text(layer.cache()) + ", want empty");
}

TEST(LatentAttention, DrawsEachProjectionAnew) {
  expect_draws_each_projection_anew(projections(LatentAttention(sizes(6, 1, 3, 2, 5, 4, 6))));
}

// --------------------------------------------------------------------------------------------- latent_rows, 30.2

TEST(LatentAttention, LeavesOneRowPerToken) {
  EXPECT_THAT(drawn_layer(golden_sizes).latent_rows(normal(5, 9, 2)), HasShape({{"L", 5}, {"C+R", 14}, {"B", 2}}));
}

TEST(LatentAttention, GivesTheRowsOfTheExampleWorkedByHand) {
  EXPECT_THAT(layer_by_hand().latent_rows(tokens_by_hand()), Matches(load_golden("by_hand").expected("rows")))
      << given("X", tokens_by_hand()) << note("C = 2, R = 2");
}

TEST(LatentAttention, KeepsLatentsWithoutPosition) {
  const LatentAttention layer = drawn_layer(golden_sizes);
  const arma::cube X = normal(5, 9, 2);
  const arma::cube here = layer.latent_rows(X), there = layer.latent_rows(X, 70);
  ASSERT_THAT(there, HasShape({{"L", 5}, {"C+R", 14}, {"B", 2}}));
  EXPECT_THAT(columns(there, 0, 8), IsNear(columns(here, 0, 8), {"L", "C", "B"}))
      << note("the first C columns at positions 70 to 74, and at 0 to 4: they must not depend on the position");
}

TEST(LatentAttention, LeavesRowsAsPyTorchDoes) {
  const GoldenCase golden = load_golden("layer");
  EXPECT_THAT(layer_of(golden).latent_rows(golden.cube("X")), Matches(golden.expected("rows")));
}

TEST(LatentAttention, ContinuesPositionsInItsRows) {
  const GoldenCase golden = load_golden("layer");
  const arma::cube later = rows_from(golden.cube("X"), 4);
  EXPECT_THAT(layer_of(golden).latent_rows(later, 4), IsNear(rows_from(golden.cube("rows"), 4), row_axes))
      << note("tokens 4 to 10, with first_position = 4");
}

TEST(LatentAttention, LeavesRowsAsDefined) {
  const LatentAttention layer = drawn_layer(other_sizes);
  const arma::cube X = normal(4, 7, 3);
  EXPECT_THAT(layer.latent_rows(X, 11), IsNear(naive_rows(layer, other_sizes, X, 11), row_axes))
      << note("positions 11 to 14");
}

// ------------------------------------------------------------------------------------------------- queries, 30.3

TEST(LatentAttention, GivesEachHeadAQueryOfBothParts) {
  EXPECT_THAT(drawn_layer(golden_sizes).queries(normal(5, 9, 2)), HasShape({{"L", 5}, {"D+R", 10}, {"H·B", 6}}));
}

TEST(LatentAttention, GivesTheQueriesOfTheExampleWorkedByHand) {
  EXPECT_THAT(layer_by_hand().queries(tokens_by_hand()), Matches(load_golden("by_hand").expected("queries")))
      << given("X", tokens_by_hand()) << note("H = 2, D = 1, R = 2");
}

TEST(LatentAttention, RotatesOnlyTheLastFeaturesOfAQuery) {
  const LatentAttention layer = drawn_layer(golden_sizes);
  const arma::cube X = normal(5, 9, 2);
  const arma::cube here = layer.queries(X), there = layer.queries(X, 70);
  ASSERT_THAT(there, HasShape({{"L", 5}, {"D+R", 10}, {"H·B", 6}}));
  EXPECT_THAT(columns(there, 0, 4), IsNear(columns(here, 0, 4), {"L", "D", "H·B"}))
      << note("the first D columns at positions 70 to 74, and at 0 to 4: they must not depend on the position");
}

TEST(LatentAttention, GivesQueriesAsPyTorchDoes) {
  const GoldenCase golden = load_golden("layer");
  EXPECT_THAT(layer_of(golden).queries(rows_from(golden.cube("X"), 6), 6), Matches(golden.expected("queries")))
      << note("tokens 6 to 10, with first_position = 6");
}

TEST(LatentAttention, GivesQueriesAsDefined) {
  const LatentAttention layer = drawn_layer(other_sizes);
  const arma::cube X = normal(4, 7, 3);
  EXPECT_THAT(layer.queries(X), IsNear(naive_queries(layer, other_sizes, X), query_axes));
}

// ----------------------------------------------------------------------------------------- attend_expanded, 30.4

TEST(AttendExpanded, GivesEachQueryAContextAsWideAsAValue) {
  EXPECT_THAT(drawn_layer(golden_sizes).attend_expanded(normal(5, 10, 6), normal(11, 14, 2)),
              HasShape({{"L", 5}, {"Dv", 7}, {"H·B", 6}}));
}
TEST(AttendExpanded, GivesTheValueOfASingleToken) { expect_the_value_of_a_single_token(Way::expanded); }
TEST(AttendExpanded, GivesTheExampleWorkedByHand) { expect_context_by_hand(Way::expanded); }
TEST(AttendExpanded, BlocksTheFuture) { expect_blocks_later_tokens(Way::expanded); }
TEST(AttendExpanded, DependsOnDistancesAlone) { expect_shift_invariance(Way::expanded); }
TEST(AttendExpanded, EqualsPyTorch) { expect_golden_context(Way::expanded, "layer"); }
TEST(AttendExpanded, EqualsTheDefinition) { expect_definition(Way::expanded); }
TEST(AttendExpanded, AcceptsExtremeScores) { expect_golden_context(Way::expanded, "far_from_zero"); }

// ----------------------------------------------------------------------------------------- attend_absorbed, 30.5

TEST(AttendAbsorbed, GivesEachQueryAContextAsWideAsAValue) {
  EXPECT_THAT(drawn_layer(golden_sizes).attend_absorbed(normal(5, 10, 6), normal(11, 14, 2)),
              HasShape({{"L", 5}, {"Dv", 7}, {"H·B", 6}}));
}
TEST(AttendAbsorbed, GivesTheValueOfASingleToken) { expect_the_value_of_a_single_token(Way::absorbed); }
TEST(AttendAbsorbed, GivesTheExampleWorkedByHand) { expect_context_by_hand(Way::absorbed); }
TEST(AttendAbsorbed, BlocksTheFuture) { expect_blocks_later_tokens(Way::absorbed); }
TEST(AttendAbsorbed, DependsOnDistancesAlone) { expect_shift_invariance(Way::absorbed); }
TEST(AttendAbsorbed, EqualsPyTorch) { expect_golden_context(Way::absorbed, "layer"); }
TEST(AttendAbsorbed, EqualsTheDefinition) { expect_definition(Way::absorbed); }
TEST(AttendAbsorbed, AcceptsExtremeScores) { expect_golden_context(Way::absorbed, "far_from_zero"); }

TEST(AttendAbsorbed, MakesNoKeysOfAHead) {
  const uword S = 300;
  for (const LatentAttentionConfig& config : {sizes(6, 3, 40, 4, 41, 8, 5), sizes(6, 3, 20, 4, 22, 48, 5)}) {
    const LatentAttention layer(config);
    const arma::cube Q = normal(1, config.head_dim + 4, 6), rows = normal(S, config.latent_dim + 4, 2);
    const std::size_t largest = largest_allocation([&] { layer.attend_absorbed(Q, rows); });
    const std::size_t keys = S * config.head_dim * sizeof(double);
    EXPECT_TRUE(largest < keys) << line("memory", "the largest matrix takes " + bytes_text(largest) +
                                                      ", want less than " + bytes_text(keys) +
                                                      ", the S x D keys of one head")
                                << note("one query, S = 300 rows; C = " + std::to_string(config.latent_dim) +
                                        ", D = " + std::to_string(config.head_dim))
                                << likely_mistake("not_absorbed");
  }
}

// --------------------------------------------------------------------------------------------------- counting, 30.6

TEST(LatentCacheBytes, CountsTheRowsOfAllLayers) {
  const auto bytes = [](const LatentAttentionConfig& config, uword layers, uword bytes_per_number) {
    return static_cast<double>(latent_cache_bytes(config, layers, bytes_per_number));
  };
  EXPECT_THAT(arma::mat({{bytes(deepseek_v2, 60, 2), bytes(deepseek_v3, 61, 2), bytes(golden_sizes, 5, 8)}}),
              IsNear(load_golden("cost").mat("bytes"), {"1", "models"}))
      << note("DeepSeek-V2 with 60 layers, and V3 with 61, of 16-bit numbers; and 5 layers of C = 8, R = 6 in double");
}

void expect_flops(uword (*flops)(const LatentAttentionConfig&, uword, uword), const std::string& column) {
  const GoldenCase golden = load_golden("cost");
  const arma::mat calls = golden.mat("calls");  // L and S
  arma::mat counted(calls.n_rows, 2);
  for (uword k = 0; k < calls.n_rows; ++k) {
    const auto L = static_cast<uword>(calls(k, 0)), S = static_cast<uword>(calls(k, 1));
    counted(k, 0) = static_cast<double>(flops(golden_sizes, L, S));
    counted(k, 1) = static_cast<double>(flops(deepseek_v2, L, S));
  }
  EXPECT_THAT(counted, Matches(golden.expected(column)))
      << given("L and S", calls) << note("columns: a layer with H = 3, D = 4, R = 6, Dv = 7, C = 8; and DeepSeek-V2");
}

TEST(ExpandedFlops, CountsEveryProduct) { expect_flops(expanded_flops, "expanded"); }
TEST(AbsorbedFlops, CountsEveryProduct) { expect_flops(absorbed_flops, "absorbed"); }

TEST(AbsorbedFlops, AreFewerForFewQueries) {
  for (const uword L : {uword(1), uword(64), uword(170)}) {
    EXPECT_HOLDS(absorbed_flops(deepseek_v2, L, 1'000'000) < expanded_flops(deepseek_v2, L, 1'000'000),
                 "absorbed is not less than expanded for " + std::to_string(L) + " queries and a million rows");
  }
  for (const uword L : {uword(171), uword(4096)}) {
    EXPECT_HOLDS(expanded_flops(deepseek_v2, L, 1'000'000) < absorbed_flops(deepseek_v2, L, 1'000'000),
                 "expanded is not less than absorbed for " + std::to_string(L) + " queries and a million rows");
  }
}

// ------------------------------------------------------------------------------------------------------ extend, 30.7

TEST(Extend, GivesARowPerToken) {
  EXPECT_THAT(LatentAttention(golden_sizes).extend(normal(5, 9, 2)), HasShape({{"L", 5}, {"E", 9}, {"B", 2}}));
}

TEST(Extend, GivesTheExampleWorkedByHand) {
  EXPECT_THAT(layer_by_hand().extend(tokens_by_hand()), Matches(load_golden("by_hand").expected("output")))
      << given("X", tokens_by_hand());
}

TEST(Extend, EqualsPyTorch) {
  const GoldenCase golden = load_golden("layer");
  EXPECT_THAT(layer_of(golden).extend(golden.cube("X")), Matches(golden.expected("output")))
      << note("11 tokens in one call");
}

TEST(Extend, GivesTheSameHoweverATextIsCut) {
  const GoldenCase golden = load_golden("layer");
  for (const arma::uvec& calls : {arma::uvec{5, 1, 4, 1}, arma::uvec(11, arma::fill::ones), arma::uvec{1, 10}}) {
    LatentAttention layer = layer_of(golden);
    EXPECT_THAT(in_calls(layer, golden.cube("X"), calls), Matches(golden.expected("output")))
        << note(std::to_string(calls.n_elem) + " calls, the first with " + std::to_string(calls(0)) + " of 11 tokens");
  }
}

TEST(Extend, CachesTheRowsOfAllTokens) {
  const GoldenCase golden = load_golden("layer");
  LatentAttention layer = layer_of(golden);
  in_calls(layer, golden.cube("X"), {4, 6, 1});
  EXPECT_THAT(layer.cache(), IsNear(golden.cube("rows"), cache_axes)) << note("calls of 4, 6 and 1 tokens");
}

TEST(Extend, EqualsTheDefinition) {
  LatentAttention layer = drawn_layer(other_sizes);
  const arma::cube X = normal(6, 7, 3);
  EXPECT_THAT(in_calls(layer, X, {2, 3, 1}), IsNear(naive_output(layer, other_sizes, X), output_axes))
      << note("calls of 2, 3 and 1 tokens");
}

TEST(Extend, ReadsTheWeightsOfEachCall) {
  LatentAttention layer = drawn_layer(other_sizes);
  const arma::cube X = normal(5, 7, 3);
  layer.latent_up.weight.randn();
  EXPECT_THAT(layer.extend(X), IsNear(naive_output(layer, other_sizes, X), output_axes))
      << note("latent_up was changed after the constructor, as loading a model does");
}

/// A layer in which queries times W_K overflow, and latents times W_K do not. For L new tokens and S rows, a head takes
/// 48 S + 10 L S multiplications expanded, 48 L + 14 L S absorbed.
LatentAttention overflowing_layer() {
  LatentAttention layer(sizes(4, 2, 3, 2, 5, 6, 7));
  layer.query_norm.weight.fill(1e160);
  layer.latent_norm.weight.fill(1e-160);
  layer.latent_up.weight.fill(1e160);
  layer.query_up.weight.fill(1);
  return layer;
}

/// Whether a call overflows; the processor remembers it.
bool overflows(FunctionView<void()> call) {
  std::feclearexcept(FE_OVERFLOW);
  call();
  return std::fetestexcept(FE_OVERFLOW) != 0;
}

/// A call of extend, and whether it should absorb.
struct Call {
  uword old_length, L;
  bool absorbs;
};
const std::vector<Call> calls = {{0, 8, false},   {4, 4, true}, {3, 5, false}, {22, 8, true},
                                 {20, 10, false}, {9, 1, true}, {0, 1, false}};

/// Counts and cache are right, and only absorbing overflows: then what extend does is its own choice.
bool the_choice_is_its_own() {
  LatentAttention layer = overflowing_layer();
  const arma::cube X(8, 4, 2, arma::fill::ones);
  const arma::cube rows = layer.latent_rows(X);
  layer.extend(X);
  if (layer.cache().n_rows != 8) return false;
  for (const auto& [old_length, L, absorbs] : calls) {
    const uword S = old_length + L;
    if (absorbs != (absorbed_flops(layer.config(), L, S) < expanded_flops(layer.config(), L, S))) return false;
  }
  arma::cube Q;
  return !overflows([&] { Q = layer.queries(X); }) && !overflows([&] { layer.attend_expanded(Q, rows); }) &&
         overflows([&] { layer.attend_absorbed(Q, rows); });
}

TEST(Extend, TakesTheWayWithFewerFlops) {
  LatentAttention(sizes(4, 2, 3, 2, 5, 6, 7)).extend(normal(1, 4, 2));
  if (!the_choice_is_its_own()) return;  // other checks say what is wrong
  std::vector<bool> absorbed;
  for (const auto& [old_length, L, absorbs] : calls) {
    LatentAttention layer = overflowing_layer();
    if (old_length > 0) layer.extend(arma::cube(old_length, 4, 2, arma::fill::ones));
    absorbed.push_back(overflows([&, tokens = L] { layer.extend(arma::cube(tokens, 4, 2, arma::fill::ones)); }));
  }
  const auto all = [&](auto rule) {
    for (std::size_t k = 0; k < calls.size(); ++k) {
      if (absorbed[k] != rule(calls[k])) return false;
    }
    return true;
  };
  const std::string id = all([](const Call&) { return false; })                      ? "always_expanded"
                         : all([](const Call&) { return true; })                     ? "always_absorbed"
                         : all([](const Call& call) { return !call.absorbs; })       ? "wrong_way_round"
                         : all([](const Call& call) { return call.L == 1; })         ? "absorbs_single_tokens"
                         : all([](const Call& call) { return call.old_length > 0; }) ? "absorbs_after_the_first_call"
                                                                                     : "";
  for (std::size_t k = 0; k < calls.size(); ++k) {
    const auto& [old_length, L, absorbs] = calls[k];
    EXPECT_TRUE(absorbed[k] == absorbs) << line("work", std::to_string(L) + " new tokens after " +
                                                            std::to_string(old_length) + " were " +
                                                            (absorbed[k] ? "absorbed, want the rows expanded"
                                                                         : "expanded, want them absorbed"))
                                        << note("that takes fewer FLOPs, for H = 2, D = 3, R = 2, Dv = 5, C = 6")
                                        << (id.empty() ? "" : likely_mistake(id));
  }
}

// ------------------------------------------------------------------------------ bad input: the constructor, 30.1

TEST(LatentAttention, RejectsAnImpossibleConfiguration) {
  const auto make = [](const LatentAttentionConfig& config) { return [config] { LatentAttention{config}; }; };
  EXPECT_PRED_FORMAT1(RejectsArgument("embed_dim", {"0"}), make(sizes(0, 3, 4, 6, 7, 8, 13)));
  EXPECT_PRED_FORMAT1(RejectsArgument("num_heads", {"0"}), make(sizes(9, 0, 4, 6, 7, 8, 13)));
  EXPECT_PRED_FORMAT1(RejectsArgument("head_dim", {"0"}), make(sizes(9, 3, 0, 6, 7, 8, 13)));
  EXPECT_PRED_FORMAT1(RejectsArgument("rope_dim", {"0"}), make(sizes(9, 3, 4, 0, 7, 8, 13)));
  EXPECT_PRED_FORMAT1(RejectsArgument("rope_dim", {"5"}), make(sizes(9, 3, 4, 5, 7, 8, 13)));
  EXPECT_PRED_FORMAT1(RejectsArgument("value_dim", {"0"}), make(sizes(9, 3, 4, 6, 0, 8, 13)));
  EXPECT_PRED_FORMAT1(RejectsArgument("latent_dim", {"0"}), make(sizes(9, 3, 4, 6, 7, 0, 13)));
  EXPECT_PRED_FORMAT1(RejectsArgument("query_latent_dim", {"0"}), make(sizes(9, 3, 4, 6, 7, 8, 0)));
}

// -------------------------------------------------------------------------------------- bad input: latent_rows, 30.2

TEST(LatentAttention, RejectsTokensOfTheWrongWidth) {
  const LatentAttention layer(golden_sizes);
  EXPECT_PRED_FORMAT1(RejectsArgument("X", {"5 x 8 x 2", "9"}), [&] { layer.latent_rows(zeros(5, 8, 2)); });
}

// ------------------------------------------------------------------------------------------ bad input: queries, 30.3

TEST(LatentAttention, RejectsTokensOfTheWrongWidthForQueries) {
  const LatentAttention layer(golden_sizes);
  EXPECT_PRED_FORMAT1(RejectsArgument("X", {"5 x 8 x 2", "9"}), [&] { layer.queries(zeros(5, 8, 2)); });
}

/// Both ways to attend reject the same.
void expect_rejects_queries_and_rows(Way way) {
  const LatentAttention layer(golden_sizes);
  const auto call = [&](const arma::cube& Q, const arma::cube& rows) {
    return [&layer, way, Q, rows] { attend(way, layer, Q, rows); };
  };
  EXPECT_PRED_FORMAT1(RejectsArgument("rows", {"11 x 13 x 2", "14"}), call(zeros(5, 10, 6), zeros(11, 13, 2)));
  EXPECT_PRED_FORMAT1(RejectsArgument("Q", {"5 x 9 x 6", "10"}), call(zeros(5, 9, 6), zeros(11, 14, 2)));
  EXPECT_PRED_FORMAT1(RejectsArgument("Q", {"5 x 10 x 3", "6"}), call(zeros(5, 10, 3), zeros(11, 14, 2)));
  EXPECT_PRED_FORMAT1(RejectsArgument("L", {"12", "11"}), call(zeros(12, 10, 6), zeros(11, 14, 2)));
}

// ---------------------------------------------------------------------------------- bad input: attend_expanded, 30.4

TEST(AttendExpanded, RejectsQueriesAndRowsThatDoNotFit) { expect_rejects_queries_and_rows(Way::expanded); }

// ---------------------------------------------------------------------------------- bad input: attend_absorbed, 30.5

TEST(AttendAbsorbed, RejectsQueriesAndRowsThatDoNotFit) { expect_rejects_queries_and_rows(Way::absorbed); }

// ----------------------------------------------------------------------------------------- bad input: counting, 30.6

TEST(LatentCacheBytes, RejectsSizesOfZero) {
  const auto bytes = [](const LatentAttentionConfig& config, uword layers, uword size) {
    return [=] { latent_cache_bytes(config, layers, size); };
  };
  EXPECT_PRED_FORMAT1(RejectsArgument("num_layers", {"0"}), bytes(golden_sizes, 0, 2));
  EXPECT_PRED_FORMAT1(RejectsArgument("bytes_per_number", {"0"}), bytes(golden_sizes, 5, 0));
  EXPECT_PRED_FORMAT1(RejectsArgument("latent_dim", {"0"}), bytes(sizes(9, 3, 4, 6, 7, 0, 13), 5, 2));
  EXPECT_PRED_FORMAT1(RejectsArgument("rope_dim", {"0"}), bytes(sizes(9, 3, 4, 0, 7, 8, 13), 5, 2));
  EXPECT_HOLDS(refusal(bytes(sizes(0, 0, 0, 6, 0, 8, 0), 5, 2)).empty(),
               "it rejects a field that does not count: only latent_dim and rope_dim do");
}

void expect_rejects_sizes_of_zero(uword (*flops)(const LatentAttentionConfig&, uword, uword)) {
  const auto count = [flops](const LatentAttentionConfig& config, uword L, uword S) {
    return [=] { flops(config, L, S); };
  };
  EXPECT_PRED_FORMAT1(RejectsArgument("L", {"0"}), count(golden_sizes, 0, 3));
  EXPECT_PRED_FORMAT1(RejectsArgument("S", {"0"}), count(golden_sizes, 3, 0));
  EXPECT_PRED_FORMAT1(RejectsArgument("num_heads", {"0"}), count(sizes(9, 0, 4, 6, 7, 8, 13), 2, 3));
  EXPECT_PRED_FORMAT1(RejectsArgument("head_dim", {"0"}), count(sizes(9, 3, 0, 6, 7, 8, 13), 2, 3));
  EXPECT_PRED_FORMAT1(RejectsArgument("rope_dim", {"0"}), count(sizes(9, 3, 4, 0, 7, 8, 13), 2, 3));
  EXPECT_PRED_FORMAT1(RejectsArgument("value_dim", {"0"}), count(sizes(9, 3, 4, 6, 0, 8, 13), 2, 3));
  EXPECT_PRED_FORMAT1(RejectsArgument("latent_dim", {"0"}), count(sizes(9, 3, 4, 6, 7, 0, 13), 2, 3));
}
TEST(ExpandedFlops, RejectSizesOfZero) { expect_rejects_sizes_of_zero(expanded_flops); }
TEST(AbsorbedFlops, RejectSizesOfZero) { expect_rejects_sizes_of_zero(absorbed_flops); }

// ------------------------------------------------------------------------------------------- bad input: extend, 30.7

TEST(Extend, IsUnchangedByARejectedCall) {
  LatentAttention layer(golden_sizes);
  layer.extend(normal(4, 9, 2));
  const arma::cube before = layer.cache();
  const std::string likely = likely_mistake(before.is_empty() ? "cache_not_stored" : "batch_not_checked");
  EXPECT_PRED_FORMAT1(RejectsOrNames(RejectsArgument("X", {"3 x 9 x 5", "2"}), likely),
                      [&] { layer.extend(zeros(3, 9, 5)); });
  EXPECT_PRED_FORMAT1(RejectsArgument("X", {"3 x 8 x 2", "9"}), [&] { layer.extend(zeros(3, 8, 2)); });
  EXPECT_THAT(layer.cache(), IsNear(before, cache_axes)) << note("a rejected call must leave the cache as it was");
}

// ----------------------------------------------------------------------------------------------------------- speed

ATTN_SPEED("one token after 256, 2 sequences, E = 64, H = 8, D = 32, R = 16, Dv = 32, C = 64", [] {
  LatentAttention layer(sizes(64, 8, 32, 16, 32, 64, 48));
  layer.extend(normal(256, 64, 2));
  return [layer, x = normal(1, 64, 2)] {
    LatentAttention next = layer;
    return next.extend(x);
  };
});

}  // namespace
}  // namespace attn::judge
