// Public functions given sizes that no memory holds, and whose products, sums
// or doubles do not fit into an arma::uword: an exception, at once. Where the
// product fits, that is Armadillo's own, or std::bad_alloc. And numbers at the
// end of what a double can be.
#include <gmock/gmock.h>

#include <cmath>
#include <exception>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "attn/activations.hpp"
#include "attn/batches.hpp"
#include "attn/byte_level_bpe.hpp"
#include "attn/checkpoint.hpp"
#include "attn/cross_entropy.hpp"
#include "attn/decode_cost.hpp"
#include "attn/decoder_attention.hpp"
#include "attn/dropout.hpp"
#include "attn/embedding.hpp"
#include "attn/flash_attention.hpp"
#include "attn/fused_multi_head_attention.hpp"
#include "attn/grouped_query_attention.hpp"
#include "attn/heads_backward.hpp"
#include "attn/language_model.hpp"
#include "attn/linear.hpp"
#include "attn/masking.hpp"
#include "attn/nn_multihead_attention.hpp"
#include "attn/positions.hpp"
#include "attn/safetensors.hpp"
#include "attn/sampling.hpp"
#include "attn/self_attention_v1.hpp"
#include "attn/self_attention_v2.hpp"
#include "attn/sentence_attention.hpp"
#include "attn/sliding_window.hpp"
#include "attn/view.hpp"
#include "attn/vocabulary.hpp"

namespace attn {
namespace {

using arma::uword;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

/// 2^power; 2^64 stands for the largest number there is.
uword two_to(unsigned power) { return power == 64 ? ~uword(0) : uword(1) << power; }

DecoderAttentionConfig attention_of(uword num_heads, uword head_dim) {
  DecoderAttentionConfig config;
  config.embed_dim = 4;
  config.num_heads = config.num_kv_heads = num_heads;
  config.head_dim = head_dim;
  return config;
}

LanguageModelConfig gpt2_of(uword max_position, uword embed_dim) {
  LanguageModelConfig config;
  config.architecture = Architecture::gpt2;
  config.vocab_size = config.num_layers = config.hidden_dim = 1;
  config.attention = attention_of(1, 2);
  config.attention.embed_dim = embed_dim;
  config.max_position = max_position;
  return config;
}

TEST(BadInput, WhoseProductIsNotANumberIsRejected) {
  const nn::MultiheadAttentionOptions padded = {arma::umat(2, 3), {}, {}};
  for (const auto& [a, b] :
       std::vector<std::pair<unsigned, unsigned>>{{32, 32}, {33, 31}, {40, 24}, {63, 63}, {64, 2}}) {
    const uword m = two_to(a), n = two_to(b);
    const std::string sizes = std::to_string(m) + " x " + std::to_string(n);
    const std::vector<std::function<void()>> calls = {
        [=] { causal_mask(m, n); },
        [=] { padding_mask({1}, m, n); },
        [=] { sliding_window_mask(m, n, 1); },
        [=] { alibi_bias(1, m, n); },
        [=] { alibi_bias(m, n, 1); },
        [=] { sinusoidal_positions(m, n); },
        [=] { Linear(m, n); },
        [=] { Embedding(m, n); },
        [=] { GroupedQueryAttention(1, m, 1, n); },
        [=] { kv_bytes_per_token(m, n, 2, 2); },
        [=] {
          decode_flops({m, n});
        },
        [=] {
          cache_bytes({2, m, n});
        },
        [=] {
          decode_bytes({m, 2, n});
        },
        [=] { nn::allowed_mask(padded, m, n); },
        [=] { Dropout::draw(m, n, 1, 0.5); },
        [=] { read_matrix("", "F16", m, n); },
        [=] {
          arma::cube X;
          view(X, m, n, 1);
        },
        [=] { require_mask("mask", Mask(2, 2, 2), 2, 2, m, n); },
        [=] { decoder_mask({0}, {0}, m, n); },
        [=] { DecoderAttention(attention_of(m, n)); },
        [=] { LanguageModel(gpt2_of(m, n)); },
    };
    for (std::size_t i = 0; i < calls.size(); ++i) {
      EXPECT_THAT(calls[i], ThrowsMessage<std::invalid_argument>(HasSubstr("expected a product below 2^64")))
          << "call " << i << ", " << sizes;
    }
  }
}

TEST(BadInput, ThatIsMultipliedWithWhatIsThereIsRejected) {
  std::mt19937_64 generator(1);
  const EncodedBatch four = encode({"a", "b", "c", "d"}, Vocabulary({"a"}), 1);
  LanguageModelConfig many_layers = gpt2_of(1, 2);
  many_layers.num_layers = two_to(61);
  const std::vector<std::function<void()>> calls = {
      [] { repeat_heads(arma::cube(2, 2, 2), two_to(62)); },
      [&] {
        next_token_batch({1, 2, 3}, 2, two_to(63), generator);
      },
      [&] { reverse_batch(2, two_to(62), 2, generator); },
      [&] { reverse_batch(2, two_to(63), 1, generator); },
      [&] { weights_of_sentence(arma::cube(1, 1, 1), four, 0, two_to(62)); },
      [&] { cache_bytes_per_token(many_layers); },
  };
  for (std::size_t i = 0; i < calls.size(); ++i) {
    EXPECT_THAT(calls[i], ThrowsMessage<std::invalid_argument>(HasSubstr("expected a product below 2^64"))) << i;
  }
  many_layers.attention.embed_dim = two_to(40);
  EXPECT_THAT([&] { number_of_parameters(many_layers); },
              ThrowsMessage<std::invalid_argument>(HasSubstr("expected fewer than 2^53")));
}

TEST(BadInput, WhoseSumIsNotANumberIsRejected) {
  const uword most = two_to(64);
  const std::vector<std::function<void()>> calls = {
      [=] { positions_after(arma::uvec{most}, 1); },
      [=] {
        positions_after(arma::uvec{1, most - 1}, 2);
      },
      [=] { decoder_mask(arma::uvec{most}, arma::uvec{1}, 1, 5); },
      [=] { sinusoidal_positions(2, 4, most); },
      [=] { window_keys(1, 2, most, 3); },
      [=] { visible_keys(1, 2, most, 3, true); },
  };
  for (std::size_t i = 0; i < calls.size(); ++i) {
    EXPECT_THAT(calls[i], ThrowsMessage<std::invalid_argument>(HasSubstr("expected a sum below 2^64"))) << i;
  }
}

TEST(BadInput, OfAnEmptySpecialTokenIsIgnored) {
  const std::vector<TextPart> parts = cut_at_specials("ab", {{"", 1}, {"b", 2}});
  ASSERT_EQ(parts.size(), 2U);
  EXPECT_EQ(parts[0].text + "|" + parts[1].text, "a|b");
}

TEST(ExtremeNumbers, KeepTheirDigitsAndDoNotOverflow) {
  arma::cube logits(1, 3, 1);
  logits.slice(0) = arma::rowvec{1e15, 1e15 + 1, 1e15 - 2};
  const double expected = std::log(1 + std::exp(-1.0) + std::exp(-3.0));
  EXPECT_NEAR(cross_entropy(logits, arma::umat(1, 1, arma::fill::ones)), expected, 1e-12);
  for (const double number : {1e308, -1e308, 1e200, -1e200}) {
    const double y = arma::as_scalar(gelu_tanh(arma::cube(1, 1, 1).fill(number)).slice(0));
    EXPECT_EQ(y, number > 0 ? number : 0) << number;
  }
  EXPECT_THAT(
      [] {
        token_probabilities({1, std::nan(""), 2}, {0, 0, 1});
      },
      ThrowsMessage<std::invalid_argument>(HasSubstr("logits holds NaN")));
}

TEST(BadInput, OfAHugeSizeEndsInAnException) {
  const Linear linear(3, 8);
  for (const unsigned power : {32U, 33U, 62U, 63U, 64U}) {
    for (const uword n : {two_to(power) - 2, two_to(power), two_to(power) + 2}) {
      const std::vector<std::function<void()>> calls = {
          [=] { SelfAttentionV1{n}; },
          [=] { SelfAttentionV2{n}; },
          [=] { MultiHeadAttention(n, n); },
          [=] { FusedMultiHeadAttention(n, n); },
          [=] { GroupedQueryAttention(n, n, n); },
          [=] { nn::MultiheadAttention(n, 2); },
          [&] { to_half_split(linear, n); },
          [=] {
            encode({"one", "two"}, Vocabulary({}), n);
          },
      };
      if (n < 2) continue;  // 2^64 - 1 plus 2
      for (std::size_t i = 0; i < calls.size(); ++i) {
        if (i == calls.size() - 1 && n < two_to(60)) continue;  // that many ids may fit into the address space
        EXPECT_THROW(calls[i](), std::exception) << "call " << i << ", " << n;
      }
    }
  }
  for (const uword n : {two_to(63), two_to(63) + 1, two_to(64)}) {
    EXPECT_THROW(alibi_slopes(n), std::exception) << n;
    EXPECT_THROW(alibi_bias(n, 1, 1), std::exception) << n;
  }
}

TEST(BadInput, OfAllowedMaskIsNamed) {
  const auto rejects = [](const arma::umat& padding, const arma::ucube& attn_mask, uword L, uword num_heads,
                          const std::string& message) {
    EXPECT_THAT(
        [&] {
          nn::allowed_mask({padding, attn_mask, {}}, L, num_heads);
        },
        ThrowsMessage<std::invalid_argument>(HasSubstr(message)));
  };
  const arma::umat padding(2, 3);
  rejects(padding, {}, 0, 2, "L is 0, expected at least 1");
  rejects(padding, {}, 4, 0, "num_heads is 0, expected at least 1");
  rejects(padding, arma::ucube(4, 5, 1), 4, 2, "bool_attn_mask is 4 x 5 x 1, expected 4 x 3 x 1 or 4 x 3 x 4");
  rejects(padding, arma::ucube(4, 3, 2), 4, 2, "bool_attn_mask is 4 x 3 x 2, expected 4 x 3 x 1 or 4 x 3 x 4");
  rejects({}, arma::ucube(5, 4, 1), 3, 2, "bool_attn_mask is 5 x 4 x 1, expected 3 x 4 x 1");
  rejects({}, arma::ucube(5, 4, 3), 5, 2, "bool_attn_mask is 5 x 4 x 3, expected 5 x 4 x 1 or 5 x 4 x 2");
  EXPECT_EQ(nn::allowed_mask({{}, arma::ucube(5, 4, 6), {}}, 5, 2).n_slices, 6U);
}

}  // namespace
}  // namespace attn
