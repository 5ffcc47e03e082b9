#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <armadillo>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "attn/heads.hpp"
#include "checks/allocation.hpp"
#include "checks/draw.hpp"
#include "checks/golden.hpp"
#include "checks/matchers.hpp"
#include "checks/oracles.hpp"
#include "checks/properties.hpp"
#include "checks/speed.hpp"

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
  ASSERT_TRUE(wrong.empty()) << wrong;
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
  ASSERT_TRUE(!heads.is_empty()) << line("shape", "got " + shape_text(heads) + ", want 4 x 5 x 6")
                                 << likely_mistake("split_reads_after_move");
  EXPECT_THAT(heads, HasShape({{"L", 4}, {"D", 5}, {"H·B", 6}})) << clue(heads, golden.cube("heads"));
}

TEST(SplitHeads, GivesTheTwoByFourWorkedByHand) {
  const GoldenCase golden = load_golden("by_hand");
  EXPECT_THAT(split_heads(worked_by_hand(), 2), Matches(golden.expected("heads")));
}

TEST(SplitHeads, GivesEachHeadItsOwnColumns) {
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

TEST(SplitHeads, KeepsTheBatchApart) {
  const arma::cube X = normal(5, 6, 4);
  const arma::cube together = split_heads(X, 2);
  ASSERT_THAT(together, HasShape({{"L", 5}, {"D", 3}, {"H·B", 8}}));
  expect_keeps_apart("sequence", 4, together, [&](arma::uword b) { return split_heads(X.slices(b, b), 2); });
}

TEST(SplitHeads, FollowsPermutedTokens) {
  const arma::cube X = normal(4, 6, 5);
  const arma::uvec order = shuffled(4);
  const arma::cube heads = split_heads(X, 3);
  ASSERT_THAT(heads, HasShape({{"L", 4}, {"D", 2}, {"H·B", 15}}));
  EXPECT_THAT(split_heads(reordered(X, order), 3), IsNear(reordered(heads, order), split_axes))
      << note("a token is a row before and after: permuted tokens must give the same rows, permuted");
}

TEST(SplitHeads, EqualsPyTorch) {
  const GoldenCase golden = load_golden("batch");
  EXPECT_THAT(split_heads(golden.cube("X"), 2), Matches(golden.expected("heads")));
}

TEST(SplitHeads, EqualsTheDefinitionForOtherSizes) {
  for (const Sizes& n : other_sizes) {
    const arma::cube X(n.L, n.H * n.D, n.B, arma::fill::randn);
    EXPECT_THAT(split_heads(X, n.H), IsNear(naive_split_heads(X, n.H), split_axes)) << sizes_text(n);
  }
}

TEST(SplitHeads, ChangesNothingForOneHead) {
  const arma::cube X = normal(5, 4, 3);
  EXPECT_THAT(split_heads(X, 1), IsNear(X, split_axes)) << note("one head has all the columns");
}

TEST(SplitHeads, AcceptsOneHeadPerFeature) {
  const arma::cube X = normal(5, 4, 3);
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

TEST(SplitHeads, LeavesACubeThatIsNotMoved) {
  arma::cube X(5, 12, 2, arma::fill::randn);
  const arma::cube before = X;
  split_heads(X, 3);
  EXPECT_THAT(X, IsNear(before, merged_axes)) << note("this X was not moved in: the caller goes on using it");
}

TEST(SplitHeads, LeavesTheGeneratorAlone) {
  const arma::cube X = normal(5, 12, 2);
  expect_leaves_the_generator_alone("split_heads", [&] { split_heads(X, 3); });
}

TEST(SplitHeads, KeepsTheMemoryOfACubeThatIsMovedIn) {
  const arma::cube X = normal(5, 12, 2);
  expect_same_memory(split_heads, X, 3, expected(naive_split_heads(X, 3), split_axes), likely_mistake("split_borrows"),
                     likely_mistake("split_copies"));
}

TEST(SplitHeads, AllocatesAlmostNothing) {
  const arma::cube X(50, 8 * 6, 5, arma::fill::randn);  // 0.1 MB
  expect_same_memory(split_heads, X, 8, expected(naive_split_heads(X, 8), split_axes), likely_mistake("split_borrows"),
                     likely_mistake("split_copies"));
}

// ------------------------------------------------------------------------------------------------ merge, 06.2

TEST(MergeHeads, PutsTheHeadsOfEverySequenceSideBySide) {
  const GoldenCase golden = load_golden("batch");
  const arma::cube merged = merge_heads(golden.cube("heads"), 2);
  ASSERT_TRUE(!merged.is_empty()) << line("shape", "got " + shape_text(merged) + ", want 4 x 10 x 3")
                                  << likely_mistake("merge_reads_after_move");
  EXPECT_THAT(merged, HasShape({{"L", 4}, {"E", 10}, {"B", 3}})) << clue(merged, golden.cube("X"));
}

TEST(MergeHeads, GivesTheTwoByFourWorkedByHand) {
  const GoldenCase golden = load_golden("by_hand");
  EXPECT_THAT(merge_heads(golden.cube("heads"), 2), Matches(golden.expected("X")))
      << given("heads", golden.cube("heads"));
}

TEST(MergeHeads, KeepsTheBatchApart) {
  const arma::cube X_heads = normal(5, 3, 8);
  const arma::cube together = merge_heads(X_heads, 2);
  ASSERT_THAT(together, HasShape({{"L", 5}, {"E", 6}, {"B", 4}}));
  expect_keeps_apart("sequence", 4, together,
                     [&](arma::uword b) { return merge_heads(X_heads.slices(2 * b, 2 * b + 1), 2); });
}

TEST(MergeHeads, EqualsPyTorch) {
  const GoldenCase golden = load_golden("batch");
  EXPECT_THAT(merge_heads(golden.cube("heads"), 2), Matches(golden.expected("X")));
}

TEST(MergeHeads, EqualsTheDefinitionForOtherSizes) {
  for (const Sizes& n : other_sizes) {
    const arma::cube X_heads(n.L, n.D, n.H * n.B, arma::fill::randn);
    EXPECT_THAT(merge_heads(X_heads, n.H), IsNear(naive_merge_heads(X_heads, n.H), merged_axes)) << sizes_text(n);
  }
}

TEST(MergeHeads, ChangesNothingForOneHead) {
  const arma::cube X_heads = normal(5, 4, 3);
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

TEST(MergeHeads, LeavesACubeThatIsNotMoved) {
  arma::cube X_heads(5, 4, 6, arma::fill::randn);
  const arma::cube before = X_heads;
  merge_heads(X_heads, 3);
  EXPECT_THAT(X_heads, IsNear(before, split_axes)) << note("this cube was not moved in: the caller goes on using it");
}

TEST(MergeHeads, LeavesTheGeneratorAlone) {
  const arma::cube X_heads = normal(5, 4, 6);
  expect_leaves_the_generator_alone("merge_heads", [&] { merge_heads(X_heads, 3); });
}

TEST(MergeHeads, KeepsTheMemoryOfACubeThatIsMovedIn) {
  const arma::cube X_heads = normal(5, 4, 6);
  expect_same_memory(merge_heads, X_heads, 3, expected(naive_merge_heads(X_heads, 3), merged_axes),
                     likely_mistake("merge_borrows"), likely_mistake("merge_copies"));
}

TEST(MergeHeads, AllocatesAlmostNothing) {
  const arma::cube X_heads(50, 6, 8 * 5, arma::fill::randn);  // 0.1 MB
  expect_same_memory(merge_heads, X_heads, 8, expected(naive_merge_heads(X_heads, 8), merged_axes),
                     likely_mistake("merge_borrows"), likely_mistake("merge_copies"));
}

// -------------------------------------------------------------------------------------------- there and back, 06.2

TEST(SplitThenMerge, IsTheIdentity) {
  for (const Sizes& n : other_sizes) {
    const arma::cube X(n.L, n.H * n.D, n.B, arma::fill::randn);
    EXPECT_THAT(merge_heads(split_heads(X, n.H), n.H), IsNear(X, merged_axes)) << sizes_text(n);
  }
}

TEST(SplitThenMerge, IsTheIdentityInReverse) {
  for (const Sizes& n : other_sizes) {
    const arma::cube X_heads(n.L, n.D, n.H * n.B, arma::fill::randn);
    EXPECT_THAT(split_heads(merge_heads(X_heads, n.H), n.H), IsNear(X_heads, split_axes)) << sizes_text(n);
  }
}

TEST(SplitThenMerge, KeepsTheMemory) {
  const arma::cube X(50, 8 * 6, 5, arma::fill::randn);  // 0.1 MB
  const Function there_and_back = [](arma::cube x, arma::uword num_heads) {
    return merge_heads(split_heads(std::move(x), num_heads), num_heads);
  };
  const std::string about = note("the cube was moved into split_heads, and what it gave into merge_heads");
  expect_same_memory(there_and_back, X, 8, expected(X, merged_axes), about, about);
}

// ------------------------------------------------------------------------------------------------ bad input

TEST(SplitHeads, RejectsHeadsThatDoNotDivideTheColumns) {
  for (const arma::uword num_heads : {3U, 4U, 14U}) {
    const auto call = [=] { split_heads(zeros(5, 7, 2), num_heads); };
    const RejectsArgument rejects(named_by(call, "X", "num_heads"), {"7", std::to_string(num_heads)});
    EXPECT_PRED_FORMAT1(RejectsOrNames(rejects, likely_mistake("split_drops_columns")), call)
        << note("7 columns and " + std::to_string(num_heads) + " heads");
  }
}

TEST(SplitHeads, RejectsZeroHeads) {
  EXPECT_PRED_FORMAT1(RejectsArgument("num_heads", {"0"}), [] { split_heads(zeros(5, 12, 2), 0); });
}

TEST(SplitHeads, RejectsSizesOfZero) {
  for (const arma::SizeCube size : {arma::SizeCube(0, 12, 2), arma::SizeCube(5, 0, 2), arma::SizeCube(5, 12, 0)}) {
    const arma::cube X(size);
    EXPECT_PRED_FORMAT1(RejectsOrNames(RejectsArgument("X", {shape_text(X)}), likely_mistake("split_accepts_nothing")),
                        [&] { split_heads(X, 3); })
        << note("X is " + shape_text(X));
  }
  EXPECT_PRED_FORMAT1(RejectsArgument("X", {"0 x 0 x 0"}), [] { split_heads(arma::cube(), 3); });
}

TEST(MergeHeads, RejectsHeadsThatDoNotDivideTheSlices) {
  for (const arma::uword num_heads : {2U, 5U, 14U}) {
    const auto call = [=] { merge_heads(zeros(4, 3, 7), num_heads); };
    const RejectsArgument rejects(named_by(call, "X_heads", "num_heads"), {"7", std::to_string(num_heads)});
    EXPECT_PRED_FORMAT1(RejectsOrNames(rejects, likely_mistake("merge_drops_slices")), call)
        << note("7 slices and " + std::to_string(num_heads) + " heads");
  }
}

TEST(MergeHeads, RejectsZeroHeads) {
  EXPECT_PRED_FORMAT1(RejectsArgument("num_heads", {"0"}), [] { merge_heads(zeros(5, 4, 6), 0); });
}

TEST(MergeHeads, RejectsSizesOfZero) {
  for (const arma::SizeCube size : {arma::SizeCube(0, 4, 6), arma::SizeCube(5, 0, 6), arma::SizeCube(5, 4, 0)}) {
    const arma::cube X_heads(size);
    EXPECT_PRED_FORMAT1(
        RejectsOrNames(RejectsArgument("X_heads", {shape_text(X_heads)}), likely_mistake("merge_accepts_nothing")),
        [&] { merge_heads(X_heads, 3); })
        << note("X_heads is " + shape_text(X_heads));
  }
  EXPECT_PRED_FORMAT1(RejectsArgument("X_heads", {"0 x 0 x 0"}), [] { merge_heads(arma::cube(), 3); });
}

// --------------------------------------------------------------------------------------------------------- speed

// Small enough for the processor's cache: with more, it is the operating system's memory that is timed.
ATTN_SPEED("copied, split into 4 heads and merged, 150 times, 2 sequences of 64 tokens, E = 64", [] {
  const arma::cube X = normal(64, 64, 2);
  return [X] {
    arma::cube again;
    for (int i = 0; i < 150; ++i) again = merge_heads(split_heads(X, 4), 4);
    return again;
  };
});

}  // namespace
}  // namespace attn::judge
