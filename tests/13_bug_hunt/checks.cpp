#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <armadillo>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "attn/bug_hunt.hpp"
#include "attn/heads.hpp"  // so that it links: a repair may split and merge heads with it
#include "checks/draw.hpp"
#include "checks/golden.hpp"
#include "checks/matchers.hpp"
#include "checks/oracles.hpp"
#include "checks/speed.hpp"

// No check may pass on the files as they are given, so none is about shapes alone; and none may name the bug: a note
// says which property does not hold, and finding out why is the lesson.
namespace attn::judge {
namespace {

using namespace bug_hunt;

bool same(const arma::cube& a, const arma::cube& b) { return arma::approx_equal(a, b, "absdiff", 1e-9); }

/// Each slice times a matrix.
arma::cube times(const arma::cube& x, const arma::mat& right) {
  arma::cube product(x.n_rows, right.n_cols, x.n_slices);
  for (arma::uword n = 0; n < x.n_slices; ++n) product.slice(n) = x.slice(n) * right;
  return product;
}

// ------------------------------------------------------------------------------------------- slow_training, 13.1

struct Projections {
  Linear query;
  Linear key;
  Linear value;

  explicit Projections(arma::uword dim) : query(dim, dim), key(dim, dim), value(dim, dim) {}
  explicit Projections(const GoldenCase& golden)
      : query(golden.linear("query_proj")), key(golden.linear("key_proj")), value(golden.linear("value_proj")) {}

  arma::cube attend(const arma::cube& X) const { return self_attention(X, query, key, value); }
  arma::cube naive(const arma::cube& X) const {
    return naive_attention(naive_linear(X, query.weight, query.bias), naive_linear(X, key.weight, key.bias),
                           naive_linear(X, value.weight, value.bias));
  }
};

TEST(SlowTraining, GivesTheTwoByTwoWorkedByHand) {
  const GoldenCase golden = load_golden("self_attention_by_hand");
  EXPECT_THAT(Projections(golden).attend(golden.cube("X")), Matches(golden.expected("output")))
      << given("X", golden.cube("X"));
}

TEST(SlowTraining, DependsOnEveryParameter) {
  const GoldenCase golden = load_golden("self_attention");
  const arma::cube X = golden.cube("X");
  const Projections given(golden);
  const arma::cube output = given.attend(X);
  const std::vector<std::pair<const char*, Linear Projections::*>> layers = {
      {"query_proj", &Projections::query}, {"key_proj", &Projections::key}, {"value_proj", &Projections::value}};
  for (const auto& [name, layer] : layers) {
    for (arma::uword i = 0; i < X.n_cols; ++i) {
      for (arma::uword o = 0; o < X.n_cols; ++o) {
        Projections changed = given;
        (changed.*layer).weight(i, o) += 0.5;
        EXPECT_HOLDS(!same(changed.attend(X), output),
                     std::string(name) + ".weight was changed, and the output stayed the same")
            << note("what the output does not depend on gets no gradient, and is never trained");
      }
    }
  }
}

TEST(SlowTraining, GivesTwiceAsMuchForValuesTwiceAsLarge) {
  const GoldenCase golden = load_golden("self_attention");
  Projections layers(golden);
  const arma::cube output = layers.attend(golden.cube("X"));
  layers.value.weight *= 2;
  layers.value.bias *= 2;
  EXPECT_THAT(layers.attend(golden.cube("X")), IsNear(arma::cube(2 * output), {"L", "E", "B"}))
      << note("value_proj was doubled, weight and bias; the output must be doubled, too");
}

TEST(SlowTraining, TakesTheMeanWhenAllKeysAreAlike) {
  const GoldenCase golden = load_golden("self_attention");
  const arma::cube X = golden.cube("X");
  Projections layers(golden);
  layers.key.weight.zeros();
  const arma::cube V = naive_linear(X, layers.value.weight, layers.value.bias);
  arma::cube means(arma::size(V));
  for (arma::uword b = 0; b < V.n_slices; ++b) means.slice(b).each_row() = arma::rowvec(arma::mean(V.slice(b), 0));
  EXPECT_THAT(layers.attend(X), IsNear(means, {"L", "E", "B"}))
      << note("key_proj.weight was set to zero: every key is the same, so every query takes the mean of the values");
}

TEST(SlowTraining, GivesASingleTokenItsOwnValue) {
  const Projections layers(4);
  const arma::cube X = normal(1, 4, 3);
  EXPECT_THAT(layers.attend(X), IsNear(naive_linear(X, layers.value.weight, layers.value.bias), {"L", "E", "B"}))
      << note("a sentence of one token: its only weight is 1, so the output is value_proj(X)");
}

TEST(SlowTraining, EqualsPyTorch) {
  const GoldenCase golden = load_golden("self_attention");
  EXPECT_THAT(Projections(golden).attend(golden.cube("X")), Matches(golden.expected("output")));
}

TEST(SlowTraining, EqualsTheDefinitionForOtherSizes) {
  for (const arma::SizeCube size : {arma::SizeCube(3, 5, 2), arma::SizeCube(6, 1, 3), arma::SizeCube(2, 7, 1),
                                    arma::SizeCube(70, 2, 3), arma::SizeCube(3, 5, 2)}) {
    const arma::cube X(size, arma::fill::randn);
    const Projections layers(X.n_cols);
    EXPECT_THAT(layers.attend(X), IsNear(layers.naive(X), {"L", "E", "B"}));
  }
}

// ------------------------------------------------------------------------------------------- sharp_weights, 13.2

Mask causal(arma::uword L, arma::uword S) {
  Mask mask(L, S, 1);
  for (arma::uword i = 0; i < L; ++i)
    for (arma::uword j = 0; j < S; ++j) mask(i, j, 0) = j + L <= i + S;
  return mask;
}

TEST(SharpWeights, GivesTheTwoByTwoWorkedByHand) {
  const GoldenCase golden = load_golden("causal_by_hand");
  EXPECT_THAT(causal_weights(golden.cube("Q"), golden.cube("K")), Matches(golden.expected("weights")))
      << given("Q", golden.cube("Q")) << given("K", golden.cube("K"));
}

TEST(SharpWeights, DoesNotGrowSharperWithTheWidth) {
  const auto mean_largest = [](arma::uword width) {
    const arma::cube weights = causal_weights(normal(1, width, 200),  //
                                              normal(4, width, 200));
    return arma::accu(arma::cube(arma::max(weights, 1))) / 200;
  };
  const double narrow = mean_largest(4);
  const double wide = mean_largest(64);
  EXPECT_HOLDS(std::abs(narrow - wide) < 0.1, "the largest weight of a row is " + std::to_string(narrow) +
                                                  " on average for D = 4, and " + std::to_string(wide) + " for D = 64")
      << note("200 queries and their 4 keys, drawn from a normal distribution: both must be nearly the same");
}

TEST(SharpWeights, CountsAFeatureRepeatedFourTimesTwice) {
  const GoldenCase golden = load_golden("causal");
  const arma::mat copies = arma::repmat(arma::eye(5, 5), 1, 4);
  const arma::cube four_times = causal_weights(times(golden.cube("Q"), copies), times(golden.cube("K"), copies));
  EXPECT_THAT(four_times, IsNear(naive_attention_weights(2 * golden.cube("Q"), golden.cube("K"), causal(3, 6)),
                                 {"L (queries)", "S (keys)", "N"}))
      << note("every feature is in Q and in K four times; that must act like a Q twice as large, not four times");
}

TEST(SharpWeights, IgnoresWhatIsAddedToAllKeys) {
  const GoldenCase golden = load_golden("causal");
  arma::cube K = golden.cube("K");
  K.each_slice([](arma::mat& keys) { keys.each_row() += 3000 * arma::linspace<arma::rowvec>(-1, 2, 5); });
  EXPECT_THAT(causal_weights(golden.cube("Q"), K),
              IsNear(golden.expected("weights").values, {"L (queries)", "S (keys)", "N"}))
      << note("one large vector was added to all keys: all scores of a row move by the same number, so no weight may");
}

TEST(SharpWeights, GivesPyTorchsWeightsForSixtyFourFeatures) {
  const GoldenCase golden = load_golden("wide");
  EXPECT_THAT(causal_weights(golden.cube("Q"), golden.cube("K")), Matches(golden.expected("weights")));
}

TEST(SharpWeights, EqualsPyTorch) {
  const GoldenCase golden = load_golden("causal");
  EXPECT_THAT(causal_weights(golden.cube("Q"), golden.cube("K")), Matches(golden.expected("weights")));
}

TEST(SharpWeights, EqualsTheDefinitionForOtherSizes) {
  struct Sizes {
    arma::uword L, S, D, N;
  };
  for (const auto& [L, S, D, N] : {Sizes{2, 5, 3, 4}, {5, 6, 7, 2}, {1, 4, 9, 3}, {4, 4, 2, 5}, {30, 70, 3, 2}}) {
    const arma::cube Q = normal(L, D, N);
    const arma::cube K = normal(S, D, N);
    EXPECT_THAT(causal_weights(Q, K),
                IsNear(naive_attention_weights(Q, K, causal(L, S)), {"L (queries)", "S (keys)", "N"}));
  }
}

// ------------------------------------------------------------------------------------------- equal_weights, 13.3

/// The naive scores, divided by the root of the width.
arma::cube naive_scaled_scores(const arma::cube& Q, const arma::cube& K) {
  return naive_scores(Q, K) / std::sqrt(static_cast<double>(Q.n_cols));
}

TEST(EqualWeights, GivesTheScoresWorkedByHand) {
  const GoldenCase golden = load_golden("scores_by_hand");
  EXPECT_THAT(attention_scores(golden.cube("Q"), golden.cube("K")), Matches(golden.expected("scores")))
      << given("Q", golden.cube("Q")) << given("K", golden.cube("K"));
}

TEST(EqualWeights, GivesDifferentKeysDifferentScores) {
  const arma::cube Q(3, 6, 2, arma::fill::randu);
  const arma::cube K(5, 6, 2, arma::fill::randu);
  const arma::cube scores = attention_scores(0.5 * Q, K);
  for (arma::uword n = 0; n < scores.n_slices; ++n) {
    for (arma::uword i = 0; i < scores.n_rows; ++i) {
      const arma::rowvec row = scores.slice(n).row(i);
      const arma::rowvec different = arma::unique(row);
      EXPECT_HOLDS(different.n_elem == row.n_elem,
                   "query " + std::to_string(i) + " has " + std::to_string(row.n_elem) +
                       " keys; different scores among them: " + std::to_string(different.n_elem))
          << note("no two of these keys are alike, so no two scores may be");
    }
  }
}

TEST(EqualWeights, FollowsEverySmallChangeOfAKey) {
  const GoldenCase golden = load_golden("scores");
  const arma::cube Q = golden.cube("Q");
  const arma::cube K = golden.cube("K");
  const arma::cube before = attention_scores(Q, K);
  for (arma::uword d = 0; d < K.n_cols; ++d) {
    arma::cube moved = K;
    for (arma::uword n = 0; n < K.n_slices; ++n) moved(1, d, n) += 0.001;
    arma::cube wanted = before;
    for (arma::uword n = 0; n < K.n_slices; ++n) {
      wanted.slice(n).col(1) += 0.001 * Q.slice(n).col(d) / std::sqrt(5.0);
    }
    EXPECT_THAT(attention_scores(Q, moved), IsNear(wanted, {"L (queries)", "S (keys)", "N"}))
        << note("0.001 was added to feature " + std::to_string(d) +
                " of key 1; its scores must move by 0.001 times that feature of the query, divided by √D");
  }
}

TEST(EqualWeights, GivesHalfAsMuchForHalfTheQuery) {
  const GoldenCase golden = load_golden("scores");
  const arma::cube scores = attention_scores(golden.cube("Q"), golden.cube("K"));
  for (const double factor : {0.5, -0.25, 1e-3, 1e3}) {
    EXPECT_THAT(attention_scores(factor * golden.cube("Q"), golden.cube("K")),
                IsNear(arma::cube(factor * scores), {"L (queries)", "S (keys)", "N"}, 1e-9))
        << note("the queries were multiplied by " + std::to_string(factor) + "; so must the scores be");
  }
}

TEST(EqualWeights, EqualsPyTorch) {
  const GoldenCase golden = load_golden("scores");
  EXPECT_THAT(attention_scores(golden.cube("Q"), golden.cube("K")), Matches(golden.expected("scores")));
}

TEST(EqualWeights, EqualsPyTorchWhereTheProductsNearlyCancel) {
  const GoldenCase golden = load_golden("cancelling");
  EXPECT_THAT(attention_scores(golden.cube("Q"), golden.cube("K")), Matches(golden.expected("scores")));
}

TEST(EqualWeights, EqualsTheDefinitionForOtherSizes) {
  struct Sizes {
    arma::uword L, S, D, N;
  };
  for (const auto& [L, S, D, N] :
       {Sizes{2, 5, 3, 4}, {5, 2, 1, 3}, {1, 4, 9, 2}, {4, 1, 6, 2}, {70, 60, 3, 2}, {4, 4, 3, 2}}) {
    const arma::cube Q = normal(L, D, N);
    const arma::cube K = normal(S, D, N);
    EXPECT_THAT(attention_scores(Q, K), IsNear(naive_scaled_scores(Q, K), {"L (queries)", "S (keys)", "N"}));
  }
}

// ----------------------------------------------------------------------------------------- unequal_lengths, 13.4

arma::cube naive_cross_attention(const arma::cube& Q, const arma::cube& K, const arma::cube& V, arma::uword H) {
  return naive_merge_heads(naive_attention(naive_split_heads(Q, H), naive_split_heads(K, H), naive_split_heads(V, H)),
                           H);
}

arma::cube cross_attention_of(const GoldenCase& golden, arma::uword num_heads) {
  return cross_attention(golden.cube("Q"), golden.cube("K"), golden.cube("V"), num_heads);
}

TEST(UnequalLengths, GivesTheQueryWorkedByHand) {
  const GoldenCase golden = load_golden("cross_by_hand");
  EXPECT_THAT(cross_attention_of(golden, 2), Matches(golden.expected("output")));
}

TEST(UnequalLengths, DependsOnEveryTokenOfTheOtherSentence) {
  for (const char* name : {"more_keys", "fewer_keys"}) {
    const GoldenCase golden = load_golden(name);
    const arma::cube Q = golden.cube("Q");
    const arma::cube before = cross_attention_of(golden, 3);
    for (arma::uword b = 0; b < Q.n_slices; ++b) {
      for (arma::uword j = 0; j < golden.cube("K").n_rows; ++j) {
        arma::cube V = golden.cube("V");
        V.slice(b).row(j) += 1;
        const arma::cube after = cross_attention(Q, golden.cube("K"), V, 3);
        const arma::mat change = after.slice(b) - before.slice(b);
        const std::string about =
            note("1 was added to the value of token " + std::to_string(j) + " in sentence " + std::to_string(b) +
                 "; L = " + std::to_string(Q.n_rows) + ", S = " + std::to_string(V.n_rows));
        EXPECT_HOLDS(change.min() > 0, "not every number of that sentence's output grew") << about;
        for (arma::uword other = 0; other < Q.n_slices; ++other) {
          if (other == b) continue;
          EXPECT_HOLDS(arma::approx_equal(after.slice(other), before.slice(other), "absdiff", 1e-12),
                       "the output of another sentence changed")
              << about;
        }
      }
    }
  }
}

TEST(UnequalLengths, ReturnsAValueThatAllTokensShare) {
  for (const arma::uword S : {1U, 3U, 7U}) {
    arma::cube V(S, 6, 2);
    for (arma::uword c = 0; c < 6; ++c) {
      for (arma::uword b = 0; b < 2; ++b) V.slice(b).col(c).fill(static_cast<double>(10 * b + c + 1));
    }
    arma::cube wanted(4, 6, 2);
    for (arma::uword b = 0; b < 2; ++b) wanted.slice(b).each_row() = arma::rowvec(V.slice(b).row(0));
    EXPECT_THAT(cross_attention(normal(4, 6, 2), normal(S, 6, 2), V, 3), IsNear(wanted, {"L", "E", "B"})) << note(
        "all " + std::to_string(S) + " tokens of a sentence have the same value: whatever the weights are, every " +
        "query gets that value");
  }
}

TEST(UnequalLengths, IgnoresTheOrderOfKeys) {
  const GoldenCase golden = load_golden("more_keys");
  const arma::uvec order = {3, 0, 4, 1, 2};
  EXPECT_THAT(
      cross_attention(golden.cube("Q"), reordered(golden.cube("K"), order), reordered(golden.cube("V"), order), 3),
      Matches(golden.expected("output")))
      << note("keys and values were put in another order, both in the same: the output must not change");
}

TEST(UnequalLengths, EqualsPyTorchWithMoreKeysThanQueries) {
  const GoldenCase golden = load_golden("more_keys");
  EXPECT_THAT(cross_attention_of(golden, 3), Matches(golden.expected("output")));
}

TEST(UnequalLengths, EqualsPyTorchWithFewerKeysThanQueries) {
  const GoldenCase golden = load_golden("fewer_keys");
  EXPECT_THAT(cross_attention_of(golden, 3), Matches(golden.expected("output")));
}

TEST(UnequalLengths, EqualsTheDefinitionForOtherSizes) {
  struct Sizes {
    arma::uword L, S, H, D, B;
  };
  for (const auto& [L, S, H, D, B] : {Sizes{2, 5, 3, 4, 6},
                                      {6, 2, 4, 3, 1},
                                      {1, 4, 2, 5, 3},
                                      {5, 1, 2, 4, 3},
                                      {3, 7, 1, 4, 2},
                                      {2, 4, 5, 1, 3},
                                      {8, 70, 2, 3, 4},
                                      {70, 8, 3, 2, 4},
                                      {4, 4, 3, 2, 5}}) {
    const arma::cube Q(L, H * D, B, arma::fill::randn);
    const arma::cube K(S, H * D, B, arma::fill::randn);
    const arma::cube V(S, H * D, B, arma::fill::randn);
    EXPECT_THAT(cross_attention(Q, K, V, H), IsNear(naive_cross_attention(Q, K, V, H), {"L", "E", "B"}))
        << note("L = " + std::to_string(L) + ", S = " + std::to_string(S) + ", H = " + std::to_string(H) +
                ", D = " + std::to_string(D) + ", B = " + std::to_string(B));
  }
}

// -------------------------------------------------------------------------------------------- nan_sentence, 13.5

arma::uvec lengths_of(const GoldenCase& golden) { return arma::conv_to<arma::uvec>::from(golden.rowvec("lengths")); }

arma::cube padded_attention_of(const GoldenCase& golden) {
  return padded_attention(golden.cube("Q"), golden.cube("K"), golden.cube("V"), lengths_of(golden));
}

Mask padding(const arma::uvec& lengths, arma::uword L, arma::uword S) {
  Mask mask(L, S, lengths.n_elem, arma::fill::zeros);
  for (arma::uword b = 0; b < lengths.n_elem; ++b)
    for (arma::uword j = 0; j < lengths(b); ++j) mask.slice(b).col(j).ones();
  return mask;
}

TEST(NanSentence, GivesTheTwoSentencesWorkedByHand) {
  const GoldenCase golden = load_golden("padded_by_hand");
  EXPECT_THAT(padded_attention_of(golden), Matches(golden.expected("output")));
}

TEST(NanSentence, EqualsPyTorch) {
  const GoldenCase golden = load_golden("padded");
  EXPECT_THAT(padded_attention_of(golden), Matches(golden.expected("output")))
      << note("the lengths are 3, 0, 0; a query that may attend to no key gets zeros");
}

TEST(NanSentence, IgnoresTheOrderOfTheBatch) {
  const GoldenCase golden = load_golden("padded");
  const arma::uvec lengths = {3, 0, 4};
  for (arma::uword shift = 0; shift < 3; ++shift) {
    arma::cube Q = golden.cube("Q");
    arma::cube K = golden.cube("K");
    arma::cube V = golden.cube("V");
    arma::uvec moved = lengths;
    for (arma::uword b = 0; b < 3; ++b) {
      const arma::uword from = (b + shift) % 3;
      Q.slice(b) = golden.cube("Q").slice(from);
      K.slice(b) = golden.cube("K").slice(from);
      V.slice(b) = golden.cube("V").slice(from);
      moved(b) = lengths(from);
    }
    EXPECT_THAT(padded_attention(Q, K, V, moved),
                IsNear(naive_attention(Q, K, V, padding(moved, 2, 4)), {"L", "Dv", "B"}))
        << note("the lengths are " + std::to_string(moved(0)) + ", " + std::to_string(moved(1)) + ", " +
                std::to_string(moved(2)) + "; a query that may attend to no key gets zeros");
  }
}

TEST(NanSentence, IgnoresPadding) {
  const GoldenCase golden = load_golden("padded");
  arma::cube K = golden.cube("K");
  arma::cube V = golden.cube("V");
  const arma::uvec lengths = lengths_of(golden);
  for (arma::uword b = 0; b < V.n_slices; ++b) {
    K.slice(b).tail_rows(V.n_rows - lengths(b)) *= -30;
    V.slice(b).tail_rows(V.n_rows - lengths(b)) += 1000;
  }
  EXPECT_THAT(padded_attention(golden.cube("Q"), K, V, lengths), Matches(golden.expected("output")))
      << note("keys and values after the end of each sentence were changed; the output may not change");
}

TEST(NanSentence, PassesOnANaN) {
  const GoldenCase golden = load_golden("nan_comes_in");
  EXPECT_THAT(padded_attention_of(golden), Matches(golden.expected("output")))
      << note("query 1 of sentence 0 holds NaN: hiding it would hide the next bug. Sentence 1 has length 0: zeros");
  arma::cube V = golden.cube("V");
  arma::cube wanted = golden.expected("output").values;
  V(0, 3, 0) = arma::datum::nan;
  wanted.slice(0).col(3).fill(arma::datum::nan);
  EXPECT_THAT(padded_attention(golden.cube("Q"), golden.cube("K"), V, lengths_of(golden)),
              IsNear(wanted, {"L", "Dv", "B"}))
      << note("a value of sentence 0 holds NaN, too: it belongs in that column of the output");
}

TEST(NanSentence, GivesZerosWhenTheWholeBatchIsEmpty) {
  const arma::cube Q = normal(3, 5, 2);
  EXPECT_THAT(padded_attention(Q, normal(4, 5, 2), arma::cube(4, 6, 2, arma::fill::ones), {0, 0}),
              IsNear(zeros(3, 6, 2), {"L", "Dv", "B"}))
      << note("all lengths are 0; a query that may attend to no key gets zeros");
}

TEST(NanSentence, EqualsTheDefinitionForOtherSizes) {
  const std::vector<arma::uvec> batches = {{0, 2, 5}, {3, 0, 1, 6}, {0}, {1, 0}, {0, 4}, {70, 0, 69, 3, 1}};
  for (const arma::uvec& lengths : batches) {
    const arma::uword S = arma::max(lengths) + 1;
    const arma::cube Q(5, 8, lengths.n_elem, arma::fill::randn);
    const arma::cube K(S, 8, lengths.n_elem, arma::fill::randn);
    const arma::cube V(S, 9, lengths.n_elem, arma::fill::randn);
    EXPECT_THAT(padded_attention(Q, K, V, lengths),
                IsNear(naive_attention(Q, K, V, padding(lengths, 5, S)), {"L", "Dv", "B"}));
  }
}

TEST(NanSentence, AcceptsExtremeScores) {
  const GoldenCase golden = load_golden("padded");
  arma::cube K = golden.cube("K");
  K.each_slice([](arma::mat& keys) { keys.each_row() += 3000 * arma::linspace<arma::rowvec>(-1, 2, 5); });
  EXPECT_THAT(padded_attention(golden.cube("Q"), K, golden.cube("V"), lengths_of(golden)),
              IsNear(golden.expected("output").values, {"L", "Dv", "B"}))
      << note(
             "one large vector was added to all keys: all scores of a row move by the same number, so nothing may "
             "change");
}

// --------------------------------------------------------------------------------------------- mixed_heads, 13.6

TEST(MixedHeads, GivesTheTwoHeadsWorkedByHand) {
  const GoldenCase golden = load_golden("merge_by_hand");
  EXPECT_THAT(mix_and_merge(golden.cube("weights"), golden.cube("V"), 2), Matches(golden.expected("output")))
      << given("weights", golden.cube("weights")) << given("V", golden.cube("V"));
}

TEST(MixedHeads, MixesEachTokenByItsOwnWeights) {
  const GoldenCase golden = load_golden("merge");
  const arma::cube before = mix_and_merge(golden.cube("weights"), golden.cube("V"), 3);
  for (arma::uword n = 0; n < golden.cube("weights").n_slices; ++n) {
    for (arma::uword i = 0; i < before.n_rows; ++i) {
      arma::cube weights = golden.cube("weights");
      weights.slice(n).row(i) += arma::linspace<arma::rowvec>(1, 2, 5);
      const arma::cube change = arma::abs(mix_and_merge(weights, golden.cube("V"), 3) - before);
      const arma::mat changed_rows = arma::max(change.slice(n / 3), 1);
      std::string rows;
      for (arma::uword row = 0; row < before.n_rows; ++row) {
        if (changed_rows(row) > 1e-9) rows += " " + std::to_string(row);
      }
      EXPECT_HOLDS(rows == " " + std::to_string(i),
                   "rows of the output that changed:" + (rows.empty() ? " none" : rows))
          << note("only row " + std::to_string(i) + " of slice " + std::to_string(n) +
                  " of the weights was changed (H = 3), so only row " + std::to_string(i) + " of sentence " +
                  std::to_string(n / 3) + " may change");
    }
  }
}

TEST(MixedHeads, FollowsPermutedQueries) {
  const GoldenCase golden = load_golden("merge");
  const arma::uvec order = {2, 0, 3, 1};
  const arma::cube wanted = reordered(mix_and_merge(golden.cube("weights"), golden.cube("V"), 3), order);
  EXPECT_THAT(mix_and_merge(reordered(golden.cube("weights"), order), golden.cube("V"), 3),
              IsNear(wanted, {"L", "E", "B"}))
      << note("the rows of the weights were put in another order; those of the output must follow");
}

TEST(MixedHeads, GivesEachHeadItsOwnColumns) {
  const GoldenCase golden = load_golden("merge");
  const arma::uword D = golden.cube("V").n_cols;
  for (arma::uword h = 0; h < 3; ++h) {
    arma::cube V = golden.cube("V");
    for (const arma::uword n : {h, 3 + h}) V.slice(n).fill(0);
    arma::cube wanted = golden.expected("output").values;
    wanted.cols(h * D, (h + 1) * D - 1).zeros();
    EXPECT_THAT(mix_and_merge(golden.cube("weights"), V, 3), IsNear(wanted, {"L", "E", "B"}))
        << note("the values of head " + std::to_string(h) + " of 3 were set to zero, in both sentences: columns " +
                std::to_string(h * D) + " to " + std::to_string((h + 1) * D - 1) + " become zero, and no others");
  }
}

TEST(MixedHeads, EqualsPyTorch) {
  const GoldenCase golden = load_golden("merge");
  EXPECT_THAT(mix_and_merge(golden.cube("weights"), golden.cube("V"), 3), Matches(golden.expected("output")));
}

TEST(MixedHeads, EqualsTheDefinitionForOtherSizes) {
  struct Sizes {
    arma::uword L, S, H, D, B;
  };
  for (const auto& [L, S, H, D, B] : {Sizes{2, 5, 3, 4, 6},
                                      {6, 2, 4, 3, 1},
                                      {3, 1, 2, 5, 4},
                                      {4, 7, 5, 1, 2},
                                      {70, 3, 2, 4, 5},
                                      {5, 3, 4, 2, 6},
                                      {4, 4, 3, 2, 5}}) {
    const arma::cube weights(L, S, H * B, arma::fill::randn);  // as after dropout: rows need not sum to one
    const arma::cube V(S, D, H * B, arma::fill::randn);
    EXPECT_THAT(mix_and_merge(weights, V, H), IsNear(naive_merge_heads(naive_mix(weights, V), H), {"L", "E", "B"}))
        << note("L = " + std::to_string(L) + ", S = " + std::to_string(S) + ", H = " + std::to_string(H) +
                ", D = " + std::to_string(D) + ", B = " + std::to_string(B));
  }
}

// --------------------------------------------------------------------------------------------------------- speed

ATTN_SPEED("attention_scores, 2 sequences of 24 queries and 32 keys, D = 64", [] {
  const arma::cube Q = normal(24, 64, 2);
  const arma::cube K = normal(32, 64, 2);
  return [Q, K] { return attention_scores(Q, K); };
});

}  // namespace
}  // namespace attn::judge
