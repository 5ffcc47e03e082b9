#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <armadillo>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "attn/dropout.hpp"
#include "attn/self_attention_v3.hpp"
#include "checks/draw.hpp"
#include "checks/golden.hpp"
#include "checks/matchers.hpp"
#include "checks/oracles.hpp"
#include "checks/properties.hpp"
#include "checks/speed.hpp"

namespace attn::judge {
namespace {

const double nan = std::numeric_limits<double>::quiet_NaN();
const double infinity = std::numeric_limits<double>::infinity();

/// Whether `count` fits n numbers that are each 1 with probability q, every one on its own: within six standard
/// deviations, √(n q (1 - q)), of n q. Right code falls outside once in five hundred million times; and here the checks
/// set the seed, so that what passes once passes always.
bool plausible(arma::uword count, arma::uword n, double q) {
  const double size = static_cast<double>(n);
  return std::abs(static_cast<double>(count) - size * q) <= 6 * std::sqrt(size * q * (1 - q));
}

std::string share_text(arma::uword count, arma::uword n) {
  const double share = static_cast<double>(count) / static_cast<double>(n);
  return std::to_string(count) + " of " + std::to_string(n) + " (" + std::to_string(share) + ")";
}

arma::uword ones_in(const Mask& mask) { return arma::accu(mask != 0); }

bool same(const Mask& a, const Mask& b) { return arma::size(a) == arma::size(b) && arma::accu(a != b) == 0; }

bool same(const arma::cube& a, const arma::cube& b) {
  return arma::size(a) == arma::size(b) && arma::accu(a != b) == 0;
}

// -------------------------------------------------------------------------------------------- the constructor, 04.1

TEST(DropoutConstructor, RemembersItsProbability) {
  for (const double p : {0.0, 0.1, 0.75}) {
    const Dropout dropout(p);
    EXPECT_THAT(arma::mat(1, 1, arma::fill::value(dropout.p())), IsNear(arma::mat(1, 1, arma::fill::value(p))))
        << note("p() must give what the constructor was given");
    EXPECT_HOLDS(dropout.training(), "a new Dropout is not training");
  }
}

TEST(DropoutConstructor, RejectsAnImpossibleProbability) {
  EXPECT_HOLDS(!refusal([] { Dropout(-0.1); }).empty() || !refusal([] { Dropout(1.5); }).empty(),
               "Dropout(-0.1) and Dropout(1.5) are made without complaint")
      << likely_mistake("p_not_checked");
  expect_rejects_impossible_probabilities([](double p) { Dropout dropout(p); });
  EXPECT_PRED_FORMAT1(RejectsArgument("p", {}), [] { Dropout(-1e-9); });
  EXPECT_PRED_FORMAT1(RejectsArgument("p", {"inf"}), [] { Dropout dropout(infinity); });
  EXPECT_PRED_FORMAT1(RejectsArgument("p", {"inf"}), [] { Dropout(-infinity); });
}

TEST(DropoutConstructor, RejectsAProbabilityOfOne) {
  EXPECT_PRED_FORMAT1(RejectsOrNames(RejectsArgument("p", {"1"}), likely_mistake("one_accepted")),
                      [] { Dropout(1.0); });
}

TEST(DropoutConstructor, RejectsNaN) {
  EXPECT_PRED_FORMAT1(RejectsOrNames(RejectsArgument("p", {"nan"}), likely_mistake("nan_accepted")),
                      [] { Dropout dropout(nan); });
}

// ------------------------------------------------------------------------------------------ with a given mask, 04.2

TEST(DropoutApply, KeepsTheShape) {
  const arma::cube x = normal(4, 3, 2);
  EXPECT_THAT(Dropout::apply(x, ones(4, 3, 2), 0.3), HasShape({{"L", 4}, {"E", 3}, {"B", 2}}));
}

TEST(DropoutApply, GivesTheTwoByTwoWorkedByHand) {
  const GoldenCase golden = load_golden("dropout_by_hand");
  arma::cube x(2, 2, 1);
  x.slice(0) = {{2, -1}, {0.5, 4}};
  Mask keep(2, 2, 1);
  keep.slice(0) = {{1, 0}, {1, 1}};
  EXPECT_THAT(Dropout::apply(x, keep, 0.2), Matches(golden.expected("output"))) << given("x", x);
}

TEST(DropoutApply, EqualsPyTorch) {
  const GoldenCase golden = load_golden("dropout");
  const double p = golden.rowvec("p")(0);
  EXPECT_THAT(Dropout::apply(golden.cube("x"), golden.mask("keep"), p), Matches(golden.expected("output")));
}

TEST(DropoutApply, EqualsTheDefinitionForOtherSizes) {
  arma::arma_rng::set_seed(4);
  for (const arma::SizeCube size : {arma::SizeCube(3, 5, 2), arma::SizeCube(1, 1, 1), arma::SizeCube(70, 1, 3),
                                    arma::SizeCube(1, 6, 4), arma::SizeCube(5, 4, 1)}) {
    for (const double p : {0.0, 0.1, 0.5, 0.9}) {
      const arma::cube x(size, arma::fill::randn);
      const arma::cube chance(size, arma::fill::randu);
      const Mask keep = chance > 0.4;  // not what p says: apply takes the mask as it is
      arma::cube wanted(size);
      for (arma::uword i = 0; i < x.n_elem; ++i) wanted(i) = keep(i) != 0 ? x(i) / (1 - p) : 0;
      EXPECT_THAT(Dropout::apply(x, keep, p), IsNear(wanted)) << note("here p is " + std::to_string(p));
    }
  }
}

TEST(DropoutApply, ChangesNothingWhenNothingIsDropped) {
  const arma::cube x = normal(4, 3, 2);
  EXPECT_THAT(Dropout::apply(x, ones(4, 3, 2), 0), IsNear(x));
}

TEST(DropoutApply, GivesZerosWhenNothingIsKept) {
  const arma::cube x = normal(4, 3, 2);
  EXPECT_THAT(Dropout::apply(x, Mask(4, 3, 2, arma::fill::zeros), 0.3), IsNear(zeros(4, 3, 2)));
}

TEST(DropoutApply, TakesAnyNumberButZeroAsKept) {
  const GoldenCase golden = load_golden("dropout");
  const arma::cube x = golden.cube("x");
  const double p = golden.rowvec("p")(0);
  const Mask keep = golden.mask("keep");
  const arma::cube result = Dropout::apply(x, 3 * keep, p);
  const arma::cube right = Dropout::apply(x, keep, p);
  const bool multiplied = arma::approx_equal(result, 3 * right, "absdiff", 1e-10);
  EXPECT_THAT(result, IsNear(right)) << (multiplied ? likely_mistake("multiplied_by_keep") : "")
                                     << note("keep holds 3 instead of 1 here, which means kept, too");
}

TEST(DropoutApply, RejectsAMaskOfAnotherSize) {
  const arma::cube x = normal(4, 3, 2);
  const auto apply = [&](arma::uword rows, arma::uword cols, arma::uword slices) {
    Dropout::apply(x, Mask(rows, cols, slices, arma::fill::zeros), 0.3);
  };
  EXPECT_PRED_FORMAT1(
      RejectsOrNames(RejectsArgument("keep", {"4 x 3 x 1", "4 x 3 x 2"}), likely_mistake("keep_not_checked")),
      [&] { apply(4, 3, 1); });
  EXPECT_PRED_FORMAT1(RejectsArgument("keep", {"4 x 3 x 5", "4 x 3 x 2"}), [&] { apply(4, 3, 5); });
  EXPECT_PRED_FORMAT1(RejectsArgument("keep", {"4 x 1 x 2", "4 x 3 x 2"}), [&] { apply(4, 1, 2); });
  EXPECT_PRED_FORMAT1(RejectsArgument("keep", {"1 x 3 x 2", "4 x 3 x 2"}), [&] { apply(1, 3, 2); });
  EXPECT_PRED_FORMAT1(RejectsArgument("keep", {"3 x 4 x 2", "4 x 3 x 2"}), [&] { apply(3, 4, 2); });
  EXPECT_PRED_FORMAT1(RejectsArgument("keep", {"5 x 6 x 7", "4 x 3 x 2"}), [&] { apply(5, 6, 7); });
  EXPECT_PRED_FORMAT1(RejectsArgument("keep", {"0 x 0 x 0", "4 x 3 x 2"}), [&] { apply(0, 0, 0); });
}

TEST(DropoutApply, RejectsAnImpossibleProbability) {
  const arma::cube x = normal(4, 3, 2);
  expect_rejects_impossible_probabilities([&](double p) { Dropout::apply(x, ones(4, 3, 2), p); });
}

// ------------------------------------------------------------------------------------------- drawing a mask, 04.3

TEST(DropoutDraw, GivesAMaskOfTheGivenSize) {
  EXPECT_THAT(arma::conv_to<arma::cube>::from(Dropout::draw(4, 3, 2, 0.5)),
              HasShape({{"rows", 4}, {"cols", 3}, {"slices", 2}}));
}

TEST(DropoutDraw, HoldsOnlyZerosAndOnes) {
  arma::arma_rng::set_seed(5);
  const Mask mask = Dropout::draw(40, 30, 20, 0.3);
  EXPECT_HOLDS(mask.max() == 1 && mask.min() == 0, "the mask holds numbers from " + std::to_string(mask.min()) +
                                                       " to " + std::to_string(mask.max()) + ", want zeros and ones");
}

TEST(DropoutDraw, DrawsAnewAtEveryCall) {
  const Mask first = Dropout::draw(40, 30, 20, 0.5);
  const Mask second = Dropout::draw(40, 30, 20, 0.5);
  EXPECT_HOLDS(!same(first, second), "two calls gave the same mask")
      << note("is the mask kept in a static variable, or the generator seeded?");
}

TEST(DropoutDraw, LeavesSeedingToTheCaller) {
  expect_leaves_seeding_to_the_caller(
      "draw", [] { return arma::conv_to<arma::mat>::from(Dropout::draw(40, 30, 1, 0.5).slice(0)); },
      likely_mistake("generator_seeded"));
}

TEST(DropoutDraw, DrawsEveryNumberOnItsOwn) {
  arma::arma_rng::set_seed(8);
  const Mask mask = Dropout::draw(40, 30, 20, 0.5);
  // Two numbers drawn on their own with p = 0.5 are the same half of the time; and whether one pair is says nothing
  // about the next.
  const auto judge = [](const std::string& neighbours, const Mask& a, const Mask& b, const std::string& likely) {
    const arma::uword agree = arma::accu(a == b);
    EXPECT_HOLDS(plausible(agree, a.n_elem, 0.5), "numbers in neighbouring " + neighbours + " are the same in " +
                                                      share_text(agree, a.n_elem) + " cases, want 0.5 of them")
        << (agree == a.n_elem ? likely : "") << note("each number is drawn on its own");
  };
  judge("slices", mask.slices(0, 18), mask.slices(1, 19), likely_mistake("same_mask_for_every_sequence"));
  judge("columns", mask.cols(0, 28), mask.cols(1, 29), likely_mistake("whole_rows_dropped"));
  judge("rows", mask.rows(0, 38), mask.rows(1, 39), note("whole columns are dropped"));
  const Mask single = Dropout::draw(40, 30, 1, 0.5);
  judge("columns of a mask of one slice", single.cols(0, 28), single.cols(1, 29), likely_mistake("whole_rows_dropped"));
  judge("rows of a mask of one slice", single.rows(0, 38), single.rows(1, 39), note("whole columns are dropped"));
  const arma::umat square = Dropout::draw(40, 40, 1, 0.5).slice(0);
  const arma::uvec below = arma::trimatl_ind(arma::size(square), -1);
  const arma::uword agree = arma::accu(square.elem(below) == arma::umat(square.t()).elem(below));
  EXPECT_HOLDS(plausible(agree, below.n_elem, 0.5), "in a square mask, " + share_text(agree, below.n_elem) +
                                                        " numbers equal the one across the diagonal, want 0.5 of them")
      << note("each number is drawn on its own");
}

TEST(DropoutDraw, KeepsTheRightShare) {
  arma::arma_rng::set_seed(6);
  for (const double p : {0.1, 0.3, 0.5, 0.8, 0.004, 0.996}) {
    const Mask mask = Dropout::draw(40, 30, 20, p);
    const arma::uword kept = ones_in(mask);
    const bool exchanged = p != 0.5 && plausible(kept, mask.n_elem, p);
    EXPECT_HOLDS(plausible(kept, mask.n_elem, 1 - p), "with p = " + std::to_string(p) + ", " +
                                                          share_text(kept, mask.n_elem) + " are kept, want " +
                                                          std::to_string(1 - p) + " of them")
        << (exchanged ? likely_mistake("keeps_with_probability_p")
                      : note("by chance alone it would be so far off once in five hundred million times"));
  }
}

TEST(DropoutDraw, KeepsAllForAProbabilityOfZero) {
  const Mask mask = Dropout::draw(40, 30, 20, 0);
  EXPECT_HOLDS(ones_in(mask) == mask.n_elem, share_text(ones_in(mask), mask.n_elem) + " are kept, want all");
}

TEST(DropoutDraw, GivesEveryPlaceTheSameChance) {
  arma::arma_rng::set_seed(7);
  const arma::uword draws = 500;
  for (const arma::SizeCube size : {arma::SizeCube(3, 4, 2), arma::SizeCube(1, 1, 1)}) {
    Mask kept(size, arma::fill::zeros);
    for (arma::uword n = 0; n < draws; ++n) kept += Dropout::draw(size.n_rows, size.n_cols, size.n_slices, 0.3);
    for (arma::uword i = 0; i < kept.n_elem; ++i) {
      EXPECT_HOLDS(plausible(kept(i), draws, 0.7), "in masks of " + std::to_string(kept.n_elem) + " numbers, number " +
                                                       std::to_string(i) + " was kept in " +
                                                       share_text(kept(i), draws) + " masks, want 0.7 of them")
          << note("each number is drawn on its own, with the same probability");
    }
  }
}

TEST(DropoutDraw, RejectsAnImpossibleProbability) {
  expect_rejects_impossible_probabilities([](double p) { Dropout::draw(4, 3, 2, p); });
}

// -------------------------------------------------------------------------------- training and evaluation, 04.4

TEST(Dropout, UsesTheMaskThatWasInjected) {
  const GoldenCase golden = load_golden("dropout");
  Dropout dropout(golden.rowvec("p")(0));
  dropout.inject(golden.mask("keep"));
  const arma::cube x = golden.cube("x");
  const arma::cube first = dropout(x);
  EXPECT_HOLDS(same(first, dropout(x)), "with a mask injected, two calls gave different results")
      << likely_mistake("injected_mask_ignored");
  EXPECT_THAT(dropout(x), Matches(golden.expected("output")));
}

TEST(Dropout, DoesNothingInEvaluation) {
  const GoldenCase golden = load_golden("dropout");
  Dropout dropout(golden.rowvec("p")(0));
  dropout.inject(golden.mask("keep"));
  dropout.eval();
  const arma::cube x = golden.cube("x");
  for (int call = 1; call <= 3; ++call) {
    const arma::cube result = dropout(x);
    EXPECT_THAT(result, Matches(golden.expected("eval")))
        << note("this is call " + std::to_string(call) + " after eval()");
    EXPECT_HOLDS(same(result, x), "in evaluation x comes back nearly, not exactly");
  }
}

TEST(Dropout, DrawsNothingInEvaluation) {
  Dropout dropout(0.5);
  dropout.eval();
  arma::arma_rng::set_seed(10);
  const double next = arma::randu();
  arma::arma_rng::set_seed(10);
  dropout(arma::cube(4, 3, 2, arma::fill::ones));
  EXPECT_HOLDS(arma::randu() == next, "in evaluation the random generator was used");
}

TEST(Dropout, DropsAgainAfterTrain) {
  Dropout dropout(0.5);
  const arma::cube x(20, 10, 5, arma::fill::ones);
  for (int round = 0; round < 2; ++round) {
    dropout.eval();
    EXPECT_THAT(dropout(x), IsNear(x)) << note("eval() was called last");
    dropout.train();
    EXPECT_HOLDS(!same(dropout(x), x), "after train() nothing is dropped");
  }
}

TEST(Dropout, MakesEachNumberZeroOrDividesItByOneMinusP) {
  arma::arma_rng::set_seed(11);
  Dropout dropout(0.2);
  const arma::cube x = arma::randn<arma::cube>(40, 30, 20) - 0.5;
  const arma::cube result = dropout(x);
  ASSERT_THAT(result, HasShape({{"rows", 40}, {"cols", 30}, {"slices", 20}}));
  const Mask dropped = result == 0;
  const arma::cube wanted = Dropout::apply(x, dropped == 0, 0.2);
  EXPECT_THAT(result, IsNear(wanted)) << note("expected: 0 where you gave 0, and x / (1 - p) elsewhere");
  EXPECT_HOLDS(plausible(ones_in(dropped), x.n_elem, 0.2),
               share_text(ones_in(dropped), x.n_elem) + " became 0, want p = 0.2 of them");
}

TEST(Dropout, KeepsTheMean) {
  arma::arma_rng::set_seed(12);
  const double p = 0.3;
  Dropout dropout(p);
  const arma::cube x(40, 30, 20, arma::fill::value(2));
  const arma::cube result = dropout(x);
  const double mean = arma::accu(result) / static_cast<double>(x.n_elem);
  // One number is 2 / (1 - p) or 0: standard deviation 2 √(p / (1 - p)), and of the mean of n of them √n times less.
  const double bound = 6 * 2 * std::sqrt(p / (1 - p) / static_cast<double>(x.n_elem));
  const bool not_scaled = result.max() == 2;
  EXPECT_HOLDS(std::abs(mean - 2) < bound,
               "all numbers were 2, and their mean has become " + std::to_string(mean) + ", want about 2")
      << (not_scaled ? likely_mistake("dropout_not_scaled") : "");
}

TEST(Dropout, DrawsAnewAtEveryCall) {
  arma::arma_rng::set_seed(13);
  Dropout dropout(0.5);
  const arma::cube x(6, 5, 4, arma::fill::ones);
  const bool draw_is_right = !same(Dropout::draw(6, 5, 4, 0.5), Dropout::draw(6, 5, 4, 0.5));
  const arma::cube first = dropout(x);
  const bool drops = first.min() == 0 && first.max() > 0;
  EXPECT_HOLDS(!same(first, dropout(x)), "two calls dropped the same numbers")
      << (draw_is_right && drops ? likely_mistake("mask_drawn_once") : "");
}

TEST(Dropout, DrawsOneMaskForOneCall) {
  arma::arma_rng::set_seed(14);
  const Mask first = Dropout::draw(6, 5, 4, 0.5);
  const Mask second = Dropout::draw(6, 5, 4, 0.5);
  Dropout dropout(0.5);
  const arma::cube x(6, 5, 4, arma::fill::ones);
  arma::arma_rng::set_seed(14);
  for (const Mask& keep : {first, second}) {
    EXPECT_THAT(dropout(x), IsNear(arma::conv_to<arma::cube>::from(2 * keep)))
        << note("expected: what the mask gives that draw() gives after the same seed: one mask per call");
  }
}

TEST(Dropout, ReturnsItsInputForAProbabilityOfZero) {
  Dropout dropout(0);
  const arma::cube x = normal(6, 5, 4);
  EXPECT_THAT(dropout(x), IsNear(x));
}

TEST(Dropout, UsesAnInjectedMaskForAProbabilityOfZeroToo) {
  Dropout dropout(0);
  const arma::cube x = normal(6, 5, 4);
  const Mask keep = arma::randi<Mask>(6, 5, 4, arma::distr_param(0, 1));
  dropout.inject(keep);
  arma::cube wanted = x;
  wanted.elem(arma::find(keep == 0)).zeros();
  const arma::cube result = dropout(x);
  const bool apply_drops = !same(Dropout::apply(x, keep, 0), x);
  EXPECT_THAT(result, IsNear(wanted))
      << note("what the injected mask drops is 0, and with p = 0 the others are divided by 1")
      << (same(result, x) && apply_drops ? likely_mistake("injected_mask_needs_p") : "");
}

TEST(Dropout, DrawsAgainAfterAnEmptyMaskIsInjected) {
  arma::arma_rng::set_seed(15);
  Dropout dropout(0.5);
  const arma::cube x(6, 5, 4, arma::fill::ones);
  dropout.inject(ones(6, 5, 4));
  EXPECT_THAT(dropout(x), IsNear(arma::cube(2 * x))) << note("the mask that was injected keeps all, and p is 0.5");
  dropout.inject({});
  EXPECT_HOLDS(!same(dropout(x), dropout(x)), "inject({}) was called, but two calls dropped the same numbers");
}

TEST(Dropout, RejectsAnInjectedMaskThatDoesNotFit) {
  Dropout dropout(0.5);
  dropout.inject(ones(6, 5, 1));
  const arma::cube x(6, 5, 4, arma::fill::ones);
  EXPECT_PRED_FORMAT1(RejectsArgument("keep", {"6 x 5 x 1", "6 x 5 x 4"}), [&] { dropout(x); });
  dropout.eval();
  EXPECT_THAT(dropout(x), IsNear(x)) << note("in evaluation the mask that was injected plays no part");
}

TEST(Dropout, StartsAfresh) {
  arma::arma_rng::set_seed(16);
  Dropout dropout(0.5);
  dropout(arma::cube(7, 6, 5, arma::fill::ones));
  for (const arma::SizeCube size : {arma::SizeCube(2, 3, 4), arma::SizeCube(30, 20, 10)}) {
    const arma::cube result = dropout(arma::cube(size, arma::fill::ones));
    ASSERT_THAT(result, HasShape({{"rows", size.n_rows}, {"cols", size.n_cols}, {"slices", size.n_slices}}));
    EXPECT_HOLDS(plausible(arma::accu(result == 0), result.n_elem, 0.5),
                 share_text(arma::accu(result == 0), result.n_elem) + " became 0, want about half of them");
  }
  Dropout other(0.9);
  const arma::cube result = other(arma::cube(30, 20, 10, arma::fill::ones));
  EXPECT_HOLDS(plausible(arma::accu(result == 0), result.n_elem, 0.9),
               share_text(arma::accu(result == 0), result.n_elem) + " became 0, want p = 0.9 of them")
      << note("another Dropout, with another p, was used before");
}

// -------------------------------------------------------------------------------------------- the layer, 04.5

SelfAttentionV3 layer_from(const GoldenCase& golden) {
  SelfAttentionV3 attention(golden.linear("proj").weight.n_rows, golden.rowvec("p")(0));
  attention.proj = golden.linear("proj");
  attention.output_proj = golden.linear("output_proj");
  attention.dropout.inject(golden.mask("keep"));
  return attention;
}

Projections linears_of(const SelfAttentionV3& attention) {
  return {{"proj", attention.proj}, {"output_proj", attention.output_proj}};
}

/// The projections of queries, keys, values and output.
Projections four_of(const SelfAttentionV3& attention) {
  Projections four = thirds_of("proj", attention.proj);
  four.emplace_back("output_proj", attention.output_proj);
  return four;
}

/// (B x S) -> (S x S x B): which keys are there at all, the same for every query.
Mask mask_of_keys(const arma::mat& key_mask) {
  Mask mask(key_mask.n_cols, key_mask.n_cols, key_mask.n_rows);
  for (arma::uword b = 0; b < mask.n_slices; ++b) {
    for (arma::uword j = 0; j < mask.n_cols; ++j) mask.slice(b).col(j).fill(key_mask(b, j) != 0);
  }
  return mask;
}

TEST(SelfAttentionV3, HasTwoProjections) {
  const SelfAttentionV3 attention(4);
  EXPECT_THAT(attention.proj.weight, HasShape({{"E", 4}, {"3E", 12}}));
  EXPECT_THAT(attention.output_proj.weight, HasShape({{"E (in)", 4}, {"E (out)", 4}}));
}

TEST(SelfAttentionV3, HasTwoBiases) {
  const SelfAttentionV3 attention(4);
  ASSERT_HOLDS(!(attention.proj.bias.is_empty() || attention.output_proj.bias.is_empty()), "a projection has no bias")
      << likely_mistake("projection_without_bias");
  EXPECT_THAT(arma::mat(attention.proj.bias), HasShape({{"1", 1}, {"3E", 12}}));
  EXPECT_THAT(arma::mat(attention.output_proj.bias), HasShape({{"1", 1}, {"E", 4}}));
}

TEST(SelfAttentionV3, HandsItsProbabilityToDropout) {
  for (const double p : {0.3, 0.0, 0.9}) {
    const SelfAttentionV3 attention(4, p);
    EXPECT_HOLDS(attention.dropout.p() == Dropout(p).p(),
                 "dropout.p() is " + std::to_string(attention.dropout.p()) + ", want " + std::to_string(p))
        << likely_mistake("probability_not_passed_on");
    EXPECT_HOLDS(attention.dropout.training(), "a new layer is not training");
  }
  EXPECT_HOLDS(SelfAttentionV3(4).dropout.p() == Dropout(0.1).p(), "dropout.p() is not 0.1 by default");
}

TEST(SelfAttentionV3, KeepsWhatLinearDraws) { expect_drawn_as_linear_draws(four_of(SelfAttentionV3(50))); }

TEST(SelfAttentionV3, DrawsEachProjectionAnew) { expect_draws_each_projection_anew(four_of(SelfAttentionV3(50))); }

TEST(SelfAttentionV3, LeavesSeedingToTheCaller) {
  expect_leaves_seeding_to_the_caller("the constructor", [] { return SelfAttentionV3(50).proj.weight; });
}

// --------------------------------------------------------------------------------------------- forward, 04.6

TEST(SelfAttentionV3, KeepsTheShapeOfItsInput) {
  SelfAttentionV3 attention(4);
  EXPECT_THAT(attention.forward(normal(5, 4, 2)), HasShape({{"L", 5}, {"E", 4}, {"B", 2}}));
}

TEST(SelfAttentionV3, KeepsItsWeights) {
  SelfAttentionV3 attention(4);
  attention.forward(normal(5, 4, 2));
  EXPECT_THAT(attention.attention_weights(), HasShape({{"L (queries)", 5}, {"L (keys)", 5}, {"B", 2}}));
}

TEST(SelfAttentionV3, GivesTheTwoByTwoWorkedByHand) {
  const GoldenCase golden = load_golden("by_hand");
  SelfAttentionV3 attention(2, 0.2);
  attention.proj.weight = {{1, 1, 1, 2, 2, 0}, {0, 1, 1, 0, 0, 1}};
  attention.proj.bias = {0, 1, -1, 0, 0, 1};
  attention.output_proj.weight = {{1, 0}, {2, 1}};
  attention.output_proj.bias = {0, -1};
  Mask keep(2, 2, 1);
  keep.slice(0) = {{1, 0}, {1, 1}};
  attention.dropout.inject(keep);
  arma::cube X(2, 2, 1);
  X.slice(0) = {{1, 0}, {0, 2}};
  EXPECT_THAT(attention.forward(X), Matches(golden.expected("output"))) << given("X", X);
  EXPECT_THAT(attention.attention_weights(), Matches(golden.expected("weights")));
  attention.dropout.eval();
  EXPECT_THAT(attention.forward(X), Matches(golden.expected("eval_output"))) << note("in evaluation");
  EXPECT_THAT(attention.attention_weights(), Matches(golden.expected("eval_weights"))) << note("in evaluation");
}

TEST(SelfAttentionV3, DropsNothingInEvaluation) {
  const GoldenCase golden = load_golden("batch");
  SelfAttentionV3 attention = layer_from(golden);
  attention.dropout.inject({});
  attention.dropout.eval();
  attention.forward(golden.cube("X"));
  const arma::cube first = attention.attention_weights();
  attention.forward(golden.cube("X"));
  const arma::cube ones(5, 4, 2, arma::fill::ones);
  const bool random = !same(first, attention.attention_weights());
  const bool bypassed =
      arma::any(arma::vectorise(attention.attention_weights()) == 0) && same(attention.dropout(ones), ones);
  EXPECT_HOLDS(!bypassed, "in evaluation some weights are 0") << (random ? likely_mistake("dropout_bypassed") : "");
  EXPECT_THAT(attention.attention_weights(), RowsSumToOne()) << note("in evaluation nothing is dropped");
}

TEST(SelfAttentionV3, EqualsPyTorchInEvaluation) {
  const GoldenCase golden = load_golden("batch");
  SelfAttentionV3 attention = layer_from(golden);
  attention.dropout.eval();
  EXPECT_THAT(attention.forward(golden.cube("X")), Matches(golden.expected("eval_output")));
  EXPECT_THAT(attention.attention_weights(), Matches(golden.expected("eval_weights")));
}

TEST(SelfAttentionV3, EqualsPyTorchWithDropout) {
  const GoldenCase golden = load_golden("batch");
  SelfAttentionV3 attention = layer_from(golden);
  EXPECT_THAT(attention.forward(golden.cube("X")), Matches(golden.expected("output")));
}

TEST(SelfAttentionV3, KeepsTheWeightsThatMixedTheValues) {
  const GoldenCase golden = load_golden("batch");
  SelfAttentionV3 attention = layer_from(golden);
  attention.forward(golden.cube("X"));
  EXPECT_THAT(attention.attention_weights(), Matches(golden.expected("weights")));
}

TEST(SelfAttentionV3, DropsWeightsAndNothingElse) {
  // As many tokens as features: a mask that was drawn for the weights fits everywhere, so it does not show where it
  // is used. The values do.
  const GoldenCase golden = load_golden("as_long_as_wide");
  SelfAttentionV3 attention = layer_from(golden);
  expect_equals_pytorch(attention, golden);
}

TEST(SelfAttentionV3, EqualsPyTorchWithAMaskForEachSequence) {
  const GoldenCase golden = load_golden("masked");
  SelfAttentionV3 attention = layer_from(golden);
  expect_equals_pytorch(attention, golden);
  attention.dropout.eval();
  const std::string about = note("in evaluation");
  EXPECT_THAT(attention.forward(golden.cube("X"), golden.mask("mask")), Matches(golden.expected("eval_output")))
      << about;
  EXPECT_THAT(attention.attention_weights(), Matches(golden.expected("eval_weights"))) << about;
}

TEST(SelfAttentionV3, EqualsPyTorchWithASharedMask) {
  const GoldenCase golden = load_golden("causal");
  SelfAttentionV3 attention = layer_from(golden);
  expect_equals_pytorch(attention, golden);
  attention.dropout.eval();
  EXPECT_THAT(attention.forward(golden.cube("X"), golden.mask("mask")), Matches(golden.expected("eval_output")))
      << note("in evaluation");
}

TEST(SelfAttentionV3, GivesTheBiasToAQueryWithoutKeys) {
  const GoldenCase golden = load_golden("batch");
  SelfAttentionV3 attention = layer_from(golden);
  Mask mask(5, 5, 2, arma::fill::ones);
  mask.slice(1).row(3).zeros();
  mask.slice(0).zeros();
  const arma::cube output = attention.forward(golden.cube("X"), mask);
  const std::string about = note("no key is left, so the context is 0, and the output is output_proj.bias");
  EXPECT_THAT(arma::mat(output.slice(1).row(3)), IsNear(arma::mat(attention.output_proj.bias), {"1", "E"})) << about;
  EXPECT_THAT(arma::mat(output.slice(0)), IsNear(arma::repmat(attention.output_proj.bias, 5, 1), {"L", "E"})) << about;
}

TEST(SelfAttentionV3, KeepsTheWeightsAfterDropout) {
  SelfAttentionV3 attention(4, 0.1);
  expect_keeps_the_weights_after_dropout(attention, attention.dropout, 4);
}

TEST(SelfAttentionV3, TakesAnyNumberButZeroAsAllowed) {
  const GoldenCase golden = load_golden("masked");
  SelfAttentionV3 attention = layer_from(golden);
  expect_takes_any_number_but_zero(attention, golden.cube("X"), golden.mask("mask"));
  EXPECT_THAT(attention.forward(golden.cube("X"), 3 * golden.mask("mask")), Matches(golden.expected("output")))
      << note("the mask holds 3 instead of 1 here, which means the same");
}

// ----------------------------------- the layers of the documents that the course grew from (docs/sources.md), 04.6

TEST(SelfAttentionV3, EqualsSelfAttentionV3OfTheNotebook) {
  // Document A fills blocked scores with -1e20 and has its mask as (B, S). Where every query has a key that it may
  // attend to, exp makes 0 of -1e20 as well as of -inf.
  const GoldenCase golden = load_golden("self_attention_v3_of_a");
  SelfAttentionV3 attention = layer_from(golden);
  const Mask mask = mask_of_keys(golden.mat("key_mask"));
  EXPECT_THAT(attention.forward(golden.cube("X"), mask), Matches(golden.expected("output")));
  EXPECT_THAT(attention.attention_weights(), Matches(golden.expected("weights")));
}

TEST(SelfAttentionV3, EqualsSelfAttV2WithoutDropout) {
  // Document B's second version: fused projection, -inf, output projection. It has no dropout: p = 0.
  const GoldenCase golden = load_golden("self_att_v2_of_b");
  SelfAttentionV3 attention = layer_from(golden);
  attention.dropout.inject({});
  const Mask mask = mask_of_keys(golden.mat("key_mask"));
  EXPECT_THAT(attention.forward(golden.cube("X"), mask), Matches(golden.expected("output")));
  EXPECT_THAT(attention.attention_weights(), Matches(golden.expected("weights")));
}

TEST(SelfAttentionV3, EqualsSelfAttV3WithTheScaleItForgot) {
  // Document B's third version, dropout on the weights as in BERT. It forgets to divide by √E: with that bug left in,
  // PyTorch gives what this check knows as the mistake "unscaled".
  const GoldenCase golden = load_golden("self_att_v3_of_b");
  SelfAttentionV3 attention = layer_from(golden);
  const Mask mask = mask_of_keys(golden.mat("key_mask"));
  EXPECT_THAT(attention.forward(golden.cube("X"), mask), Matches(golden.expected("output")));
  EXPECT_THAT(attention.attention_weights(), Matches(golden.expected("weights")));
}

// ------------------------------------------------------------------------------------------------ properties, 04.6

TEST(SelfAttentionV3, FollowsPermutedTokens) {
  const GoldenCase golden = load_golden("batch");
  SelfAttentionV3 attention = layer_from(golden);
  attention.dropout.eval();
  expect_follows_permuted_tokens(attention, golden.cube("X"));
}

TEST(SelfAttentionV3, HidesABlockedTokenFromTheOthers) {
  const GoldenCase golden = load_golden("batch");
  SelfAttentionV3 attention = layer_from(golden);
  Mask mask(5, 5, 1, arma::fill::ones);
  mask.slice(0).col(4).zeros();
  arma::cube X = golden.cube("X");
  const arma::cube before = attention.forward(X, mask);
  X.row(4) += 1000;
  EXPECT_THAT(arma::cube(attention.forward(X, mask).rows(0, 3)), IsNear(arma::cube(before.rows(0, 3)), {"L", "E", "B"}))
      << note("token 4 was changed, and no query may attend to it: rows 0 to 3 must stay what they were");
}

TEST(SelfAttentionV3, BlocksTheFuture) {
  const GoldenCase golden = load_golden("causal");
  SelfAttentionV3 attention = layer_from(golden);
  expect_blocks_the_future(attention, golden.cube("X"));
}

TEST(SelfAttentionV3, IsTheSameInTrainingAndEvaluationForAProbabilityOfZero) {
  SelfAttentionV3 attention(4, 0);
  const arma::cube X = normal(5, 4, 2);
  const arma::cube training = attention.forward(X);
  attention.dropout.eval();
  EXPECT_THAT(training, IsNear(attention.forward(X), {"L", "E", "B"}));
}

TEST(SelfAttentionV3, KeepsTheBatchApart) {
  const GoldenCase golden = load_golden("masked");
  SelfAttentionV3 attention = layer_from(golden);
  const arma::cube X = golden.cube("X");
  const Mask mask = golden.mask("mask"), keep = golden.mask("keep");
  expect_keeps_apart("sequence", X.n_slices, attention.forward(X, mask), [&](arma::uword b) {
    attention.dropout.inject(keep.slices(b, b));
    return attention.forward(X.slices(b, b), mask.slices(b, b));
  });
  attention.dropout.eval();
  expect_keeps_the_batch_apart(attention, X, mask);
}

TEST(SelfAttentionV3, DrawsOneMaskForAllSequences) {
  arma::arma_rng::set_seed(17);
  SelfAttentionV3 attention(4, 0.5);
  const arma::cube X = normal(5, 4, 2);
  arma::arma_rng::set_seed(18);
  const Mask first = Dropout::draw(5, 5, 2, 0.5);
  const Mask second = Dropout::draw(5, 5, 2, 0.5);
  arma::arma_rng::set_seed(18);
  for (const Mask& keep : {first, second}) {
    attention.forward(X);
    const Mask kept = attention.attention_weights() != 0;
    EXPECT_HOLDS(same(kept, keep),
                 "the weights that are 0 are not those of the mask that draw() gives after the same seed")
        << note("call dropout(...) once per forward, with the weights of all sequences");
  }
}

TEST(SelfAttentionV3, EqualsTheDefinitionForOtherSizes) {
  arma::arma_rng::set_seed(3);
  for (const arma::SizeCube size : {arma::SizeCube(3, 5, 2), arma::SizeCube(6, 1, 3), arma::SizeCube(2, 7, 1),
                                    arma::SizeCube(1, 4, 2), arma::SizeCube(34, 2, 3), arma::SizeCube(3, 34, 2)}) {
    const arma::cube X(size, arma::fill::randn);
    const arma::uword L = X.n_rows;
    const arma::uword dim = X.n_cols;
    SelfAttentionV3 attention(dim, 0.25);
    for (const Mask& mask : {Mask(), random_mask(L, L, 1), random_mask(L, L, X.n_slices)}) {
      const Mask keep = random_mask(L, L, X.n_slices);
      attention.dropout.inject(keep);
      const Attended wanted = naive_multi_head(four_of(attention), 1, X, X, X, mask, keep, 0.25);
      const std::string about = note(mask.is_empty() ? "no mask" : "the mask is " + shape_text(mask));
      EXPECT_THAT(attention.forward(X, mask), IsNear(wanted.output, {"L", "E", "B"})) << about;
      EXPECT_THAT(attention.attention_weights(), IsNear(wanted.weights, {"L", "L", "B"})) << about;
    }
  }
}

TEST(SelfAttentionV3, StartsAfresh) {
  const GoldenCase golden = load_golden("masked");
  SelfAttentionV3 attention = layer_from(golden);
  const arma::cube X = golden.cube("X");
  const Mask mask = golden.mask("mask");
  EXPECT_HOLDS(attention.attention_weights().is_empty(), "attention_weights() is not empty before the first forward");
  const std::string about =
      note("forward was called before, with another X and other masks; nothing may be left of it");
  attention.forward(-2 * X, 1 - mask);
  attention.forward(-2 * X);
  attention.dropout.eval();
  attention.forward(-2 * X, 1 - mask);
  attention.dropout.train();
  EXPECT_THAT(attention.forward(X, mask), Matches(golden.expected("output"))) << about;
  EXPECT_THAT(attention.attention_weights(), Matches(golden.expected("weights"))) << about;
  attention.dropout.inject({});
  attention.forward(X.slices(0, 0));
  EXPECT_THAT(attention.attention_weights(), HasShape({{"L (queries)", 5}, {"L (keys)", 5}, {"B", 1}})) << about;
}

TEST(SelfAttentionV3, LeavesItsFields) {
  for (const bool training : {true, false}) {
    SelfAttentionV3 attention(4, 0.3);
    if (!training) attention.dropout.eval();
    const Projections before = linears_of(attention);
    attention.forward(normal(5, 4, 2), ones(5, 5, 1));
    expect_unchanged(before, linears_of(attention));
    EXPECT_HOLDS(attention.dropout.training() == training && attention.dropout.p() == 0.3,
                 "forward changed dropout: training or evaluation, or p");
  }
}

TEST(SelfAttentionV3, PassesOnANaN) {
  SelfAttentionV3 attention(3, 0.25);
  attention.dropout.eval();
  expect_passes_on_a_nan(attention, normal(5, 3, 2),
                         [&](const arma::cube& X) { return naive_multi_head(four_of(attention), 1, X, X, X); });
}

TEST(SelfAttentionV3, AcceptsExtremeScores) {
  const GoldenCase golden = load_golden("far_from_zero");
  SelfAttentionV3 attention = layer_from(golden);
  EXPECT_THAT(attention.forward(golden.cube("X")), Matches(golden.expected("output")));
}

// -------------------------------------------------------------------------------------- bad input: the layer, 04.5

TEST(SelfAttentionV3, RejectsAWidthOfZero) {
  EXPECT_PRED_FORMAT1(RejectsArgument("dim", {"0"}), [] { SelfAttentionV3(0); });
}

TEST(SelfAttentionV3, RejectsAnImpossibleProbability) {
  expect_rejects_impossible_probabilities([](double p) { SelfAttentionV3(4, p); });
}

// ---------------------------------------------------------------------------------------- bad input: forward, 04.6

TEST(SelfAttentionV3, RejectsAnInputOfTheWrongShape) {
  SelfAttentionV3 attention(4);
  expect_rejects_inputs(attention, 4);
}

TEST(SelfAttentionV3, RejectsAMaskOfTheWrongShape) {
  SelfAttentionV3 attention(3);
  const arma::cube X = normal(5, 3, 4);
  EXPECT_PRED_FORMAT1(RejectsArgument("mask", {"5 x 5 x 2", "5 x 5 x 4"}), [&] { attention.forward(X, ones(5, 5, 2)); })
      << note(
             "two masks for four sequences: masked_fill would share each between two, but a mask of this layer is for "
             "all sequences or for one");
  expect_rejects_masks(attention, X);
}

// ------------------------------------------------------------------------------------------------------------- speed

ATTN_SPEED("forward in training, 2 sequences of 64 tokens, E = 64", [] {
  const arma::cube X = normal(64, 64, 2);
  return [layer = SelfAttentionV3(64), X]() mutable { return layer.forward(X); };
});

}  // namespace
}  // namespace attn::judge
