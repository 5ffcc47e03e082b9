// The fast decoder against lesson 22's LanguageModel in double: both architectures, both kinds of weights, every kind
// of kernels that this machine can run, on sizes that fill no register and no panel.
#include "decoder.hpp"

#include <gmock/gmock.h>

#include <armadillo>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <list>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "attn/language_model.hpp"
#include "checks/allocation.hpp"
#include "decoder_cache.hpp"
#include "team.hpp"

namespace attn::fast {
namespace {

using arma::uword;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

/// What a double becomes in a file.
std::uint32_t bits_of(double number, Number type) {
  const float single = static_cast<float>(number);
  std::uint32_t bits;
  std::memcpy(&bits, &single, sizeof(bits));
  return type == Number::float32 ? bits : bits & 0xffff0000U;
}

/// A model's tensors, as a file would have them: packed, at odd addresses.
class Stored {
 public:
  explicit Stored(Number type) : type_(type) {}

  /// @param numbers row-major in memory. They become what is stored: the model then has the same weights
  template <class Matrix>
  void add(const std::string& name, Matrix& numbers, std::vector<std::size_t> shape) {
    std::vector<char>& bytes = bytes_.emplace_back(1);
    for (double& number : numbers) {
      const std::uint32_t bits = bits_of(number, type_);
      const char* first = reinterpret_cast<const char*>(&bits);
      bytes.insert(bytes.end(), first + (type_ == Number::float32 ? 0 : 2), first + 4);
      float stored;
      std::memcpy(&stored, &bits, sizeof(stored));
      number = stored;
    }
    tensors[name] = {bytes.data() + 1, type_, std::move(shape)};
  }

  /// PyTorch's Linear: (out x in).
  void linear(const std::string& name, Linear& layer) {
    add(name + ".weight", layer.weight, {layer.weight.n_cols, layer.weight.n_rows});
    if (!layer.bias.is_empty()) add(name + ".bias", layer.bias, {layer.bias.n_elem});
  }

  /// A matrix as it is, row by row.
  void rows(const std::string& name, arma::mat& matrix) {
    arma::mat turned = matrix.t();
    add(name, turned, {matrix.n_rows, matrix.n_cols});
    matrix = turned.t();
  }

  void conv1d(const std::string& name, Linear& layer) {
    rows(name + ".weight", layer.weight);
    add(name + ".bias", layer.bias, {layer.bias.n_elem});
  }

  void norm(const std::string& name, RMSNorm& norm) {
    norm.weight.randu();
    add(name + ".weight", norm.weight, {norm.weight.n_elem});
  }

  void norm(const std::string& name, LayerNorm& norm) {
    norm.weight.randu();
    norm.bias.randn();
    add(name + ".weight", norm.weight, {norm.weight.n_elem});
    add(name + ".bias", norm.bias, {norm.bias.n_elem});
  }

  Tensors tensors;

 private:
  Number type_;
  std::list<std::vector<char>> bytes_;
};

Stored llama_tensors(LanguageModel& model, Number type) {
  Stored stored(type);
  stored.rows("model.embed_tokens.weight", model.token_embedding.weight);
  for (std::size_t n = 0; n < model.blocks.size(); ++n) {
    const std::string name = "model.layers." + std::to_string(n) + ".";
    DecoderBlock& block = model.blocks[n];
    stored.norm(name + "input_layernorm", std::get<RMSNorm>(block.attention_norm));
    stored.linear(name + "self_attn.q_proj", block.attention.query_proj);
    stored.linear(name + "self_attn.k_proj", block.attention.key_proj);
    stored.linear(name + "self_attn.v_proj", block.attention.value_proj);
    stored.linear(name + "self_attn.o_proj", block.attention.output_proj);
    stored.norm(name + "self_attn.q_norm", block.attention.query_norm);
    stored.norm(name + "self_attn.k_norm", block.attention.key_norm);
    stored.norm(name + "post_attention_layernorm", std::get<RMSNorm>(block.feed_forward_norm));
    SwiGLU& feed_forward = std::get<SwiGLU>(block.feed_forward);
    stored.linear(name + "mlp.gate_proj", feed_forward.gate_proj);
    stored.linear(name + "mlp.up_proj", feed_forward.up_proj);
    stored.linear(name + "mlp.down_proj", feed_forward.down_proj);
  }
  stored.norm("model.norm", std::get<RMSNorm>(model.final_norm));
  if (!model.head.is_empty()) stored.add("lm_head.weight", model.head, {model.head.n_cols, model.head.n_rows});
  return stored;
}

Stored gpt2_tensors(LanguageModel& model, Number type, const std::string& prefix) {
  Stored stored(type);
  stored.rows(prefix + "wte.weight", model.token_embedding.weight);
  stored.rows(prefix + "wpe.weight", model.position_embedding);
  for (std::size_t n = 0; n < model.blocks.size(); ++n) {
    const std::string name = prefix + "h." + std::to_string(n) + ".";
    DecoderAttention& attention = model.blocks[n].attention;
    const uword E = attention.query_proj.weight.n_rows;
    stored.norm(name + "ln_1", std::get<LayerNorm>(model.blocks[n].attention_norm));
    Linear qkv(E, 3 * E);
    stored.conv1d(name + "attn.c_attn", qkv);
    Linear* parts[] = {&attention.query_proj, &attention.key_proj, &attention.value_proj};
    for (uword p = 0; p < 3; ++p) {
      parts[p]->weight = qkv.weight.cols(p * E, (p + 1) * E - 1);
      parts[p]->bias = qkv.bias.cols(p * E, (p + 1) * E - 1);
    }
    stored.conv1d(name + "attn.c_proj", attention.output_proj);
    stored.norm(name + "ln_2", std::get<LayerNorm>(model.blocks[n].feed_forward_norm));
    stored.conv1d(name + "mlp.c_fc", std::get<FeedForward>(model.blocks[n].feed_forward).up_proj);
    stored.conv1d(name + "mlp.c_proj", std::get<FeedForward>(model.blocks[n].feed_forward).down_proj);
  }
  stored.norm(prefix + "ln_f", std::get<LayerNorm>(model.final_norm));
  return stored;
}

Stored tensors_of(LanguageModel& model, Number type, const std::string& prefix = "") {
  const bool gpt2 = model.config().architecture == Architecture::gpt2;
  return gpt2 ? gpt2_tensors(model, type, prefix) : llama_tensors(model, type);
}

struct Sizes {
  uword V, N, F, E, H, G, D;
  bool qk_norm, bias, tied;
};

LanguageModelConfig llama(const Sizes& sizes) {
  LanguageModelConfig config;
  config.vocab_size = sizes.V;
  config.num_layers = sizes.N;
  config.hidden_dim = sizes.F;
  config.attention.embed_dim = sizes.E;
  config.attention.num_heads = sizes.H;
  config.attention.num_kv_heads = sizes.G;
  config.attention.head_dim = sizes.D;
  config.attention.qk_norm = sizes.qk_norm;
  config.attention.bias = sizes.bias;
  config.tied_head = sizes.tied;
  return config;
}

LanguageModelConfig gpt2(uword V, uword N, uword E, uword H, uword P) {
  LanguageModelConfig config = llama({V, N, 4 * E, E, H, H, 0, false, true, true});
  config.architecture = Architecture::gpt2;
  config.norm_epsilon = 1e-5;
  config.max_position = P;
  return config;
}

const LanguageModelConfig small_llama = llama({37, 2, 22, 12, 6, 2, 4, true, true, false});
const LanguageModelConfig small_gpt2 = gpt2(37, 2, 12, 3, 100);

std::vector<LanguageModelConfig> several() {
  return {small_llama,
          small_gpt2,
          llama({101, 1, 300, 280, 5, 1, 14, false, false, true}),  // more inputs than are packed together
          llama({64, 2, 160, 64, 7, 7, 64, true, false, true}),     // no shared keys; wider than E
          llama({50, 1, 40, 36, 12, 3, 6, false, true, true}),
          gpt2(150, 2, 72, 2, 120)};
}

arma::uvec some_ids(uword count, uword V) { return arma::randi<arma::uvec>(count, arma::distr_param(0, int(V) - 1)); }

/// The logits (L x V) of a text in one piece.
arma::mat wanted_of(LanguageModel& model, const arma::uvec& ids) {
  model.reset();
  return model.extend(ids).slice(0);
}

/// The largest difference, of the size of the largest logit.
double error_of(const arma::mat& wanted, const arma::fmat& actual) {
  const arma::mat difference = wanted - arma::conv_to<arma::mat>::from(actual);
  return difference.has_nan() ? arma::datum::inf : arma::abs(difference).max() / arma::abs(wanted).max();
}

auto rejected(const std::string& why) { return ThrowsMessage<std::invalid_argument>(HasSubstr(why)); }

/// One rounding of float is 6e-8, and some hundreds of them meet.
const double tolerance = 1e-5;

TEST(Decoder, EqualsLesson22WithEveryKindOfKernelsAndWeights) {
  arma::arma_rng::set_seed(22);
  for (const LanguageModelConfig& config : several()) {
    for (const Number type : {Number::float32, Number::bfloat16}) {
      LanguageModel model(config);
      const Stored stored = tensors_of(model, type);
      const arma::uvec ids = some_ids(100, config.vocab_size);
      const arma::mat wanted = wanted_of(model, ids);
      for (const Kernels* kernels : usable_kernels()) {
        Decoder decoder(config, stored.tensors, 100, 2, *kernels);
        EXPECT_LT(error_of(wanted, decoder.extend(ids, Logits::all)), tolerance)
            << kernels->name << ", V = " << config.vocab_size << ", bfloat16 = " << (type == Number::bfloat16);
      }
    }
  }
}

TEST(Decoder, GivesTheSameHoweverATextIsCut) {
  for (const LanguageModelConfig& config : several()) {
    LanguageModel model(config);
    const Stored stored = tensors_of(model, Number::bfloat16);
    const arma::uvec ids = some_ids(100, config.vocab_size);
    const arma::mat wanted = wanted_of(model, ids);
    for (const Kernels* kernels : usable_kernels()) {
      for (const std::vector<uword>& pieces : std::vector<std::vector<uword>>{
               std::vector<uword>(100, 1), {33, 1, 2, 3, 4, 5, 6, 7, 39}, {5, 64, 16, 15}, {1, 17, 81, 1}}) {
        Decoder decoder(config, stored.tensors, 100, 2, *kernels);
        for (const uword piece : pieces) {
          const uword first = decoder.length(), last = first + piece - 1;
          const arma::fmat logits = decoder.extend(ids.subvec(first, last));
          ASSERT_EQ(logits.n_rows, 1U);
          ASSERT_LT(error_of(wanted.row(last), logits), tolerance)
              << kernels->name << ", token " << last << " in a piece of " << piece;
        }
      }
    }
  }
}

TEST(Decoder, GivesTheSameWithAnyNumberOfThreads) {
  for (const LanguageModelConfig& config : several()) {
    LanguageModel model(config);
    const Stored stored = tensors_of(model, Number::float32);
    const arma::uvec ids = some_ids(45, config.vocab_size);
    const arma::mat wanted = wanted_of(model, ids);
    for (const std::size_t threads : {1U, 2U, 3U, 5U}) {
      Decoder decoder(config, stored.tensors, 45, threads);
      EXPECT_LT(error_of(wanted.rows(0, 39), decoder.extend(ids.head(40), Logits::all)), tolerance) << threads;
      EXPECT_LT(error_of(wanted.rows(40, 44), decoder.extend(ids.tail(5), Logits::all)), tolerance) << threads;
    }
  }
}

/// That a prompt has the logits of lesson 22.
void expect_prompt(const LanguageModelConfig& config, uword count, const std::string& prefix = "") {
  LanguageModel model(config);
  const Stored stored = tensors_of(model, Number::float32, prefix);
  const arma::uvec ids = some_ids(count, config.vocab_size);
  Decoder decoder(config, stored.tensors, count, 2);
  EXPECT_LT(error_of(wanted_of(model, ids), decoder.extend(ids, Logits::all)), tolerance);
}

TEST(Decoder, TakesALongPromptInSeveralPieces) { expect_prompt(small_llama, tokens_per_prefill + 21); }

TEST(Decoder, FindsGpt2WithAPrefix) { expect_prompt(small_gpt2, 20, "transformer."); }

TEST(Decoder, NormalizesTheQueriesAndKeysOfGpt2) {
  LanguageModelConfig config = small_gpt2;
  config.attention.qk_norm = true;
  expect_prompt(config, 10);  // in rows
  expect_prompt(config, 40);  // in panels
}

TEST(Decoder, TurnsAtTheGivenSpeeds) {
  LanguageModelConfig config = small_llama;
  config.attention.rope_speeds = {0.7, 0.03};
  expect_prompt(config, 40);
}

TEST(Decoder, ForgetsTheNewestTokensOrAll) {
  for (const LanguageModelConfig& config : {small_llama, small_gpt2}) {
    LanguageModel model(config);
    const Stored stored = tensors_of(model, Number::float32);
    Decoder decoder(config, stored.tensors, 60, 2);
    const arma::uvec ids = some_ids(43, config.vocab_size);
    const arma::mat wanted = wanted_of(model, ids);
    decoder.extend(ids.head(40));
    decoder.extend(some_ids(20, config.vocab_size));
    decoder.reset(40);
    EXPECT_LT(error_of(wanted.rows(40, 42), decoder.extend(ids.tail(3), Logits::all)), tolerance);
    EXPECT_THAT([&] { decoder.reset(44); }, rejected("length is 44, expected at most length() = 43"));
    decoder.reset();
    EXPECT_EQ(decoder.length(), 0U);
    EXPECT_LT(error_of(wanted.rows(0, 2), decoder.extend(ids.head(3), Logits::all)), tolerance);
  }
}

TEST(Decoder, ShowsANaNInTheTokensThatSeeItAndForgetsIt) {
  for (const LanguageModelConfig& config : {small_llama, small_gpt2}) {
    LanguageModel model(config);
    const arma::uvec ids = some_ids(50, config.vocab_size - 1);  // never the last one of the vocabulary
    Stored stored = tensors_of(model, Number::float32);
    model.token_embedding.weight.row(config.vocab_size - 1).fill(arma::datum::nan);
    stored.rows(config.architecture == Architecture::gpt2 ? "wte.weight" : "model.embed_tokens.weight",
                model.token_embedding.weight);
    const arma::uvec bad = {0, config.vocab_size - 1, 1};
    for (const Kernels* kernels : usable_kernels()) {
      Decoder decoder(config, stored.tensors, 60, 2, *kernels);
      const arma::fmat logits = decoder.extend(bad, Logits::all);
      EXPECT_TRUE(std::isfinite(logits(0, 0))) << kernels->name;
      EXPECT_TRUE(std::isnan(logits(1, 0))) << kernels->name;
      EXPECT_TRUE(std::isnan(logits(2, 0))) << kernels->name;
      decoder.reset(1);
      EXPECT_FALSE(decoder.extend(ids.head(2), Logits::all).col(0).has_nan()) << kernels->name;
      EXPECT_FALSE(decoder.extend(ids.tail(40), Logits::all).col(0).has_nan()) << kernels->name;
    }
  }
}

TEST(DecoderCache, RoundsToTheNearestBfloat16) {
  const auto rounded = [](float number) {
    const std::uint32_t bits = static_cast<std::uint32_t>(to_bfloat16(number)) << 16;
    float result;
    std::memcpy(&result, &bits, sizeof(result));
    return result;
  };
  const float step = 1.0f / 128;  // of bfloat16 from 1 to 2
  EXPECT_EQ(rounded(1 + 0.49f * step), 1.0f);
  EXPECT_EQ(rounded(1 + 0.51f * step), 1 + step);
  EXPECT_EQ(rounded(1 + 0.5f * step), 1.0f) << "of two as near the even one";
  EXPECT_EQ(rounded(1 + 1.5f * step), 1 + 2 * step) << "of two as near the even one";
  EXPECT_EQ(rounded(-2 + 0.25f * step), -2.0f) << "carries into the exponent";
  EXPECT_EQ(rounded(0.0f), 0.0f);
  EXPECT_EQ(rounded(-INFINITY), -INFINITY);
  EXPECT_TRUE(std::isnan(rounded(NAN)));
  const std::uint32_t smallest_nan = 0x7f800001;
  float number;
  std::memcpy(&number, &smallest_nan, sizeof(number));
  EXPECT_TRUE(std::isnan(rounded(number))) << "all its bits are in the lower half";
}

TEST(DecoderCache, AttendsToBfloat16AsToTheSameNumbersInFloat32) {
  const std::size_t D = 6, S = 75;
  for (const Kernels* kernels : usable_kernels()) {
    DecoderCache halves(2, 3, D, S, kernels->rows, Number::bfloat16);
    DecoderCache floats(2, 3, D, S, kernels->rows, Number::float32);
    for (std::size_t s = 0; s < S; ++s) {
      for (const bool keys : {true, false}) {
        const arma::frowvec numbers(D, arma::fill::randn);
        arma::frowvec rounded(D);
        for (std::size_t d = 0; d < D; ++d) {
          const std::uint32_t bits = static_cast<std::uint32_t>(to_bfloat16(numbers(d))) << 16;
          std::memcpy(&rounded(d), &bits, sizeof(bits));
        }
        halves.put(keys ? halves.keys(1, 2) : halves.values(1, 2), s, numbers.memptr(), 1);
        floats.put(keys ? floats.keys(1, 2) : floats.values(1, 2), s, rounded.memptr(), 1);
      }
    }
    AlignedFloats scratch, copy;
    scratch.reserve(heads_together * (S + 2 * max_rows + 16 * D));
    copy.reserve(halves.copied(S));
    const arma::fmat queries(D, 7, arma::fill::randn);
    arma::fmat wanted(D, 7), actual(D, 7);
    kernels->stream.attend(queries.memptr(), 7, D, floats.at(1, 2, S), scratch.data(), wanted.memptr());
    kernels->stream.attend(queries.memptr(), 7, D, halves.at(1, 2, S), scratch.data(), actual.memptr());
    EXPECT_TRUE(arma::approx_equal(wanted, actual, "absdiff", 0)) << kernels->name;
    EXPECT_FALSE(wanted.has_nan());

    const ConstPanels as_they_are = floats.panels(floats.values(1, 2), S, *kernels, nullptr);
    const ConstPanels copied = halves.panels(halves.values(1, 2), S, *kernels, copy.data());
    ASSERT_EQ(copied.stride, as_they_are.stride);
    EXPECT_TRUE(std::equal(copied.data, copied.data + halves.copied(S), as_they_are.data)) << kernels->name;
  }
}

TEST(Decoder, RoundsItsCacheToBfloat16AndNothingElse) {
  const double rounding = 1.0 / 512;  // at most, of a key or value; a part of each logit comes past attention
  for (const LanguageModelConfig& config : several()) {
    LanguageModel model(config);
    const Stored stored = tensors_of(model, Number::bfloat16);
    const arma::uvec ids = some_ids(100, config.vocab_size);
    const arma::mat wanted = wanted_of(model, ids);
    for (const Kernels* kernels : usable_kernels()) {
      Decoder at_once(config, stored.tensors, 100, 2, *kernels, Number::bfloat16);
      Decoder one_by_one(config, stored.tensors, 100, 2, *kernels, Number::bfloat16);
      const arma::fmat logits = at_once.extend(ids, Logits::all);
      arma::fmat singly(arma::size(logits));
      for (uword i = 0; i < ids.n_elem; ++i) singly.row(i) = one_by_one.extend(ids.row(i));
      EXPECT_LT(error_of(wanted, logits), rounding) << kernels->name << ", V = " << config.vocab_size;
      EXPECT_LT(error_of(wanted, singly), rounding) << kernels->name << ", V = " << config.vocab_size;
      EXPECT_GT(error_of(wanted, logits), tolerance) << "nothing was rounded";
      at_once.reset(60);
      EXPECT_LT(error_of(wanted.rows(60, 99), at_once.extend(ids.tail(40), Logits::all)), rounding) << kernels->name;
    }
  }
}

TEST(Decoder, CopiesNoWeights) {
  const LanguageModelConfig config = llama({40, 1, 1000, 96, 3, 3, 32, true, false, true});
  LanguageModel model(config);
  const Stored stored = tensors_of(model, Number::float32);
  const std::size_t of_feed_forward = 3 * 96 * 1000 * sizeof(float);
  EXPECT_LT(judge::allocated_bytes([&] { Decoder(config, stored.tensors, 16, 1, *usable_kernels().front()); }),
            of_feed_forward);
}

TEST(Decoder, RejectsWhatDoesNotFit) {
  LanguageModel model(small_llama);
  const Stored stored = tensors_of(model, Number::float32);
  const auto decoder_of = [&](const LanguageModelConfig& config, std::size_t capacity, std::size_t threads) {
    Decoder(config, stored.tensors, capacity, threads);
  };
  EXPECT_THAT([&] { decoder_of(small_llama, 0, 1); }, rejected("capacity is 0"));
  EXPECT_THAT([&] { decoder_of(small_llama, 1, 0); }, rejected("threads is 0"));
  EXPECT_THAT([&] { decoder_of(small_gpt2, 101, 1); },
              rejected("capacity is 101, expected at most max_position = 100"));
  EXPECT_THAT([&] { decoder_of(small_gpt2, 100, 1); }, rejected("the tensor wte.weight is missing"));
  LanguageModelConfig config = small_llama;
  config.hidden_dim = 23;
  EXPECT_THAT([&] { decoder_of(config, 1, 1); },
              rejected("model.layers.0.mlp.gate_proj.weight is 22 x 12, expected 23 x 12"));
  LanguageModelConfig window = small_llama, soft_cap = small_llama, pairing = small_llama;
  window.attention.window = 5;
  EXPECT_THAT([&] { decoder_of(window, 1, 1); }, rejected("window"));
  soft_cap.attention.soft_cap = 5;
  EXPECT_THAT([&] { decoder_of(soft_cap, 1, 1); }, rejected("soft_cap"));
  pairing.attention.pairing = RopePairing::interleaved;
  EXPECT_THAT([&] { decoder_of(pairing, 1, 1); }, rejected("pairing"));
}

TEST(Decoder, RejectsSizesThatWrapAround) {
  LanguageModel model(small_llama);
  const Stored stored = tensors_of(model, Number::float32);
  const std::size_t one = 1;
  for (const std::size_t capacity : {one << 56, one << 60, one << 62, ~(one << 63), ~one, ~std::size_t{0}}) {
    EXPECT_THAT([&] { Decoder(small_llama, stored.tensors, capacity, 1); },
                rejected("head_dim x capacity x 16 bytes is 2 x 2 x 4 x " + std::to_string(capacity) + " x 16"));
  }
  LanguageModelConfig config = small_llama;
  config.attention.head_dim += one << 63;  // times 6 heads it is as before
  EXPECT_THAT([&] { Decoder(config, stored.tensors, 1, 1); },
              rejected("num_heads x head_dim is 6 x 9223372036854775812"));
}

TEST(Decoder, KeepsItsTokensAfterARejectedCall) {
  LanguageModel model(small_llama);
  const Stored stored = tensors_of(model, Number::float32);
  Decoder decoder(small_llama, stored.tensors, 20, 2);
  const arma::uvec ids = some_ids(20, small_llama.vocab_size);
  decoder.extend(ids.head(18));
  const arma::uvec too_large = {1, 37};
  EXPECT_THAT([&] { decoder.extend({}); }, rejected("ids"));
  EXPECT_THAT([&] { decoder.extend(too_large); }, rejected("ids, its largest, is 37, expected at most V - 1 = 36"));
  EXPECT_THAT([&] { decoder.extend(ids.head(3)); }, rejected("capacity is 20, expected at least 21"));
  EXPECT_EQ(decoder.length(), 18U);
  EXPECT_LT(error_of(wanted_of(model, ids).rows(18, 19), decoder.extend(ids.tail(2), Logits::all)), tolerance);
}

TEST(Team, SharesOutTasks) {
  for (const std::size_t threads : {1U, 2U, 5U}) {
    Team team(threads);
    ASSERT_EQ(team.size(), threads);
    std::vector<int> first(100), second(3), sums(threads);
    for (int call = 0; call < 50; ++call) {
      if (call % 8 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));  // they fall asleep
      team.run([&](std::size_t t) {
        team.share_out(t, first.size(), [&](std::size_t i) { ++first[i]; });
        for (const int number : first) sums[t] += number;
        team.share_out(t, 0, [&](std::size_t) { ++sums[0]; });
        team.share_out(t, second.size(), [&](std::size_t i) { second[i] += 2; });
      });
    }
    EXPECT_THAT(first, ::testing::Each(50));
    EXPECT_THAT(second, ::testing::Each(100));
    EXPECT_THAT(sums, ::testing::Each(100 * 50 * 51 / 2)) << "each thread sees what all have done";
  }
}

TEST(Team, HelpsAThreadWhoseTaskTakesLong) {
  Team team(2);
  std::atomic<int> others{0};
  team.run([&](std::size_t t) {
    team.share_out(t, 10, [&](std::size_t i) {
      const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
      while (i == 0 && others < 9 && std::chrono::steady_clock::now() < end) std::this_thread::yield();
      if (i != 0) {
        ++others;
      } else {
        EXPECT_EQ(others, 9) << "tasks 1 to 4 wait for the thread that has the first";
      }
    });
  });
}

}  // namespace
}  // namespace attn::fast
