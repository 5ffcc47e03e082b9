#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <armadillo>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "attn/heads.hpp"
#include "judge/allocation.hpp"
#include "judge/golden.hpp"
#include "judge/matchers.hpp"
#include "judge/oracles.hpp"
#include "judge/speed.hpp"

namespace attn::judge {
namespace {

const std::vector<std::string> split_axes = {"L", "D", "H·B"};
const std::vector<std::string> merged_axes = {"L", "E", "B"};

/// The numbers of the chapter: 112 is sequence 1, token 1, feature 2.
arma::cube worked_by_hand() {
  arma::cube X(2, 4, 2);
  X.slice(0) = {{0, 1, 2, 3}, {10, 11, 12, 13}};
  X.slice(1) = {{100, 101, 102, 103}, {110, 111, 112, 113}};
  return X;
}

/// Sizes for the naive loops: L, H, D, B.
struct Sizes {
  arma::uword L, H, D, B;
};
const std::vector<Sizes> other_sizes = {{3, 4, 5, 2}, {7, 2, 3, 5}, {2, 5, 3, 4},  {4, 3, 2, 1},  {5, 1, 4, 3},
                                        {4, 5, 1, 2}, {1, 3, 4, 2}, {70, 4, 3, 2}, {6, 12, 2, 5}, {1, 1, 1, 1}};

std::string sizes_text(const Sizes& n) {
  return note("L = " + std::to_string(n.L) + ", H = " + std::to_string(n.H) + ", D = " + std::to_string(n.D) +
              ", B = " + std::to_string(n.B));
}

/// Returned, and threw nothing.
bool accepts(const std::function<void()>& call) {
  try {
    call();
  } catch (const NotWritten&) {
    throw;
  } catch (const std::exception&) {
    return false;
  }
  return true;
}

/// Two arguments do not fit each other: the message may name either.
std::string named_by(const std::function<void()>& call, const std::string& one, const std::string& other) {
  try {
    call();
  } catch (const NotWritten&) {
    throw;
  } catch (const std::exception& error) {
    if (!names_argument(error.what(), one)) return other;
  }
  return one;
}

using Function = arma::cube (*)(arma::cube, arma::uword);

/// A cube that is moved in comes out as the same memory, and next to nothing is allocated on the way.
void expect_same_memory(Function function, arma::cube input, arma::uword num_heads, const Expected& wanted,
                        const std::string& borrows, const std::string& copies) {
  const std::size_t whole = input.n_elem * sizeof(double);
  const double* memory = input.memptr();
  arma::cube result;
  const std::size_t bytes = allocated_bytes([&] { result = function(std::move(input), num_heads); });
  ASSERT_HOLDS(result.mem_state == 0, "the result does not own its memory")
      << (result.memptr() == memory ? borrows : "");
  const std::string wrong = diagnose(result, wanted);  // EXPECT_THAT would print every number of a large cube
  ASSERT_TRUE(wrong.empty()) << as_diagnosis(wrong);
  ASSERT_HOLDS(result.memptr() == memory, "right, but the numbers lie in new memory: they were copied") << copies;
  EXPECT_HOLDS(bytes <= 1000 + 8 * wanted.values.n_slices,
               "right, but " + bytes_text(bytes) + " were allocated for a cube of " + bytes_text(whole))
      << copies;
}

Expected expected(const arma::cube& wanted, const std::vector<std::string>& axes) {
  return {wanted, axes, default_tolerance};
}

// ------------------------------------------------------------------------------------------------ split, 06.1

TEST(SplitHeads, MakesASliceForEveryHeadOfEverySequence) {
  const GoldenCase golden = load_golden("batch");
  const arma::cube heads = split_heads(golden.cube("X"), 2);
  ASSERT_TRUE(!heads.is_empty()) << statement("shape", "got " + shape_text(heads) + ", want 4 x 5 x 6")
                                 << likely_mistake("split_reads_after_move");
  EXPECT_THAT(heads, HasShape({{"L", 4}, {"D", 5}, {"H·B", 6}})) << clue(heads, golden.cube("heads"));
}

TEST(SplitHeads, GivesTheTwoByFourWorkedByHand) {
  const GoldenCase golden = load_golden("by_hand");
  EXPECT_THAT(split_heads(worked_by_hand(), 2), Matches(golden.expected("heads")));
}

TEST(SplitHeads, GivesEachHeadItsColumns) {
  const arma::uword H = 3, D = 4;
  const arma::cube X(5, H * D, 2, arma::fill::randn);
  const arma::cube heads = split_heads(X, H);
  ASSERT_THAT(heads, HasShape({{"L", 5}, {"D", 4}, {"H·B", 6}}));
  for (arma::uword b = 0; b < X.n_slices; ++b) {
    for (arma::uword h = 0; h < H; ++h) {
      const arma::mat columns = X.slice(b).cols(h * D, (h + 1) * D - 1);
      EXPECT_THAT(arma::mat(heads.slice(b * H + h)), IsNear(columns, {"L", "D"})) << note(
          "head " + std::to_string(h) + " of sequence " + std::to_string(b) + " is slice " + std::to_string(b * H + h) +
          ": columns " + std::to_string(h * D) + " to " + std::to_string((h + 1) * D - 1) + " of that sequence");
    }
  }
}

TEST(SplitHeads, KeepsTheSequencesOfABatchApart) {
  const arma::uword H = 2;
  const arma::cube X(5, 6, 4, arma::fill::randn);
  const arma::cube together = split_heads(X, H);
  ASSERT_THAT(together, HasShape({{"L", 5}, {"D", 3}, {"H·B", 8}}));
  for (arma::uword b = 0; b < X.n_slices; ++b) {
    const arma::cube alone = split_heads(X.slices(b, b), H);
    EXPECT_THAT(arma::cube(together.slices(b * H, b * H + H - 1)), IsNear(alone, split_axes)) << note(
        "these are the heads of sequence " + std::to_string(b) + "; alone, the same sequence gives what is wanted");
  }
}

TEST(SplitHeads, KeepsTheOrderOfTheTokens) {
  const arma::cube X(4, 6, 5, arma::fill::randn);
  arma::cube permuted_X = X;
  arma::cube permuted_heads = split_heads(X, 3);
  const arma::uvec order = {2, 0, 3, 1};
  ASSERT_THAT(permuted_heads, HasShape({{"L", 4}, {"D", 2}, {"H·B", 15}}));
  for (arma::uword b = 0; b < X.n_slices; ++b) permuted_X.slice(b) = arma::mat(X.slice(b)).rows(order);
  for (arma::uword n = 0; n < permuted_heads.n_slices; ++n)
    permuted_heads.slice(n) = arma::mat(permuted_heads.slice(n)).rows(order);
  EXPECT_THAT(split_heads(permuted_X, 3), IsNear(permuted_heads, split_axes))
      << note("a token is a row before and after: permuted tokens must give the same rows, permuted");
}

TEST(SplitHeads, EqualsPyTorch) {
  const GoldenCase golden = load_golden("batch");
  EXPECT_THAT(split_heads(golden.cube("X"), 2), Matches(golden.expected("heads")));
}

TEST(SplitHeads, EqualsTheFormulaForOtherSizes) {
  for (const Sizes& n : other_sizes) {
    const arma::cube X(n.L, n.H * n.D, n.B, arma::fill::randn);
    EXPECT_THAT(split_heads(X, n.H), IsNear(naive_split_heads(X, n.H), split_axes)) << sizes_text(n);
  }
}

TEST(SplitHeads, WithOneHeadChangesNothing) {
  const arma::cube X(5, 4, 3, arma::fill::randn);
  EXPECT_THAT(split_heads(X, 1), IsNear(X, split_axes)) << note("one head has all the columns");
}

TEST(SplitHeads, CanMakeEveryFeatureAHead) {
  const arma::cube X(5, 4, 3, arma::fill::randn);
  EXPECT_THAT(split_heads(X, 4), IsNear(naive_split_heads(X, 4), split_axes))
      << note("H = E: every head is one column");
}

TEST(SplitHeads, KeepsEveryNumberExactly) {
  const double infinity = std::numeric_limits<double>::infinity();
  arma::cube X(2, 6, 4, arma::fill::randn);
  X(0, 0, 0) = infinity;
  X(1, 2, 1) = -infinity;
  X(0, 3, 2) = std::numeric_limits<double>::quiet_NaN();
  X(1, 5, 3) = 1e300;
  X(1, 4, 3) = 1 + 1e-15;
  EXPECT_THAT(split_heads(X, 3), IsNear(naive_split_heads(X, 3), split_axes, 0))
      << note("nothing is computed here: each number must come out exactly as it went in");
}

TEST(SplitHeads, LeavesACubeThatIsNotMovedAsItWas) {
  arma::cube X(5, 12, 2, arma::fill::randn);
  const arma::cube before = X;
  split_heads(X, 3);
  EXPECT_THAT(X, IsNear(before, merged_axes)) << note("this X was not moved in: the caller goes on using it");
}

TEST(SplitHeads, LeavesTheRandomGeneratorToTheCaller) {
  const arma::cube X(5, 12, 2, arma::fill::randn);
  arma::arma_rng::set_seed(3);
  split_heads(X, 3);
  const double after_the_call = arma::randu();
  arma::arma_rng::set_seed(3);
  EXPECT_HOLDS(after_the_call == arma::randu(), "split_heads changed the state of the random generator")
      << note("nothing is drawn here; leave the generator to the caller");
}

TEST(SplitHeads, KeepsTheMemoryOfACubeThatIsMovedIn) {
  const arma::cube X(5, 12, 2, arma::fill::randn);
  expect_same_memory(split_heads, X, 3, expected(naive_split_heads(X, 3), split_axes), likely_mistake("split_borrows"),
                     likely_mistake("split_copies"));
}

TEST(SplitHeads, AllocatesNextToNothing) {
  const arma::cube X(100, 8 * 16, 7, arma::fill::randn);  // 0.7 MB
  expect_same_memory(split_heads, X, 8, expected(naive_split_heads(X, 8), split_axes), likely_mistake("split_borrows"),
                     likely_mistake("split_copies"));
}

// ------------------------------------------------------------------------------------------------ merge, 06.2

TEST(MergeHeads, PutsTheHeadsOfEverySequenceSideBySide) {
  const GoldenCase golden = load_golden("batch");
  const arma::cube merged = merge_heads(golden.cube("heads"), 2);
  ASSERT_TRUE(!merged.is_empty()) << statement("shape", "got " + shape_text(merged) + ", want 4 x 10 x 3")
                                  << likely_mistake("merge_reads_after_move");
  EXPECT_THAT(merged, HasShape({{"L", 4}, {"E", 10}, {"B", 3}})) << clue(merged, golden.cube("X"));
}

TEST(MergeHeads, GivesTheTwoByFourWorkedByHand) {
  const GoldenCase golden = load_golden("by_hand");
  EXPECT_THAT(merge_heads(golden.cube("heads"), 2), Matches(golden.expected("X")));
}

TEST(MergeHeads, KeepsTheSequencesOfABatchApart) {
  const arma::uword H = 2;
  const arma::cube X_heads(5, 3, 4 * H, arma::fill::randn);
  const arma::cube together = merge_heads(X_heads, H);
  ASSERT_THAT(together, HasShape({{"L", 5}, {"E", 6}, {"B", 4}}));
  for (arma::uword b = 0; b < together.n_slices; ++b) {
    const arma::cube alone = merge_heads(X_heads.slices(b * H, b * H + H - 1), H);
    EXPECT_THAT(arma::cube(together.slices(b, b)), IsNear(alone, merged_axes)) << note(
        "this is sequence " + std::to_string(b) + " of the batch; alone, the same sequence gives what is wanted");
  }
}

TEST(MergeHeads, EqualsPyTorch) {
  const GoldenCase golden = load_golden("batch");
  EXPECT_THAT(merge_heads(golden.cube("heads"), 2), Matches(golden.expected("X")));
}

TEST(MergeHeads, EqualsTheFormulaForOtherSizes) {
  for (const Sizes& n : other_sizes) {
    const arma::cube X_heads(n.L, n.D, n.H * n.B, arma::fill::randn);
    EXPECT_THAT(merge_heads(X_heads, n.H), IsNear(naive_merge_heads(X_heads, n.H), merged_axes)) << sizes_text(n);
  }
}

TEST(MergeHeads, WithOneHeadChangesNothing) {
  const arma::cube X_heads(5, 4, 3, arma::fill::randn);
  EXPECT_THAT(merge_heads(X_heads, 1), IsNear(X_heads, merged_axes)) << note("one head has all the columns");
}

TEST(MergeHeads, KeepsEveryNumberExactly) {
  const double infinity = std::numeric_limits<double>::infinity();
  arma::cube X_heads(2, 5, 6, arma::fill::randn);
  X_heads(0, 0, 0) = infinity;
  X_heads(1, 2, 1) = -infinity;
  X_heads(0, 3, 2) = std::numeric_limits<double>::quiet_NaN();
  X_heads(1, 4, 5) = 1e300;
  X_heads(1, 3, 5) = 1 + 1e-15;
  EXPECT_THAT(merge_heads(X_heads, 3), IsNear(naive_merge_heads(X_heads, 3), merged_axes, 0))
      << note("nothing is computed here: each number must come out exactly as it went in");
}

TEST(MergeHeads, LeavesACubeThatIsNotMovedAsItWas) {
  arma::cube X_heads(5, 4, 6, arma::fill::randn);
  const arma::cube before = X_heads;
  merge_heads(X_heads, 3);
  EXPECT_THAT(X_heads, IsNear(before, split_axes)) << note("this cube was not moved in: the caller goes on using it");
}

TEST(MergeHeads, LeavesTheRandomGeneratorToTheCaller) {
  const arma::cube X_heads(5, 4, 6, arma::fill::randn);
  arma::arma_rng::set_seed(3);
  merge_heads(X_heads, 3);
  const double after_the_call = arma::randu();
  arma::arma_rng::set_seed(3);
  EXPECT_HOLDS(after_the_call == arma::randu(), "merge_heads changed the state of the random generator")
      << note("nothing is drawn here; leave the generator to the caller");
}

TEST(MergeHeads, KeepsTheMemoryOfACubeThatIsMovedIn) {
  const arma::cube X_heads(5, 4, 6, arma::fill::randn);
  expect_same_memory(merge_heads, X_heads, 3, expected(naive_merge_heads(X_heads, 3), merged_axes),
                     likely_mistake("merge_borrows"), likely_mistake("merge_copies"));
}

TEST(MergeHeads, AllocatesNextToNothing) {
  const arma::cube X_heads(100, 16, 8 * 7, arma::fill::randn);  // 0.7 MB
  expect_same_memory(merge_heads, X_heads, 8, expected(naive_merge_heads(X_heads, 8), merged_axes),
                     likely_mistake("merge_borrows"), likely_mistake("merge_copies"));
}

// ------------------------------------------------------------------------------------------------ there and back

TEST(SplitThenMerge, IsTheIdentity) {
  for (const Sizes& n : other_sizes) {
    const arma::cube X(n.L, n.H * n.D, n.B, arma::fill::randn);
    EXPECT_THAT(merge_heads(split_heads(X, n.H), n.H), IsNear(X, merged_axes)) << sizes_text(n);
  }
}

TEST(SplitThenMerge, IsTheIdentityTheOtherWayRound) {
  for (const Sizes& n : other_sizes) {
    const arma::cube X_heads(n.L, n.D, n.H * n.B, arma::fill::randn);
    EXPECT_THAT(split_heads(merge_heads(X_heads, n.H), n.H), IsNear(X_heads, split_axes)) << sizes_text(n);
  }
}

TEST(SplitThenMerge, KeepsTheMemory) {
  const arma::cube X(100, 8 * 16, 7, arma::fill::randn);  // 0.7 MB
  const Function there_and_back = [](arma::cube x, arma::uword num_heads) {
    return merge_heads(split_heads(std::move(x), num_heads), num_heads);
  };
  const std::string about = note("the cube was moved into split_heads, and what it gave into merge_heads");
  expect_same_memory(there_and_back, X, 8, expected(X, merged_axes), about, about);
}

// ------------------------------------------------------------------------------------------------ bad input

TEST(SplitHeads, RejectsHeadsThatDoNotDivideTheColumns) {
  for (const arma::uword num_heads : {3U, 4U, 14U}) {
    const auto call = [=] { split_heads(arma::cube(5, 7, 2, arma::fill::zeros), num_heads); };
    ASSERT_TRUE(!accepts(call)) << statement("threw",
                                             "nothing, for 7 columns and " + std::to_string(num_heads) + " heads")
                                << likely_mistake("split_drops_columns");
    EXPECT_PRED_FORMAT1(RejectsArgument(named_by(call, "X", "num_heads"), {"7", std::to_string(num_heads)}), call);
  }
}

TEST(SplitHeads, RejectsNoHeads) {
  EXPECT_PRED_FORMAT1(RejectsArgument("num_heads", {"0"}),
                      [] { split_heads(arma::cube(5, 12, 2, arma::fill::zeros), 0); });
}

TEST(SplitHeads, RejectsSizesOfZero) {
  for (const arma::SizeCube size : {arma::SizeCube(0, 12, 2), arma::SizeCube(5, 0, 2), arma::SizeCube(5, 12, 0)}) {
    const auto call = [=] { split_heads(arma::cube(size), 3); };
    ASSERT_TRUE(!accepts(call)) << statement("threw", "nothing, for an X of " + shape_text(arma::cube(size)))
                                << likely_mistake("split_accepts_nothing");
    EXPECT_PRED_FORMAT1(RejectsArgument("X", {shape_text(arma::cube(size))}), call);
  }
  EXPECT_PRED_FORMAT1(RejectsArgument("X", {"0 x 0 x 0"}), [] { split_heads(arma::cube(), 3); });
}

TEST(MergeHeads, RejectsHeadsThatDoNotDivideTheSlices) {
  for (const arma::uword num_heads : {2U, 5U, 14U}) {
    const auto call = [=] { merge_heads(arma::cube(4, 3, 7, arma::fill::zeros), num_heads); };
    ASSERT_TRUE(!accepts(call)) << statement("threw",
                                             "nothing, for 7 slices and " + std::to_string(num_heads) + " heads")
                                << likely_mistake("merge_drops_slices");
    EXPECT_PRED_FORMAT1(RejectsArgument(named_by(call, "X_heads", "num_heads"), {"7", std::to_string(num_heads)}),
                        call);
  }
}

TEST(MergeHeads, RejectsNoHeads) {
  EXPECT_PRED_FORMAT1(RejectsArgument("num_heads", {"0"}),
                      [] { merge_heads(arma::cube(5, 4, 6, arma::fill::zeros), 0); });
}

TEST(MergeHeads, RejectsSizesOfZero) {
  for (const arma::SizeCube size : {arma::SizeCube(0, 4, 6), arma::SizeCube(5, 0, 6), arma::SizeCube(5, 4, 0)}) {
    const auto call = [=] { merge_heads(arma::cube(size), 3); };
    ASSERT_TRUE(!accepts(call)) << statement("threw", "nothing, for an X_heads of " + shape_text(arma::cube(size)))
                                << likely_mistake("merge_accepts_nothing");
    EXPECT_PRED_FORMAT1(RejectsArgument("X_heads", {shape_text(arma::cube(size))}), call);
  }
  EXPECT_PRED_FORMAT1(RejectsArgument("X_heads", {"0 x 0 x 0"}), [] { merge_heads(arma::cube(), 3); });
}

// --------------------------------------------------------------------------------------------------------- speed

// Small enough for the processor's cache: with more, it is the operating system's memory that is timed.
ATTN_SPEED("copied, split into 4 heads and merged, 150 times, 2 sequences of 64 tokens, E = 64", [] {
  const arma::cube X(64, 64, 2, arma::fill::randn);
  return [X] {
    arma::cube again;
    for (int i = 0; i < 150; ++i) again = merge_heads(split_heads(X, 4), 4);
    return again;
  };
});

}  // namespace
}  // namespace attn::judge
