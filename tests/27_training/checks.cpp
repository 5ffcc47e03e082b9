#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <armadillo>
#include <cmath>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "attn/adamw.hpp"
#include "attn/batches.hpp"
#include "attn/gradient_clipping.hpp"
#include "attn/initialization.hpp"
#include "attn/learning_rate.hpp"
#include "attn/training.hpp"
#include "checks/draw.hpp"
#include "checks/golden.hpp"
#include "checks/matchers.hpp"
#include "checks/properties.hpp"
#include "checks/speed.hpp"

namespace attn::judge {
namespace {

using arma::uword;
using Strings = std::vector<std::string>;
using Views = std::vector<ParameterView>;

const Strings id_axes = {"L", "B"};
const Strings matrix_axes = {"R", "C"};
const Strings step_axes = {"1", "steps"};
const Strings number_axes = {"1", "1"};

constexpr double exact = 1e-12;

arma::mat number(double x) { return x * arma::mat(1, 1, arma::fill::ones); }
arma::mat row(const std::vector<double>& numbers) { return arma::rowvec(numbers); }

// ------------------------------------------------------------------------------------------------------- batches

/// Tokens as numbers; an ignored target is -1.
arma::mat tokens(const arma::umat& ids) {
  arma::mat numbers(arma::size(ids));
  for (uword k = 0; k < ids.n_elem; ++k) numbers(k) = ids(k) == ignored_target ? -1.0 : static_cast<double>(ids(k));
  return numbers;
}

/// 0, 1, 2, ...: every token says where it is.
std::vector<uword> counting_text(uword n) {
  std::vector<uword> text(n);
  for (uword i = 0; i < n; ++i) text[i] = i;
  return text;
}

/// The definition, one number at a time.
Batch naive_next_token_batch(const std::vector<uword>& text, uword L, uword B, std::mt19937_64& generator) {
  Batch batch{arma::umat(L, B), arma::umat(L, B)};
  for (uword b = 0; b < B; ++b) {
    const uword start = draw_index(generator, text.size() - L);
    for (uword i = 0; i < L; ++i) {
      batch.ids(i, b) = text.at(start + i);
      batch.targets(i, b) = text.at(start + i + 1);
    }
  }
  return batch;
}

Batch naive_reverse_batch(uword symbols, uword n, uword B, std::mt19937_64& generator) {
  Batch batch{arma::umat(2 * n, B), arma::umat(2 * n, B)};
  for (uword b = 0; b < B; ++b) {
    std::vector<uword> text(n);
    for (uword& symbol : text) symbol = draw_index(generator, symbols);
    text.push_back(symbols);
    for (uword i = n; i-- > 0;) text.push_back(text[i]);
    for (uword i = 0; i < 2 * n; ++i) {
      batch.ids(i, b) = text[i];
      batch.targets(i, b) = i < n ? ignored_target : text[i + 1];
    }
  }
  return batch;
}

// --------------------------------------------------------------------------------------- parameters of no model

ParameterView view(const std::string& name, arma::mat& x, bool decayed = true) {
  return {name, x.memptr(), x.n_elem, decayed};
}

AdamWConfig constants(double beta1, double beta2, double epsilon, double weight_decay) {
  return {beta1, beta2, epsilon, weight_decay};
}

/// Two matrices and a bias between them, as a golden case has them, with gradients for some steps.
struct Drawn {
  explicit Drawn(const std::string& name) : golden(load_golden(name)), x{golden.mat("W"), bias(), golden.mat("U")} {}

  Views parameters() { return {view("W", x[0]), view("b", x[1], false), view("U", x[2])}; }
  Views gradients(uword step) {
    const arma::mat of_bias = golden.mat("d_b");  // (steps x C)
    d_x = {golden.cube("d_W").slice(step), of_bias.row(step), golden.cube("d_U").slice(step)};
    return {view("W", d_x[0]), view("b", d_x[1], false), view("U", d_x[2])};
  }
  arma::mat bias() const { return golden.rowvec("b"); }

  GoldenCase golden;
  std::vector<arma::mat> x, d_x;
};

const std::vector<double> golden_rates = {0.1, 0.2, 0.3, 0.3, 0.2, 0.05};
const Strings golden_names = {"W", "b", "U"};

AdamWConfig constants_of(const std::string& name) {
  return name == "adamw" ? constants(0.9, 0.95, 1e-8, 0.1) : constants(0.8, 0.99, 0.3, 0.4);
}

std::string about_constants(const AdamWConfig& config) {
  return note("beta1 = " + std::to_string(config.beta1) + ", beta2 = " + std::to_string(config.beta2) +
              ", epsilon = " + (config.epsilon < 1e-6 ? "1e-8" : std::to_string(config.epsilon)) +
              ", weight_decay = " + std::to_string(config.weight_decay));
}

/// One number after each of several steps.
arma::mat path(double x, const std::vector<double>& gradients, double rate, const AdamWConfig& config,
               bool decayed = true) {
  arma::mat parameter = number(x), values(1, gradients.size());
  AdamWState state;
  for (uword i = 0; i < gradients.size(); ++i) {
    arma::mat gradient = number(gradients[i]);
    adamw_step({view("x", parameter, decayed)}, {view("x", gradient, decayed)}, state, rate, config);
    values(0, i) = parameter(0, 0);
  }
  return values;
}

// --------------------------------------------------------------------------------------------------------- models

/// As the golden cases have them.
LanguageModelConfig config_of(const std::string& name) {
  LanguageModelConfig config;
  config.architecture = name == "gpt2" ? Architecture::gpt2 : Architecture::llama;
  config.vocab_size = name == "gpt2" ? 9 : 7;
  config.num_layers = 2;
  config.hidden_dim = name == "gpt2" ? 7 : 5;
  config.attention.embed_dim = name == "gpt2" ? 6 : 8;
  config.attention.num_heads = name == "gpt2" ? 3 : 4;
  config.attention.num_kv_heads = name == "gpt2" ? 3 : 2;
  config.attention.bias = name == "gpt2";
  config.norm_epsilon = 1e-5;
  config.tied_head = name == "gpt2";
  config.max_position = name == "gpt2" ? 8 : 0;
  return config;
}

/// A parameter of a golden case, column by column.
arma::mat numbers_of(const GoldenCase& golden, const ParameterView& parameter, const std::string& prefix = "") {
  const std::string name = prefix + parameter.name;
  return parameter.decayed ? arma::mat(arma::vectorise(golden.mat(name))) : arma::mat(golden.rowvec(name).t());
}

LanguageModel loaded(const std::string& name) {
  const GoldenCase golden = load_golden(name);
  LanguageModel model(config_of(name));
  while (model.blocks.size() < model.config().num_layers) model.blocks.emplace_back(model.config());
  for (const ParameterView& parameter : parameters_of(model)) {
    arma::vec x = parameter.vector();
    x = arma::vec(numbers_of(golden, parameter));
  }
  return model;
}

arma::umat golden_ids(const GoldenCase& golden, const std::string& name) {
  const arma::mat numbers = golden.mat(name);
  arma::umat ids(arma::size(numbers));
  for (uword k = 0; k < ids.n_elem; ++k) ids(k) = numbers(k) < 0 ? ignored_target : uword(numbers(k));
  return ids;
}

/// Two batches of 5 x 2 and 4 x 3 tokens, of which 7 and 10 targets count.
std::vector<Batch> golden_batches(const std::string& name, uword step) {
  const GoldenCase golden = load_golden(name);
  std::vector<Batch> batches;
  for (const char* const which : {"_0", "_1"}) {
    const std::string number = std::to_string(step) + which;
    batches.push_back({golden_ids(golden, "ids_" + number), golden_ids(golden, "targets_" + number)});
  }
  return batches;
}

TrainingConfig golden_training() {
  TrainingConfig config;
  config.optimizer = constants(0.9, 0.95, 1e-3, 0.1);
  config.schedule = {0.05, 0.005, 2, 6};
  config.max_norm = 0.5;
  return config;
}

/// Small enough to learn something in a tenth of a second.
LanguageModel tiny_model(std::uint64_t seed, uword V = 5, uword N = 1) {
  LanguageModelConfig config;
  config.vocab_size = V;
  config.num_layers = N;
  config.hidden_dim = 12;
  config.attention.embed_dim = 8;
  config.attention.num_heads = 2;
  config.attention.num_kv_heads = 2;
  LanguageModel model(config);
  initialize(model, seed);
  return model;
}

/// All numbers of a model or of its gradients, in one column.
template <typename Model>
arma::mat all_numbers(Model& model) {
  arma::vec numbers;
  for (const ParameterView& parameter : parameters_of(model)) numbers = arma::join_cols(numbers, parameter.vector());
  return numbers;
}

/// One batch with the sequences of all of them, which are of the same length.
Batch joined(const std::vector<Batch>& batches) {
  Batch all;
  for (const Batch& batch : batches) {
    all.ids = arma::join_rows(all.ids, batch.ids);
    all.targets = arma::join_rows(all.targets, batch.targets);
  }
  return all;
}

/// Two sequences, of which only the last `counted` targets count, and so on for each number.
std::vector<Batch> uneven_batches(uword V, const std::vector<uword>& counted) {
  std::mt19937_64 generator(7);
  std::vector<Batch> batches;
  for (const uword count : counted) {
    Batch batch{arma::umat(4, batches.size() + 1), arma::umat(4, batches.size() + 1)};
    for (uword& id : batch.ids) id = draw_index(generator, V);
    for (uword& id : batch.targets) id = draw_index(generator, V);
    for (uword k = 0; k < batch.targets.n_elem; ++k) {
      if (k >= count) batch.targets(k) = ignored_target;
    }
    batches.push_back(batch);
  }
  return batches;
}

TrainingConfig plain_training(double rate) {
  TrainingConfig config;
  config.optimizer = constants(0.9, 0.95, 1e-8, 0);
  config.schedule = {rate, rate, 0, 1};
  return config;
}

// ------------------------------------------------------------------------------------------ next_token_batch, 27.1

TEST(NextTokenBatch, HasASequenceInEachColumn) {
  std::mt19937_64 generator(1);
  const Batch batch = next_token_batch(counting_text(20), 5, 3, generator);
  EXPECT_THAT(tokens(batch.ids), HasShape({{"L", 5}, {"B", 3}})) << note("ids");
  EXPECT_THAT(tokens(batch.targets), HasShape({{"L", 5}, {"B", 3}})) << note("targets");
}

TEST(NextTokenBatch, GivesTheOnlyWindowThereIs) {
  std::mt19937_64 generator(1);
  const Batch batch = next_token_batch({7, 3, 9, 4, 8}, 4, 2, generator);
  EXPECT_THAT(tokens(batch.ids), IsNear(arma::mat{{7, 7}, {3, 3}, {9, 9}, {4, 4}}, id_axes))
      << note("ids, from the text 7 3 9 4 8 with L = 4: the only window with a token after it");
  EXPECT_THAT(tokens(batch.targets), IsNear(arma::mat{{3, 3}, {9, 9}, {4, 4}, {8, 8}}, id_axes))
      << note("targets, from the text 7 3 9 4 8 with L = 4: the token after each one");
}

TEST(NextTokenBatch, HasTheNextTokensAsTargets) {
  std::mt19937_64 generator(2);
  const Batch batch = next_token_batch(counting_text(40), 6, 4, generator);
  ASSERT_THAT(tokens(batch.targets), HasShape({{"L", 6}, {"B", 4}}));
  EXPECT_THAT(tokens(batch.targets), IsNear(arma::mat(tokens(batch.ids) + 1), id_axes))
      << note("the text is 0 1 2 3 ..., so that each target is its token plus one");
}

TEST(NextTokenBatch, DrawsEachStartThatIsPossible) {
  std::mt19937_64 generator(3);
  const Batch batch = next_token_batch(counting_text(9), 4, 200, generator);
  ASSERT_THAT(tokens(batch.ids), HasShape({{"L", 4}, {"B", 200}}));
  arma::mat seen(1, 9, arma::fill::zeros);
  for (const uword start : batch.ids.row(0)) seen(0, std::min<uword>(start, 8)) = 1;
  EXPECT_THAT(seen, IsNear(arma::mat{{1, 1, 1, 1, 1, 0, 0, 0, 0}}, {"1", "n"})) << note(
      "1 where a window begins, of 200 windows of 4 tokens in a text of 9: starts 0 to 4 have a next token for each");
}

TEST(NextTokenBatch, DrawsAnewAtEachCall) {
  std::mt19937_64 generator(4);
  const std::vector<uword> text = counting_text(1000);
  const Batch one = next_token_batch(text, 3, 4, generator), other = next_token_batch(text, 3, 4, generator);
  EXPECT_HOLDS(!arma::approx_equal(tokens(one.ids), tokens(other.ids), "absdiff", 0),
               "two calls with one generator gave the same windows; each call draws new ones");
}

TEST(NextTokenBatch, EqualsTheDefinitionForOtherSizes) {
  for (const uword L : {uword(1), uword(5), uword(12)}) {
    std::vector<uword> text = counting_text(13 + L);
    std::reverse(text.begin(), text.begin() + 9);
    std::mt19937_64 generator(L), again(L);
    const Batch got = next_token_batch(text, L, L + 2, generator);
    const Batch wanted = naive_next_token_batch(text, L, L + 2, again);
    EXPECT_THAT(tokens(got.ids), IsNear(tokens(wanted.ids), id_axes)) << note("ids");
    EXPECT_THAT(tokens(got.targets), IsNear(tokens(wanted.targets), id_axes)) << note("targets");
    EXPECT_HOLDS(generator == again, "the generator did not move on by one number for each sequence");
  }
}

// ---------------------------------------------------------------------------------------------- reverse_batch, 27.2

TEST(ReverseBatch, HasASequenceInEachColumn) {
  std::mt19937_64 generator(1);
  const Batch batch = reverse_batch(4, 3, 5, generator);
  EXPECT_THAT(tokens(batch.ids), HasShape({{"2n", 6}, {"B", 5}})) << note("ids");
  EXPECT_THAT(tokens(batch.targets), HasShape({{"2n", 6}, {"B", 5}})) << note("targets");
}

TEST(ReverseBatch, GivesTheOnlySequenceOfOneSymbol) {
  std::mt19937_64 generator(1);
  const Batch batch = reverse_batch(1, 3, 2, generator);
  EXPECT_THAT(tokens(batch.ids), IsNear(arma::mat{{0, 0}, {0, 0}, {0, 0}, {1, 1}, {0, 0}, {0, 0}}, id_axes))
      << note("ids; one symbol, 0, and the separator, 1");
  EXPECT_THAT(tokens(batch.targets), IsNear(arma::mat{{-1, -1}, {-1, -1}, {-1, -1}, {0, 0}, {0, 0}, {0, 0}}, id_axes))
      << note("targets; -1 is ignored_target. The separator's own target is the first token that counts");
}

TEST(ReverseBatch, WritesTheSequenceBackwardsAfterTheSeparator) {
  std::mt19937_64 generator(5);
  const Batch batch = reverse_batch(50, 4, 3, generator);
  ASSERT_THAT(tokens(batch.ids), HasShape({{"2n", 8}, {"B", 3}}));
  ASSERT_THAT(tokens(batch.targets), HasShape({{"2n", 8}, {"B", 3}}));
  const arma::mat ids = tokens(batch.ids), targets = tokens(batch.targets);
  EXPECT_THAT(arma::mat(targets.tail_rows(4)), IsNear(arma::mat(arma::flipud(ids.head_rows(4))), id_axes))
      << note("the last n targets: the first n tokens of ids, backwards");
  EXPECT_THAT(arma::mat(ids.tail_rows(3)), IsNear(arma::mat(targets.submat(4, 0, 6, 2)), id_axes))
      << note("after the separator each token is the target of the one before");
}

TEST(ReverseBatch, EqualsTheDefinitionForOtherSizes) {
  for (const uword n : {uword(1), uword(4), uword(7)}) {
    std::mt19937_64 generator(n), again(n);
    const Batch got = reverse_batch(n + 9, n, n + 1, generator);
    const Batch wanted = naive_reverse_batch(n + 9, n, n + 1, again);
    EXPECT_THAT(tokens(got.ids), IsNear(tokens(wanted.ids), id_axes)) << note("ids");
    EXPECT_THAT(tokens(got.targets), IsNear(tokens(wanted.targets), id_axes)) << note("targets, -1 is ignored");
    EXPECT_HOLDS(generator == again, "the generator did not move on by n numbers for each sequence");
  }
}

// ------------------------------------------------------------------------------------------------- adamw_step, 27.3

TEST(AdamwStep, GivesTheExampleWorkedByHand) {
  const GoldenCase golden = load_golden("adamw_by_hand");
  const arma::cube after = golden.cube("after_x");
  EXPECT_THAT(path(1, {0.5, -0.25}, 0.1, constants(0.9, 0.99, 1e-8, 0.1)),
              IsNear(arma::mat{{after(0), after(1)}}, step_axes, 1e-7))  // epsilon is judged by others
      << note("one number, 1 at first, after two steps with the gradients 0.5 and -0.25, lr = 0.1, weight_decay = 0.1");
}

TEST(AdamwStep, MovesEachNumberByTheLearningRateAtFirst) {
  arma::mat x(3, 4, arma::fill::zeros), gradient = normal(3, 4);
  gradient(1, 2) = 1e-3;
  gradient(2, 0) = -1e3;
  AdamWState state;
  adamw_step({view("x", x)}, {view("x", gradient)}, state, 0.01, constants(0.9, 0.999, 1e-12, 0));
  EXPECT_THAT(x, IsNear(arma::mat(-0.01 * arma::sign(gradient)), matrix_axes, 1e-8)) << note(
      "after the first step, from zeros, without decay: lr against the sign of the gradient, however large it is");
}

TEST(AdamwStep, CountsItsSteps) {
  arma::mat x = normal(2, 3), gradient = normal(2, 3);
  AdamWState state;
  for (int step = 0; step < 3; ++step) {
    adamw_step({view("x", x)}, {view("x", gradient)}, state, 0.01, {});
  }
  EXPECT_HOLDS(state.t == 3, "state.t is " + std::to_string(state.t) + " after three steps");
}

TEST(AdamwStep, DecaysGeometricallyWithoutAGradient) {
  const arma::mat wanted = {{2 * 0.95, 2 * 0.95 * 0.95, 2 * 0.95 * 0.95 * 0.95}};
  EXPECT_THAT(path(2, {0, 0, 0}, 0.5, constants(0.9, 0.99, 1e-8, 0.1)), IsNear(wanted, step_axes, exact))
      << note("2 at first, three steps with the gradient 0, lr = 0.5, weight_decay = 0.1: times 1 - 0.05 each");
}

TEST(AdamwStep, DecaysOnlyWhatIsToBeDecayed) {
  EXPECT_THAT(path(2, {0, 0, 0}, 0.5, constants(0.9, 0.99, 1e-8, 0.1), false),
              IsNear(arma::mat{{2, 2, 2}}, step_axes, exact))
      << note("2 at first, three steps with the gradient 0, of a parameter that is not decayed");
}

TEST(AdamwStep, AsksTheParameterWhetherItIsDecayed) {
  for (const bool decayed : {true, false}) {
    arma::mat x(1, 1, arma::fill::value(2)), gradient(1, 1, arma::fill::zeros);
    AdamWState state;
    adamw_step({view("x", x, decayed)}, {view("x", gradient, !decayed)}, state, 0.5, constants(0.9, 0.99, 1e-8, 0.1));
    EXPECT_THAT(x, IsNear(arma::mat(1, 1, arma::fill::value(decayed ? 1.9 : 2)), {"1", "1"}, exact))
        << note(decayed ? "the parameter's view says decayed, its gradient's does not"
                        : "the gradient's view says decayed, its parameter's does not");
  }
}

TEST(AdamwStep, IgnoresTheScaleOfTheGradients) {
  const AdamWConfig config = constants(0.9, 0.95, 1e-300, 0);
  const std::vector<double> gradients = {0.5, -0.25, 1.5, 0.125};
  std::vector<double> scaled;
  for (const double gradient : gradients) scaled.push_back(1024 * gradient);
  EXPECT_THAT(path(1, scaled, 0.1, config), IsNear(path(1, gradients, 0.1, config), step_axes, exact))
      << note("four steps with all gradients times 1024, expected: as without, since epsilon is next to nothing");
}

TEST(AdamwStep, DecaysAsMuchWhateverTheGradientsAre) {
  const std::vector<double> gradients = {0.5, -0.25, 1.5, 0.125};
  const AdamWConfig with = constants(0.9, 0.95, 1e-8, 0.4), without = constants(0.9, 0.95, 1e-8, 0);
  const arma::mat far = path(3, gradients, 0.1, with), near = path(1, gradients, 0.1, with);
  const arma::mat difference = {{2 * 0.96, 2 * std::pow(0.96, 2), 2 * std::pow(0.96, 3), 2 * std::pow(0.96, 4)}};
  EXPECT_THAT(arma::mat(far - near), IsNear(difference, step_axes, exact)) << note(
      "the distance of two numbers that get the same gradients: only decay acts on it, by 1 - 0.04 at each step");
  EXPECT_THAT(arma::mat(path(3, gradients, 0.1, without) - path(1, gradients, 0.1, without)),
              IsNear(arma::mat{{2, 2, 2, 2}}, step_axes, exact))
      << note("the same without decay");
}

TEST(AdamwStep, KeepsTheParametersApart) {
  const std::vector<double> left = {0.5, -0.25, 1.5}, right = {-4, 3, 0.125};
  const AdamWConfig config = constants(0.9, 0.95, 1e-8, 0.1);
  arma::mat a = number(1), b = number(-2), after(2, 3);
  AdamWState state;
  for (uword i = 0; i < 3; ++i) {
    arma::mat d_a = number(left[i]), d_b = number(right[i]);
    adamw_step({view("a", a), view("b", b)}, {view("a", d_a), view("b", d_b)}, state, 0.1, config);
    after.col(i) = arma::vec{a(0), b(0)};
  }
  EXPECT_THAT(after, IsNear(arma::mat(arma::join_cols(path(1, left, 0.1, config), path(-2, right, 0.1, config))),
                            {"parameter", "steps"}, exact))
      << note("two parameters together, expected: what each gives alone");
}

TEST(AdamwStep, EqualsPyTorch) {
  for (const std::string name : {"large_epsilon", "adamw"}) {
    Drawn drawn(name);
    AdamWState state;
    for (uword step = 0; step < golden_rates.size(); ++step) {
      adamw_step(drawn.parameters(), drawn.gradients(step), state, golden_rates[step], constants_of(name));
      if (step == 0) continue;  // a step of lr, in many a wrong answer, too
      const std::string about = note("after step " + std::to_string(step + 1)) + about_constants(constants_of(name));
      const arma::mat of_bias = drawn.golden.mat("after_b");
      EXPECT_THAT(drawn.x[0], IsNear(arma::mat(drawn.golden.cube("after_W").slice(step)), matrix_axes, exact)) << about;
      EXPECT_THAT(drawn.x[1], IsNear(arma::mat(of_bias.row(step)), matrix_axes, exact))
          << about << note("a bias, which is not decayed");
      EXPECT_THAT(drawn.x[2], IsNear(arma::mat(drawn.golden.cube("after_U").slice(step)), matrix_axes, exact)) << about;
    }
  }
}

TEST(AdamwStep, KeepsItsStateAsPyTorchDoes) {
  Drawn drawn("adamw");
  AdamWState state;
  for (uword step = 0; step < golden_rates.size(); ++step) {
    adamw_step(drawn.parameters(), drawn.gradients(step), state, golden_rates[step], constants_of("adamw"));
  }
  ASSERT_HOLDS(state.m.size() == 3 && state.v.size() == 3,
               "state has not one m and one v for each of three parameters");
  for (uword i = 0; i < 3; ++i) {
    const std::string& name = golden_names[i];
    const auto wanted = [&](const std::string& which) {
      return name == "b" ? arma::mat(drawn.golden.rowvec(which + name).t())
                         : arma::mat(arma::vectorise(drawn.golden.mat(which + name)));
    };
    EXPECT_THAT(arma::mat(state.m[i]), IsNear(wanted("m_"), {"numbers", "1"}, exact)) << note("m of " + name);
    EXPECT_THAT(arma::mat(state.v[i]), IsNear(wanted("v_"), {"numbers", "1"}, exact)) << note("v of " + name);
  }
}

TEST(AdamwStep, GoesOnFromASavedState) {
  Drawn whole("adamw"), parts("adamw");
  AdamWState state, before;
  for (uword step = 0; step < 4; ++step) {
    adamw_step(whole.parameters(), whole.gradients(step), state, 0.1, constants_of("adamw"));
    if (step < 2) adamw_step(parts.parameters(), parts.gradients(step), before, 0.1, constants_of("adamw"));
  }
  AdamWState after = before;  // as from a file
  for (uword step = 2; step < 4; ++step) {
    adamw_step(parts.parameters(), parts.gradients(step), after, 0.1, constants_of("adamw"));
  }
  EXPECT_THAT(parts.x[0], IsNear(whole.x[0], matrix_axes, 0))
      << note("two steps, a copy of parameters and state, two more: expected to the bit what four steps give");
}

TEST(AdamwStep, LeavesTheGradients) {
  arma::mat x = normal(3, 4), gradient = normal(3, 4);
  const arma::mat before = gradient;
  AdamWState state;
  adamw_step({view("x", x)}, {view("x", gradient)}, state, 0.1, constants(0.9, 0.95, 1e-8, 0.1));
  EXPECT_THAT(gradient, IsNear(before, matrix_axes, 0)) << note("the gradient after the call");
}

// --------------------------------------------------------------------------------------------- clip_gradients, 27.4

TEST(ClipGradients, GivesTheExampleWorkedByHand) {
  const GoldenCase golden = load_golden("clipping_by_hand");
  arma::mat a = {{3, 4}}, b = number(12);
  const double norm = clip_gradients({view("a", a), view("b", b)}, 6.5);
  EXPECT_THAT(number(norm), IsNear(number(13), number_axes, exact)) << note("the norm of (3, 4) and (12) together");
  EXPECT_THAT(a, IsNear(golden.mat("clipped_0"), matrix_axes, exact))
      << note("(3, 4), clipped to 6.5 together with (12)");
  EXPECT_THAT(b, IsNear(golden.mat("clipped_1"), matrix_axes, exact))
      << note("(12), clipped to 6.5 together with (3, 4)");
}

TEST(ClipGradients, EqualsPyTorch) {
  for (const std::string name : {"clipped", "short_enough"}) {
    const GoldenCase golden = load_golden(name);
    arma::mat a = golden.mat("gradient_0"), b = golden.mat("gradient_1"), c = golden.mat("gradient_2");
    const double norm =
        clip_gradients({view("a", a), view("b", b, false), view("c", c)}, name == "clipped" ? 1.5 : 100);
    const std::string about = note(name == "clipped" ? "max_norm = 1.5" : "max_norm = 100, more than the norm");
    EXPECT_THAT(number(norm), IsNear(golden.mat("norm"), number_axes, exact)) << about << note("what is returned");
    EXPECT_THAT(a, IsNear(golden.mat("clipped_0"), matrix_axes, exact)) << about;
    EXPECT_THAT(b, IsNear(golden.mat("clipped_1"), matrix_axes, exact)) << about << note("of a bias");
    EXPECT_THAT(c, IsNear(golden.mat("clipped_2"), matrix_axes, exact)) << about;
  }
}

TEST(ClipGradients, MakesThemAsLongAsTheLimitAndKeepsTheDirection) {
  arma::mat a = normal(3, 4), b = 100 * normal(1, 5);
  const arma::mat a_before = a, b_before = b;
  clip_gradients({view("a", a), view("b", b, false)}, 0.5);
  const double norm = std::sqrt(arma::accu(arma::square(a)) + arma::accu(arma::square(b)));
  const double before = std::sqrt(arma::accu(arma::square(a_before)) + arma::accu(arma::square(b_before)));
  EXPECT_HOLDS(norm <= 0.5 && norm > 0.499,
               "clipped to 0.5, the gradients together have the norm " + std::to_string(norm));
  EXPECT_THAT(arma::mat(a * before), IsNear(arma::mat(a_before * norm), matrix_axes, 1e-9))
      << note("each clipped number over the new norm is the old one over the old norm (here multiplied by both)");
}

TEST(ClipGradients, ChangesNothingBelowTheLimit) {
  arma::mat a = {{0.3, -0.4}}, b = number(1.2);
  clip_gradients({view("a", a), view("b", b, false)}, 1.5);
  EXPECT_THAT(a, IsNear(arma::mat{{0.3, -0.4}}, matrix_axes, 0)) << note("norm 1.3, limit 1.5");
  EXPECT_THAT(b, IsNear(number(1.2), matrix_axes, 0)) << note("norm 1.3, limit 1.5");
  arma::mat zero(2, 3, arma::fill::zeros);
  const double norm = clip_gradients({view("zero", zero)}, 1.5);
  EXPECT_THAT(number(norm), IsNear(number(0), number_axes, 0)) << note("gradients that are all zero");
  EXPECT_THAT(zero, IsNear(arma::mat(2, 3, arma::fill::zeros), matrix_axes, 0)) << note("gradients that are all zero");
  arma::mat large = {{300, -400}};
  clip_gradients({view("large", large)}, arma::datum::inf);
  EXPECT_THAT(large, IsNear(arma::mat{{300, -400}}, matrix_axes, 0)) << note("the limit is infinity");
}

// ------------------------------------------------------------------------------------------- learning_rate_at, 27.5

arma::mat rates(const std::vector<uword>& steps, const LearningRateSchedule& schedule) {
  arma::mat found(1, steps.size());
  for (uword i = 0; i < steps.size(); ++i) found(0, i) = learning_rate_at(steps[i], schedule);
  return found;
}

TEST(LearningRateAt, GivesTheExampleWorkedByHand) {
  EXPECT_THAT(rates({0, 1, 2, 3}, {0.8, 0.2, 4, 8}), IsNear(row({0.2, 0.4, 0.6, 0.8}), step_axes, exact))
      << note("steps 0 to 3 of a warm-up of 4 steps to 0.8");
  EXPECT_THAT(rates({4, 6, 8}, {0.8, 0.2, 4, 8}), IsNear(row({0.8, 0.5, 0.2}), step_axes, exact)) << note(
      "steps 4, 6 and 8 of 8, from 0.8 to 0.2 after a warm-up of 4 steps: the beginning, the middle, after the end");
}

TEST(LearningRateAt, EqualsPyTorch) {
  std::vector<uword> steps;
  for (uword step = 0; step <= 13; ++step) steps.push_back(step);
  EXPECT_THAT(rates(steps, {0.5, 0.1, 4, 13}), IsNear(load_golden("schedule").mat("rates"), step_axes, exact))
      << note("steps 0 to 13 with W = 4, T = 13");
}

TEST(LearningRateAt, RisesAndThenFalls) {
  const LearningRateSchedule schedule{0.5, 0.1, 6, 30};
  for (uword step = 0; step + 1 < 30; ++step) {
    const double now = learning_rate_at(step, schedule), next = learning_rate_at(step + 1, schedule);
    EXPECT_HOLDS(step + 1 < 6 ? next > now
                 : step >= 6  ? next < now
                              : true,
                 "from step " + std::to_string(step) + " to the next, the rate goes from " + std::to_string(now) +
                     " to " + std::to_string(next) + "; it rises until step 5 and falls from step 6 on");
  }
}

TEST(LearningRateAt, StaysAtItsEnds) {
  EXPECT_THAT(rates({20, 21, 40, 1000}, {0.5, 0.1, 4, 20}), IsNear(row({0.1, 0.1, 0.1, 0.1}), step_axes, exact))
      << note("steps 20, 21, 40 and 1000 of a schedule of 20: min_rate");
  EXPECT_THAT(rates({0, 5, 10}, {0.5, 0.1, 0, 10}), IsNear(row({0.5, 0.3, 0.1}), step_axes, exact))
      << note("steps 0, 5 and 10 of 10 without a warm-up");
  EXPECT_THAT(rates({0, 1, 2}, {0.5, 0.1, 2, 2}), IsNear(row({0.25, 0.5, 0.1}), step_axes, exact))
      << note("steps 0, 1 and 2 where all steps are warm-up");
}

// --------------------------------------------------------------------------------------- accumulate_gradients, 27.6

TEST(AccumulateGradients, IsLossAndGradientsForOneBatch) {
  LanguageModel model = loaded("gpt2");
  const std::vector<Batch> batches = {golden_batches("gpt2", 0).front()};
  LossAndGradients got = accumulate_gradients(model, batches);
  LossAndGradients wanted = loss_and_gradients(model, batches[0].ids, batches[0].targets);
  EXPECT_THAT(number(got.loss), IsNear(number(wanted.loss), number_axes)) << note("the loss");
  EXPECT_THAT(all_numbers(got.gradients), IsNear(all_numbers(wanted.gradients), {"numbers", "1"}));
}

TEST(AccumulateGradients, EqualsOneLargeBatch) {
  const std::vector<std::vector<uword>> all_counts = {{3, 3}, {1, 7, 5}, {4, 0, 2}};
  for (const std::vector<uword>& counts : all_counts) {
    LanguageModel model = loaded("llama");
    const std::vector<Batch> batches = uneven_batches(7, counts);
    const Batch all = joined(batches);
    LossAndGradients got = accumulate_gradients(model, batches);
    LossAndGradients wanted = loss_and_gradients(model, all.ids, all.targets);
    std::string about;
    for (const uword count : counts) about += (about.empty() ? "" : ", ") + std::to_string(count);
    about = note("batches of which " + about + " targets count; expected: what one batch of all sequences gives");
    EXPECT_THAT(number(got.loss), IsNear(number(wanted.loss), number_axes)) << about << note("the loss");
    EXPECT_THAT(all_numbers(got.gradients), IsNear(all_numbers(wanted.gradients), {"numbers", "1"})) << about;
  }
}

TEST(AccumulateGradients, BeginsAtZeroAtEachCall) {
  LanguageModel model = loaded("llama");
  const std::vector<Batch> batches = uneven_batches(7, {2, 5});
  LossAndGradients first = accumulate_gradients(model, batches), second = accumulate_gradients(model, batches);
  EXPECT_THAT(all_numbers(second.gradients), IsNear(all_numbers(first.gradients), {"numbers", "1"}, 0))
      << note("the same call twice, nothing changed in between");
}

TEST(AccumulateGradients, IsZeroWhenNoTargetCounts) {
  LanguageModel model = loaded("llama");
  LossAndGradients got = accumulate_gradients(model, uneven_batches(7, {0, 0}));
  const arma::mat gradients = all_numbers(got.gradients);
  EXPECT_THAT(number(got.loss), IsNear(number(0), number_axes)) << note("the loss");
  EXPECT_THAT(gradients, IsNear(arma::mat(arma::size(gradients), arma::fill::zeros), {"numbers", "1"}));
}

// ------------------------------------------------------------------------------------------------- train_step, 27.7

TEST(TrainStep, BeginsNearTheLossOfAGuess) {
  LanguageModel model = tiny_model(1, 11, 2);
  std::mt19937_64 generator(1);
  AdamWState state;
  const double loss = train_step(model, state, {reverse_batch(10, 4, 20, generator)}, plain_training(0.01)).loss;
  EXPECT_THAT(number(loss), IsNear(number(std::log(11)), number_axes, 0.02))
      << note("the loss of the first step of a new model, V = 11: about ln 11, as for a guess among 11 tokens");
}

TEST(TrainStep, EqualsPyTorchOverFiveSteps) {
  for (const std::string name : {"llama", "gpt2"}) {
    const GoldenCase golden = load_golden(name);
    LanguageModel model = loaded(name);
    AdamWState state;
    arma::mat losses(1, 5), norms(1, 5), learning_rates(1, 5);
    for (uword step = 0; step < 5; ++step) {
      const StepReport report = train_step(model, state, golden_batches(name, step), golden_training());
      losses(0, step) = report.loss;
      norms(0, step) = report.gradient_norm;
      learning_rates(0, step) = report.learning_rate;
    }
    const std::string about = note(name + ", two batches for each step, max_norm = 0.5, W = 2, T = 6");
    EXPECT_THAT(learning_rates,
                IsNear(row({0.025, 0.05, 0.05, 0.005 + 0.0225 * (1 + std::sqrt(0.5)), 0.0275}), step_axes))
        << about << note("learning_rate of each step");
    EXPECT_THAT(losses, IsNear(golden.mat("losses"), step_axes, 1e-9)) << about << note("loss of each step");
    EXPECT_THAT(norms, IsNear(golden.mat("norms"), step_axes, 1e-8)) << about << note("gradient_norm of each step");
    for (const ParameterView& parameter : parameters_of(model)) {
      EXPECT_THAT(arma::mat(parameter.vector()),
                  IsNear(numbers_of(golden, parameter, "after."), {"numbers", "1"}, 1e-8))
          << about << note(parameter.name + " after five steps, column by column");
    }
  }
}

TEST(TrainStep, TakesTheLearningRateOfTheStepInTheState) {
  LanguageModel model = tiny_model(2);
  AdamWState state;
  TrainingConfig config = plain_training(0.01);
  config.schedule = {0.8, 0.2, 4, 8};
  arma::mat learning_rates(1, 6);
  for (uword step = 0; step < 6; ++step) {
    learning_rates(0, step) = train_step(model, state, uneven_batches(5, {3}), config).learning_rate;
  }
  EXPECT_THAT(learning_rates, IsNear(rates({0, 1, 2, 3, 4, 5}, config.schedule), step_axes, exact))
      << note("learning_rate of six steps with W = 4, T = 8");
  EXPECT_HOLDS(state.t == 6, "state.t is " + std::to_string(state.t) + " after six steps");
}

TEST(TrainStep, OverfitsOneBatch) {
  LanguageModel model = tiny_model(3, 6);
  std::mt19937_64 generator(3);
  const Batch batch = reverse_batch(5, 3, 2, generator);
  AdamWState state;
  double loss = 0;
  for (int step = 0; step < 50; ++step) loss = train_step(model, state, {batch}, plain_training(0.05)).loss;
  EXPECT_HOLDS(loss < 0.01,
               "after 50 steps on one batch the loss is " + std::to_string(loss) + ", expected below 0.01");
}

TEST(TrainStep, GivesTheSameToTheBitInTwoRuns) {
  arma::mat numbers[2];
  for (arma::mat& of_run : numbers) {
    LanguageModel model = tiny_model(4, 6, 2);
    std::mt19937_64 generator(4);
    AdamWState state;
    for (int step = 0; step < 2; ++step) {
      train_step(model, state, {reverse_batch(5, 3, 2, generator), reverse_batch(5, 2, 3, generator)},
                 plain_training(0.02));
    }
    of_run = all_numbers(model);
  }
  EXPECT_THAT(numbers[1], IsNear(numbers[0], {"numbers", "1"}, 0)) << note("all parameters after two steps");
}

TEST(TrainStep, ForgetsWhatTheCachesHoldOfTheOldWeights) {
  LanguageModel model = tiny_model(5);
  model.extend(arma::umat(3, 2, arma::fill::zeros));
  AdamWState state;
  train_step(model, state, uneven_batches(5, {3}), plain_training(0.01));
  EXPECT_HOLDS(model.lengths().is_empty(),
               "after a step, the model's caches hold keys and values of the old weights; reset it")
      << likely_mistake("caches_not_reset");
}

// -------------------------------------------------------------------------------------------------------- bad input

TEST(NextTokenBatch, RejectsATextWithoutAWindow) {
  std::mt19937_64 generator(1);
  EXPECT_PRED_FORMAT1(RejectsArgument("text", {"5"}), [&] { next_token_batch({1, 2, 3, 4, 5}, 5, 2, generator); });
  EXPECT_PRED_FORMAT1(RejectsArgument("L", {"0"}), [&] { next_token_batch({1, 2, 3}, 0, 2, generator); });
}

TEST(AdamwStep, RejectsGradientsThatDoNotFit) {
  arma::mat x = normal(2, 3), other = normal(2, 2);
  AdamWState state;
  EXPECT_PRED_FORMAT1(RejectsArgument("gradients", {"0", "1"}), [&] { adamw_step({view("x", x)}, {}, state, 0.1); });
  EXPECT_PRED_FORMAT1(RejectsArgument("gradients", {"4", "6"}),
                      [&] { adamw_step({view("x", x)}, {view("x", other)}, state, 0.1); });
  EXPECT_HOLDS(state.t == 0 && state.m.empty() && state.v.empty(), "a rejected call changed the state");
}

TEST(AdamwStep, RejectsAStateThatDoesNotFit) {
  arma::mat x = normal(2, 3), gradient = normal(2, 3);
  AdamWState state = {{arma::vec(6, arma::fill::zeros)}, {arma::vec(5, arma::fill::zeros)}, 7};
  EXPECT_PRED_FORMAT1(RejectsArgument("state", {"5", "6"}),
                      [&] { adamw_step({view("x", x)}, {view("x", gradient)}, state, 0.1); });
  EXPECT_HOLDS(state.t == 7, "a rejected call raised state.t");
}

TEST(ClipGradients, RejectsALimitThatIsNotAboveZero) {
  arma::mat a = normal(2, 3);
  EXPECT_PRED_FORMAT1(RejectsArgument("max_norm", {"0"}), [&] { clip_gradients({view("a", a)}, 0); });
  EXPECT_PRED_FORMAT1(RejectsArgument("max_norm", {"nan"}), [&] { clip_gradients({view("a", a)}, arma::datum::nan); });
}

TEST(LearningRateAt, RejectsAWarmUpLongerThanTheWhole) {
  EXPECT_PRED_FORMAT1(RejectsArgument("warmup_steps", {"9", "8"}), [] { learning_rate_at(0, {0.8, 0.2, 9, 8}); });
}

TEST(AccumulateGradients, RejectsAnEmptyList) {
  LanguageModel model = tiny_model(6);
  EXPECT_PRED_FORMAT1(RejectsArgument("batches", {}), [&] { accumulate_gradients(model, {}); });
}

TEST(TrainStep, LeavesTheModelAfterARejectedCall) {
  LanguageModel model = tiny_model(5);
  model.extend(arma::umat(3, 2, arma::fill::zeros));
  AdamWState state;
  EXPECT_PRED_FORMAT1(RejectsArgument("batches", {}), [&] { train_step(model, state, {}, plain_training(0.01)); });
  EXPECT_HOLDS(model.lengths().n_elem == 2, "a rejected call emptied the model's caches");
}

// ------------------------------------------------------------------------------------------------------------- speed

ATTN_SPEED("a step of training, 12 sequences of 8 tokens, E = 8", [] {
  std::mt19937_64 generator(1);
  return [model = tiny_model(7, 11), state = AdamWState(), batch = reverse_batch(10, 4, 12, generator)]() mutable {
    const double loss = train_step(model, state, {batch}, plain_training(0.001)).loss;
    return arma::cube(1, 1, 1, arma::fill::value(loss));
  };
});

}  // namespace
}  // namespace attn::judge
