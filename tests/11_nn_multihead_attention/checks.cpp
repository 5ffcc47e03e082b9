#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <armadillo>
#include <string>
#include <vector>

#include "attn/nn_multihead_attention.hpp"
#include "checks/draw.hpp"
#include "checks/golden.hpp"
#include "checks/matchers.hpp"
#include "checks/oracles.hpp"
#include "checks/properties.hpp"
#include "checks/speed.hpp"

namespace attn::judge {
namespace {

using arma::uword;
using nn::allowed_mask;
using nn::average_heads;
using nn::MultiheadAttention;
using nn::MultiheadAttentionOptions;
using nn::MultiheadAttentionState;

const std::vector<std::string> output_axes = {"L", "E", "B"};
const std::vector<std::string> head_weights_axes = {"L", "S", "H·B"};

/// A mask as a cube of ones and zeros: any number but 0 counts as 1.
arma::cube as_numbers(const Mask& mask) { return arma::conv_to<arma::cube>::from(mask != 0); }

MultiheadAttentionState state_from(const GoldenCase& golden) {
  MultiheadAttentionState state;
  if (golden.has("in_proj_weight")) state.in_proj_weight = golden.mat("in_proj_weight");
  if (golden.has("q_proj_weight")) state.q_proj_weight = golden.mat("q_proj_weight");
  if (golden.has("k_proj_weight")) state.k_proj_weight = golden.mat("k_proj_weight");
  if (golden.has("v_proj_weight")) state.v_proj_weight = golden.mat("v_proj_weight");
  if (golden.has("in_proj_bias")) state.in_proj_bias = golden.rowvec("in_proj_bias");
  state.out_proj_weight = golden.mat("out_proj_weight");
  if (golden.has("out_proj_bias")) state.out_proj_bias = golden.rowvec("out_proj_bias");
  return state;
}

/// The layer of a case, its fields set one by one: forward is judged without load_state. In evaluation.
MultiheadAttention layer_from(const GoldenCase& golden, uword num_heads = 3) {
  const MultiheadAttentionState state = state_from(golden);
  const bool packed = golden.has("in_proj_weight");
  const bool bias = golden.has("in_proj_bias");
  const uword E = state.out_proj_weight.n_rows;
  MultiheadAttention layer(E, num_heads, 0.0, bias, packed ? E : state.k_proj_weight.n_cols,
                           packed ? E : state.v_proj_weight.n_cols);
  const arma::mat* separate[] = {&state.q_proj_weight, &state.k_proj_weight, &state.v_proj_weight};
  Linear* projections[] = {&layer.query_proj, &layer.key_proj, &layer.value_proj};
  for (uword i = 0; i < 3; ++i) {
    const arma::mat weight = packed ? arma::mat(state.in_proj_weight.rows(i * E, i * E + E - 1)) : *separate[i];
    projections[i]->weight = weight.t();
    if (bias) projections[i]->bias = state.in_proj_bias.cols(i * E, i * E + E - 1);
  }
  layer.output_proj.weight = state.out_proj_weight.t();
  if (bias) layer.output_proj.bias = state.out_proj_bias;
  layer.dropout.eval();
  return layer;
}

/// A new layer without dropout.
MultiheadAttention new_layer(uword embed_dim, uword num_heads, bool bias = true, uword kdim = 0, uword vdim = 0) {
  MultiheadAttention layer(embed_dim, num_heads, 0.0, bias, kdim, vdim);
  layer.dropout.eval();
  return layer;
}

MultiheadAttentionOptions masks_from(const GoldenCase& golden) {
  MultiheadAttentionOptions options;
  if (golden.has("key_padding_mask"))
    options.key_padding_mask = arma::conv_to<arma::umat>::from(golden.mat("key_padding_mask"));
  if (golden.has("bool_attn_mask")) options.bool_attn_mask = golden.mask("bool_attn_mask");
  if (golden.has("float_attn_mask")) options.float_attn_mask = golden.cube("float_attn_mask");
  return options;
}

/// forward on a case: its layer and its inputs, or those of "plain" where it has none, and its masks.
MultiheadAttention::Result run(const std::string& case_name, bool average = true) {
  const GoldenCase golden = load_golden(case_name);
  const GoldenCase plain = load_golden("plain");
  MultiheadAttention layer = layer_from(golden.has("out_proj_weight") ? golden : plain);
  MultiheadAttentionOptions options = masks_from(golden);
  options.average_attn_weights = average;
  const auto input = [&](const std::string& name) {
    if (golden.has(name)) return golden.cube(name);
    return golden.has("query") ? golden.cube("query") : plain.cube(name);  // self-attention has a query alone
  };
  return layer.forward(input("query"), input("key"), input("value"), options);
}

/// Output and averaged weights of a case are PyTorch's.
void expect_pytorch(const std::string& case_name) {
  const GoldenCase golden = load_golden(case_name);
  const MultiheadAttention::Result result = run(case_name);
  EXPECT_THAT(result.output, Matches(golden.expected("output")));
  EXPECT_THAT(result.weights, Matches(golden.expected("weights")));
}

/// What the layer should give, one number at a time. The mask is ours: 1 = may attend.
Attended naive(const MultiheadAttention& layer, const arma::cube& query, const arma::cube& key, const arma::cube& value,
               const Mask& mask = {}) {
  return naive_multi_head(projections_of(layer), layer.num_heads(), query, key, value, mask);
}

bool same(const arma::mat& a, const arma::mat& b) {
  return arma::size(a) == arma::size(b) && (a.is_empty() || arma::abs(a - b).max() < 1e-12);
}

struct Field {
  std::string name;
  arma::mat values;
};

/// Every number that load_state may change.
std::vector<Field> fields(const MultiheadAttention& layer) {
  std::vector<Field> all;
  for (const auto& [name, proj] : projections_of(layer)) {
    all.push_back({name + ".weight", proj.weight});
    all.push_back({name + ".bias", arma::mat(proj.bias)});
  }
  return all;
}

/// The fields that differ between two layers: "key_proj.bias, output_proj.weight".
std::string changed(const MultiheadAttention& before, const MultiheadAttention& after) {
  const std::vector<Field> was = fields(before);
  const std::vector<Field> is = fields(after);
  std::string names;
  for (std::size_t i = 0; i < was.size(); ++i) {
    if (!same(was[i].values, is[i].values)) names += (names.empty() ? "" : ", ") + was[i].name;
  }
  return names;
}

// ------------------------------------------------------------------------------------------- the constructor, 11.1

TEST(LoadStateConstructor, HasFourProjectionsWithBias) {
  const MultiheadAttention layer(12, 3);
  expect_four_projections_with_bias(projections_of(layer), 12, "");
  EXPECT_EQ(layer.num_heads(), 3U);
}

TEST(LoadStateConstructor, TakesKeysAndValuesOfOtherWidths) {
  const MultiheadAttention layer(12, 3, 0.0, true, 8, 10);
  const bool exchanged = layer.key_proj.weight.n_rows == 10 && layer.value_proj.weight.n_rows == 8;
  const std::string likely = exchanged ? likely_mistake("kdim_vdim_exchanged") : "";
  EXPECT_THAT(layer.query_proj.weight, HasShape({{"E (in)", 12}, {"E (out)", 12}}));
  EXPECT_THAT(layer.key_proj.weight, HasShape({{"kdim", 8}, {"E", 12}})) << likely;
  EXPECT_THAT(layer.value_proj.weight, HasShape({{"vdim", 10}, {"E", 12}})) << likely;
  EXPECT_THAT(layer.output_proj.weight, HasShape({{"E (in)", 12}, {"E (out)", 12}}));
}

TEST(LoadStateConstructor, TakesOneOtherWidthAlone) {
  const MultiheadAttention keys(12, 3, 0.0, true, 8);
  EXPECT_THAT(keys.key_proj.weight, HasShape({{"kdim", 8}, {"E", 12}}));
  EXPECT_THAT(keys.value_proj.weight, HasShape({{"vdim", 12}, {"E", 12}})) << note("vdim was left out: it is E");
  const MultiheadAttention values(12, 3, 0.0, true, 0, 10);
  EXPECT_THAT(values.key_proj.weight, HasShape({{"kdim", 12}, {"E", 12}})) << note("kdim is 0: that means E");
  EXPECT_THAT(values.value_proj.weight, HasShape({{"vdim", 10}, {"E", 12}}));
}

TEST(LoadStateConstructor, LeavesOutEveryBiasWhenAsked) {
  const MultiheadAttention layer(12, 3, 0.0, false);
  for (const auto& [name, proj] : projections_of(layer)) {
    EXPECT_HOLDS(proj.bias.is_empty(), name + " has a bias, and bias is false")
        << likely_mistake("bias_in_spite_of_false");
  }
}

TEST(LoadStateConstructor, TakesTheDropoutItIsGiven) {
  expect_new_dropout(MultiheadAttention(12, 3, 0.25).dropout, 0.25);
  expect_new_dropout(MultiheadAttention(12, 3).dropout, 0.0);
}

TEST(LoadStateConstructor, DrawsEachProjectionAnew) {
  expect_draws_each_projection_anew(projections_of(MultiheadAttention(50, 2)));
}

TEST(LoadStateConstructor, KeepsWhatLinearDraws) {
  expect_drawn_as_linear_draws(projections_of(MultiheadAttention(50, 2)));
}

TEST(LoadStateConstructor, LeavesSeedingToTheCaller) {
  expect_leaves_seeding_to_the_caller("the constructor", [] { return MultiheadAttention(50, 2).query_proj.weight; });
}

TEST(LoadStateConstructor, RejectsImpossibleSizes) {
  expect_rejects_impossible_sizes([](uword embed_dim, uword num_heads) { MultiheadAttention(embed_dim, num_heads); });
}

TEST(LoadStateConstructor, RejectsAnImpossibleProbability) {
  expect_rejects_impossible_probabilities([](double p) { MultiheadAttention(12, 3, p); });
}

// --------------------------------------------------------------------------------------------- load_state, 11.2

TEST(LoadState, TurnsTheThirdsOfThePackedWeight) {
  const GoldenCase golden = load_golden("state");
  MultiheadAttention layer(4, 2);
  layer.load_state(state_from(golden));
  EXPECT_THAT(layer.query_proj.weight, Matches(golden.expected("query_weight"))) << note("this is query_proj.weight");
  EXPECT_THAT(layer.key_proj.weight, Matches(golden.expected("key_weight"))) << note("this is key_proj.weight");
  EXPECT_THAT(layer.value_proj.weight, Matches(golden.expected("value_weight"))) << note("this is value_proj.weight");
}

TEST(LoadState, TurnsTheOutputWeight) {
  const GoldenCase golden = load_golden("state");
  MultiheadAttention layer(4, 2);
  layer.load_state(state_from(golden));
  EXPECT_THAT(layer.output_proj.weight, Matches(golden.expected("output_weight")));
}

TEST(LoadState, LoadsEveryParameter) {
  for (const uword kdim : {4U, 3U}) {
    MultiheadAttention layer(4, 2, 0.0, true, kdim, 4);
    const MultiheadAttention before = layer;
    MultiheadAttentionState state = state_from(load_golden("state"));
    if (kdim != 4) {
      state.q_proj_weight = state.in_proj_weight.rows(0, 3);
      state.k_proj_weight = state.in_proj_weight.submat(4, 0, 7, 2);
      state.v_proj_weight = state.in_proj_weight.rows(8, 11);
      state.in_proj_weight.reset();
    }
    layer.load_state(state);
    const std::vector<Field> was = fields(before);
    const std::vector<Field> is = fields(layer);
    for (std::size_t i = 0; i < was.size(); ++i) {
      const std::string& name = is[i].name;
      std::string likely = likely_mistake("parameter_left_out");
      if (name == "key_proj.bias" || name == "value_proj.bias") likely = likely_mistake("bias_for_queries_only");
      if (name == "output_proj.bias") likely = likely_mistake("output_bias_forgotten");
      EXPECT_HOLDS(!same(was[i].values, is[i].values), name + " is what it was before load_state") << likely;
    }
  }
}

TEST(LoadState, CutsTheBiasInThree) {
  const GoldenCase golden = load_golden("state");
  MultiheadAttention layer(4, 2);
  layer.load_state(state_from(golden));
  EXPECT_THAT(arma::mat(layer.query_proj.bias), Matches(golden.expected("query_bias"))) << note("query_proj.bias");
  EXPECT_THAT(arma::mat(layer.key_proj.bias), Matches(golden.expected("key_bias"))) << note("key_proj.bias");
  EXPECT_THAT(arma::mat(layer.value_proj.bias), Matches(golden.expected("value_bias"))) << note("value_proj.bias");
  EXPECT_THAT(arma::mat(layer.output_proj.bias), Matches(golden.expected("output_bias"))) << note("output_proj.bias");
}

TEST(LoadState, TakesSeparateWeightsForOtherWidths) {
  for (const bool bias : {true, false}) {
    const GoldenCase golden = load_golden(bias ? "other_widths" : "other_widths_no_bias");
    MultiheadAttention layer(12, 3, 0.0, bias, 8, 10);
    layer.load_state(state_from(golden));
    EXPECT_HOLDS(changed(layer_from(golden), layer).empty(),
                 "these fields are wrong: " + changed(layer_from(golden), layer));
  }
}

TEST(LoadState, TakesSeparateWeightsWhenAnyWidthDiffers) {
  for (const auto& [kdim, vdim] : {std::pair<uword, uword>{5, 6}, {6, 5}, {5, 5}}) {
    MultiheadAttention layer(6, 2, 0.0, false, kdim, vdim);
    MultiheadAttentionState state;
    state.q_proj_weight = arma::randn(6, 6);
    state.k_proj_weight = arma::randn(6, kdim);
    state.v_proj_weight = arma::randn(6, vdim);
    state.out_proj_weight = arma::randn(6, 6);
    layer.load_state(state);
    const std::string about =
        note("E is 6, kdim is " + std::to_string(kdim) + ", vdim is " + std::to_string(vdim) + ": nothing is packed");
    EXPECT_THAT(layer.query_proj.weight, IsNear(arma::mat(state.q_proj_weight.t()), {"in", "out"})) << about;
    EXPECT_THAT(layer.key_proj.weight, IsNear(arma::mat(state.k_proj_weight.t()), {"in", "out"})) << about;
    EXPECT_THAT(layer.value_proj.weight, IsNear(arma::mat(state.v_proj_weight.t()), {"in", "out"})) << about;
    EXPECT_THAT(layer.output_proj.weight, IsNear(arma::mat(state.out_proj_weight.t()), {"in", "out"})) << about;
  }
}

TEST(LoadState, IgnoresTheOtherKindOfWeights) {
  MultiheadAttentionState both = state_from(load_golden("plain"));
  MultiheadAttentionState separate = state_from(load_golden("other_widths"));
  both.q_proj_weight = separate.q_proj_weight;
  both.k_proj_weight = separate.k_proj_weight;
  both.v_proj_weight = separate.v_proj_weight;
  separate.in_proj_bias = both.in_proj_bias;
  separate.out_proj_weight = both.out_proj_weight;
  separate.out_proj_bias = both.out_proj_bias;

  const auto expect_same_as = [&](const MultiheadAttentionState& one_kind, uword kdim, uword vdim,
                                  const std::string& about, const std::string& likely) {
    MultiheadAttention layer(12, 3, 0.0, true, kdim, vdim);
    MultiheadAttention wanted = layer;
    wanted.load_state(one_kind);
    const std::string threw = refusal([&] { layer.load_state(both); });
    const std::string wrong = changed(wanted, layer);
    EXPECT_TRUE(threw.empty() && wrong.empty())
        << (threw.empty() ? line("value", "these fields are wrong: " + wrong) : line("threw", threw))
        << note("the state holds a packed weight and separate ones; " + about) << likely;
  };
  MultiheadAttentionState packed = both;
  packed.q_proj_weight.reset();
  packed.k_proj_weight.reset();
  packed.v_proj_weight.reset();
  expect_same_as(packed, 12, 12, "all widths are E, so the packed one counts", likely_mistake("separate_preferred"));
  expect_same_as(separate, 8, 10, "kdim is 8 and vdim 10, so the separate ones count",
                 likely_mistake("packed_preferred"));
}

TEST(LoadState, TakesAStateWithoutBias) {
  const GoldenCase golden = load_golden("no_bias");
  MultiheadAttention layer(12, 3, 0.0, false);
  layer.load_state(state_from(golden));
  EXPECT_HOLDS(changed(layer_from(golden), layer).empty(),
               "these fields are wrong: " + changed(layer_from(golden), layer));
}

TEST(LoadState, StartsAfresh) {
  const GoldenCase golden = load_golden("state");
  const MultiheadAttentionState state = state_from(golden);
  MultiheadAttentionState other = state;
  other.in_proj_weight *= 3;
  other.in_proj_bias += 1;
  other.out_proj_weight *= -2;
  other.out_proj_bias -= 5;
  MultiheadAttention layer(4, 2, 0.25);
  MultiheadAttention once(4, 2, 0.25);
  layer.load_state(other);
  layer.load_state(state);
  once.load_state(state);
  EXPECT_HOLDS(changed(once, layer).empty(), "something of an earlier state is left in: " + changed(once, layer));
  EXPECT_EQ(layer.num_heads(), 2U);
  EXPECT_DOUBLE_EQ(layer.dropout.p(), 0.25);
  EXPECT_HOLDS(layer.dropout.training(), "load_state ended the training");
}

/// One parameter of a right state is made wrong: load_state must name it, and change nothing.
void expect_rejected(MultiheadAttention layer, const MultiheadAttentionState& state, const std::string& name,
                     const std::vector<std::string>& words) {
  const MultiheadAttention before = layer;
  EXPECT_PRED_FORMAT1(RejectsArgument(name, words), [&] { layer.load_state(state); });
  EXPECT_HOLDS(changed(before, layer).empty(),
               name + " was wrong, but these fields were changed: " + changed(before, layer))
      << likely_mistake("partial_change");
}

TEST(LoadState, RejectsAWrongPackedStateAndChangesNothing) {
  const MultiheadAttention layer(4, 2);
  const MultiheadAttentionState right = state_from(load_golden("state"));
  const auto with = [&](auto change) {
    MultiheadAttentionState state = right;
    change(state);
    return state;
  };
  using State = MultiheadAttentionState;
  expect_rejected(layer, with([](State& s) { s.in_proj_weight = arma::randn(4, 12); }), "in_proj_weight",
                  {"4 x 12", "12 x 4"});
  expect_rejected(layer, with([](State& s) { s.in_proj_weight = arma::randn(13, 4); }), "in_proj_weight", {"13 x 4"});
  expect_rejected(layer, with([](State& s) { s.in_proj_weight = arma::randn(11, 4); }), "in_proj_weight", {"11 x 4"});
  expect_rejected(layer, with([](State& s) { s.in_proj_weight = arma::randn(12, 5); }), "in_proj_weight", {"12 x 5"});
  expect_rejected(layer, with([](State& s) { s.in_proj_bias = arma::randn<arma::rowvec>(4); }), "in_proj_bias",
                  {"4", "12"});
  expect_rejected(layer, with([](State& s) { s.in_proj_bias = arma::randn<arma::rowvec>(13); }), "in_proj_bias",
                  {"13", "12"});
  expect_rejected(layer, with([](State& s) { s.in_proj_bias = arma::randn<arma::rowvec>(24); }), "in_proj_bias",
                  {"24", "12"});
  expect_rejected(layer, with([](State& s) { s.in_proj_bias.reset(); }), "in_proj_bias", {"12"});
  expect_rejected(layer, with([](State& s) { s.out_proj_weight = arma::randn(4, 3); }), "out_proj_weight",
                  {"4 x 3", "4 x 4"});
  expect_rejected(layer, with([](State& s) { s.out_proj_weight = arma::randn(5, 4); }), "out_proj_weight", {"5 x 4"});
  expect_rejected(layer, with([](State& s) { s.out_proj_weight.reset(); }), "out_proj_weight", {"0 x 0"});
  expect_rejected(layer, with([](State& s) { s.out_proj_bias = arma::randn<arma::rowvec>(3); }), "out_proj_bias",
                  {"3", "4"});
  expect_rejected(layer, with([](State& s) { s.out_proj_bias = s.in_proj_bias; }), "out_proj_bias", {"12", "4"});
  expect_rejected(layer, with([](State& s) { s.out_proj_bias.reset(); }), "out_proj_bias", {"4"});
}

TEST(LoadState, RejectsAWrongSeparateStateAndChangesNothing) {
  const MultiheadAttention layer(12, 3, 0.0, true, 8, 10);
  const MultiheadAttentionState right = state_from(load_golden("other_widths"));
  const auto with = [&](auto change) {
    MultiheadAttentionState state = right;
    change(state);
    return state;
  };
  using State = MultiheadAttentionState;
  expect_rejected(layer, with([](State& s) { s.q_proj_weight = arma::randn(12, 11); }), "q_proj_weight", {"12 x 11"});
  expect_rejected(layer, with([](State& s) { s.k_proj_weight = arma::randn(12, 10); }), "k_proj_weight",
                  {"12 x 10", "12 x 8"});
  expect_rejected(layer, with([](State& s) { s.k_proj_weight = arma::randn(8, 12); }), "k_proj_weight", {"8 x 12"});
  expect_rejected(layer, with([](State& s) { s.v_proj_weight = arma::randn(12, 8); }), "v_proj_weight",
                  {"12 x 8", "12 x 10"});
  expect_rejected(layer, with([](State& s) { s.v_proj_weight.reset(); }), "v_proj_weight", {"0 x 0"});
  expect_rejected(layer, with([](State& s) { s.in_proj_bias = arma::randn<arma::rowvec>(30); }), "in_proj_bias",
                  {"30", "36"});
}

TEST(LoadState, RejectsABiasForALayerWithoutOne) {
  MultiheadAttentionState state = state_from(load_golden("no_bias"));
  state.in_proj_bias = arma::randn<arma::rowvec>(36);
  expect_rejected(MultiheadAttention(12, 3, 0.0, false), state, "in_proj_bias", {"36"});
  state.in_proj_bias.reset();
  state.out_proj_bias = arma::randn<arma::rowvec>(12);
  expect_rejected(MultiheadAttention(12, 3, 0.0, false), state, "out_proj_bias", {"12"});
}

TEST(LoadState, RejectsAPackedWeightForOtherWidths) {
  MultiheadAttention layer(12, 3, 0.0, true, 8, 10);
  const MultiheadAttention before = layer;
  bool rejected = false;
  try {
    layer.load_state(state_from(load_golden("plain")));
  } catch (const std::invalid_argument&) {
    rejected = true;
  }
  EXPECT_HOLDS(rejected, "a 36 x 12 in_proj_weight was accepted by a layer with kdim 8 and vdim 10");
  EXPECT_HOLDS(changed(before, layer).empty(), "a rejected state changed " + changed(before, layer))
      << likely_mistake("partial_change");
}

// ------------------------------------------------------------------------------------------- allowed_mask, 11.3

TEST(NnMultiheadAttentionAllowedMask, IsEmptyWithoutMasks) {
  EXPECT_HOLDS(allowed_mask({}, 5, 3).is_empty(), "there is no mask, but the result is not empty");
  MultiheadAttentionOptions options;
  options.float_attn_mask = arma::ones(5, 7, 1);
  EXPECT_HOLDS(allowed_mask(options, 5, 3).is_empty(), "there is a float mask only, but the result is not empty")
      << note("float_attn_mask is added to the scores in forward; it is not used here");
}

TEST(NnMultiheadAttentionAllowedMask, TurnsThePadding) {
  const GoldenCase golden = load_golden("key_padding");
  EXPECT_THAT(as_numbers(allowed_mask(masks_from(golden), 5, 3)), Matches(golden.expected("allowed")));
}

TEST(NnMultiheadAttentionAllowedMask, BlocksKeysAndNotQueries) {
  const GoldenCase golden = load_golden("self_attention");
  EXPECT_THAT(as_numbers(allowed_mask(masks_from(golden), 5, 3)), Matches(golden.expected("allowed")));
}

TEST(NnMultiheadAttentionAllowedMask, TurnsAMaskThatAllShare) {
  const GoldenCase golden = load_golden("bool_mask_2d");
  EXPECT_THAT(as_numbers(allowed_mask(masks_from(golden), 5, 3)), Matches(golden.expected("allowed")));
}

TEST(NnMultiheadAttentionAllowedMask, TurnsAMaskOfEveryHead) {
  const GoldenCase golden = load_golden("bool_mask_3d");
  EXPECT_THAT(as_numbers(allowed_mask(masks_from(golden), 5, 3)), Matches(golden.expected("allowed")));
}

TEST(NnMultiheadAttentionAllowedMask, AllowsWhatBothMasksAllow) {
  const GoldenCase golden = load_golden("both_masks");
  EXPECT_THAT(as_numbers(allowed_mask(masks_from(golden), 5, 3)), Matches(golden.expected("allowed")));
}

TEST(NnMultiheadAttentionAllowedMask, EqualsTheDefinitionForOtherSizes) {
  struct Sizes {
    uword L, S, H, B;
    bool shared;
  };
  for (const Sizes& of : {Sizes{4, 6, 2, 3, true}, Sizes{4, 6, 2, 3, false}, Sizes{1, 5, 4, 2, true},
                          Sizes{3, 1, 2, 5, false}, Sizes{2, 4, 1, 3, true}, Sizes{5, 2, 3, 1, true}}) {
    MultiheadAttentionOptions options;
    options.key_padding_mask = arma::randu(of.B, of.S) < 0.4;
    options.bool_attn_mask = arma::cube(of.L, of.S, of.shared ? 1 : of.H * of.B, arma::fill::randu) < 0.4;
    arma::cube wanted(of.L, of.S, of.H * of.B);
    for (uword b = 0; b < of.B; ++b)
      for (uword h = 0; h < of.H; ++h)
        for (uword i = 0; i < of.L; ++i)
          for (uword j = 0; j < of.S; ++j) {
            const uword n = b * of.H + h;
            const bool ignored = options.key_padding_mask(b, j) || options.bool_attn_mask(i, j, of.shared ? 0 : n);
            wanted(i, j, n) = ignored ? 0 : 1;
          }
    EXPECT_THAT(as_numbers(allowed_mask(options, of.L, of.H)), IsNear(wanted, head_weights_axes));
  }
}

TEST(NnMultiheadAttentionAllowedMask, LeavesItsArguments) {
  const MultiheadAttentionOptions options = masks_from(load_golden("both_masks"));
  expect_leaves_its_arguments(
      "allowed_mask", {{"key_padding_mask", options.key_padding_mask}, {"bool_attn_mask", options.bool_attn_mask}},
      [&] { allowed_mask(options, 5, 3); });
}

// ------------------------------------------------------------------------------------------ average_heads, 11.4

TEST(NnMultiheadAttentionAverageHeads, GivesOneSlicePerSequence) {
  EXPECT_THAT(average_heads(arma::randu<arma::cube>(5, 7, 6), 3), HasShape({{"L", 5}, {"S", 7}, {"B", 2}}));
}

TEST(NnMultiheadAttentionAverageHeads, IsTheMeanOfTheHeadsOfASequence) {
  const GoldenCase golden = load_golden("average");
  EXPECT_THAT(average_heads(golden.cube("weights"), 3), Matches(golden.expected("mean")));
}

TEST(NnMultiheadAttentionAverageHeads, KeepsRowsThatSumToOne) {
  const arma::cube weights = naive_softmax_rows(normal(4, 6, 10));
  EXPECT_THAT(average_heads(weights, 5), RowsSumToOne());
}

TEST(NnMultiheadAttentionAverageHeads, ChangesNothingForOneHead) {
  const arma::cube weights = normal(5, 7, 3);
  EXPECT_THAT(average_heads(weights, 1), IsNear(weights, {"L", "S", "B"}));
}

TEST(NnMultiheadAttentionAverageHeads, EqualsTheDefinitionForOtherSizes) {
  for (const uword num_heads : {2U, 4U, 7U}) {
    for (const uword batch : {1U, 3U}) {
      const arma::cube weights = normal(5, 6, num_heads * batch);
      arma::cube wanted = zeros(5, 6, batch);
      for (uword n = 0; n < weights.n_slices; ++n)
        for (uword i = 0; i < 5; ++i)
          for (uword j = 0; j < 6; ++j)
            wanted(i, j, n / num_heads) += weights(i, j, n) / static_cast<double>(num_heads);
      EXPECT_THAT(average_heads(weights, num_heads), IsNear(wanted, {"L", "S", "B"}));
    }
  }
}

TEST(NnMultiheadAttentionAverageHeads, RejectsAnImpossibleNumberOfHeads) {
  EXPECT_PRED_FORMAT1(RejectsArgument("weights", {"4", "3"}), [] { average_heads(zeros(5, 7, 4), 3); });
  EXPECT_PRED_FORMAT1(RejectsArgument("weights", {"2", "3"}), [] { average_heads(zeros(5, 7, 2), 3); });
  EXPECT_PRED_FORMAT1(RejectsArgument("num_heads", {"0"}), [] { average_heads(zeros(5, 7, 6), 0); });
  EXPECT_PRED_FORMAT1(RejectsArgument("weights", {"0 x 7 x 6"}), [] { average_heads(zeros(0, 7, 6), 3); });
  EXPECT_PRED_FORMAT1(RejectsArgument("weights", {"5 x 0 x 6"}), [] { average_heads(zeros(5, 0, 6), 3); });
  EXPECT_PRED_FORMAT1(RejectsArgument("weights", {"0 x 0 x 0"}), [] { average_heads(arma::cube(), 3); });
}

// ------------------------------------------------------------------------------------------------ forward, 11.5

TEST(NnMultiheadAttention, GivesARowForEveryQuery) {
  MultiheadAttention layer = new_layer(12, 3, true, 8, 10);
  const auto result = layer.forward(normal(5, 12, 2), normal(7, 8, 2), normal(7, 10, 2));
  EXPECT_THAT(result.output, HasShape({{"L", 5}, {"E", 12}, {"B", 2}}));
  EXPECT_THAT(result.weights, HasShape({{"L", 5}, {"S", 7}, {"B", 2}}));
}

TEST(NnMultiheadAttention, GivesTheTwoByTwoWorkedByHand) {
  const GoldenCase golden = load_golden("by_hand");
  MultiheadAttention layer = layer_from(golden, 2);
  arma::cube X(2, 2, 1);
  X.slice(0) = {{1, 0}, {0, 2}};
  MultiheadAttentionOptions options;
  options.average_attn_weights = false;
  EXPECT_THAT(layer.forward(X, X, X).output, Matches(golden.expected("output")))
      << given("X", X) << given("X", X) << given("X", X);
  EXPECT_THAT(layer.forward(X, X, X, options).weights, Matches(golden.expected("head_weights")))
      << given("X", X) << given("X", X) << given("X", X);
  EXPECT_THAT(layer.forward(X, X, X).weights, Matches(golden.expected("weights")))
      << given("X", X) << given("X", X) << given("X", X);
  options.key_padding_mask = {{0, 1}};
  EXPECT_THAT(layer.forward(X, X, X, options).output, Matches(golden.expected("padded_output")))
      << note("key_padding_mask is [ 0 1 ] here: key 1 is ignored");
}

TEST(NnMultiheadAttention, EqualsPyTorch) {
  const GoldenCase golden = load_golden("plain");
  EXPECT_THAT(run("plain").output, Matches(golden.expected("output")));
}

TEST(NnMultiheadAttention, ReturnsEachHeadsOwnWeightsWhenAsked) {
  const GoldenCase golden = load_golden("plain");
  EXPECT_THAT(run("plain", false).weights, Matches(golden.expected("head_weights")));
}

TEST(NnMultiheadAttention, AveragesTheWeightsByDefault) {
  const GoldenCase golden = load_golden("plain");
  EXPECT_THAT(run("plain").weights, Matches(golden.expected("weights")));
}

TEST(NnMultiheadAttention, ReturnsNoWeightsThatAreNotNeeded) {
  const GoldenCase golden = load_golden("plain");
  MultiheadAttention layer = layer_from(golden);
  for (const bool average : {true, false}) {
    MultiheadAttentionOptions options;
    options.need_weights = false;
    options.average_attn_weights = average;
    const auto result = layer.forward(golden.cube("query"), golden.cube("key"), golden.cube("value"), options);
    EXPECT_HOLDS(result.weights.is_empty(),
                 "need_weights is false, but weights of " + shape_text(result.weights) + " were returned")
        << likely_mistake("weights_not_needed");
    EXPECT_THAT(result.output, Matches(golden.expected("output"))) << note("need_weights changes no output");
  }
}

TEST(NnMultiheadAttention, EqualsPyTorchWithoutBias) { expect_pytorch("no_bias"); }

TEST(NnMultiheadAttention, EqualsPyTorchForOtherWidths) {
  expect_pytorch("other_widths");
  expect_pytorch("other_widths_no_bias");
}

TEST(NnMultiheadAttention, IgnoresPadding) { expect_pytorch("key_padding"); }

TEST(NnMultiheadAttention, IgnoresPaddingInSelfAttention) { expect_pytorch("self_attention"); }

TEST(NnMultiheadAttention, BlocksWhatTheBoolMaskMarks) { expect_pytorch("bool_mask_2d"); }

TEST(NnMultiheadAttention, TakesABoolMaskOfEveryHead) { expect_pytorch("bool_mask_3d"); }

TEST(NnMultiheadAttention, TakesBothMasksTogether) { expect_pytorch("both_masks"); }

TEST(NnMultiheadAttention, AddsTheFloatMaskToTheScaledScores) { expect_pytorch("float_mask_2d"); }

TEST(NnMultiheadAttention, AddsTheFloatMaskOfEveryHead) { expect_pytorch("float_mask_3d"); }

TEST(NnMultiheadAttention, TakesAFloatMaskAndPadding) { expect_pytorch("float_and_padding"); }

TEST(NnMultiheadAttention, TakesAllThreeMasksTogether) { expect_pytorch("all_masks"); }

TEST(NnMultiheadAttention, AppliesMasksWhenWeightsAreNotNeeded) {
  const GoldenCase golden = load_golden("all_masks");
  const GoldenCase plain = load_golden("plain");
  MultiheadAttention layer = layer_from(plain);
  const auto output = [&](MultiheadAttentionOptions options, bool need_weights) {
    options.need_weights = need_weights;
    return layer.forward(plain.cube("query"), plain.cube("key"), plain.cube("value"), options).output;
  };
  const arma::cube without_weights = output(masks_from(golden), false);
  const arma::cube with_weights = output(masks_from(golden), true);
  const auto same_as = [&](const arma::cube& other) {
    return arma::approx_equal(without_weights, other, "absdiff", 1e-10);
  };
  const bool forgotten = same_as(output({}, false)) && !same_as(with_weights);
  EXPECT_THAT(without_weights, IsNear(with_weights, output_axes))
      << note("need_weights is false, and there are masks; expected is the output with need_weights = true")
      << (forgotten ? likely_mistake("masks_need_weights") : "");
}

TEST(NnMultiheadAttention, GivesTheBiasToAQueryWithoutKeys) {
  const GoldenCase golden = load_golden("fully_masked");
  expect_pytorch("fully_masked");
  EXPECT_THAT(run("fully_masked", false).weights, Matches(golden.expected("head_weights")));
}

TEST(NnMultiheadAttention, GivesTheBiasHoweverTheKeysAreBlocked) {
  MultiheadAttention layer = new_layer(12, 3);
  MultiheadAttentionOptions added;
  added.float_attn_mask = zeros(5, 7, 1);
  added.float_attn_mask.slice(0).row(4).fill(-arma::datum::inf);
  MultiheadAttentionOptions padding;
  padding.key_padding_mask = arma::umat(2, 7, arma::fill::ones);
  MultiheadAttentionOptions yes_or_no;
  yes_or_no.bool_attn_mask = Mask(5, 7, 1, arma::fill::zeros);
  yes_or_no.bool_attn_mask.slice(0).row(4).ones();
  MultiheadAttentionOptions half_each = added;
  half_each.float_attn_mask.slice(0).cols(0, 2).zeros();
  half_each.key_padding_mask = arma::umat(2, 7, arma::fill::zeros);
  half_each.key_padding_mask.cols(0, 2).ones();
  for (const MultiheadAttentionOptions& options : {added, padding, yes_or_no, half_each}) {
    const auto result = layer.forward(normal(5, 12, 2), normal(7, 12, 2), normal(7, 12, 2), options);
    for (uword b = 0; b < 2; ++b) {
      EXPECT_THAT(arma::mat(result.weights.slice(b).row(4)), IsNear(arma::mat(1, 7, arma::fill::zeros)))
          << note("query 4 may attend to no key: by the float mask, the padding, the bool mask, or two together");
      EXPECT_THAT(arma::mat(result.output.slice(b).row(4)), IsNear(arma::mat(layer.output_proj.bias)))
          << note("a query without keys gets the bias of the output projection, and nothing else");
    }
  }
}

TEST(NnMultiheadAttention, MasksInTrainingAsWell) {
  for (const std::string case_name : {"float_and_padding", "bool_mask_3d"}) {
    const GoldenCase golden = load_golden(case_name);
    const GoldenCase plain = load_golden("plain");
    MultiheadAttention layer = layer_from(plain);
    layer.dropout.train();  // p is 0
    const auto result = layer.forward(plain.cube("query"), plain.cube("key"), plain.cube("value"), masks_from(golden));
    EXPECT_THAT(result.output, Matches(golden.expected("output"))) << note("the layer is training, with p = 0");
  }
}

TEST(NnMultiheadAttention, EqualsPyTorchWithDropout) {
  const GoldenCase golden = load_golden("dropout");
  const GoldenCase plain = load_golden("plain");
  MultiheadAttention layer = layer_from(plain);
  layer.dropout = Dropout(0.25);
  layer.dropout.inject(golden.mask("keep"));
  const std::string about = note("dropout uses the mask that PyTorch drew, with p = 0.25");
  const auto forward = [&](bool average) {
    MultiheadAttentionOptions options;
    options.average_attn_weights = average;
    return layer.forward(plain.cube("query"), plain.cube("key"), plain.cube("value"), options);
  };
  EXPECT_THAT(forward(true).output, Matches(golden.expected("output"))) << about;
  EXPECT_THAT(forward(false).weights, Matches(golden.expected("head_weights"))) << about;
  EXPECT_THAT(forward(true).weights, Matches(golden.expected("weights"))) << about;
}

TEST(NnMultiheadAttention, AppliesMasksAndDropoutTogether) {
  const GoldenCase golden = load_golden("masked_dropout");
  const GoldenCase plain = load_golden("plain");
  MultiheadAttention layer = layer_from(plain);
  layer.dropout = Dropout(0.25);
  layer.dropout.inject(golden.mask("keep"));
  MultiheadAttentionOptions options = masks_from(golden);
  options.average_attn_weights = false;
  const auto result = layer.forward(plain.cube("query"), plain.cube("key"), plain.cube("value"), options);
  const std::string about = note("with all three masks, in training, with p = 0.25");
  EXPECT_THAT(result.output, Matches(golden.expected("output"))) << about;
  EXPECT_THAT(result.weights, Matches(golden.expected("head_weights"))) << about;
}

TEST(NnMultiheadAttention, ReturnsTheWeightsThatMixedTheValues) {
  MultiheadAttention layer = new_layer(12, 3, true, 8, 10);
  layer.dropout = Dropout(0.5);  // draws a mask of its own at every call
  MultiheadAttentionOptions options;
  options.average_attn_weights = false;
  const arma::cube value = normal(7, 10, 2);
  const auto result = layer.forward(normal(5, 12, 2), normal(7, 8, 2), value, options);
  const arma::cube V = naive_split_heads(naive_linear(value, layer.value_proj.weight, layer.value_proj.bias), 3);
  const arma::cube context = naive_merge_heads(naive_mix(result.weights, V), 3);
  EXPECT_THAT(result.output,
              IsNear(naive_linear(context, layer.output_proj.weight, layer.output_proj.bias), output_axes))
      << note("in training: expected is made from the weights that were returned; is dropout called once?");
}

TEST(NnMultiheadAttention, DropsAsManyWeightsWhenTheyAreNotNeeded) {
  const GoldenCase golden = load_golden("dropout");
  const GoldenCase plain = load_golden("plain");
  MultiheadAttention layer = layer_from(plain);
  layer.dropout = Dropout(0.25);
  layer.dropout.inject(golden.mask("keep"));
  MultiheadAttentionOptions options;
  options.need_weights = false;
  const auto result = layer.forward(plain.cube("query"), plain.cube("key"), plain.cube("value"), options);
  EXPECT_THAT(result.output, Matches(golden.expected("output")))
      << note("need_weights is false; the output is the same");
}

TEST(NnMultiheadAttention, EqualsPyTorchWithALoadedState) {
  for (const std::string case_name : {"plain", "other_widths"}) {
    const GoldenCase golden = load_golden(case_name);
    const bool packed = golden.has("in_proj_weight");
    MultiheadAttention layer = new_layer(12, 3, true, packed ? 0 : 8, packed ? 0 : 10);
    layer.load_state(state_from(golden));
    const auto result = layer.forward(golden.cube("query"), golden.cube("key"), golden.cube("value"));
    EXPECT_THAT(result.output, Matches(golden.expected("output"))) << note("the parameters came by load_state");
  }
}

/// Document D's call of the library: a sentence of 10 tokens, 8 heads, batch first, averaged weights.
TEST(NnMultiheadAttention, EqualsTheArticlesLibraryCall) {
  const GoldenCase golden = load_golden("article");
  MultiheadAttention layer = new_layer(16, 8);
  layer.load_state(state_from(golden));
  const arma::cube sentence = golden.cube("query");
  const auto result = layer.forward(sentence, sentence, sentence);
  EXPECT_THAT(result.output, Matches(golden.expected("output"))) << note("the parameters came by load_state");
  EXPECT_THAT(result.weights, Matches(golden.expected("weights")));
  EXPECT_THAT(result.weights, RowsSumToOne());
}

TEST(NnMultiheadAttention, EqualsTheDefinitionForOtherSizes) {
  struct Sizes {
    uword L, S, E, H, B, kdim, vdim;
  };
  for (const Sizes& of :
       {Sizes{4, 6, 10, 5, 3, 7, 2}, Sizes{6, 4, 8, 2, 3, 8, 8}, Sizes{1, 5, 6, 3, 2, 6, 6}, Sizes{5, 1, 6, 2, 3, 4, 6},
        Sizes{3, 7, 5, 1, 2, 5, 9}, Sizes{4, 6, 9, 9, 1, 2, 3}, Sizes{2, 3, 1, 1, 4, 1, 1},
        Sizes{34, 31, 6, 2, 3, 6, 6}, Sizes{1, 1, 4, 2, 3, 4, 4}, Sizes{3, 5, 68, 2, 4, 7, 6}}) {
    for (const bool bias : {true, false}) {
      MultiheadAttention layer = new_layer(of.E, of.H, bias, of.kdim, of.vdim);
      const arma::cube query = normal(of.L, of.E, of.B);
      const arma::cube key = normal(of.S, of.kdim, of.B);
      const arma::cube value = normal(of.S, of.vdim, of.B);
      const auto wanted = naive(layer, query, key, value);
      MultiheadAttentionOptions options;
      options.average_attn_weights = false;
      const auto result = layer.forward(query, key, value, options);
      EXPECT_THAT(result.output, IsNear(wanted.output, output_axes));
      EXPECT_THAT(result.weights, IsNear(wanted.weights, head_weights_axes));
    }
  }
}

TEST(NnMultiheadAttention, IsSelfAttentionForTheSameSequenceThreeTimes) {
  MultiheadAttention layer = new_layer(12, 3);
  const arma::cube X = normal(5, 12, 2);
  const arma::cube copy = X;
  EXPECT_THAT(layer.forward(X, X, X).output, IsNear(naive(layer, copy, copy, copy).output, output_axes));
  EXPECT_THAT(X, IsNear(copy, output_axes, 0)) << note("forward changed its argument");
}

TEST(NnMultiheadAttention, KeepsTheBatchApart) {
  const GoldenCase golden = load_golden("plain");
  MultiheadAttention layer = layer_from(golden);
  const arma::cube query = golden.cube("query");
  const arma::cube key = golden.cube("key");
  const arma::cube value = golden.cube("value");
  MultiheadAttentionOptions options = masks_from(load_golden("both_masks"));
  options.float_attn_mask = load_golden("float_mask_3d").cube("float_attn_mask");
  const auto alone = [&](uword b) {
    MultiheadAttentionOptions own;
    own.key_padding_mask = options.key_padding_mask.row(b);
    own.bool_attn_mask = options.bool_attn_mask.slices(3 * b, 3 * b + 2);
    own.float_attn_mask = options.float_attn_mask.slices(3 * b, 3 * b + 2);
    return layer.forward(query.slices(b, b), key.slices(b, b), value.slices(b, b), own);
  };
  const auto together = layer.forward(query, key, value, options);
  expect_keeps_apart("sequence", query.n_slices, together.output, [&](uword b) { return alone(b).output; });
  expect_keeps_apart("sequence", query.n_slices, together.weights, [&](uword b) { return alone(b).weights; });
}

TEST(NnMultiheadAttention, IgnoresTheOrderOfKeys) {
  MultiheadAttention layer = new_layer(12, 3);
  const arma::cube query = normal(5, 12, 2);
  expect_ignores_the_order_of_keys([&](const arma::cube& key, const arma::cube& value,
                                       const Mask&) { return layer.forward(query, key, value).output; },
                                   normal(7, 12, 2), normal(7, 12, 2));
}

TEST(NnMultiheadAttention, MasksAgreeWithEachOther) {
  MultiheadAttention layer = new_layer(12, 3);
  const arma::cube query = normal(5, 12, 2);
  const arma::cube key = normal(7, 12, 2);
  MultiheadAttentionOptions yes_or_no;
  yes_or_no.bool_attn_mask = Mask(5, 7, 1, arma::fill::zeros);
  yes_or_no.bool_attn_mask.slice(0).cols(4, 6).ones();
  MultiheadAttentionOptions padding;
  padding.key_padding_mask = arma::umat(2, 7, arma::fill::zeros);
  padding.key_padding_mask.cols(4, 6).ones();
  MultiheadAttentionOptions added;
  added.float_attn_mask = zeros(5, 7, 1);
  added.float_attn_mask.slice(0).cols(4, 6).fill(-arma::datum::inf);
  const arma::cube shorter = key.rows(0, 3);
  const arma::cube wanted = layer.forward(query, shorter, shorter).output;
  const std::string about = note("the last three of seven keys are blocked: the same as if they were not there");
  EXPECT_THAT(layer.forward(query, key, key, yes_or_no).output, IsNear(wanted, output_axes)) << about;
  EXPECT_THAT(layer.forward(query, key, key, padding).output, IsNear(wanted, output_axes)) << about;
  EXPECT_THAT(layer.forward(query, key, key, added).output, IsNear(wanted, output_axes)) << about;
}

TEST(NnMultiheadAttention, TakesNothingFromAFloatMaskOfZeros) {
  const GoldenCase golden = load_golden("plain");
  MultiheadAttention layer = layer_from(golden);
  MultiheadAttentionOptions options;
  options.float_attn_mask = zeros(5, 7, 6);
  options.bool_attn_mask = Mask(5, 7, 6, arma::fill::zeros);
  options.key_padding_mask = arma::umat(2, 7, arma::fill::zeros);
  const auto result = layer.forward(golden.cube("query"), golden.cube("key"), golden.cube("value"), options);
  EXPECT_THAT(result.output, Matches(golden.expected("output"))) << note("all masks are zeros: they change nothing");
}

TEST(NnMultiheadAttention, StartsAfresh) {
  const GoldenCase golden = load_golden("plain");
  MultiheadAttention layer = layer_from(golden);
  const std::string about = note("forward was called before with other inputs and masks; nothing of it may be left");
  MultiheadAttentionOptions options = masks_from(load_golden("both_masks"));
  options.float_attn_mask = load_golden("float_mask_3d").cube("float_attn_mask");
  layer.forward(-2 * golden.cube("query"), golden.cube("value"), golden.cube("key"), options);
  layer.forward(normal(4, 12, 3), normal(6, 12, 3), normal(6, 12, 3));
  const auto result = layer.forward(golden.cube("query"), golden.cube("key"), golden.cube("value"));
  EXPECT_THAT(result.output, Matches(golden.expected("output"))) << about;
  EXPECT_THAT(result.weights, Matches(golden.expected("weights"))) << about;
}

TEST(NnMultiheadAttention, LeavesItsFieldsAndArguments) {
  MultiheadAttention layer = new_layer(12, 3);
  const Projections before = projections_of(layer);
  MultiheadAttentionOptions options = masks_from(load_golden("both_masks"));
  options.float_attn_mask = normal(5, 7, 1);
  const arma::cube query = normal(5, 12, 2), key = normal(7, 12, 2), value = normal(7, 12, 2);
  expect_leaves_its_arguments("forward",
                              {{"query", query},
                               {"key", key},
                               {"value", value},
                               {"key_padding_mask", options.key_padding_mask},
                               {"bool_attn_mask", options.bool_attn_mask},
                               {"float_attn_mask", options.float_attn_mask}},
                              [&] { layer.forward(query, key, value, options); });
  expect_unchanged(before, projections_of(layer));
  EXPECT_HOLDS(!layer.dropout.training(), "forward switched dropout on");
}

TEST(NnMultiheadAttention, LeavesSeedingToTheCaller) {
  MultiheadAttention layer = new_layer(4, 2);
  const MultiheadAttentionState state = state_from(load_golden("state"));
  expect_leaves_seeding_to_the_caller("load_state or forward", [&]() -> arma::mat {
    layer.load_state(state);
    layer.forward(zeros(5, 4, 2), zeros(7, 4, 2), zeros(7, 4, 2));
    return arma::randu<arma::mat>(1, 1);
  });
}

TEST(NnMultiheadAttention, DropsNothingInEvaluation) {
  const GoldenCase golden = load_golden("plain");
  MultiheadAttention trained = layer_from(golden);
  trained.dropout = Dropout(0.9);
  trained.dropout.eval();
  const auto result = trained.forward(golden.cube("query"), golden.cube("key"), golden.cube("value"));
  EXPECT_THAT(result.output, Matches(golden.expected("output"))) << note("p is 0.9, but dropout is in evaluation");
}

TEST(NnMultiheadAttention, AcceptsExtremeScores) {
  MultiheadAttention layer = new_layer(12, 3);
  const arma::cube query = 300 * normal(5, 12, 2);
  const arma::cube key = 300 * normal(7, 12, 2);
  const auto result = layer.forward(query, key, key);
  EXPECT_THAT(result.weights, RowsSumToOne());
  EXPECT_HOLDS(result.output.is_finite(), "the output holds NaN or infinity");
}

TEST(NnMultiheadAttention, PassesOnANaN) {
  MultiheadAttention layer = new_layer(12, 3);
  arma::cube query = normal(5, 12, 2);
  query(2, 1, 0) = arma::datum::nan;
  const arma::cube key = normal(7, 12, 2);
  MultiheadAttentionOptions options;
  options.average_attn_weights = false;
  const auto result = layer.forward(query, key, key, options);
  expect_nan_as_wanted({result.output, result.weights}, naive(layer, query, key, key),
                       note("query 2 of sequence 0 holds NaN: its row is NaN, and no other row"));
}

// ----------------------------------------------------------------------------------------------------- bad input, 11.5

TEST(NnMultiheadAttention, RejectsInputsOfTheWrongShape) {
  MultiheadAttention layer = new_layer(12, 3, true, 8, 10);
  const arma::cube query = zeros(5, 12, 2);
  const arma::cube key = zeros(7, 8, 2);
  const arma::cube value = zeros(7, 10, 2);
  EXPECT_PRED_FORMAT1(RejectsArgument("query", {"5 x 11 x 2", "12"}),
                      [&] { layer.forward(zeros(5, 11, 2), key, value); });
  EXPECT_PRED_FORMAT1(RejectsArgument("query", {"5 x 36 x 2", "12"}),
                      [&] { layer.forward(zeros(5, 36, 2), key, value); });
  EXPECT_PRED_FORMAT1(RejectsArgument("query", {"0 x 0 x 0"}), [&] { layer.forward(arma::cube(), key, value); });
  EXPECT_PRED_FORMAT1(RejectsArgument("query", {"0 x 12 x 2"}), [&] { layer.forward(zeros(0, 12, 2), key, value); });
  EXPECT_PRED_FORMAT1(RejectsArgument("key", {"7 x 12 x 2", "8"}),
                      [&] { layer.forward(query, zeros(7, 12, 2), value); });
  EXPECT_PRED_FORMAT1(RejectsArgument("key", {"7 x 8 x 3", "2"}), [&] { layer.forward(query, zeros(7, 8, 3), value); });
  EXPECT_PRED_FORMAT1(RejectsArgument("key", {"0 x 8 x 2"}), [&] { layer.forward(query, zeros(0, 8, 2), value); });
  EXPECT_PRED_FORMAT1(RejectsArgument("value", {"6 x 10 x 2", "7"}),
                      [&] { layer.forward(query, key, zeros(6, 10, 2)); });
  EXPECT_PRED_FORMAT1(RejectsArgument("value", {"7 x 8 x 2", "10"}),
                      [&] { layer.forward(query, key, zeros(7, 8, 2)); });
  EXPECT_PRED_FORMAT1(RejectsArgument("value", {"7 x 10 x 1", "2"}),
                      [&] { layer.forward(query, key, zeros(7, 10, 1)); });
}

TEST(NnMultiheadAttention, RejectsMasksOfTheWrongShape) {
  MultiheadAttention layer = new_layer(12, 3);
  const auto with = [&](const auto& set) {
    return [&layer, set] {
      MultiheadAttentionOptions options;
      set(options);
      layer.forward(zeros(5, 12, 2), zeros(7, 12, 2), zeros(7, 12, 2), options);
    };
  };
  using Options = MultiheadAttentionOptions;
  for (const arma::SizeCube wrong : {arma::SizeCube(7, 5, 1), arma::SizeCube(5, 6, 1), arma::SizeCube(5, 8, 6),
                                     arma::SizeCube(4, 7, 6), arma::SizeCube(5, 7, 2), arma::SizeCube(5, 7, 3)}) {
    const std::string shape = shape_text(arma::cube(wrong));
    EXPECT_PRED_FORMAT1(RejectsArgument("bool_attn_mask", {shape, "5 x 7 x 1", "5 x 7 x 6"}),
                        with([&](Options& o) { o.bool_attn_mask = Mask(wrong, arma::fill::zeros); }));
    EXPECT_PRED_FORMAT1(RejectsArgument("float_attn_mask", {shape, "5 x 7 x 1", "5 x 7 x 6"}),
                        with([&](Options& o) { o.float_attn_mask = arma::cube(wrong, arma::fill::zeros); }));
  }
  for (const arma::SizeMat wrong : {arma::SizeMat(7, 2), arma::SizeMat(2, 5), arma::SizeMat(1, 7), arma::SizeMat(6, 7),
                                    arma::SizeMat(2, 8), arma::SizeMat(3, 7)}) {
    EXPECT_PRED_FORMAT1(RejectsArgument("key_padding_mask", {shape_text(arma::mat(wrong)), "2 x 7"}),
                        with([&](Options& o) { o.key_padding_mask = arma::umat(wrong, arma::fill::zeros); }));
  }
}

// ----------------------------------------------------------------------------------------------------------- speed

ATTN_SPEED("forward, 2 sequences of 32 queries and 48 keys, E = 64, H = 4", [] {
  const arma::cube query = normal(32, 64, 2);
  const arma::cube memory = normal(48, 64, 2);
  MultiheadAttention layer(64, 4);
  layer.dropout.eval();
  return [layer, query, memory]() mutable { return layer.forward(query, memory, memory).output; };
});

}  // namespace
}  // namespace attn::judge
