// The fast kernels of lesson 19: every kind that this machine can run, on sizes that fill no register and no block.
#include <gmock/gmock.h>

#include <armadillo>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "attention_layer.hpp"
#include "attn/fused_multi_head_attention.hpp"
#include "attn/masking.hpp"
#include "checks/allocation.hpp"
#include "flash_attention.hpp"
#include "usable_kernels.hpp"

namespace attn::fast {
namespace {

using arma::uword;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

const float infinity = std::numeric_limits<float>::infinity();

/// NaN is what has all exponent bits set and any other bit but the sign's. x86's arithmetic makes the first of these;
/// others come from memory filled with 0xFF, from files and from GPUs.
std::vector<float> all_kinds_of_nan() {
  std::vector<float> nans;
  for (const std::uint32_t bits : {0xffc00000U, 0x7fc00000U, 0x7fc00001U, 0x7fc001ffU, 0x7fffffffU, 0xffffffffU}) {
    nans.emplace_back();
    std::memcpy(&nans.back(), &bits, sizeof(bits));
  }
  return nans;
}

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
                                   {700, 14, 2, 1, true}, {32, 128, 2, 3, true}, {1, 40, 2, 1, false},
                                   {2, 26, 2, 2, true},   {4, 24, 3, 1, true}};
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
    return judge::allocated_bytes([&] { layer.forward(X); });
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
  const Linear &qkv = whole.qkv_proj, &output = whole.output_proj;
  const auto rejected = [](const std::string& what) { return ThrowsMessage<std::invalid_argument>(HasSubstr(what)); };
  EXPECT_THAT([&] { AttentionLayer(qkv, output, 5); },
              rejected("embed_dim is 12, expected a multiple of num_heads = 5"));
  EXPECT_THAT([&] { AttentionLayer(output, output, 2); }, rejected("qkv_proj.weight is 12 x 12, expected 12 x 36"));
  EXPECT_THAT([&] { AttentionLayer(qkv, qkv, 2); }, rejected("output_proj.weight is 12 x 36, expected 12 x 12"));
  Linear empty = qkv;
  empty.weight.reset();
  EXPECT_THAT([&] { AttentionLayer(empty, output, 2); }, rejected("qkv_proj.weight is 0 x 0, expected E x 3E"));
  for (const int off : {-1, 1}) {
    Linear of_qkv = qkv, of_output = output;
    of_qkv.bias.zeros(uword(36 + off));
    of_output.bias.zeros(uword(12 + off));
    EXPECT_THAT([&] { AttentionLayer(of_qkv, output, 2); },
                rejected("qkv_proj.bias is 1 x " + std::to_string(36 + off) + ", expected 1 x 36"));
    EXPECT_THAT([&] { AttentionLayer(qkv, of_output, 2); },
                rejected("output_proj.bias is 1 x " + std::to_string(12 + off) + ", expected 1 x 12"));
  }
  AttentionLayer layer(qkv, output, 2);
  EXPECT_THAT([&] { layer.forward(normal(4, 11, 2)); }, rejected("X is 4 x 11 x 2, expected L x 12 x B"));
  EXPECT_THAT([&] { layer.forward(arma::fcube()); }, rejected("X is 0 x 0 x 0"));
}

/// Scores of R queries, and what exponentials() makes of them.
struct Softmax {
  /// @param rows a row of scores for each query; as long as a multiple of R
  Softmax(const std::vector<std::vector<float>>& rows, const Kernels& kernels) : R(kernels.rows) {
    const std::size_t keys = rows.front().size();
    for (AlignedFloats* floats : {&maximum, &sum, &rescale}) floats->reserve(R);
    scores.reserve(R * keys);
    for (std::size_t i = 0; i < R; ++i) {
      for (std::size_t j = 0; j < keys; ++j) scores.data()[j * R + i] = rows[i][j];
      maximum.data()[i] = lowest_maximum;
      sum.data()[i] = 0;
    }
    kernels.exponentials(scores.data(), keys / R, maximum.data(), sum.data(), rescale.data());
  }
  float at(std::size_t query, std::size_t key) const { return scores.data()[key * R + query]; }

  std::size_t R;
  AlignedFloats scores, maximum, sum, rescale;
};

TEST(Exponentials, AreThoseOfTheStandardLibrary) {
  for (const Kernels* kernels : usable_kernels()) {
    const std::size_t R = kernels->rows, keys = 40 * R;
    std::vector<std::vector<float>> rows(R, std::vector<float>(keys));
    for (std::size_t i = 0; i < R; ++i) {  // key 0 has the largest score
      for (std::size_t j = 0; j < keys; ++j) rows[i][j] = 0.37f * static_cast<float>(i) - 0.5f * static_cast<float>(j);
      rows[i][7] = -infinity;
    }
    const Softmax softmax(rows, *kernels);
    for (std::size_t i = 0; i < R; ++i) {
      double total = 0;
      for (std::size_t j = 0; j < keys; ++j) {
        const double wanted = std::exp2(static_cast<double>(rows[i][j] - rows[i][0]));  // the same difference in float
        const double bound = wanted < std::exp2(-126) ? std::exp2(-126) : 3e-7 * wanted;
        ASSERT_NEAR(softmax.at(i, j), wanted, bound) << kernels->name << ", key " << j;
        total += wanted;
      }
      EXPECT_EQ(softmax.at(i, 7), 0.0f) << kernels->name << ": a blocked key";
      EXPECT_EQ(softmax.at(i, 0), 1.0f) << kernels->name << ": the largest score";
      EXPECT_EQ(softmax.maximum.data()[i], rows[i][0]) << kernels->name;
      EXPECT_NEAR(softmax.sum.data()[i], total, 1e-6 * total) << kernels->name;
    }
  }
}

/// The exponentials of these scores of one query, then their sum.
std::vector<float> exponentials_of(std::vector<float> row, const Kernels& kernels) {
  row.resize(divided_up(row.size(), kernels.rows) * kernels.rows, -infinity);
  const Softmax softmax(std::vector(kernels.rows, row), kernels);
  for (std::size_t j = 0; j < row.size(); ++j) row[j] = softmax.at(0, j);
  row.push_back(softmax.sum.data()[0]);
  return row;
}

TEST(Exponentials, EndBelowTheSmallestNormalNumber) {
  std::vector<float> scores = {0};
  for (float x = -125; x >= -128; x -= 0.0625f) scores.push_back(x);
  for (const Kernels* kernels : usable_kernels()) {
    const std::vector<float> exponentials = exponentials_of(scores, *kernels);
    for (std::size_t j = 0; j < scores.size(); ++j) {
      const double wanted = scores[j] <= -126.5f ? 0 : std::exp2(static_cast<double>(scores[j]));
      EXPECT_NEAR(exponentials[j], wanted, 3e-7 * wanted + std::exp2(-149)) << kernels->name << ", 2^" << scores[j];
    }
  }
}

TEST(Exponentials, KeepEveryKindOfNaN) {
  for (const Kernels* kernels : usable_kernels()) {
    for (const float nan : all_kinds_of_nan()) {
      for (const std::size_t j : {0U, 1U, 2U, 3U, 39U}) {
        std::vector<float> scores(40, 1);
        scores[j] = nan;
        const std::vector<float> exponentials = exponentials_of(scores, *kernels);
        EXPECT_TRUE(std::isnan(exponentials[j])) << kernels->name << ", key " << j;
        EXPECT_TRUE(std::isnan(exponentials.back())) << kernels->name << ", the sum, key " << j;
      }
    }
  }
}

TEST(FastFlashAttention, HidesNoKindOfNaN) {
  for (const Kernels* kernels : usable_kernels()) {
    for (const uword S : {uword(2), uword(kernels->rows), uword(100), uword(300)}) {
      for (const float nan : all_kinds_of_nan()) {
        arma::fcube Q = normal(5, 3, 2), K = normal(S, 3, 2);
        const arma::fcube V = normal(S, 4, 2);
        Q(2, 1, 1) = nan;
        const FlashResult of_query = flash_attention(Q, K, V, {}, *kernels);
        Q(2, 1, 1) = 1;
        K(S / 2, 1, 1) = nan;
        const FlashResult of_key = flash_attention(Q, K, V, {}, *kernels);
        for (uword i = 0; i < 5; ++i) {
          const std::string where =
              std::string(kernels->name) + ", S = " + std::to_string(S) + ", query " + std::to_string(i);
          for (uword d = 0; d < 4; ++d) {
            EXPECT_EQ(std::isnan(of_query.output(i, d, 1)), i == 2) << where;
            EXPECT_TRUE(std::isnan(of_key.output(i, d, 1))) << where;
          }
          EXPECT_EQ(std::isnan(of_query.log_sum_exp(i, 1)), i == 2) << where;
          EXPECT_TRUE(std::isnan(of_key.log_sum_exp(i, 1))) << where;
        }
        for (const FlashResult* result : {&of_query, &of_key}) EXPECT_FALSE(result->output.slice(0).has_nan());
      }
    }
  }
}

TEST(FastFlashAttention, ReadsNoPadding) {
  FlashOptions options;
  options.key_lengths = {3, 0, 70, 64};
  const arma::fcube Q = normal(5, 3, 8), K = normal(80, 3, 4), V = normal(80, 4, 4);
  for (const Kernels* kernels : usable_kernels()) {
    for (const bool causal : {false, true}) {
      options.causal = causal;
      const FlashResult wanted = flash_attention(Q, K, V, options, *kernels);
      ASSERT_TRUE(wanted.output.is_finite());
      for (const float value : {std::numeric_limits<float>::quiet_NaN(), infinity, -infinity}) {
        arma::fcube padded_K = K, padded_V = V;
        for (uword b = 0; b < 4; ++b) {
          for (uword j = options.key_lengths(b); j < 80; ++j) {
            padded_K.slice(b).row(j).fill(value);
            padded_V.slice(b).row(j).fill(value);
          }
        }
        const FlashResult result = flash_attention(Q, padded_K, padded_V, options, *kernels);
        EXPECT_TRUE(arma::approx_equal(result.output, wanted.output, "absdiff", 0)) << kernels->name << ", " << value;
        EXPECT_TRUE(arma::all(arma::vectorise(result.log_sum_exp == wanted.log_sum_exp)))
            << kernels->name << ", " << value;
      }
    }
  }
}

TEST(FastFlashAttention, SeesEveryFiniteScore) {
  arma::fcube V(2, 1, 1);
  V(0) = 1, V(1) = 3;
  for (const Kernels* kernels : usable_kernels()) {
    for (const float root : {1e14f, 1e15f, 1e18f, 1.5e19f}) {  // the lowest score is -2.25e38
      const arma::fcube Q = arma::fcube(1, 1, 1).fill(root), K = arma::fcube(2, 1, 1).fill(-root);
      const FlashResult result = flash_attention(Q, K, V, {}, *kernels);
      EXPECT_EQ(result.output(0), 2.0f) << kernels->name << ", scores of -" << root << " squared";
      EXPECT_NEAR(result.log_sum_exp(0) / root / root, -1, 1e-6) << kernels->name;
    }
  }
}

}  // namespace
}  // namespace attn::fast
