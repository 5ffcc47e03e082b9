#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <armadillo>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "attn/generation.hpp"
#include "attn/language_model.hpp"
#include "attn/sampling.hpp"
#include "checks/draw.hpp"
#include "checks/golden.hpp"
#include "checks/matchers.hpp"
#include "checks/properties.hpp"
#include "checks/speed.hpp"

namespace attn::judge {
namespace {

using arma::uword;
using Strings = std::vector<std::string>;
using Tokens = std::vector<uword>;

const Strings row_axes = {"1", "V"};
const Strings logit_axes = {"L", "V", "B"};
const Strings text_axes = {"1", "tokens"};
const Strings block_axes = {"L", "E", "B"};

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Numbers as text: "5, 2".
template <class Numbers>
std::string list(const Numbers& numbers) {
  std::string text;
  for (const auto number : numbers) text += (text.empty() ? "" : ", ") + std::to_string(number);
  return text.empty() ? "none" : text;
}

arma::mat as_mat(const arma::rowvec& x) { return x; }

arma::mat number(double x) { return as_mat(arma::rowvec{x}); }

SamplingConfig sampling(double temperature, uword top_k = 0, double top_p = 1) {
  SamplingConfig config;
  config.temperature = temperature;
  config.top_k = top_k;
  config.top_p = top_p;
  return config;
}

std::string about(const SamplingConfig& config) {
  return note("temperature " + std::to_string(config.temperature) + ", top_k " + std::to_string(config.top_k) +
              ", top_p " + std::to_string(config.top_p));
}

// ------------------------------------------------------------------------- the definitions, one number at a time

/// Token j comes before token i: it is more likely, or as likely with a smaller id.
bool before(const arma::rowvec& p, uword j, uword i) { return p(j) > p(i) || (p(j) == p(i) && j < i); }

/// Every token looks for itself at those before it. For logits of moderate size only.
arma::rowvec naive_probabilities(const arma::rowvec& logits, const SamplingConfig& config) {
  const uword V = logits.n_elem;
  arma::rowvec p(V);
  double sum = 0;
  for (uword i = 0; i < V; ++i) sum += p(i) = std::exp(logits(i) / config.temperature);
  p /= sum;
  for (const bool by_count : {true, false}) {
    if (by_count ? config.top_k == 0 : config.top_p == 1) continue;
    arma::rowvec kept(V, arma::fill::zeros);
    double sum_kept = 0;
    for (uword i = 0; i < V; ++i) {
      uword count = 0;
      double mass = 0;
      for (uword j = 0; j < V; ++j) {
        if (!before(p, j, i)) continue;
        ++count;
        mass += p(j);
      }
      if (by_count ? count < config.top_k : mass < config.top_p) sum_kept += kept(i) = p(i);
    }
    p = kept / sum_kept;
  }
  return p;
}

/// What pick_token gives for each u, as numbers.
arma::mat picked(const arma::rowvec& probabilities, const std::vector<double>& us) {
  arma::mat ids(1, us.size());
  for (uword i = 0; i < us.size(); ++i) ids(0, i) = static_cast<double>(pick_token(probabilities, us[i]));
  return ids;
}

// ----------------------------------------------------------------------------------------------------- models

LanguageModelConfig llama_sizes() {
  LanguageModelConfig config;
  config.vocab_size = 11;
  config.num_layers = 2;
  config.hidden_dim = 5;
  config.attention.embed_dim = 6;
  config.attention.num_heads = 4;
  config.attention.num_kv_heads = 2;
  config.attention.head_dim = 4;
  config.norm_epsilon = 0.3;
  return config;
}

/// The sizes of the golden cases.
LanguageModelConfig config_of(const std::string& name) {
  LanguageModelConfig config = llama_sizes();
  if (name == "qwen3") {
    config.tied_head = false;
    config.attention.window = 4;
    config.attention.qk_norm = true;
  }
  if (name == "gpt2") {
    config.architecture = Architecture::gpt2;
    config.vocab_size = 13;
    config.num_layers = 3;
    config.hidden_dim = 7;
    config.attention.num_heads = 3;
    config.attention.num_kv_heads = 3;
    config.attention.head_dim = 0;
    config.attention.bias = true;
    config.norm_epsilon = 0.2;
    config.max_position = 10;
  }
  return config;
}

const Strings all_models = {"llama", "qwen3", "gpt2"};
const Strings both_architectures = {"qwen3", "gpt2"};  // for properties that cost many calls

std::string about(const std::string& model) {
  if (model == "llama") return note("a llama: tied head, H = 4, G = 2, head_dim = 4, E = 6");
  if (model == "qwen3") return note("a llama with a head of its own, a window of 4 and QK-norm");
  return note("a gpt2: tied head, a table of 10 positions, biases");
}

void set_norm(AnyNorm& norm, const GoldenCase& golden, const std::string& name) {
  std::visit(
      [&](auto& layer) {
        layer.weight = golden.rowvec(name + ".weight");
        if constexpr (std::is_same_v<std::decay_t<decltype(layer)>, LayerNorm>) {
          if (golden.has(name + ".bias")) layer.bias = golden.rowvec(name + ".bias");
        }
      },
      norm);
}

void set_feed_forward(AnyFeedForward& feed_forward, const GoldenCase& golden, const std::string& name) {
  std::visit(
      [&](auto& layer) {
        layer.up_proj = golden.linear(name + "up_proj");
        layer.down_proj = golden.linear(name + "down_proj");
        if constexpr (std::is_same_v<std::decay_t<decltype(layer)>, SwiGLU>) {
          if (golden.has(name + "gate_proj.weight")) layer.gate_proj = golden.linear(name + "gate_proj");
        }
      },
      feed_forward);
}

/// A model with the weights of a golden case.
LanguageModel loaded(const std::string& name) {
  const GoldenCase golden = load_golden(name);
  LanguageModel model(config_of(name));
  model.token_embedding.weight = golden.mat("token_embedding");
  if (golden.has("position_embedding")) model.position_embedding = golden.mat("position_embedding");
  if (golden.has("head")) model.head = golden.mat("head");
  while (model.blocks.size() < model.config().num_layers) model.blocks.emplace_back(config_of(name));
  for (uword n = 0; n < model.blocks.size(); ++n) {
    DecoderBlock& block = model.blocks[n];
    const std::string prefix = std::to_string(n) + ".";
    set_norm(block.attention_norm, golden, prefix + "attention_norm");
    set_norm(block.feed_forward_norm, golden, prefix + "feed_forward_norm");
    block.attention.query_proj = golden.linear(prefix + "query_proj");
    block.attention.key_proj = golden.linear(prefix + "key_proj");
    block.attention.value_proj = golden.linear(prefix + "value_proj");
    block.attention.output_proj = golden.linear(prefix + "output_proj");
    if (golden.has(prefix + "query_norm.weight")) {
      block.attention.query_norm.weight = golden.rowvec(prefix + "query_norm.weight");
      block.attention.key_norm.weight = golden.rowvec(prefix + "key_norm.weight");
    }
    set_feed_forward(block.feed_forward, golden, prefix);
  }
  set_norm(model.final_norm, golden, "final_norm");
  return model;
}

arma::umat drawn_ids(uword V, uword L, uword B) {
  return arma::randi<arma::umat>(L, B, arma::distr_param(0, static_cast<int>(V) - 1));
}

arma::umat ids_of(const GoldenCase& golden, const std::string& array) {
  return arma::conv_to<arma::umat>::from(golden.mat(array));
}

Tokens tokens_of(const GoldenCase& golden, const std::string& array) {
  return arma::conv_to<Tokens>::from(golden.mat(array).row(0));
}

/// Tokens as a row of a fixed width, filled up with -1, so that texts of other lengths can be compared, too.
arma::mat text_row(const Tokens& tokens, uword width) {
  arma::mat row(1, width);
  row.fill(-1);
  for (uword i = 0; i < std::min<uword>(width, tokens.size()); ++i) row(0, i) = static_cast<double>(tokens[i]);
  return row;
}

/// The logits of tokens; rows after them may hold anything, and become zeros.
arma::cube tokens_only(arma::cube logits, const arma::uvec& lengths) {
  if (logits.n_slices != lengths.n_elem || logits.n_rows < lengths.max()) return logits;
  for (uword b = 0; b < logits.n_slices; ++b) {
    for (uword i = lengths(b); i < logits.n_rows; ++i) logits.slice(b).row(i).zeros();
  }
  return logits;
}

/// ids in calls of so many rows each, what they give put together again. What has a wrong shape is returned as it is.
arma::cube in_calls(LanguageModel& model, const arma::umat& ids, const arma::uvec& calls) {
  const uword V = model.config().vocab_size;
  arma::cube logits(ids.n_rows, V, ids.n_cols);
  uword first = 0;
  for (const uword L : calls) {
    const arma::cube part = model.extend(ids.rows(first, first + L - 1));
    if (part.n_rows != L || part.n_cols != V || part.n_slices != ids.n_cols) return part;
    logits.rows(first, first + L - 1) = part;
    first += L;
  }
  return logits;
}

void expect_lengths(const LanguageModel& model, const arma::uvec& wanted, const std::string& about = "",
                    const std::string& likely = "") {
  const std::string lengths = list(model.lengths());
  ASSERT_HOLDS(lengths == list(wanted), "lengths() holds " + lengths + ", want " + list(wanted)) << about << likely;
}

bool same_cache(const KVCache& a, const KVCache& b) {
  return list(a.lengths()) == list(b.lengths()) && arma::approx_equal(a.keys(), b.keys(), "absdiff", 0) &&
         arma::approx_equal(a.values(), b.values(), "absdiff", 0);
}

/// What generate should give: at every step the whole text goes through a model without tokens.
Tokens naive_generate(LanguageModel model, const Tokens& prompt, const GenerationConfig& config) {
  std::mt19937_64 generator(config.seed);
  Tokens text = prompt;
  while (text.size() < prompt.size() + config.max_tokens) {
    model.reset();
    const arma::mat logits = model.extend(arma::umat(arma::uvec(text))).slice(0);
    text.push_back(pick_token(token_probabilities(logits.tail_rows(1), config.sampling), draw_uniform(generator)));
  }
  return {text.begin() + static_cast<std::ptrdiff_t>(prompt.size()), text.end()};
}

GenerationConfig generation(uword max_tokens, const SamplingConfig& config, std::uint64_t seed = 0) {
  GenerationConfig generation;
  generation.sampling = config;
  generation.max_tokens = max_tokens;
  generation.seed = seed;
  return generation;
}

/// A model that is fast with a long text: one layer, one head, three tokens in its vocabulary.
LanguageModel smallest_model() {
  LanguageModelConfig config = llama_sizes();
  config.vocab_size = 3;
  config.num_layers = 1;
  config.hidden_dim = config.attention.embed_dim = config.attention.head_dim = 2;
  config.attention.num_heads = config.attention.num_kv_heads = 1;
  config.attention.window = 4;
  LanguageModel model(config);
  model.token_embedding.weight = {{1, -1}, {2, 1}, {-1, 2}};
  return model;
}

Tokens long_text() { return arma::conv_to<Tokens>::from(drawn_ids(3, prompt_chunk + 3, 1).eval().col(0)); }

const std::string about_long_text = note("259 tokens, 3 more than prompt_chunk");

/// The first tokens of a golden case's text.
Tokens prompt_of(const std::string& model) {
  Tokens prompt = tokens_of(load_golden(model), "text");
  prompt.resize(3);
  return prompt;
}

// The example of the chapter: a distribution over five tokens.
const arma::rowvec by_hand = {1, 3, 0, 2, 2};

// ------------------------------------------------------------------------------------------ log_softmax_rows, 22.1

TEST(LogSoftmaxRows, GivesTheExampleWorkedByHand) {
  EXPECT_THAT(log_softmax_rows(by_hand), Matches(load_golden("by_hand").expected("log_softmax")));
}

TEST(LogSoftmaxRows, EqualsPyTorch) {
  const GoldenCase golden = load_golden("sampling");
  arma::mat rows = golden.mat("rows"), wanted = golden.mat("log_softmax");
  const arma::mat logs = log_softmax_rows(rows);
  ASSERT_THAT(logs, HasShape({{"L", 4}, {"V", 9}}));
  EXPECT_HOLDS(logs(2, 5) == -infinity, "where the logit is -inf there is " + std::to_string(logs(2, 5)))
      << note("row 2, column 5: a token that cannot come");
  for (const uword row : {0U, 1U, 2U, 3U}) {
    arma::rowvec one = logs.row(row), right = wanted.row(row);
    if (row == 2) one(5) = right(5) = 0;
    EXPECT_THAT(as_mat(one), IsNear(as_mat(right), row_axes)) << note("row " + std::to_string(row));
  }
}

TEST(LogSoftmaxRows, IsTheLogarithmOfProbabilities) {
  const arma::mat logs = log_softmax_rows(3 * normal(5, 8));
  ASSERT_THAT(logs, HasShape({{"L", 5}, {"V", 8}}));
  EXPECT_THAT(arma::mat(arma::sum(arma::exp(logs), 1)), IsNear(arma::mat(5, 1, arma::fill::ones), {"L", "1"}))
      << note("the sums of exp of each row");
}

TEST(LogSoftmaxRows, IsFiniteWhereProbabilitiesUnderflow) {
  EXPECT_THAT(log_softmax_rows(arma::mat{{0, -800, -2000, -30}}),
              IsNear(arma::mat{{0, -800, -2000, -30}}, row_axes, 1e-12))
      << note("the logits 0, -800, -2000, -30: exp(-800) is 0 in a double, its logarithm is not -inf");
}

TEST(LogSoftmaxRows, AcceptsLargeLogits) {
  const arma::mat logs = log_softmax_rows(arma::mat{{1000, 1003, 1001}, {-5000, -5000, -5001}});
  ASSERT_THAT(logs, HasShape({{"L", 2}, {"V", 3}}));
  EXPECT_THAT(logs, IsNear(log_softmax_rows(arma::mat{{0, 3, 1}, {1, 1, 0}}), {"L", "V"}, 1e-9))
      << note("logits of 1000 and of -5000; want what they give without the shift")
      << (logs.row(0).is_finite() && !logs.row(1).is_finite() ? likely_mistake("maximum_of_all_rows") : "");
}

TEST(LogSoftmaxRows, TakesEachRowByItself) {
  const arma::mat logits = 2 * normal(4, 7);
  const arma::mat logs = log_softmax_rows(logits);
  ASSERT_THAT(logs, HasShape({{"L", 4}, {"V", 7}}));
  for (uword i = 0; i < 4; ++i) {
    EXPECT_THAT(arma::mat(logs.row(i)), IsNear(log_softmax_rows(logits.row(i)), row_axes))
        << note("row " + std::to_string(i) + " of four; want what it gives alone");
  }
}

TEST(LogSoftmaxRows, LeavesItsArguments) {
  const arma::mat logits = normal(4, 7);
  expect_leaves_its_arguments("log_softmax_rows", {{"logits", logits}}, [&] { log_softmax_rows(logits); });
}

// --------------------------------------------------------------------------------------- token_probabilities, 22.2

TEST(TokenProbabilities, GivesTheExamplesWorkedByHand) {
  const GoldenCase golden = load_golden("by_hand");
  for (const auto& [name, config] : {std::pair<std::string, SamplingConfig>{"plain", {}},
                                     {"cold", sampling(0.5)},
                                     {"hot", sampling(2)},
                                     {"top_k", sampling(1, 2)},
                                     {"top_p", sampling(1, 0, 0.75)},
                                     {"both", sampling(1, 3, 0.55)}}) {
    EXPECT_THAT(as_mat(token_probabilities(by_hand, config)), Matches(golden.expected(name)))
        << note("the logits 1, 3, 0, 2, 2") << about(config);
  }
}

TEST(TokenProbabilities, EqualsPyTorch) {
  const GoldenCase golden = load_golden("sampling");
  for (const auto& [name, config] : {std::pair<std::string, SamplingConfig>{"temperature", sampling(0.6)},
                                     {"top_k", sampling(1, 4)},
                                     {"top_p", sampling(1, 0, 0.8)},
                                     {"all_three", sampling(1.7, 6, 0.7)}}) {
    EXPECT_THAT(as_mat(token_probabilities(golden.rowvec("logits"), config)),
                IsNear(as_mat(golden.rowvec(name)), row_axes))
        << about(config);
  }
}

TEST(TokenProbabilities, TakesTheLargestAtTemperatureZero) {
  EXPECT_THAT(as_mat(token_probabilities({1, -2, 4, 3, 0}, sampling(0))), IsNear(arma::mat{{0, 0, 1, 0, 0}}, row_axes));
  EXPECT_THAT(as_mat(token_probabilities({-8, -3, -5, -30}, sampling(0, 2, 0.5))),
              IsNear(arma::mat{{0, 1, 0, 0}}, row_axes))
      << note("all logits are below zero");
}

TEST(TokenProbabilities, TakesTheFirstOfEqualsAtTemperatureZero) {
  EXPECT_THAT(as_mat(token_probabilities({1, 4, 2, 4, 4, 0}, sampling(0))),
              IsNear(arma::mat{{0, 1, 0, 0, 0, 0}}, row_axes))
      << note("the logits 1, 4, 2, 4, 4, 0 at temperature 0");
}

TEST(TokenProbabilities, AcceptsTinyAndHugeTemperatures) {
  for (const double temperature : {1e-3, 1e-9, 1e-200, 1e-310}) {
    EXPECT_THAT(as_mat(token_probabilities({700, 690, 705, -9000}, sampling(temperature))),
                IsNear(arma::mat{{0, 0, 1, 0}}, row_axes))
        << note("the logits 700, 690, 705, -9000; the colder, the more only the largest counts")
        << about(sampling(temperature));
  }
  EXPECT_THAT(as_mat(token_probabilities({1, 1 + 1e-7, 0}, sampling(1e-7))),
              IsNear(arma::mat{{0.26894142, 0.73105858, 0}}, row_axes, 1e-8))
      << note("the logits 1, 1 + 1e-7 and 0") << about(sampling(1e-7));
  EXPECT_THAT(as_mat(token_probabilities({3, -4, 0, 1, 2}, sampling(1e15))),
              IsNear(arma::mat{{0.2, 0.2, 0.2, 0.2, 0.2}}, row_axes))
      << about(sampling(1e15));
}

TEST(TokenProbabilities, KeepsTheTokenThatReachesTopP) {
  const arma::rowvec quarters(4, arma::fill::zeros);
  for (const auto& [top_p, count] :
       {std::pair<double, uword>{0.2, 1}, {0.25, 1}, {0.3, 2}, {0.5, 2}, {0.6, 3}, {0.75, 3}, {0.76, 4}}) {
    arma::mat wanted(1, 4, arma::fill::zeros);
    wanted.head_cols(count).fill(1 / static_cast<double>(count));
    EXPECT_THAT(as_mat(token_probabilities(quarters, sampling(1, 0, top_p))), IsNear(wanted, row_axes))
        << note("four tokens of exactly 0.25 each") << about(sampling(1, 0, top_p));
  }
}

TEST(TokenProbabilities, KeepsTheSmallerIdsOfEquals) {
  const arma::rowvec logits = {0, 2, 1, 2, 0, 1, 2, 1, 0, 2, 1, 0, 2, 1, 2, 1, 0, 2, 1, 2};  // 8 twos, 7 ones, 5 zeros
  for (const uword top_k : {3U, 8U, 11U, 17U}) {
    const SamplingConfig config = sampling(1, top_k);
    EXPECT_THAT(as_mat(token_probabilities(logits, config)),
                IsNear(as_mat(naive_probabilities(logits, config)), row_axes))
        << note("20 logits of 0, 1 and 2; of equals the one with the smaller id counts as more likely")
        << about(config);
  }
  for (const double top_p : {0.3, 0.7, 0.85, 0.97}) {
    const SamplingConfig config = sampling(1, 0, top_p);
    EXPECT_THAT(as_mat(token_probabilities(logits, config)),
                IsNear(as_mat(naive_probabilities(logits, config)), row_axes))
        << note("20 logits of 0, 1 and 2; of equals the one with the smaller id counts as more likely")
        << about(config);
  }
}

TEST(TokenProbabilities, AppliesTopKBeforeTopP) {
  const arma::rowvec logits = arma::log(arma::rowvec{0.2, 0.4, 0.1, 0.3});
  EXPECT_THAT(as_mat(token_probabilities(logits, sampling(1, 2, 0.55))), IsNear(arma::mat{{0, 1, 0, 0}}, row_axes))
      << note("0.2, 0.4, 0.1, 0.3: of the two that top-k keeps the first has 4/7, which is more than top_p = 0.55");
}

TEST(TokenProbabilities, AppliesTheTemperatureBeforeTopP) {
  const arma::rowvec logits = arma::log(arma::rowvec{0.2, 0.4, 0.1, 0.3});
  const SamplingConfig config = sampling(0.25, 0, 0.9);
  EXPECT_THAT(as_mat(token_probabilities(logits, config)),
              IsNear(as_mat(naive_probabilities(logits, config)), row_axes))
      << note("0.2, 0.4, 0.1, 0.3, which a temperature of 0.25 sharpens: two tokens make up 0.9") << about(config);
}

TEST(TokenProbabilities, AlwaysKeepsAToken) {
  EXPECT_THAT(as_mat(token_probabilities({2, 1, 5, 3}, sampling(1, 0, 1e-12))),
              IsNear(arma::mat{{0, 0, 1, 0}}, row_axes))
      << about(sampling(1, 0, 1e-12));
  EXPECT_THAT(as_mat(token_probabilities({2, 1, 5, 3, 3}, sampling(1, 1))),
              IsNear(arma::mat{{0, 0, 1, 0, 0}}, row_axes))
      << about(sampling(1, 1));
}

TEST(TokenProbabilities, KeepsAllWhereNothingIsAsked) {
  const arma::rowvec logits = {50, 0, 49, -60, 1, 48};
  for (const uword top_k : {0U, 6U, 7U, 1000U}) {
    const arma::rowvec p = token_probabilities(logits, sampling(1, top_k));
    ASSERT_THAT(as_mat(p), HasShape({{"1", 1}, {"V", 6}}));
    EXPECT_HOLDS(p.min() > 0, "a token has probability 0")
        << note("top_k is 0 or at least V = 6, top_p is 1: also a token of 1e-48 may come")
        << about(sampling(1, top_k));
    EXPECT_THAT(as_mat(p), IsNear(as_mat(naive_probabilities(logits, {})), row_axes)) << about(sampling(1, top_k));
  }
}

TEST(TokenProbabilities, GivesNothingToMinusInfinity) {
  const arma::rowvec logits = {-infinity, 1, 0, -infinity, 2};
  for (const SamplingConfig& config : {sampling(1), sampling(0), sampling(3), sampling(1, 4), sampling(1, 0, 0.99)}) {
    EXPECT_THAT(as_mat(token_probabilities(logits, config)).cols(arma::uvec{0, 3}).eval(),
                IsNear(arma::mat{{0, 0}}, row_axes))
        << note("the probabilities of the two tokens whose logit is -inf") << about(config);
  }
}

TEST(TokenProbabilities, IgnoresAShiftAndTheOrderOfTokens) {
  const arma::rowvec logits = 2 * arma::rowvec(normal(1, 9));
  for (const SamplingConfig& config : {sampling(0), sampling(0.7), sampling(1, 4), sampling(2, 7, 0.8)}) {
    const arma::rowvec p = token_probabilities(logits, config);
    ASSERT_THAT(as_mat(p), HasShape({{"1", 1}, {"V", 9}}));
    EXPECT_THAT(as_mat(token_probabilities(logits + 30, config)), IsNear(as_mat(p), row_axes))
        << note("all logits are larger by 30") << about(config);
    EXPECT_THAT(as_mat(token_probabilities(arma::fliplr(logits), config)), IsNear(as_mat(arma::fliplr(p)), row_axes))
        << note("the tokens in reverse order") << about(config);
  }
}

TEST(TokenProbabilities, EqualsTheDefinitionForOtherSizes) {
  for (const uword V : {2U, 5U, 40U, 90U}) {
    for (const SamplingConfig& config :
         {sampling(0.8), sampling(1.3, 3), sampling(0.9, 0, 0.9), sampling(1.1, 20, 0.6), sampling(1, 2, 0.99)}) {
      const arma::rowvec logits = 2 * arma::rowvec(normal(1, V));
      EXPECT_THAT(as_mat(token_probabilities(logits, config)),
                  IsNear(as_mat(naive_probabilities(logits, config)), row_axes))
          << about(config);
    }
  }
}

TEST(TokenProbabilities, LeavesItsArguments) {
  const arma::rowvec logits = normal(1, 7);
  expect_leaves_its_arguments("token_probabilities", {{"logits", logits}},
                              [&] { token_probabilities(logits, sampling(0.5, 4, 0.8)); });
}

// ------------------------------------------------------------------------------------------------ pick_token, 22.3

TEST(PickToken, GivesTheExampleWorkedByHand) {
  EXPECT_THAT(picked({0.0, 0.5, 0.125, 0.125, 0.25}, {0.1, 0.49, 0.51, 0.7, 0.76, 0.95}),
              IsNear(arma::mat{{1, 1, 2, 3, 4, 4}}, text_axes))
      << note("probabilities 0, 0.5, 0.125, 0.125, 0.25; u is 0.1, 0.49, 0.51, 0.7, 0.76, 0.95");
}

TEST(PickToken, GivesABorderToTheNextToken) {
  EXPECT_THAT(picked({0.25, 0.5, 0.25}, {0.25, 0.75}), IsNear(arma::mat{{1, 2}}, text_axes))
      << note("probabilities 0.25, 0.5, 0.25; u is 0.25 and 0.75: the sum must be above u");
}

TEST(PickToken, NeverPicksATokenOfProbabilityZero) {
  EXPECT_THAT(picked({0, 0, 0.25, 0, 0.5, 0.25, 0}, {0, 0.25, 0.75}), IsNear(arma::mat{{2, 4, 5}}, text_axes))
      << note("probabilities 0, 0, 0.25, 0, 0.5, 0.25, 0; u is 0, 0.25 and 0.75");
}

TEST(PickToken, PicksTheLastPossibleTokenWhereRoundingLeavesTheSumBelow) {
  EXPECT_THAT(picked({0.25, 0.5, 0.25 - 1e-9, 0, 0}, {1 - 1e-12}), IsNear(number(2), text_axes))
      << note("probabilities whose sum is 1 - 1e-9, the last two 0, and u = 1 - 1e-12");
}

TEST(PickToken, PicksAsOftenAsTheProbabilitiesSay) {
  const arma::rowvec p = {0.1, 0.05, 0.3, 0, 0.55};
  arma::rowvec counts(5, arma::fill::zeros);
  for (uword i = 0; i < 2000; ++i) {
    const uword token = pick_token(p, (static_cast<double>(i) + 0.5) / 2000);
    ASSERT_HOLDS(token < 5, "pick_token gave " + std::to_string(token) + ", but there are 5 tokens");
    counts(token) += 1;
  }
  EXPECT_THAT(as_mat(counts), IsNear(as_mat(2000 * p), row_axes)) << note("2000 numbers u, evenly spaced from 0 to 1");
}

// ---------------------------------------------------------------------------------------------- DecoderBlock, 22.4

/// Which norm and which feed-forward network, and their sizes, are right.
void expect_norm(const std::string& name, const AnyNorm& norm, const LanguageModelConfig& config) {
  const bool gpt2 = config.architecture == Architecture::gpt2;
  const bool layer_norm = std::holds_alternative<LayerNorm>(norm);
  ASSERT_HOLDS(layer_norm == gpt2,
               name + (layer_norm ? " is a LayerNorm, want an RMSNorm" : " is an RMSNorm, want a LayerNorm"))
      << likely_mistake(gpt2 ? "wrong_norm" : "norm_of_gpt2");
  const uword width = std::visit([](const auto& layer) { return layer.weight.n_elem; }, norm);
  EXPECT_HOLDS(width == config.attention.embed_dim, name + " is for " + std::to_string(width) + " features, want E = " +
                                                        std::to_string(config.attention.embed_dim));
  const double epsilon = std::visit([](const auto& layer) { return layer.epsilon; }, norm);
  EXPECT_HOLDS(epsilon == config.norm_epsilon, name + ".epsilon is " + std::to_string(epsilon) +
                                                   ", want norm_epsilon = " + std::to_string(config.norm_epsilon))
      << likely_mistake("epsilon_ignored");
}

TEST(DecoderBlock, HasTheNormsOfItsArchitecture) {
  for (const std::string& name : all_models) {
    const DecoderBlock block(config_of(name));
    expect_norm("attention_norm", block.attention_norm, config_of(name));
    expect_norm("feed_forward_norm", block.feed_forward_norm, config_of(name));
  }
}

TEST(DecoderBlock, HasTheFeedForwardNetworkOfItsArchitecture) {
  const DecoderBlock llama(config_of("llama")), gpt2(config_of("gpt2"));
  const auto* gated = std::get_if<SwiGLU>(&llama.feed_forward);
  ASSERT_HOLDS(gated != nullptr, "a llama has a FeedForward, want a SwiGLU") << likely_mistake("wrong_feed_forward");
  EXPECT_THAT(gated->gate_proj.weight, HasShape({{"E", 6}, {"F", 5}}));
  const auto* plain = std::get_if<FeedForward>(&gpt2.feed_forward);
  ASSERT_HOLDS(plain != nullptr, "a gpt2 has a SwiGLU, want a FeedForward") << likely_mistake("wrong_feed_forward");
  EXPECT_THAT(plain->up_proj.weight, HasShape({{"E", 6}, {"F", 7}}));
  EXPECT_HOLDS(plain->activation == Activation::gelu_tanh, "gpt2's activation is another than gelu_tanh")
      << (plain->activation == Activation::gelu ? likely_mistake("exact_gelu") : "");
}

TEST(DecoderBlock, GivesNormEpsilonToTheNormsOfHeads) {
  const DecoderBlock block(config_of("qwen3"));
  for (const auto& [name, norm] : {std::pair<std::string, const RMSNorm*>{"query_norm", &block.attention.query_norm},
                                   {"key_norm", &block.attention.key_norm}}) {
    EXPECT_HOLDS(norm->epsilon == 0.3,
                 "attention." + name + ".epsilon is " + std::to_string(norm->epsilon) + ", want norm_epsilon = 0.3")
        << likely_mistake("head_epsilon_ignored");
  }
}

TEST(DecoderBlock, HasAttentionAsConfigured) {
  LanguageModelConfig config = config_of("qwen3");
  config.attention.rope_speeds = {0.5, 0.25};
  const DecoderAttentionConfig kept = DecoderBlock(config).attention.config();
  EXPECT_HOLDS(kept.num_heads == 4 && kept.num_kv_heads == 2 && kept.head_dim == 4 && kept.window == 4 && kept.qk_norm,
               "attention.config() is another than config.attention");
  EXPECT_THAT(as_mat(kept.rope_speeds), IsNear(arma::mat{{0.5, 0.25}}, {"1", "D/2"}))
      << note("a llama keeps its speeds");

  config = config_of("gpt2");  // E = 6, H = 3
  config.attention.head_dim = 4;
  config.attention.window = 2;
  config.attention.bias = false;
  const DecoderAttentionConfig gpt2 = DecoderBlock(config).attention.config();
  EXPECT_HOLDS(gpt2.head_dim == 4 && gpt2.window == 2 && !gpt2.bias && gpt2.rope_speeds.n_elem == 2,
               "attention.config() is another than config.attention, with two speeds of 0")
      << note("gpt2 with head_dim = 4, a window of 2 and no bias: all but RoPE's speeds stay as they are");
}

TEST(DecoderBlock, TurnsNothingInGpt2) {
  LanguageModelConfig config = config_of("gpt2");
  for (const arma::rowvec& speeds : {arma::rowvec{}, arma::rowvec{0.5}}) {
    config.attention.rope_speeds = speeds;
    EXPECT_THAT(as_mat(DecoderBlock(config).attention.config().rope_speeds), IsNear(number(0), {"1", "D/2"}))
        << note("E = 6, H = 3, head_dim = 0: so D = 2; these are attention.config().rope_speeds")
        << likely_mistake("gpt2_with_rope");
  }
}

/// A block, and what it should give for whole sequences: by its own parts, put together here.
arma::cube naive_block(const DecoderBlock& block, const arma::cube& X, const arma::uvec& lengths) {
  DecoderAttention attention = block.attention;
  const arma::cube h = X + attention.extend(apply_layer(block.attention_norm, X), lengths);
  return h + apply_layer(block.feed_forward, apply_layer(block.feed_forward_norm, h));
}

TEST(DecoderBlock, AddsAttentionThenTheFeedForwardNetwork) {
  for (const std::string& name : all_models) {
    DecoderBlock block = loaded(name).blocks.front();
    for (const arma::uvec& lengths : {arma::uvec{5, 2, 4}, arma::uvec{1, 5, 0}}) {
      const arma::cube X = normal(5, 6, 3);
      const arma::cube wanted = tokens_only(naive_block(block, X, lengths), lengths);
      EXPECT_THAT(tokens_only(block.extend(X, lengths), lengths), IsNear(wanted, block_axes))
          << note("new tokens: " + list(lengths)) << about(name);
    }
    const arma::uvec kept = block.attention.cache().lengths();
    EXPECT_HOLDS(list(kept) == "6, 7, 4", "its cache has " + list(kept) + " tokens, want 6, 7, 4")
        << (list(kept) == "10, 10, 10" ? likely_mistake("lengths_ignored") : "");
  }
}

TEST(DecoderBlock, PassesTokensOnWhereItsBranchesAddNothing) {
  for (const std::string& name : all_models) {
    DecoderBlock block(config_of(name));
    block.attention.output_proj.weight.zeros();
    block.attention.output_proj.bias.zeros();
    std::visit(
        [](auto& layer) {
          layer.down_proj.weight.zeros();
          layer.down_proj.bias.zeros();
        },
        block.feed_forward);
    const arma::cube X = normal(4, 6, 3);
    EXPECT_THAT(block.extend(X), IsNear(X, block_axes)) << note("output_proj and down_proj are zeros") << about(name);
  }
}

// ---------------------------------------------------------------------------- the constructor of LanguageModel, 22.5

TEST(LanguageModel, HasWeightsOfTheRightSizes) {
  for (const std::string& name : all_models) {
    const LanguageModelConfig config = config_of(name);
    const LanguageModel model(config);
    EXPECT_THAT(model.token_embedding.weight, HasShape({{"V", config.vocab_size}, {"E", 6}})) << about(name);
    const uword N = model.blocks.size();
    EXPECT_HOLDS(N == config.num_layers,
                 "there are " + std::to_string(N) + " blocks, want " + std::to_string(config.num_layers))
        << about(name) << (N == 1 ? likely_mistake("one_block_made") : "");
    expect_norm("final_norm", model.final_norm, config);
  }
}

TEST(LanguageModel, HasAHeadOnlyWhereItIsNotTied) {
  for (const std::string name : {"llama", "gpt2"}) {
    EXPECT_HOLDS(LanguageModel(config_of(name)).head.is_empty(), "a model with a tied head has a head of its own")
        << likely_mistake("head_always") << about(name);
  }
  const LanguageModel model(config_of("qwen3"));
  EXPECT_THAT(model.head, HasShape({{"E", 6}, {"V", 11}}))
      << note("tied_head is false") << (model.head.is_empty() ? likely_mistake("head_not_made") : "");
}

TEST(LanguageModel, HasPositionsOnlyInGpt2) {
  EXPECT_HOLDS(LanguageModel(config_of("llama")).position_embedding.is_empty(), "a llama has a position_embedding");
  EXPECT_THAT(LanguageModel(config_of("gpt2")).position_embedding, HasShape({{"P", 10}, {"E", 6}}));
}

TEST(LanguageModel, DrawsItsWeights) {
  LanguageModelConfig config = config_of("qwen3");
  config.attention.embed_dim = 50;
  config.vocab_size = 300;
  const LanguageModel model(config);
  ASSERT_HOLDS(model.blocks.size() == 2, "there are not two blocks");
  const arma::mat first = model.blocks[0].attention.query_proj.weight,
                  second = model.blocks[1].attention.query_proj.weight;
  EXPECT_HOLDS(!arma::approx_equal(first, second, "absdiff", 1e-6), "both blocks have the same weights")
      << likely_mistake("blocks_are_copies");
  Linear head(50, 300, false);
  head.weight = model.head;
  expect_drawn_as_linear_draws({{"head", head}}, false);
  config = config_of("gpt2");
  config.max_position = 400;
  const arma::mat positions = LanguageModel(config).position_embedding;
  EXPECT_HOLDS(!positions.is_empty() && arma::abs(positions).max() > 0, "position_embedding holds zeros only")
      << note("all weights are drawn at random");
}

TEST(LanguageModel, KeepsItsConfiguration) {
  for (const std::string& name : all_models) {
    const LanguageModelConfig given = config_of(name);
    const LanguageModel model(given);
    const LanguageModelConfig& kept = model.config();
    EXPECT_HOLDS(kept.architecture == given.architecture && kept.vocab_size == given.vocab_size &&
                     kept.num_layers == given.num_layers && kept.hidden_dim == given.hidden_dim &&
                     kept.norm_epsilon == given.norm_epsilon && kept.tied_head == given.tied_head &&
                     kept.max_position == given.max_position && kept.attention.window == given.attention.window,
                 "config() is another than the one given");
    expect_lengths(model, {}, note("before the first call"));
  }
}

// ------------------------------------------------------------------------------------------------------ reset, 22.5

TEST(LanguageModel, ResetForgetsTheTokensOfAllBlocks) {
  for (const std::string& name : both_architectures) {
    LanguageModel model = loaded(name);
    const arma::umat ids = drawn_ids(11, 5, 3);
    const arma::cube wanted = model.extend(ids);
    model.reset();
    for (const DecoderBlock& block : model.blocks) {
      const uword kept = block.attention.cache().batch_size();
      EXPECT_HOLDS(kept == 0, "after reset a block's cache still has " + std::to_string(kept) + " sequences")
          << likely_mistake("reset_of_one_block");
    }
    EXPECT_THAT(model.extend(ids), IsNear(wanted, logit_axes)) << note("after reset, the same tokens as at first");
    model.reset();
    EXPECT_THAT(model.extend(drawn_ids(11, 4, 2)), HasShape({{"L", 4}, {"V", model.config().vocab_size}, {"B", 2}}))
        << note("after reset, two sequences instead of three");
  }
}

// ----------------------------------------------------------------------------------------------------- extend, 22.6

TEST(LanguageModel, GivesLogitsForEachNewToken) {
  LanguageModel model(config_of("llama"));
  EXPECT_THAT(model.extend(drawn_ids(11, 5, 3)), HasShape({{"L", 5}, {"V", 11}, {"B", 3}}));
  EXPECT_THAT(model.extend(drawn_ids(11, 4, 3), {2, 0, 4}), HasShape({{"L", 4}, {"V", 11}, {"B", 3}}));
  expect_lengths(model, {7, 5, 9}, note("three sequences of five tokens, then 2, 0 and 4 more, in 4 rows"),
                 list(model.lengths()) == "9, 9, 9" ? likely_mistake("lengths_ignored") : "");
}

/// A llama of E = 2 and three tokens, whose blocks add nothing.
LanguageModel model_by_hand() {
  LanguageModelConfig config;
  config.vocab_size = 3;
  config.num_layers = 1;
  config.hidden_dim = 5;
  config.attention.embed_dim = 2;
  config.attention.num_heads = 1;
  config.attention.num_kv_heads = 1;
  config.norm_epsilon = 0;
  LanguageModel model(config);
  model.token_embedding.weight = {{3, 4}, {4, -3}, {0, 5}};
  for (DecoderBlock& block : model.blocks) {
    block.attention.output_proj.weight.zeros();
    if (auto* gated = std::get_if<SwiGLU>(&block.feed_forward)) gated->down_proj.weight.zeros();
  }
  return model;
}

TEST(LanguageModel, GivesTheExampleWorkedByHand) {
  EXPECT_THAT(model_by_hand().extend(arma::umat(arma::uvec{0, 1})), Matches(load_golden("by_hand").expected("logits")))
      << note("the tokens 0 and 1, in a model whose block adds nothing: the final norm and the tied head are left");
}

TEST(LanguageModel, EqualsPyTorchForOneCall) {
  for (const std::string& name : all_models) {
    const GoldenCase golden = load_golden(name);
    LanguageModel model = loaded(name);
    EXPECT_THAT(tokens_only(model.extend(ids_of(golden, "ids_1"), {4, 2, 5}), {4, 2, 5}),
                Matches(golden.expected("logits_1")))
        << note("the first call, with 4, 2 and 5 tokens") << about(name);
  }
}

TEST(LanguageModel, EqualsPyTorchInThreeCalls) {
  const std::vector<arma::uvec> lengths = {{4, 2, 5}, {1, 5, 3}, {4, 0, 2}};
  for (const std::string& name : all_models) {
    const GoldenCase golden = load_golden(name);
    LanguageModel model = loaded(name);
    for (uword call = 0; call < 3; ++call) {
      const std::string number = std::to_string(call + 1);
      EXPECT_THAT(tokens_only(model.extend(ids_of(golden, "ids_" + number), lengths[call]), lengths[call]),
                  Matches(golden.expected("logits_" + number)))
          << note("call " + number + " of three, with " + list(lengths[call]) + " tokens") << about(name);
    }
    expect_lengths(model, {9, 7, 10});
  }
}

TEST(LanguageModel, ReadsTheTiedWeightsTransposed) {
  LanguageModelConfig config = config_of("llama");
  config.vocab_size = 6;
  LanguageModel model(config);
  for (DecoderBlock& each : model.blocks) {
    each.attention.output_proj.weight.zeros();
    if (auto* gated = std::get_if<SwiGLU>(&each.feed_forward)) gated->down_proj.weight.zeros();
  }
  const arma::mat& embedding = model.token_embedding.weight;
  arma::cube X(1, 6, 1);
  X.slice(0) = embedding.row(4);
  EXPECT_THAT(model.extend(arma::umat(arma::uvec{4})),
              IsNear(as_cube(arma::mat(apply_layer(model.final_norm, X).slice(0) * embedding.t())), logit_axes))
      << note(
             "V = E = 6, and blocks that add nothing: the logit of token v is the final norm's row times row v of the "
             "token embedding");
}

TEST(LanguageModel, IsTheSameForAnyCutIntoCalls) {
  for (const std::string& name : both_architectures) {
    LanguageModel model = loaded(name);
    const arma::umat ids = drawn_ids(11, 7, 3);
    const arma::cube wanted = in_calls(model, ids, {7});
    for (const arma::uvec& calls : {arma::uvec{6, 1}, {1, 4, 2}, {1, 1, 1, 1, 1, 1, 1}}) {
      model.reset();
      EXPECT_THAT(in_calls(model, ids, calls), IsNear(wanted, logit_axes, 1e-12))
          << note("7 tokens in calls of " + list(calls) + "; want what one call gives") << about(name);
    }
  }
}

TEST(LanguageModel, KeepsTheBatchApart) {
  const std::vector<arma::uvec> lengths = {{4, 2, 5}, {1, 5, 3}, {4, 0, 2}};
  for (const std::string& name : both_architectures) {
    LanguageModel model = loaded(name);
    std::vector<arma::umat> ids;
    std::vector<arma::cube> logits;
    for (const arma::uvec& of_call : lengths) {
      ids.push_back(drawn_ids(11, 6, 3));
      logits.push_back(model.extend(ids.back(), of_call));
      ASSERT_THAT(logits.back(), HasShape({{"L", 6}, {"V", model.config().vocab_size}, {"B", 3}}));
    }
    for (uword b = 0; b < 3; ++b) {
      arma::umat text(0, 1);
      arma::mat in_batch(0, model.config().vocab_size);
      for (uword call = 0; call < 3; ++call) {
        if (lengths[call](b) == 0) continue;
        text = arma::join_cols(text, ids[call].col(b).eval().head_rows(lengths[call](b)));
        in_batch = arma::join_cols(in_batch, logits[call].slice(b).head_rows(lengths[call](b)));
      }
      LanguageModel alone = model;
      alone.reset();
      EXPECT_THAT(as_cube(in_batch), IsNear(alone.extend(text), logit_axes, 1e-12))
          << note("sequence " + std::to_string(b) + " in the batch, in three calls; want what it gives alone, in one")
          << about(name);
    }
  }
}

TEST(LanguageModel, SeesNoFutureToken) {
  for (const std::string& name : both_architectures) {
    LanguageModel model = loaded(name);
    arma::umat ids = drawn_ids(11, 7, 2);
    const arma::cube before = model.extend(ids);
    ids(5, 0) = (ids(5, 0) + 1) % 11;
    ids(6, 1) = (ids(6, 1) + 1) % 11;
    model.reset();
    const arma::cube after = model.extend(ids);
    ASSERT_HOLDS(before.n_rows == 7 && after.n_rows == 7, "seven tokens do not give seven rows");
    EXPECT_THAT(arma::cube(after.rows(0, 4)), IsNear(arma::cube(before.rows(0, 4)), logit_axes))
        << note("tokens 5 and 6 of 7 are others: rows 0 to 4 stay") << about(name);
  }
}

TEST(LanguageModel, AcceptsTheLastPositionAndPaddingAfterIt) {
  LanguageModel model = loaded("gpt2");
  const arma::umat ids = drawn_ids(13, 10, 2);
  const arma::cube wanted = model.extend(ids);
  model.reset();
  model.extend(ids.rows(0, 6));
  arma::umat rest = drawn_ids(13, 8, 2);
  rest.rows(0, 2) = ids.rows(7, 9);
  const std::string threw = refusal([&] { LanguageModel(model).extend(rest, {3, 3}); });
  ASSERT_HOLDS(threw.empty(), "extend threw: " + threw)
      << note("7 tokens, then 3 more in 8 rows: the last one is at position 9, and there are 10")
      << likely_mistake("padding_needs_positions");
  const arma::cube logits = model.extend(rest, {3, 3});
  ASSERT_HOLDS(logits.n_rows == 8 && wanted.n_rows == 10, "a call gave another number of rows than it was given");
  EXPECT_THAT(arma::cube(logits.rows(0, 2)), IsNear(arma::cube(wanted.rows(7, 9)), logit_axes, 1e-12))
      << note("7 tokens, then 3 more in 8 rows; want the last rows of one call");
}

TEST(LanguageModel, AcceptsSequencesWithoutTokens) {
  for (const std::string& name : all_models) {
    LanguageModel model = loaded(name);
    const arma::umat ids = drawn_ids(11, 4, 3);
    EXPECT_THAT(model.extend(ids, {0, 0, 0}), HasShape({{"L", 4}, {"V", model.config().vocab_size}, {"B", 3}}));
    expect_lengths(model, {0, 0, 0});
    LanguageModel alone = model;
    alone.reset();
    const arma::cube wanted = alone.extend(ids);
    EXPECT_THAT(model.extend(ids), IsNear(wanted, logit_axes)) << note("after a call without tokens") << about(name);
  }
}

TEST(LanguageModel, LeavesItsWeightsAndArguments) {
  LanguageModel model = loaded("gpt2");
  const arma::umat ids = drawn_ids(13, 4, 2);
  const arma::uvec lengths = {4, 2};
  expect_leaves_its_arguments("extend",
                              {{"ids", ids},
                               {"lengths", lengths},
                               {"token_embedding.weight", model.token_embedding.weight},
                               {"position_embedding", model.position_embedding}},
                              [&] { model.extend(ids, lengths); });
}

// --------------------------------------------------------------------------------------------------- generate, 22.7

TEST(Generate, TakesTheMostLikelyTokenAtTemperatureZero) {
  for (const std::string& name : all_models) {
    LanguageModel model = loaded(name);
    EXPECT_THAT(text_row(generate(model, prompt_of(name), generation(7, sampling(0))), 7),
                Matches(load_golden(name).expected("greedy")))
        << note("7 tokens after a prompt of 3, temperature 0") << about(name);
  }
}

TEST(Generate, EqualsPyTorchForASeed) {
  for (const std::string& name : all_models) {
    LanguageModel model = loaded(name);
    EXPECT_THAT(text_row(generate(model, prompt_of(name), generation(7, sampling(1.5, 8, 0.9), 41)), 7),
                Matches(load_golden(name).expected("drawn")))
        << note("7 tokens after a prompt of 3, seed 41") << about(sampling(1.5, 8, 0.9)) << about(name);
  }
}

TEST(Generate, IsWhatTheModelGivesWithoutACache) {
  for (const std::string& name : both_architectures) {
    LanguageModel model = loaded(name);
    for (const std::uint64_t seed : {0U, 77U}) {
      const GenerationConfig config = generation(6, sampling(1.3, 9, 0.95), seed);
      EXPECT_THAT(text_row(generate(model, {4, 1, 9, 0}, config), 6),
                  IsNear(text_row(naive_generate(model, {4, 1, 9, 0}, config), 6), text_axes))
          << note("seed " + std::to_string(seed) +
                  "; want what comes out when at every step the whole text is put "
                  "through the model")
          << about(name);
    }
  }
}

TEST(Generate, PutsALongPromptThroughTheModel) {
  LanguageModel model = smallest_model();
  const Tokens prompt = long_text();
  const GenerationConfig config = generation(2, sampling(1), 3);
  EXPECT_THAT(text_row(generate(model, prompt, config), 2),
              IsNear(text_row(naive_generate(model, prompt, config), 2), text_axes))
      << about_long_text;
}

TEST(Generate, StopsAfterMaxTokens) {
  LanguageModel model = loaded("llama");
  for (const uword max_tokens : {0U, 1U, 5U}) {
    uword calls = 0;
    const Tokens tokens =
        generate(model, {3, 5}, generation(max_tokens, sampling(1)), [&](uword) { return ++calls > 0; });
    const uword count = tokens.size();
    EXPECT_HOLDS(count == max_tokens,
                 "there are " + std::to_string(count) + " new tokens, want max_tokens = " + std::to_string(max_tokens))
        << (count == max_tokens + 1                     ? likely_mistake("one_token_more")
            : count + 1 == max_tokens                   ? likely_mistake("one_token_less")
            : count == max_tokens + 2 && max_tokens > 0 ? likely_mistake("prompt_returned")
                                                        : "");
    EXPECT_HOLDS(calls == count,
                 "on_token was called " + std::to_string(calls) + " times for " + std::to_string(count) + " tokens");
  }
}

TEST(Generate, PutsEveryTokenButTheLastThroughTheModelOnce) {
  for (const std::string& name : both_architectures) {
    LanguageModel model = loaded(name);
    generate(model, {3, 5, 1}, generation(4, sampling(1)));
    const std::string lengths = list(model.lengths());
    expect_lengths(model, {6}, note("a prompt of 3 and 4 new tokens, of which the last is not put through the model"),
                   lengths == "7"    ? likely_mistake("last_token_put_through")
                   : lengths == "4"  ? likely_mistake("prompt_not_put_through")
                   : lengths == "18" ? likely_mistake("text_repeated")
                                     : "");
    generate(model, {3, 5, 1, 2, 4}, generation(3, sampling(1)));
    const uword capacity = model.blocks[1].attention.cache().capacity();
    EXPECT_HOLDS(capacity >= 10,
                 "a prompt of 5, in one call, and 2 tokens, one by one, make room for at least 2 · 5 tokens; "
                 "the caches have room for " +
                     std::to_string(capacity))
        << note("the whole text at every step makes room for 7, the prompt token by token for 8");
  }
}

TEST(Generate, BeginsByResettingTheModel) {
  LanguageModel model = loaded("llama");
  const GenerationConfig config = generation(5, sampling(0));
  const Tokens first = generate(model, {8, 2, 4}, config);
  generate(model, {1, 6}, config);
  model.reset();
  model.extend(drawn_ids(11, 4, 2));
  const std::string threw = refusal([&] { generate(model, {8, 2, 4}, config); });
  ASSERT_HOLDS(threw.empty(), "generate threw: " + threw)
      << note("the model had two sequences before") << likely_mistake("not_reset");
  EXPECT_THAT(text_row(generate(model, {8, 2, 4}, config), 5), IsNear(text_row(first, 5), text_axes))
      << note("after other texts, the same prompt as at first");
}

TEST(Generate, StopsAtAStopTokenAndDoesNotReturnIt) {
  const Tokens greedy = tokens_of(load_golden("llama"), "greedy");  // 7, 7, 3, 8, 5, 4, 7
  for (const auto& [stops, count] : {std::pair<Tokens, uword>{{3}, 2}, {{4, 8}, 3}, {{7}, 0}, {{10, 9}, 7}}) {
    LanguageModel model = loaded("llama");
    GenerationConfig config = generation(7, sampling(0));
    config.stop_tokens = stops;
    Tokens reported;
    const Tokens tokens = generate(model, prompt_of("llama"), config, [&](uword token) {
      reported.push_back(token);
      return true;
    });
    const Tokens wanted(greedy.begin(), greedy.begin() + static_cast<std::ptrdiff_t>(count));
    EXPECT_THAT(text_row(tokens, 7), IsNear(text_row(wanted, 7), text_axes))
        << note("without stop tokens: " + list(greedy) + "; stop tokens: " + list(stops) + "; -1 is no token");
    EXPECT_THAT(text_row(reported, 7), IsNear(text_row(wanted, 7), text_axes))
        << note("what on_token was given; stop tokens: " + list(stops) + "; -1 is no token");
    if (count < 7) {
      expect_lengths(model, {prompt_of("llama").size() + count},
                     note("the prompt and the new tokens: the stop token does not go through the model"));
    }
  }
}

TEST(Generate, IgnoresAStopTokenInThePrompt) {
  LanguageModel model = loaded("llama");
  GenerationConfig config = generation(2, sampling(0));
  config.stop_tokens = {prompt_of("llama").back()};
  EXPECT_THAT(text_row(generate(model, prompt_of("llama"), config), 2), IsNear(text_row({7, 7}, 2), text_axes))
      << note("the prompt ends with a stop token: only new tokens count");
}

TEST(Generate, EndsWhereOnTokenReturnsFalse) {
  const Tokens greedy = tokens_of(load_golden("llama"), "greedy");
  for (const uword count : {1U, 3U}) {
    LanguageModel model = loaded("llama");
    Tokens reported;
    const Tokens tokens = generate(model, prompt_of("llama"), generation(7, sampling(0)), [&](uword token) {
      reported.push_back(token);
      return reported.size() < count;
    });
    const Tokens wanted(greedy.begin(), greedy.begin() + static_cast<std::ptrdiff_t>(count));
    EXPECT_THAT(text_row(tokens, 7), IsNear(text_row(wanted, 7), text_axes))
        << note("on_token returned false for token number " + std::to_string(count) + ", which still counts");
    EXPECT_THAT(text_row(reported, 7), IsNear(text_row(wanted, 7), text_axes)) << note("what on_token was given");
    expect_lengths(model, {prompt_of("llama").size() + count - 1},
                   note("the token for which on_token returned false does not go through the model"));
  }
}

TEST(Generate, ReportsEachTokenAtOnce) {
  LanguageModel model = loaded("llama");
  std::vector<double> cached;
  generate(model, {3, 5, 1}, generation(4, sampling(1)), [&](uword) {
    cached.push_back(static_cast<double>(model.lengths().is_empty() ? 0 : model.lengths()(0)));
    return true;
  });
  EXPECT_THAT(arma::mat(arma::rowvec(cached)), IsNear(arma::mat{{3, 4, 5, 6}}, text_axes))
      << note("how many tokens the model has when on_token is called: a prompt of 3, then one more each time");
}

TEST(Generate, FollowsTheSeed) {
  LanguageModel model = loaded("qwen3");
  const auto text = [&](std::uint64_t seed) {
    return text_row(generate(model, {4, 1}, generation(9, sampling(2), seed)), 9);
  };
  const arma::mat first = text(3);
  EXPECT_THAT(text(3), IsNear(first, text_axes)) << note("the same seed twice");
  EXPECT_HOLDS(!arma::approx_equal(text(4), first, "absdiff", 0), "two seeds give the same text of 9 tokens");
  EXPECT_HOLDS(!arma::approx_equal(text(3 + (std::uint64_t{1} << 32U)), first, "absdiff", 0),
               "the seeds 3 and 3 + 2^32 give the same text: all 64 bits count");
}

// ---------------------------------------------------------------- mean_negative_log_likelihood and perplexity, 22.8

TEST(MeanNegativeLogLikelihood, GivesTheExampleWorkedByHand) {
  LanguageModel model = model_by_hand();
  const arma::mat logits = load_golden("by_hand").cube("logits").slice(0);
  const double first = std::log(arma::accu(arma::exp(logits.row(0)))) - logits(0, 1);
  const double second = std::log(arma::accu(arma::exp(logits.row(1)))) - logits(1, 1);
  EXPECT_THAT(number(mean_negative_log_likelihood(model, {0, 1, 1})), IsNear(number((first + second) / 2)))
      << note("the tokens 0, 1, 1 in the chapter's model: two are predicted");
}

TEST(MeanNegativeLogLikelihood, EqualsPyTorch) {
  for (const std::string& name : all_models) {
    LanguageModel model = loaded(name);
    const GoldenCase golden = load_golden(name);
    EXPECT_THAT(number(mean_negative_log_likelihood(model, tokens_of(golden, "text"))),
                Matches(golden.expected("loss")))
        << note("F.cross_entropy(logits[:-1], tokens[1:]) for 10 tokens") << about(name);
  }
}

TEST(MeanNegativeLogLikelihood, CountsEveryTokenOfALongText) {
  LanguageModel model = smallest_model();
  const Tokens text = long_text();
  const arma::mat logits = model.extend(arma::umat(arma::uvec(text))).slice(0);
  double sum = 0;
  for (uword i = 0; i + 1 < text.size(); ++i)
    sum += std::log(arma::accu(arma::exp(logits.row(i)))) - logits(i, text[i + 1]);
  EXPECT_THAT(number(mean_negative_log_likelihood(model, text)),
              IsNear(number(sum / static_cast<double>(text.size() - 1))))
      << about_long_text;
}

TEST(MeanNegativeLogLikelihood, IsThatOfAnEvenChoiceForAModelThatKnowsNothing) {
  LanguageModel model = loaded("llama");
  model.token_embedding.weight.zeros();
  EXPECT_THAT(number(mean_negative_log_likelihood(model, {7, 1, 1, 10, 0})), IsNear(number(std::log(11.0))))
      << note("all logits are 0, V = 11");
}

TEST(MeanNegativeLogLikelihood, IsFiniteForAnUnlikelyText) {
  LanguageModel model = model_by_hand();
  model.token_embedding.weight *= 200;
  EXPECT_THAT(number(mean_negative_log_likelihood(model, {0, 1})), IsNear(number(200 * 7.0710678118654755))) << note(
      "the next token's logit is 1414 below the largest: its probability is 0 in a double, its logarithm not -inf");
}

TEST(MeanNegativeLogLikelihood, BeginsByResettingTheModel) {
  LanguageModel model = loaded("gpt2");
  const Tokens text = tokens_of(load_golden("gpt2"), "text");
  const double first = mean_negative_log_likelihood(model, text);
  const std::string threw = refusal([&] { mean_negative_log_likelihood(model, text); });
  ASSERT_HOLDS(threw.empty(), "the second call threw: " + threw)
      << note("a text as long as the table of positions, twice") << likely_mistake("loss_not_reset");
  EXPECT_THAT(number(mean_negative_log_likelihood(model, text)), IsNear(number(first), {"1", "1"}, 0));
}

TEST(Perplexity, IsTheExponentialOfTheMean) {
  for (const std::string& name : all_models) {
    LanguageModel model = loaded(name);
    const GoldenCase golden = load_golden(name);
    EXPECT_THAT(number(perplexity(model, tokens_of(golden, "text"))),
                IsNear(number(std::exp(golden.mat("loss")(0, 0)))))
        << about(name);
  }
}

TEST(Perplexity, IsTheSizeOfTheVocabularyForAModelThatKnowsNothing) {
  LanguageModel model = loaded("gpt2");
  model.token_embedding.weight.zeros();
  EXPECT_THAT(number(perplexity(model, {7, 1, 1, 12, 0})), IsNear(number(13))) << note("all logits are 0, V = 13");
}

// ------------------------------------------------------------------------------------------ bad input: sampling, 22.1

TEST(LogSoftmaxRows, RejectsNoLogits) {
  EXPECT_PRED_FORMAT1(RejectsArgument("logits", {"0 x 5"}), [] { log_softmax_rows(arma::mat(0, 5)); });
}

// ------------------------------------------------------------------------------------------ bad input: sampling, 22.2

TEST(TokenProbabilities, RejectsWhatCannotBe) {
  const auto call = [](const SamplingConfig& config) { return [config] { token_probabilities({1, 2, 3}, config); }; };
  EXPECT_PRED_FORMAT1(RejectsArgument("logits", {"1 x 0"}), [] { token_probabilities({}); });
  for (const double temperature : {-0.5, infinity, std::nan("")}) {
    EXPECT_PRED_FORMAT1(RejectsArgument("temperature", {}), call(sampling(temperature)));
  }
  for (const double top_p : {0.0, -0.5, 1.5, std::nan("")}) {
    EXPECT_PRED_FORMAT1(RejectsArgument("top_p", {}), call(sampling(1, 0, top_p)));
    EXPECT_PRED_FORMAT1(RejectsArgument("top_p", {}), call(sampling(0, 0, top_p)));
  }
}

// ------------------------------------------------------------------------------------------ bad input: sampling, 22.3

TEST(PickToken, RejectsWhatCannotBe) {
  EXPECT_PRED_FORMAT1(RejectsArgument("probabilities", {}), [] { pick_token({}, 0.5); });
  EXPECT_PRED_FORMAT1(RejectsArgument("probabilities", {}), [] { pick_token({0, 0, 0}, 0.5); });
  for (const double u : {-0.1, 1.0, std::nan("")}) {
    EXPECT_PRED_FORMAT1(RejectsArgument("u", {}), [u] { pick_token({0.5, 0.5}, u); });
  }
}

// ----------------------------------------------------------------------------------- bad input: the constructors, 22.5

TEST(LanguageModel, RejectsAnImpossibleConfiguration) {
  const auto make = [](const std::string& name, const std::function<void(LanguageModelConfig&)>& change) {
    LanguageModelConfig config = config_of(name);
    change(config);
    return [config] { LanguageModel{config}; };
  };
  for (const std::string& name : all_models) {
    EXPECT_PRED_FORMAT1(RejectsArgument("vocab_size", {"0"}), make(name, [](auto& c) { c.vocab_size = 0; }));
    EXPECT_PRED_FORMAT1(RejectsArgument("num_layers", {"0"}), make(name, [](auto& c) { c.num_layers = 0; }));
    EXPECT_PRED_FORMAT1(RejectsArgument("hidden_dim", {"0"}), make(name, [](auto& c) { c.hidden_dim = 0; }));
    EXPECT_PRED_FORMAT1(RejectsArgument("embed_dim", {"0"}), make(name, [](auto& c) { c.attention.embed_dim = 0; }));
    EXPECT_PRED_FORMAT1(RejectsArgument("num_heads", {"0"}), make(name, [](auto& c) { c.attention.num_heads = 0; }));
  }
  EXPECT_PRED_FORMAT1(RejectsArgument("max_position", {"0"}), make("gpt2", [](auto& c) { c.max_position = 0; }));
  EXPECT_PRED_FORMAT1(RejectsArgument("max_position", {"8"}), make("llama", [](auto& c) { c.max_position = 8; }));
}

// --------------------------------------------------------------------------------------------- bad input: extend, 22.6

TEST(LanguageModel, IsUnchangedByARejectedCall) {
  for (const std::string& name : all_models) {
    LanguageModel model = loaded(name);
    const uword V = model.config().vocab_size;
    const auto extend = [&](const arma::umat& ids, const arma::uvec& lengths = {}) {
      return [&model, ids, lengths] { model.extend(ids, lengths); };
    };
    for (const bool first : {true, false}) {
      const LanguageModel before = model;
      arma::umat ids = drawn_ids(V, 5, 3);
      EXPECT_PRED_FORMAT1(RejectsArgument("ids", {}), extend(arma::umat(0, 3)));
      EXPECT_PRED_FORMAT1(RejectsArgument("lengths", {"6", "5"}), extend(ids, {3, 6, 0}));
      EXPECT_PRED_FORMAT1(RejectsArgument("lengths", {"2", "3"}), extend(ids, {3, 5}));
      if (!first) {
        EXPECT_PRED_FORMAT1(RejectsArgument("ids", {"5 x 2", "3"}), extend(drawn_ids(V, 5, 2)));
      }
      if (name == "gpt2") {
        EXPECT_PRED_FORMAT1(RejectsArgument("position", {"10"}), extend(drawn_ids(V, 11, 3), {0, 11, 0}));
      }
      ids(4, 2) = V;
      EXPECT_PRED_FORMAT1(RejectsArgument("ids", {std::to_string(V)}), extend(ids));
      for (uword n = 0; n < model.blocks.size(); ++n) {
        EXPECT_HOLDS(same_cache(model.blocks[n].attention.cache(), before.blocks[n].attention.cache()),
                     "a rejected call changed the cache of block " + std::to_string(n))
            << note("check everything before the first block; what it has taken no later one can refuse")
            << likely_mistake("checks_after_the_blocks");
      }
      if (first) model.extend(drawn_ids(V, 4, 3), {4, 1, 2});
    }
  }
}

// ----------------------------------------------------------------------------------------------- bad input: 22.7, 22.8

TEST(Generate, RejectsAnEmptyPrompt) {
  LanguageModel model(config_of("llama"));
  EXPECT_PRED_FORMAT1(RejectsArgument("prompt", {"0"}), [&] { generate(model, {}); });
}

TEST(MeanNegativeLogLikelihood, RejectsATextWithoutANextToken) {
  LanguageModel model(config_of("llama"));
  EXPECT_PRED_FORMAT1(RejectsArgument("tokens", {"1"}), [&] { mean_negative_log_likelihood(model, {4}); });
  EXPECT_PRED_FORMAT1(RejectsArgument("tokens", {"0"}), [&] { perplexity(model, {}); });
  EXPECT_PRED_FORMAT1(RejectsArgument("ids", {"11"}), [&] { perplexity(model, {4, 11}); });
}

// ---------------------------------------------------------------------------------------------------------- speed

ATTN_SPEED("generate, 16 tokens after 8, V = 96, N = 2, E = 24, F = 64", [] {
  LanguageModelConfig config = llama_sizes();
  config.vocab_size = 96;
  config.hidden_dim = 64;
  config.attention.embed_dim = 24;
  return [model = LanguageModel(config)]() mutable {
    const Tokens tokens = generate(model, {1, 2, 3, 4, 5, 6, 7, 8}, generation(16, sampling(0.8, 40, 0.9)));
    return as_cube(text_row(tokens, 16));
  };
});

}  // namespace
}  // namespace attn::judge
