// The quick kernels of lesson 19: every kind that this machine can run, on sizes that fill no register and no block.
#include <gmock/gmock.h>

#include <armadillo>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "attention_layer.hpp"
#include "attn/fused_multi_head_attention.hpp"
#include "attn/masking.hpp"
#include "flash_attention.hpp"
#include "support/allocation.hpp"
#include "usable_kernels.hpp"

namespace attn::fast {
namespace {

using arma::uword;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

const float infinity = std::numeric_limits<float>::infinity();

struct Size {
  uword L, E, H, B;
  bool causal;
};

arma::fcube normal(uword rows, uword cols, uword slices) { return {rows, cols, slices, arma::fill::randn}; }

AttentionLayer layer_of(const FusedMultiHeadAttention& whole, const Kernels& kernels, std::size_t memory = 1 << 20) {
  return {whole.qkv_proj, whole.output_proj, whole.num_heads(), kernels, memory};
}

double largest_difference(const arma::cube& wanted, const arma::fcube& actual) {
  const arma::cube difference = wanted - arma::conv_to<arma::cube>::from(actual);
  return difference.has_nan() ? arma::datum::inf : arma::abs(difference).max();
}

/// Lesson 08's layer, in double.
arma::cube wanted_of(FusedMultiHeadAttention& whole, const arma::fcube& X, bool causal) {
  whole.dropout.eval();
  return whole.forward(arma::conv_to<arma::cube>::from(X), causal ? causal_mask(X.n_rows, X.n_rows) : Mask());
}

TEST(UsableKernels, EndWithThePortableOnes) {
  ASSERT_FALSE(usable_kernels().empty());
  EXPECT_EQ(usable_kernels().back()->name, std::string("portable"));
}

TEST(AttentionLayer, EqualsLesson08WithEveryKindOfKernels) {
  arma::arma_rng::set_seed(19);
  const std::vector<Size> sizes = {{1, 8, 2, 3, false},   {5, 12, 3, 2, true},   {33, 30, 2, 3, false},
                                   {70, 24, 3, 2, true},  {129, 26, 1, 2, true}, {300, 16, 4, 2, false},
                                   {700, 14, 2, 1, true}, {32, 128, 2, 3, true}};
  for (const Kernels* kernels : usable_kernels()) {
    for (const auto& [L, E, H, B, causal] : sizes) {
      FusedMultiHeadAttention whole(E, H);
      const arma::fcube X = normal(L, E, B);
      // One rounding of float is 6e-8; here about E of them meet, in numbers of the size of 1.
      EXPECT_LT(largest_difference(wanted_of(whole, X, causal), layer_of(whole, *kernels).forward(X, causal)), 5e-6)
          << kernels->name << ", L = " << L << ", E = " << E << ", H = " << H << ", causal = " << causal;
    }
  }
}

TEST(AttentionLayer, GivesTheSameWhenOnlyOneHeadFitsIntoMemory) {
  FusedMultiHeadAttention whole(24, 3);
  const arma::fcube X = normal(150, 24, 2);
  for (const Kernels* kernels : usable_kernels()) {
    const arma::fcube roomy = layer_of(whole, *kernels).forward(X), narrow = layer_of(whole, *kernels, 0).forward(X);
    EXPECT_TRUE(arma::approx_equal(roomy, narrow, "absdiff", 0)) << kernels->name;
  }
}

TEST(AttentionLayer, KeepsNothingFromOneForwardToTheNext) {
  FusedMultiHeadAttention whole(12, 2);
  AttentionLayer layer = layer_of(whole, *usable_kernels().front());
  const arma::fcube small = normal(9, 12, 2), large = normal(180, 12, 3);
  const arma::fcube first = layer.forward(small, true);
  layer.forward(large * infinity);
  EXPECT_TRUE(arma::approx_equal(first, layer.forward(small, true), "absdiff", 0));
  EXPECT_LT(largest_difference(wanted_of(whole, large, false), layer.forward(large)), 5e-6);
}

TEST(AttentionLayer, AsksForMemoryInProportionToTheText) {
  FusedMultiHeadAttention whole(16, 2);
  const auto bytes = [&](uword L) {
    AttentionLayer layer = layer_of(whole, *usable_kernels().front());
    const arma::fcube X = normal(L, 16, 1);
    return testing::allocated_bytes([&] { layer.forward(X); });
  };
  EXPECT_LT(bytes(2048), bytes(1024) * 21 / 10);
}

TEST(AttentionLayer, ShowsANaNInTheQueriesThatSeeIt) {
  FusedMultiHeadAttention whole(16, 2);
  arma::fcube X = normal(100, 16, 2);
  X(60, 3, 1) = std::numeric_limits<float>::quiet_NaN();
  for (const Kernels* kernels : usable_kernels()) {
    const arma::fcube Y = layer_of(whole, *kernels).forward(X, true);
    EXPECT_FALSE(Y.slice(0).has_nan()) << kernels->name;
    EXPECT_FALSE(arma::fmat(Y.slice(1).head_rows(32)).has_nan()) << kernels->name << ": an earlier panel of queries";
    for (uword i = 60; i < 100; ++i) EXPECT_TRUE(Y.slice(1).row(i).has_nan()) << kernels->name << ", query " << i;
  }
}

TEST(AttentionLayer, RejectsWhatDoesNotFit) {
  FusedMultiHeadAttention whole(12, 2);
  EXPECT_THAT([&] { AttentionLayer(whole.qkv_proj, whole.output_proj, 5); },
              ThrowsMessage<std::invalid_argument>(HasSubstr("embed_dim is 12, expected a multiple of num_heads = 5")));
  EXPECT_THAT([&] { AttentionLayer(whole.output_proj, whole.output_proj, 2); },
              ThrowsMessage<std::invalid_argument>(HasSubstr("qkv_proj.weight is 12 x 12, expected 12 x 36")));
  EXPECT_THAT([&] { AttentionLayer(whole.qkv_proj, whole.qkv_proj, 2); },
              ThrowsMessage<std::invalid_argument>(HasSubstr("output_proj.weight is 12 x 36, expected 12 x 12")));
  AttentionLayer layer(whole.qkv_proj, whole.output_proj, 2);
  EXPECT_THAT([&] { layer.forward(normal(4, 11, 2)); },
              ThrowsMessage<std::invalid_argument>(HasSubstr("X is 4 x 11 x 2, expected L x 12 x B")));
  EXPECT_THAT([&] { layer.forward(arma::fcube()); }, ThrowsMessage<std::invalid_argument>(HasSubstr("X is 0 x 0 x 0")));
}

TEST(Exponentials, AreThoseOfTheStandardLibrary) {
  for (const Kernels* kernels : usable_kernels()) {
    const std::size_t R = kernels->rows, panels = 40, keys = panels * R;
    AlignedFloats scores, maximum, sum, rescale;
    for (AlignedFloats* floats : {&maximum, &sum, &rescale}) floats->reserve(R);
    scores.reserve(R * keys);
    const auto score = [&](std::size_t i, std::size_t j) {
      return j == 7 ? -infinity : 0.37f * static_cast<float>(i) - 0.5f * static_cast<float>(j);  // j = 0 is the largest
    };
    for (std::size_t i = 0; i < R; ++i) {
      for (std::size_t j = 0; j < keys; ++j) scores.data()[j * R + i] = score(i, j);
      maximum.data()[i] = lowest_maximum;
      sum.data()[i] = 0;
    }
    kernels->exponentials(scores.data(), panels, maximum.data(), sum.data(), rescale.data());
    for (std::size_t i = 0; i < R; ++i) {
      double total = 0;
      for (std::size_t j = 0; j < keys; ++j) {
        const double wanted =
            std::exp2(static_cast<double>(score(i, j) - score(i, 0)));  // the same difference in float
        const double tolerance = wanted < std::exp2(-126) ? std::exp2(-126) : 3e-7 * wanted;
        ASSERT_NEAR(scores.data()[j * R + i], wanted, tolerance) << kernels->name << ", key " << j;
        total += wanted;
      }
      EXPECT_EQ(scores.data()[7 * R + i], 0.0f) << kernels->name << ": a blocked key";
      EXPECT_EQ(scores.data()[0 * R + i], 1.0f) << kernels->name << ": the largest score";
      EXPECT_EQ(maximum.data()[i], score(i, 0)) << kernels->name;
      EXPECT_NEAR(sum.data()[i], total, 1e-6 * total) << kernels->name;
    }
  }
}

TEST(FastFlashAttention, GivesTheSameWithEveryKindOfKernels) {
  const arma::fcube Q = normal(77, 10, 6), K = normal(131, 10, 2), V = normal(131, 7, 2);
  FlashOptions options;
  options.causal = true;
  options.key_lengths = {131, 50};
  const FlashResult portable = flash_attention(Q, K, V, options, *usable_kernels().back());
  for (const Kernels* kernels : usable_kernels()) {
    const FlashResult result = flash_attention(Q, K, V, options, *kernels);
    EXPECT_TRUE(arma::approx_equal(portable.output, result.output, "absdiff", 3e-6f)) << kernels->name;
    EXPECT_TRUE(arma::approx_equal(portable.log_sum_exp, result.log_sum_exp, "absdiff", 3e-6f)) << kernels->name;
  }
}

}  // namespace
}  // namespace attn::fast
