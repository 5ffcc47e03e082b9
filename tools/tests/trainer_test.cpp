// The fast trainer against lessons 26 and 27 in double: both architectures, every kind of kernels that this machine can
// run, one thread and two, on sizes that fill no register, no strip and no block.
#include "trainer.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include "attn/language_model_backward.hpp"
#include "attn/training.hpp"

namespace attn::fast {
namespace {

using arma::uword;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

// A float is off by 6e-8 of itself. What is summed up here has up to about 600 terms, and goes through up to 20
// products, one after the other. Errors of random sign grow with the root of their number: 6e-8 * sqrt(600 * 20) =
// 7e-6, of the largest number of a parameter's gradient. Twice that is allowed.
constexpr double float_tolerance = 14e-6;

LanguageModelConfig gpt2_config() {
  LanguageModelConfig config;
  config.architecture = Architecture::gpt2;
  config.vocab_size = 37;
  config.num_layers = 2;
  config.hidden_dim = 45;
  config.max_position = 150;
  config.norm_epsilon = 1e-5;
  config.attention.embed_dim = 20;
  config.attention.num_heads = config.attention.num_kv_heads = 2;
  config.attention.bias = true;
  return config;
}

LanguageModelConfig llama_config() {
  LanguageModelConfig config;
  config.vocab_size = 41;
  config.num_layers = 3;
  config.hidden_dim = 51;
  config.tied_head = false;
  config.attention.embed_dim = 22;
  config.attention.num_heads = 6;
  config.attention.num_kv_heads = 2;
  config.attention.head_dim = 8;
  return config;
}

/// Its numbers are floats already, so that a trainer's copy is exact. Norms are not ones, nor biases zeros.
LanguageModel model_of(const LanguageModelConfig& config) {
  arma::arma_rng::set_seed(1);
  LanguageModel model(config);
  for (const ParameterView& view : parameters_of(model)) {
    arma::vec x = view.vector();
    x = arma::conv_to<arma::vec>::from(arma::conv_to<arma::fvec>::from(
        view.decayed ? arma::vec(x * 0.5) : arma::vec(0.6 + 0.4 * arma::randn(view.size))));
  }
  return model;
}

/// Some targets do not count.
Batch batch_of(uword L, uword B, uword V, uword seed = 1) {
  Batch batch{arma::umat(L, B), arma::umat(L, B)};
  for (uword i = 0; i < L * B; ++i) {
    batch.ids(i) = (i * i + 3 * i + seed) % V;
    batch.targets(i) = (i + seed) % 5 == 0 ? ignored_target : (7 * i + seed) % V;
  }
  return batch;
}

struct Result {
  double loss;
  LanguageModelGradients gradients;
};

/// Gradients as the trainer has them, in the structs of lesson 26: `like` has their sizes.
Result result_of(Trainer& trainer, const std::vector<Batch>& batches, const LanguageModelGradients& like) {
  Result result{0, like};
  for (const ParameterView& view : parameters_of(result.gradients)) view.vector().fill(arma::datum::nan);
  result.loss = trainer.gradients(batches, parameters_of(result.gradients));
  return result;
}

void expect_near(LanguageModelGradients got, LanguageModelGradients want, const std::string& where) {
  const std::vector<ParameterView> gots = parameters_of(got), wants = parameters_of(want);
  double largest = 0;
  for (const ParameterView& view : wants) largest = std::max(largest, arma::abs(view.vector()).max());
  for (std::size_t i = 0; i < wants.size(); ++i) {
    // Some are zero but for rounding, such as those of the keys' biases: these are compared with the others.
    const double scale = std::max(arma::abs(wants[i].vector()).max(), 0.01 * largest);
    const double off = arma::abs(gots[i].vector() - wants[i].vector()).max();
    EXPECT_LE(off, float_tolerance * scale) << wants[i].name << ", " << where;
  }
}

/// That two models' parameters, or gradients, have the same bits.
template <class Model>
void expect_same(Model& one, Model& other, const std::string& where = "") {
  const std::vector<ParameterView> ones = parameters_of(one), others = parameters_of(other);
  for (std::size_t i = 0; i < ones.size(); ++i) {
    EXPECT_TRUE(std::equal(ones[i].values, ones[i].values + ones[i].size, others[i].values)) << ones[i].name << where;
  }
}

void expect_gradients(const LanguageModelConfig& config, const std::vector<Batch>& batches) {
  LanguageModel model = model_of(config);
  const LossAndGradients want = accumulate_gradients(model, batches);
  for (const Kernels* kernels : usable_kernels()) {
    Result first;
    for (const unsigned threads : {1U, 2U, 3U}) {
      Trainer trainer(config, parameters_of(model), threads, *kernels);
      Result got = result_of(trainer, batches, want.gradients);
      const std::string where = kernels->name + std::string(", threads ") + std::to_string(threads);
      EXPECT_NEAR(got.loss, want.loss, float_tolerance * want.loss) << where;
      expect_near(got.gradients, want.gradients, where);
      if (threads == 1) first = got;
      EXPECT_EQ(got.loss, first.loss) << where;
      expect_same(got.gradients, first.gradients, where);
    }
  }
}

TEST(Trainer, HasTheGradientsOfGpt2) {
  expect_gradients(gpt2_config(), {batch_of(7, 3, 37)});
  expect_gradients(gpt2_config(), {batch_of(1, 1, 37, 2)});  // a single token
  expect_gradients(gpt2_config(), {batch_of(7, 3, 37), batch_of(40, 1, 37, 2), batch_of(3, 2, 37, 3)});
  LanguageModelConfig one_layer = gpt2_config();
  one_layer.num_layers = 1;
  expect_gradients(one_layer, {batch_of(150, 5, 37)});  // passes of two and three sequences, in several blocks
}

TEST(Trainer, HasTheGradientsOfGpt2WithAnUntiedHeadAndNoBiases) {
  LanguageModelConfig config = gpt2_config();
  config.tied_head = false;
  config.attention.bias = false;
  expect_gradients(config, {batch_of(9, 2, 37)});
}

TEST(Trainer, HasTheGradientsOfWholeRegisters) {
  LanguageModelConfig config = gpt2_config();
  config.attention.embed_dim = 64;
  config.hidden_dim = 256;
  config.vocab_size = 64;
  config.attention.num_heads = config.attention.num_kv_heads = 1;
  expect_gradients(config, {batch_of(64, 5, 64)});
}

TEST(Trainer, HasTheGradientsOfLlama) {
  expect_gradients(llama_config(), {batch_of(35, 2, 41)});
  expect_gradients(llama_config(), {batch_of(20, 2, 41), batch_of(45, 1, 41, 2)});
}

TEST(Trainer, HasTheGradientsOfLlamaTiedWithBiasesAndItsOwnSpeeds) {
  LanguageModelConfig config = llama_config();
  config.tied_head = true;
  config.attention.bias = true;
  config.attention.rope_speeds = {1, 0.5, 0.25, 0.01};
  expect_gradients(config, {batch_of(11, 3, 41)});
}

TEST(Trainer, HasTheGradientsOfASlidingWindow) {
  for (const uword window : {1U, 5U, 33U, 200U}) {
    LanguageModelConfig config = llama_config();
    config.num_layers = 1;
    config.attention.window = window;
    expect_gradients(config, {batch_of(101, 2, 41)});
  }
}

TEST(Trainer, ForgetsTheGradientsOfTheCallBefore) {  // also where a batch is too small to have two halves
  LanguageModel model = model_of(gpt2_config());
  const std::vector<Batch> large = {batch_of(40, 3, 37)}, small = {batch_of(1, 1, 37, 2)};
  const LossAndGradients want = accumulate_gradients(model, small);
  Trainer trainer(gpt2_config(), parameters_of(model), 2);
  result_of(trainer, large, want.gradients);
  expect_near(result_of(trainer, small, want.gradients).gradients, want.gradients, "after a large batch");
}

TEST(Trainer, IsZeroWithoutATargetThatCounts) {
  LanguageModel model = model_of(gpt2_config());
  Trainer trainer(gpt2_config(), parameters_of(model), 2);
  Batch batch = batch_of(6, 2, 37);
  batch.targets.fill(ignored_target);
  const LossAndGradients like = loss_and_gradients(model, batch.ids, batch.targets);
  Result result = result_of(trainer, {batch}, like.gradients);
  EXPECT_EQ(result.loss, 0);
  for (const ParameterView& view : parameters_of(result.gradients)) EXPECT_EQ(arma::abs(view.vector()).max(), 0);
}

TEST(Trainer, HasTheLossOfLargeLogits) {
  LanguageModel model = model_of(gpt2_config());
  model.token_embedding.weight *= 100;
  const Batch batch = batch_of(12, 2, 37);
  const double want = loss_and_gradients(model, batch.ids, batch.targets).loss;
  Trainer trainer(gpt2_config(), parameters_of(model), 2);
  EXPECT_NEAR(trainer.loss(batch), want, float_tolerance * want);
}

TEST(Trainer, HasTheLossOfLargeScoresAndFiniteGradients) {
  for (const LanguageModelConfig& config : {gpt2_config(), llama_config()}) {
    LanguageModel model = model_of(config);
    for (DecoderBlock& block : model.blocks) {
      block.attention.query_proj.weight *= 1e6;
      block.attention.key_proj.weight *= 1e6;  // scores of about 1e12
    }
    const Batch batch = batch_of(40, 2, config.vocab_size);
    const LossAndGradients want = loss_and_gradients(model, batch.ids, batch.targets);
    for (const Kernels* kernels : usable_kernels()) {
      Trainer trainer(config, parameters_of(model), 2, *kernels);
      Result got = result_of(trainer, {batch}, want.gradients);
      EXPECT_NEAR(got.loss, want.loss, float_tolerance * want.loss) << kernels->name;
      for (const ParameterView& view : parameters_of(got.gradients)) {
        EXPECT_TRUE(view.vector().is_finite()) << view.name << ", " << kernels->name;
      }
    }
  }
}

/// With a large epsilon, so that no rounding of a tiny gradient becomes a whole step.
TrainingConfig training_config() {
  TrainingConfig config;
  config.optimizer = {0.8, 0.95, 0.05, 0.3};
  config.schedule = {0.02, 0.004, 2, 6};
  config.max_norm = 0.5;
  return config;
}

TEST(Trainer, StepsAsLesson27) {
  for (const LanguageModelConfig& config : {gpt2_config(), llama_config()}) {
    LanguageModel model = model_of(config), trained = model;
    AdamWState state;
    Trainer trainer(config, parameters_of(model), 2);
    const uword V = config.vocab_size;
    for (uword s = 0; s < 8; ++s) {  // past the end of the schedule
      TrainingConfig training = training_config();
      if (s == 3) training.max_norm = arma::datum::inf;
      const std::vector<Batch> batches = {batch_of(9, 2, V, s), batch_of(5, 1, V, s + 1)};
      const StepReport want = train_step(model, state, batches, training), got = trainer.step(batches, training);
      EXPECT_EQ(got.learning_rate, want.learning_rate);
      EXPECT_NEAR(got.loss, want.loss, 10 * float_tolerance * want.loss) << "step " << s;
      EXPECT_NEAR(got.gradient_norm, want.gradient_norm, 10 * float_tolerance * want.gradient_norm) << "step " << s;
    }
    EXPECT_EQ(trainer.steps(), 8U);
    trainer.copy_to(parameters_of(trained));
    const std::vector<ParameterView> gots = parameters_of(trained), wants = parameters_of(model);
    const AdamWState got = trainer.state();
    for (std::size_t i = 0; i < wants.size(); ++i) {
      // Eight steps, each off by at most rate / epsilon times the error of a gradient of at most max_norm.
      EXPECT_LE(arma::abs(gots[i].vector() - wants[i].vector()).max(), 8 * 0.02 / 0.05 * 10 * float_tolerance)
          << wants[i].name;
      EXPECT_LE(arma::abs(got.m[i] - state.m[i]).max(),
                10 * float_tolerance * std::max(0.5, arma::abs(state.m[i]).max()));
      EXPECT_LE(arma::abs(got.v[i] - state.v[i]).max(),
                20 * float_tolerance * std::max(0.25, arma::abs(state.v[i]).max()));
    }
  }
}

TEST(Trainer, GoesOnAfterACheckpointBitForBit) {
  const LanguageModelConfig config = llama_config();
  LanguageModel model = model_of(config), saved = model, resumed = model;
  TrainingConfig training = training_config();
  Trainer trainer(config, parameters_of(model), 2);
  for (uword s = 0; s < 3; ++s) trainer.step({batch_of(9, 2, 41, s)}, training);
  trainer.copy_to(parameters_of(saved));
  Trainer other(config, parameters_of(saved), 1);
  other.restore(trainer.state());
  for (uword s = 3; s < 6; ++s) {
    const StepReport one = trainer.step({batch_of(9, 2, 41, s)}, training);
    const StepReport two = other.step({batch_of(9, 2, 41, s)}, training);
    EXPECT_EQ(one.loss, two.loss);
    EXPECT_EQ(one.gradient_norm, two.gradient_norm);
    EXPECT_EQ(one.learning_rate, two.learning_rate);
  }
  trainer.copy_to(parameters_of(saved));
  other.copy_to(parameters_of(resumed));
  expect_same(saved, resumed);
  other.restore({});
  EXPECT_EQ(other.steps(), 0U);
  for (const arma::vec& m : other.state().m) EXPECT_EQ(arma::abs(m).max(), 0);
}

TEST(Trainer, CopiesParametersThereAndBack) {
  for (const LanguageModelConfig& config : {gpt2_config(), llama_config()}) {
    LanguageModel model = model_of(config), copy(config);
    Trainer(config, parameters_of(model)).copy_to(parameters_of(copy));
    expect_same(copy, model);
  }
}

auto refused(const std::string& what) { return ThrowsMessage<std::invalid_argument>(HasSubstr(what)); }

TEST(Trainer, RefusesWhatItCannotDo) {
  LanguageModelConfig qk_norm = llama_config(), soft_cap = llama_config(), pairing = llama_config();
  qk_norm.attention.qk_norm = true;
  soft_cap.attention.soft_cap = 5;
  pairing.attention.pairing = RopePairing::interleaved;
  for (const auto& one : {std::pair(qk_norm, "qk_norm"), {soft_cap, "soft_cap"}, {pairing, "pairing"}}) {
    LanguageModel model(one.first);
    EXPECT_THAT([&] { Trainer(one.first, parameters_of(model)); }, refused(one.second));
  }
}

TEST(Trainer, RejectsSizesThatWrapAround) {
  const auto rejects = [](const LanguageModelConfig& config, const std::string& what) {
    LanguageModel model = model_of(llama_config());
    EXPECT_THAT([&] { Trainer(config, parameters_of(model)); }, refused(what));
  };
  LanguageModelConfig layers = llama_config(), vocabulary = llama_config(), heads = llama_config();
  layers.num_layers = uword(1) << 60;
  rejects(layers, "num_layers is 1152921504606846976, expected at most the entries of parameters = 30");
  vocabulary.vocab_size += uword(1) << 63;  // times 22 it is as before
  rejects(vocabulary, "token_embedding, its rows x columns is 9223372036854775849 x 22, expected a product below 2^64");
  heads.attention.head_dim += uword(1) << 63;
  rejects(heads, "num_heads x head_dim is 6 x 9223372036854775816, expected a product below 2^64");
}

TEST(Trainer, RejectsWhatDoesNotFit) {
  LanguageModel model = model_of(gpt2_config()), other = model_of(llama_config());
  EXPECT_THAT([&] { Trainer(gpt2_config(), parameters_of(other)); }, refused("parameters has"));
  Trainer trainer(gpt2_config(), parameters_of(model), 2);
  EXPECT_THAT([&] { trainer.copy_to(parameters_of(other)); }, refused("parameters has"));
  EXPECT_THAT([&] { trainer.step({}, {}); }, refused("batches is empty"));
  EXPECT_THAT([&] { trainer.loss(batch_of(151, 1, 37)); }, refused("position is 150, expected below 150"));
  EXPECT_THAT([&] { trainer.loss(batch_of(4, 1, 38, 37)); }, refused("ids, its largest, is 37"));
  Batch batch = batch_of(4, 2, 37);
  batch.targets(1) = 37;
  EXPECT_THAT([&] { trainer.loss(batch); }, refused("targets holds 37, expected numbers below V = 37"));
  TrainingConfig training;
  training.max_norm = 0;
  EXPECT_THAT([&] { trainer.step({batch_of(4, 2, 37)}, training); }, refused("max_norm"));
  training = {};
  training.schedule.warmup_steps = 2000;
  EXPECT_THAT([&] { trainer.step({batch_of(4, 2, 37)}, training); }, refused("warmup_steps"));
  AdamWState state;
  state.m = state.v = {arma::vec(3)};
  EXPECT_THAT([&] { trainer.restore(state); }, refused("state"));
  EXPECT_EQ(trainer.steps(), 0U);
}

}  // namespace
}  // namespace attn::fast
