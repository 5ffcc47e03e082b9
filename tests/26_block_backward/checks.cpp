#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <armadillo>
#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "attn/activations_backward.hpp"
#include "attn/block_backward.hpp"
#include "attn/cross_entropy.hpp"
#include "attn/embedding_backward.hpp"
#include "attn/feed_forward_backward.hpp"
#include "attn/language_model.hpp"
#include "attn/language_model_backward.hpp"
#include "attn/masking.hpp"
#include "attn/norm_backward.hpp"
#include "attn/sliding_window.hpp"
#include "checks/differences.hpp"
#include "checks/draw.hpp"
#include "checks/golden.hpp"
#include "checks/matchers.hpp"
#include "checks/oracles.hpp"
#include "checks/properties.hpp"
#include "checks/speed.hpp"

namespace attn::judge {
namespace {

using arma::uword;
using Strings = std::vector<std::string>;

const Strings token_axes = {"L", "E", "B"};
const Strings hidden_axes = {"L", "F", "B"};
const Strings row_axes = {"1", "E"};
const Strings table_axes = {"V", "E"};
const Strings number_axes = {"1", "1"};

const std::vector<Activation> all_activations = {Activation::relu, Activation::gelu, Activation::gelu_tanh,
                                                 Activation::silu};

std::string name_of(Activation activation) {
  return Strings{"relu", "gelu", "gelu_tanh", "silu"}.at(static_cast<std::size_t>(activation));
}

/// The golden case of a feed-forward network with this activation.
std::string feed_forward_case(Activation activation) {
  return Strings{"feed_forward_relu", "feed_forward_gelu", "feed_forward_gelu_tanh", "feed_forward_silu"}.at(
      static_cast<std::size_t>(activation));
}

std::string by_differences() { return note("expected: the slope of the loss, by differences"); }

arma::mat as_mat(const arma::rowvec& x) { return x; }
arma::mat number(double x) { return as_mat(arma::rowvec{x}); }

arma::cube every(double x, uword rows, uword cols, uword slices) {
  arma::cube cube(rows, cols, slices);
  cube.fill(x);
  return cube;
}

// ------------------------------------------------------------------------- the definitions, one number at a time

/// Through the whole Jacobian of each row: d x_hat(k) / d x(j) = ([k = j] - 1/E - x_hat(k) x_hat(j) / E) / root, where
/// the 1/E is that of the mean.
NormBackward through_the_jacobian(bool centred, const arma::rowvec& weight, double epsilon, const arma::cube& X,
                                  const arma::cube& d_Y) {
  const double E = static_cast<double>(X.n_cols);
  NormBackward result{zeros(X.n_rows, X.n_cols, X.n_slices), {}};
  result.d_layer.weight.zeros(X.n_cols);
  if (centred) result.d_layer.bias.zeros(X.n_cols);
  for (uword b = 0; b < X.n_slices; ++b) {
    for (uword i = 0; i < X.n_rows; ++i) {
      double mean = 0, squares = 0;
      for (uword k = 0; k < X.n_cols && centred; ++k) mean += X(i, k, b) / E;
      for (uword k = 0; k < X.n_cols; ++k) squares += (X(i, k, b) - mean) * (X(i, k, b) - mean) / E;
      const double root = std::sqrt(squares + epsilon);
      for (uword k = 0; k < X.n_cols; ++k) {
        const double x_hat = (X(i, k, b) - mean) / root;
        result.d_layer.weight(k) += d_Y(i, k, b) * x_hat;
        if (centred) result.d_layer.bias(k) += d_Y(i, k, b);
        for (uword j = 0; j < X.n_cols; ++j) {
          const double other = (X(i, j, b) - mean) / root;
          const double slope = ((k == j ? 1 : 0) - (centred ? 1 / E : 0) - x_hat * other / E) / root;
          result.d_X(i, j, b) += d_Y(i, k, b) * weight(k) * slope;
        }
      }
    }
  }
  return result;
}

NormBackward naive(const LayerNorm& norm, const arma::cube& X, const arma::cube& d_Y) {
  return through_the_jacobian(true, norm.weight, norm.epsilon, X, d_Y);
}

NormBackward naive(const RMSNorm& norm, const arma::cube& X, const arma::cube& d_Y) {
  return through_the_jacobian(false, norm.weight, norm.epsilon, X, d_Y);
}

double sigmoid(double x) { return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x)); }

double naive_derivative(Activation activation, double x) {
  const double pi = arma::datum::pi, c = std::sqrt(2 / pi), a = 0.044715;
  switch (activation) {
    case Activation::relu: return x > 0 ? 1 : 0;
    case Activation::gelu: return std::erfc(-x / std::sqrt(2)) / 2 + x * std::exp(-x * x / 2) / std::sqrt(2 * pi);
    case Activation::gelu_tanh: {
      const double u = c * (x + a * x * x * x);  // tanh' is 1 / cosh²; where cosh overflows this is 0
      return sigmoid(2 * u) + x / 2 / std::cosh(u) / std::cosh(u) * c * (1 + 3 * a * x * x);
    }
    default: return sigmoid(x) + x * sigmoid(x) * sigmoid(-x);
  }
}

arma::cube naive_backward(Activation activation, const arma::cube& x, const arma::cube& d_y) {
  arma::cube d_x(arma::size(x));
  for (uword k = 0; k < x.n_elem; ++k) d_x(k) = d_y(k) * naive_derivative(activation, x(k));
  return d_x;
}

LinearBackward naive_linear_backward(const Linear& layer, const arma::cube& X, const arma::cube& d_Y) {
  LinearBackward result{zeros(X.n_rows, X.n_cols, X.n_slices), {}};
  result.d_layer.weight.zeros(layer.weight.n_rows, layer.weight.n_cols);
  result.d_layer.bias.zeros(layer.bias.n_elem);
  for (uword b = 0; b < X.n_slices; ++b) {
    for (uword i = 0; i < X.n_rows; ++i) {
      for (uword o = 0; o < layer.weight.n_cols; ++o) {
        if (!layer.bias.is_empty()) result.d_layer.bias(o) += d_Y(i, o, b);
        for (uword k = 0; k < X.n_cols; ++k) {
          result.d_X(i, k, b) += d_Y(i, o, b) * layer.weight(k, o);
          result.d_layer.weight(k, o) += X(i, k, b) * d_Y(i, o, b);
        }
      }
    }
  }
  return result;
}

arma::cube naive_through(const Linear& layer, const arma::cube& X) { return naive_linear(X, layer.weight, layer.bias); }

FeedForwardBackward naive(const FeedForward& layer, const arma::cube& X, const arma::cube& d_output) {
  const arma::cube up = naive_through(layer.up_proj, X);
  const LinearBackward down = naive_linear_backward(layer.down_proj, activate(layer.activation, up), d_output);
  const LinearBackward in = naive_linear_backward(layer.up_proj, X, naive_backward(layer.activation, up, down.d_X));
  return {in.d_X, {{}, in.d_layer, down.d_layer}};
}

FeedForwardBackward naive(const SwiGLU& layer, const arma::cube& X, const arma::cube& d_output) {
  const arma::cube gate = naive_through(layer.gate_proj, X), up = naive_through(layer.up_proj, X), open = silu(gate);
  const LinearBackward down = naive_linear_backward(layer.down_proj, open % up, d_output);
  const arma::cube d_gate = naive_backward(Activation::silu, gate, down.d_X % up), d_up = down.d_X % open;
  const LinearBackward by_gate = naive_linear_backward(layer.gate_proj, X, d_gate);
  const LinearBackward by_up = naive_linear_backward(layer.up_proj, X, d_up);
  return {by_gate.d_X + by_up.d_X, {by_gate.d_layer, by_up.d_layer, down.d_layer}};
}

// ----------------------------------------------------------------------------------- gradients by name, and PyTorch's

/// Gradients with the names that PyTorch's parameters have in the golden file, and parameters likewise.
using Named = std::vector<std::pair<std::string, arma::mat>>;

void add(Named& list, const std::string& name, const LinearGradients& gradients) {
  list.emplace_back(name + ".weight", gradients.weight);
  list.emplace_back(name + ".bias", gradients.bias);
}

void add(Named& list, const std::string& name, const NormGradients& gradients) {
  list.emplace_back(name + "weight", gradients.weight);
  list.emplace_back(name + "bias", gradients.bias);
}

void add(Named& list, const std::string& name, const FeedForwardGradients& gradients) {
  add(list, name + "gate_proj", gradients.gate_proj);
  add(list, name + "up_proj", gradients.up_proj);
  add(list, name + "down_proj", gradients.down_proj);
}

void add(Named& list, const std::string& name, const BlockGradients& gradients) {
  add(list, name + "feed_forward.", gradients.feed_forward);
  add(list, name + "feed_forward_norm.", gradients.feed_forward_norm);
  add(list, name + "attention.output_proj", gradients.attention.output_proj);
  add(list, name + "attention.value_proj", gradients.attention.value_proj);
  add(list, name + "attention.key_proj", gradients.attention.key_proj);
  add(list, name + "attention.query_proj", gradients.attention.query_proj);
  add(list, name + "attention_norm.", gradients.attention_norm);
}

Named named(const LanguageModelGradients& gradients) {
  Named list = {{"head.weight", gradients.head}};
  add(list, "final_norm.", gradients.final_norm);
  for (uword n = gradients.blocks.size(); n-- > 0;) {
    add(list, "blocks." + std::to_string(n) + ".", gradients.blocks[n]);
  }
  list.emplace_back("position_embedding.weight", gradients.position_embedding);
  list.emplace_back("token_embedding.weight", gradients.token_embedding);
  return list;
}

template <class Gradients>
Named named(const Gradients& gradients) {
  Named list;
  add(list, "", gradients);
  return list;
}

/// From the last layer to the first: so the first one that is wrong names the step.
void expect_golden(const Named& gradients, const GoldenCase& golden, const std::string& about = "") {
  for (const auto& [name, gradient] : gradients) {
    if (golden.has("d_" + name)) {
      EXPECT_THAT(gradient, Matches(golden.expected("d_" + name))) << note("the gradient of " + name) << about;
    } else {
      EXPECT_HOLDS(gradient.is_empty(), "the gradient of " + name + " is " + shape_text(gradient) +
                                            ", and the layer has no such parameter: it is empty")
          << about;
    }
  }
}

void expect_same(const Named& got, const Named& wanted, const std::string& about = "") {
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t k = 0; k < got.size(); ++k) {
    EXPECT_THAT(got[k].second, IsNear(wanted[k].second)) << note("the gradient of " + got[k].first) << about;
  }
}

void expect_zero(const Named& gradients, const std::string& about) {
  for (const auto& [name, x] : gradients) {
    const arma::mat zero(arma::size(x), arma::fill::zeros);
    EXPECT_THAT(x, IsNear(zero)) << note("the gradient of " + name) << about;
  }
}

// ------------------------------------------------------------------------------- layers with golden or drawn parts

template <class Norm>
Norm norm_of(const GoldenCase& golden, const std::string& name, double epsilon) {
  const arma::rowvec weight = golden.rowvec(name + "weight");
  Norm norm(weight.n_elem, epsilon);
  norm.weight = weight;
  if constexpr (std::is_same_v<Norm, LayerNorm>) norm.bias = golden.rowvec(name + "bias");
  return norm;
}

template <class Norm>
Norm drawn_norm(uword dim, double epsilon) {
  Norm norm(dim, epsilon);
  norm.weight.randn();
  if constexpr (std::is_same_v<Norm, LayerNorm>) norm.bias.randn();
  return norm;
}

FeedForward feed_forward_of(const GoldenCase& golden, const std::string& name, Activation activation) {
  const Linear up = golden.linear(name + "up_proj");
  FeedForward layer(up.weight.n_rows, up.weight.n_cols, activation);
  layer.up_proj = up;
  layer.down_proj = golden.linear(name + "down_proj");
  return layer;
}

SwiGLU swiglu_of(const GoldenCase& golden, const std::string& name = "") {
  const Linear up = golden.linear(name + "up_proj");
  SwiGLU layer(up.weight.n_rows, up.weight.n_cols);
  layer.gate_proj = golden.linear(name + "gate_proj");
  layer.up_proj = up;
  layer.down_proj = golden.linear(name + "down_proj");
  return layer;
}

/// What a right forward pass keeps: the backward passes are judged without the learner's forward pass.
KeptFeedForward kept_of(const FeedForward& layer, const arma::cube& X) { return {X, {}, layer.up_proj(X)}; }
KeptFeedForward kept_of(const SwiGLU& layer, const arma::cube& X) { return {X, layer.gate_proj(X), layer.up_proj(X)}; }

/// The sizes of the golden cases, by their names.
LanguageModelConfig config_of(const std::string& name) {
  const bool gpt2 = name.find("gpt2") != std::string::npos;
  LanguageModelConfig config;
  config.architecture = gpt2 ? Architecture::gpt2 : Architecture::llama;
  config.vocab_size = gpt2 ? 13 : 11;
  config.num_layers = 2;
  config.hidden_dim = gpt2 ? 7 : 5;
  config.attention.embed_dim = 6;
  config.attention.num_heads = gpt2 ? 3 : 4;
  config.attention.num_kv_heads = gpt2 ? 3 : 2;
  config.attention.head_dim = gpt2 ? 2 : 4;
  config.attention.bias = gpt2;
  config.attention.window = name == "llama" || name == "block_llama" || name == "gpt2_untied" ? 3 : 0;
  config.norm_epsilon = gpt2 ? 0.2 : 0.3;
  config.tied_head = name.find("untied") == std::string::npos;
  config.max_position = gpt2 ? 9 : 0;
  return config;
}

const Strings both_blocks = {"block_llama", "block_gpt2"};
const Strings all_models = {"llama", "llama_untied", "gpt2", "gpt2_untied"};

std::string about(const std::string& name) {
  if (name == "block_llama") return note("a block of a llama: RMSNorm, SwiGLU, H = 4, G = 2, a window of 3");
  if (name == "block_gpt2") return note("a block of a gpt2: LayerNorm, gelu_tanh, H = 3, biases");
  if (name == "llama") return note("a llama: tied head, a window of 3; some targets are ignored");
  if (name == "llama_untied") return note("a llama with a head of its own");
  if (name == "gpt2") return note("a gpt2: tied head, a table of 9 positions, biases");
  return note("a gpt2 with a head of its own and a window of 3; some targets are ignored");
}

AnyNorm any_norm_of(const GoldenCase& golden, const std::string& name, const LanguageModelConfig& config) {
  if (config.architecture == Architecture::gpt2) return norm_of<LayerNorm>(golden, name, config.norm_epsilon);
  return norm_of<RMSNorm>(golden, name, config.norm_epsilon);
}

DecoderBlock block_of(const GoldenCase& golden, const LanguageModelConfig& config, const std::string& prefix = "") {
  DecoderBlock block(config);
  block.attention_norm = any_norm_of(golden, prefix + "attention_norm.", config);
  block.feed_forward_norm = any_norm_of(golden, prefix + "feed_forward_norm.", config);
  block.attention.query_proj = golden.linear(prefix + "attention.query_proj");
  block.attention.key_proj = golden.linear(prefix + "attention.key_proj");
  block.attention.value_proj = golden.linear(prefix + "attention.value_proj");
  block.attention.output_proj = golden.linear(prefix + "attention.output_proj");
  const std::string network = prefix + "feed_forward.";
  if (config.architecture == Architecture::gpt2) {
    block.feed_forward = feed_forward_of(golden, network, Activation::gelu_tanh);
  } else {
    block.feed_forward = swiglu_of(golden, network);
  }
  return block;
}

LanguageModel model_of(const std::string& name) {
  const GoldenCase golden = load_golden(name);
  LanguageModel model(config_of(name));
  model.token_embedding.weight = golden.mat("token_embedding.weight");
  if (golden.has("position_embedding.weight")) model.position_embedding = golden.mat("position_embedding.weight");
  for (uword n = 0; n < model.blocks.size(); ++n) {
    model.blocks[n] = block_of(golden, model.config(), "blocks." + std::to_string(n) + ".");
  }
  model.final_norm = any_norm_of(golden, "final_norm.", model.config());
  if (golden.has("head.weight")) model.head = golden.mat("head.weight").t();
  return model;
}

void draw_norm(AnyNorm& norm) {
  std::visit([](auto& layer) { layer.weight.randn(); }, norm);
  if (auto* layer = std::get_if<LayerNorm>(&norm)) layer->bias.randn();
}

void draw_norms(DecoderBlock& block) {
  draw_norm(block.attention_norm);
  draw_norm(block.feed_forward_norm);
}

/// A block whose norms count, too.
DecoderBlock drawn_block(const std::string& name) {
  DecoderBlock block(config_of(name));
  draw_norms(block);
  return block;
}

LanguageModel drawn_model(const std::string& name) {
  LanguageModel model(config_of(name));
  for (DecoderBlock& block : model.blocks) draw_norms(block);
  draw_norm(model.final_norm);
  return model;
}

/// The mask of whole sequences.
Mask mask_of(const LanguageModelConfig& config, uword L) {
  const uword window = config.attention.window;
  return window == 0 ? causal_mask(L, L) : sliding_window_mask(L, L, window);
}

/// Its last layer gives zeros, whatever goes in.
void close_attention(DecoderBlock& block) {
  block.attention.output_proj.weight.zeros();
  block.attention.output_proj.bias.zeros();
}

void close_network(DecoderBlock& block) {
  std::visit(
      [](auto& layer) {
        layer.down_proj.weight.zeros();
        layer.down_proj.bias.zeros();
      },
      block.feed_forward);
}

arma::umat drawn_ids(uword V, uword L, uword B) {
  return arma::randi<arma::umat>(L, B, arma::distr_param(0, static_cast<int>(V) - 1));
}

arma::umat ids_of(const GoldenCase& golden) { return arma::conv_to<arma::umat>::from(golden.mat("ids")); }

/// A golden case keeps -1 for a target that is ignored.
arma::umat targets_of(const GoldenCase& golden) {
  const arma::mat numbers = golden.mat("targets");
  arma::umat targets(arma::size(numbers));
  for (uword k = 0; k < numbers.n_elem; ++k) targets(k) = numbers(k) < 0 ? ignored_target : uword(numbers(k));
  return targets;
}

/// What lesson 22's model, a new copy without tokens, gives for whole sequences.
double loss_of(LanguageModel model, const arma::umat& ids, const arma::umat& targets) {
  model.reset();
  return cross_entropy(model.extend(ids), targets);
}

/// Whether the gradients have the shapes of the parameters, so that a check may look into them.
bool has_shapes_of(const LanguageModelGradients& gradients, const LanguageModel& model) {
  return arma::size(gradients.token_embedding) == arma::size(model.token_embedding.weight) &&
         arma::size(gradients.position_embedding) == arma::size(model.position_embedding) &&
         arma::size(gradients.head) == arma::size(model.head) && gradients.blocks.size() == model.blocks.size();
}

const char* const wrong_shapes = "the gradients have not the shapes of the parameters: see the first check";

// ------------------------------------------------------------------------------------------ layer_norm_backward, 26.1

TEST(LayerNormBackward, GivesEachInputAGradientOfItsShape) {
  const NormBackward got = layer_norm_backward(drawn_norm<LayerNorm>(3, 0.1), normal(4, 3, 2), normal(4, 3, 2));
  EXPECT_THAT(got.d_X, HasShape({{"L", 4}, {"E", 3}, {"B", 2}})) << note("d_X");
  EXPECT_THAT(as_mat(got.d_layer.weight), HasShape({{"1", 1}, {"E", 3}})) << note("the gradient of the weight");
  EXPECT_THAT(as_mat(got.d_layer.bias), HasShape({{"1", 1}, {"E", 3}})) << note("the gradient of the bias");
}

TEST(LayerNormBackward, GivesTheExampleWorkedByHand) {
  const GoldenCase golden = load_golden("layer_norm_by_hand");
  const LayerNorm norm = norm_of<LayerNorm>(golden, "", 1e-5);
  const NormBackward got = layer_norm_backward(norm, golden.cube("X"), golden.cube("d_output"));
  const std::string inputs = given("X", golden.cube("X")) + given("d_Y", golden.cube("d_output"));
  expect_golden(named(got.d_layer), golden, inputs);
  EXPECT_THAT(got.d_X, Matches(golden.expected("d_X"))) << note("d_X") << inputs;
}

TEST(LayerNormBackward, GivesRowsThatSumToZero) {
  const NormBackward got = layer_norm_backward(drawn_norm<LayerNorm>(5, 0.1), normal(4, 5, 2), normal(4, 5, 2));
  ASSERT_THAT(got.d_X, HasShape({{"L", 4}, {"E", 5}, {"B", 2}}));
  EXPECT_THAT(arma::cube(arma::sum(got.d_X, 1)), IsNear(zeros(4, 1, 2), {"L", "1", "B"}))
      << note("the sums of the rows of d_X: the same added to all features of a token changes nothing");
}

TEST(LayerNormBackward, GivesRowsOrthogonalToTheNormalizedRow) {
  const LayerNorm norm = drawn_norm<LayerNorm>(5, 0);
  const arma::cube X = normal(4, 5, 2), d_X = layer_norm_backward(norm, X, normal(4, 5, 2)).d_X;
  ASSERT_THAT(d_X, HasShape({{"L", 4}, {"E", 5}, {"B", 2}}));
  const arma::cube x_hat = LayerNorm(5, 0)(X);
  EXPECT_THAT(arma::cube(arma::sum(d_X % x_hat, 1)), IsNear(zeros(4, 1, 2), {"L", "1", "B"}))
      << note("rows of d_X times the normalized rows, with epsilon 0: a longer row is normalized to the same");
}

TEST(LayerNormBackward, IsZeroForTwoFeatures) {
  const arma::cube d_X = layer_norm_backward(drawn_norm<LayerNorm>(2, 0), normal(4, 2, 3), normal(4, 2, 3)).d_X;
  EXPECT_THAT(d_X, IsNear(zeros(4, 2, 3), token_axes))
      << note("E = 2, epsilon 0: a row is normalized to (1, -1) or (-1, 1), whatever it was");
}

TEST(LayerNormBackward, IsLinearInTheGradientOfTheOutput) {
  const LayerNorm norm = drawn_norm<LayerNorm>(5, 0.1);
  const arma::cube X = normal(4, 5, 2), one = normal(4, 5, 2), other = normal(4, 5, 2);
  const NormBackward a = layer_norm_backward(norm, X, one), b = layer_norm_backward(norm, X, other);
  ASSERT_THAT(a.d_X, HasShape({{"L", 4}, {"E", 5}, {"B", 2}}));
  EXPECT_THAT(layer_norm_backward(norm, X, 2 * one - other).d_X, IsNear(arma::cube(2 * a.d_X - b.d_X), token_axes));
}

TEST(LayerNormBackward, KeepsTheTokensApart) {
  const LayerNorm norm = drawn_norm<LayerNorm>(5, 0.1);
  const arma::cube X = normal(4, 5, 2), d_Y = normal(4, 5, 2), together = layer_norm_backward(norm, X, d_Y).d_X;
  ASSERT_THAT(together, HasShape({{"L", 4}, {"E", 5}, {"B", 2}}));
  for (const uword i : {0U, 3U}) {
    EXPECT_THAT(arma::cube(together.rows(i, i)),
                IsNear(layer_norm_backward(norm, X.rows(i, i), d_Y.rows(i, i)).d_X, token_axes))
        << note("d_X of token " + std::to_string(i) + "; expected: what it gives without the other tokens");
  }
}

TEST(LayerNormBackward, AddsUpTheSharesOfAllTokens) {
  const LayerNorm norm = drawn_norm<LayerNorm>(5, 0.1);
  const arma::cube X = normal(4, 5, 2), d_Y = normal(4, 5, 2);
  arma::rowvec weight(5, arma::fill::zeros), bias(5, arma::fill::zeros);
  for (uword i = 0; i < 4; ++i) {
    const NormGradients one = layer_norm_backward(norm, X.rows(i, i), d_Y.rows(i, i)).d_layer;
    ASSERT_HOLDS(one.weight.n_elem == 5 && one.bias.n_elem == 5, wrong_shapes);
    weight += one.weight;
    bias += one.bias;
  }
  const NormGradients all = layer_norm_backward(norm, X, d_Y).d_layer;
  const std::string about = note("expected: the sum of what the tokens give one by one");
  EXPECT_THAT(as_mat(all.weight), IsNear(as_mat(weight), row_axes)) << about << note("the weight's");
  EXPECT_THAT(as_mat(all.bias), IsNear(as_mat(bias), row_axes)) << about << note("the bias's");
}

TEST(LayerNormBackward, EqualsPyTorch) {
  for (const std::string name : {"layer_norm", "layer_norm_half"}) {
    const GoldenCase golden = load_golden(name);
    const double epsilon = name == "layer_norm" ? 1e-5 : 0.5;
    const LayerNorm norm = norm_of<LayerNorm>(golden, "", epsilon);
    const NormBackward got = layer_norm_backward(norm, golden.cube("X"), golden.cube("d_output"));
    const std::string about = note("epsilon is " + std::to_string(epsilon));
    expect_golden(named(got.d_layer), golden, about);
    EXPECT_THAT(got.d_X, Matches(golden.expected("d_X"))) << note("d_X") << about;
  }
}

TEST(LayerNormBackward, EqualsTheDifferences) {
  const LayerNorm norm = drawn_norm<LayerNorm>(4, 0.2);
  const arma::cube X = normal(3, 4, 2), d_Y = normal(3, 4, 2);
  const NormBackward got = layer_norm_backward(norm, X, d_Y);
  const auto of_weight = [&](const arma::cube& x) {
    LayerNorm moved = norm;
    moved.weight = x.slice(0).row(0);
    return moved(X);
  };
  EXPECT_THAT(as_mat(got.d_layer.weight),
              Matches(gradient_by_differences(of_weight, d_Y, as_cube(as_mat(norm.weight)), row_axes)))
      << by_differences();
  EXPECT_THAT(got.d_X, Matches(gradient_by_differences(norm, d_Y, X, token_axes))) << by_differences();
}

TEST(LayerNormBackward, EqualsTheWholeJacobian) {
  for (const uword E : {uword(1), uword(3), uword(8), uword(33)}) {
    const LayerNorm norm = drawn_norm<LayerNorm>(E, 0.01);
    const double offset = E == 8 ? 1e4 : 5;  // far from 0 a variance by mean(x²) cancels
    const arma::cube X = 3 * normal(4, E, 2) + offset, d_Y = normal(4, E, 2);
    const NormBackward got = layer_norm_backward(norm, X, d_Y), wanted = naive(norm, X, d_Y);
    expect_same(named(got.d_layer), named(wanted.d_layer));
    EXPECT_THAT(got.d_X, IsNear(wanted.d_X, token_axes)) << note("d_X, E = " + std::to_string(E));
  }
}

TEST(LayerNormBackward, StaysFiniteForARowOfEqualNumbers) {
  const LayerNorm norm = drawn_norm<LayerNorm>(5, 1e-5);
  const arma::cube X = every(7, 3, 5, 2), d_Y = normal(3, 5, 2);
  EXPECT_THAT(layer_norm_backward(norm, X, d_Y).d_X, IsNear(naive(norm, X, d_Y).d_X, token_axes))
      << note("every feature is 7: the variance is 0, and epsilon alone is under the root");
}

TEST(LayerNormBackward, LeavesItsArguments) {
  const LayerNorm norm = drawn_norm<LayerNorm>(5, 0.1);
  const arma::cube X = normal(4, 5, 2), d_Y = normal(4, 5, 2);
  expect_leaves_its_arguments("layer_norm_backward", {{"X", X}, {"d_Y", d_Y}},
                              [&] { layer_norm_backward(norm, X, d_Y); });
}

// -------------------------------------------------------------------------------------------- rms_norm_backward, 26.2

TEST(RmsNormBackward, GivesEachInputAGradientOfItsShape) {
  const NormBackward got = rms_norm_backward(drawn_norm<RMSNorm>(3, 0.1), normal(4, 3, 2), normal(4, 3, 2));
  EXPECT_THAT(got.d_X, HasShape({{"L", 4}, {"E", 3}, {"B", 2}})) << note("d_X");
  EXPECT_THAT(as_mat(got.d_layer.weight), HasShape({{"1", 1}, {"E", 3}})) << note("the gradient of the weight");
  EXPECT_HOLDS(got.d_layer.bias.is_empty(),
               "d_layer.bias is " + shape_text(as_mat(got.d_layer.bias)) + ", and RMSNorm has no bias: it is empty")
      << likely_mistake("rms_norm_with_bias");
}

TEST(RmsNormBackward, GivesTheExampleWorkedByHand) {
  const GoldenCase golden = load_golden("rms_norm_by_hand");
  const NormBackward got =
      rms_norm_backward(norm_of<RMSNorm>(golden, "", 0), golden.cube("X"), golden.cube("d_output"));
  const std::string inputs = given("X", golden.cube("X")) + given("d_Y", golden.cube("d_output"));
  expect_golden(named(got.d_layer), golden, inputs);
  EXPECT_THAT(got.d_X, Matches(golden.expected("d_X"))) << note("d_X") << inputs;
}

TEST(RmsNormBackward, GivesRowsOrthogonalToTheInput) {
  const arma::cube X = normal(4, 5, 2), d_X = rms_norm_backward(drawn_norm<RMSNorm>(5, 0), X, normal(4, 5, 2)).d_X;
  ASSERT_THAT(d_X, HasShape({{"L", 4}, {"E", 5}, {"B", 2}}));
  EXPECT_THAT(arma::cube(arma::sum(d_X % X, 1)), IsNear(zeros(4, 1, 2), {"L", "1", "B"}))
      << note("rows of d_X times rows of X, with epsilon 0: a longer row is normalized to the same");
}

TEST(RmsNormBackward, HalvesWhereTheInputIsTwiceAsLarge) {
  const RMSNorm norm = drawn_norm<RMSNorm>(5, 0);
  const arma::cube X = normal(4, 5, 2), d_Y = normal(4, 5, 2), d_X = rms_norm_backward(norm, X, d_Y).d_X;
  ASSERT_THAT(d_X, HasShape({{"L", 4}, {"E", 5}, {"B", 2}}));
  EXPECT_THAT(rms_norm_backward(norm, 2 * X, d_Y).d_X, IsNear(arma::cube(d_X / 2), token_axes))
      << note("X is twice as large, epsilon 0: a change of the same size turns the row half as far");
}

TEST(RmsNormBackward, KeepsTheTokensApart) {
  const RMSNorm norm = drawn_norm<RMSNorm>(5, 0.1);
  const arma::cube X = normal(4, 5, 2), d_Y = normal(4, 5, 2), together = rms_norm_backward(norm, X, d_Y).d_X;
  ASSERT_THAT(together, HasShape({{"L", 4}, {"E", 5}, {"B", 2}}));
  for (const uword i : {0U, 3U}) {
    EXPECT_THAT(arma::cube(together.rows(i, i)),
                IsNear(rms_norm_backward(norm, X.rows(i, i), d_Y.rows(i, i)).d_X, token_axes))
        << note("d_X of token " + std::to_string(i) + "; expected: what it gives without the other tokens");
  }
}

TEST(RmsNormBackward, EqualsPyTorch) {
  for (const std::string name : {"rms_norm", "rms_norm_half"}) {
    const GoldenCase golden = load_golden(name);
    const double epsilon = name == "rms_norm" ? 1e-6 : 0.5;
    const RMSNorm norm = norm_of<RMSNorm>(golden, "", epsilon);
    const NormBackward got = rms_norm_backward(norm, golden.cube("X"), golden.cube("d_output"));
    const std::string about = note("epsilon is " + std::to_string(epsilon));
    expect_golden(named(got.d_layer), golden, about);
    EXPECT_THAT(got.d_X, Matches(golden.expected("d_X"))) << note("d_X") << about;
  }
}

TEST(RmsNormBackward, EqualsTheDifferences) {
  const RMSNorm norm = drawn_norm<RMSNorm>(4, 0.2);
  const arma::cube X = normal(3, 4, 2), d_Y = normal(3, 4, 2);
  const NormBackward got = rms_norm_backward(norm, X, d_Y);
  const auto of_weight = [&](const arma::cube& x) {
    RMSNorm moved = norm;
    moved.weight = x.slice(0).row(0);
    return moved(X);
  };
  EXPECT_THAT(as_mat(got.d_layer.weight),
              Matches(gradient_by_differences(of_weight, d_Y, as_cube(as_mat(norm.weight)), row_axes)))
      << by_differences();
  EXPECT_THAT(got.d_X, Matches(gradient_by_differences(norm, d_Y, X, token_axes))) << by_differences();
}

TEST(RmsNormBackward, EqualsTheWholeJacobian) {
  for (const uword E : {uword(1), uword(3), uword(8), uword(33)}) {
    const RMSNorm norm = drawn_norm<RMSNorm>(E, 0.01);
    const arma::cube X = 3 * normal(4, E, 2) + 5, d_Y = normal(4, E, 2);
    const NormBackward got = rms_norm_backward(norm, X, d_Y), wanted = naive(norm, X, d_Y);
    expect_same(named(got.d_layer), named(wanted.d_layer));
    EXPECT_THAT(got.d_X, IsNear(wanted.d_X, token_axes)) << note("d_X, E = " + std::to_string(E));
  }
}

TEST(RmsNormBackward, LeavesItsArguments) {
  const RMSNorm norm = drawn_norm<RMSNorm>(5, 0.1);
  const arma::cube X = normal(4, 5, 2), d_Y = normal(4, 5, 2);
  expect_leaves_its_arguments("rms_norm_backward", {{"X", X}, {"d_Y", d_Y}}, [&] { rms_norm_backward(norm, X, d_Y); });
}

// --------------------------------------------------------------------------- relu_backward to silu_backward, 26.3

TEST(ActivationsBackward, KeepTheShape) {
  for (const Activation activation : all_activations) {
    EXPECT_THAT(activate_backward(activation, normal(4, 3, 2), normal(4, 3, 2)),
                HasShape({{"L", 4}, {"F", 3}, {"B", 2}}))
        << note(name_of(activation) + "_backward");
  }
}

TEST(ActivationsBackward, GiveTheExampleWorkedByHand) {
  const GoldenCase golden = load_golden("activations_by_hand");
  for (const Activation activation : all_activations) {
    EXPECT_THAT(activate_backward(activation, golden.cube("x"), golden.cube("d_y")),
                Matches(golden.expected(name_of(activation))))
        << note(name_of(activation) + "_backward, with d_y = 1") << given("x", golden.cube("x"));
  }
}

TEST(ActivationsBackward, AreOneHalfAtZero) {
  for (const Activation activation : {Activation::gelu, Activation::gelu_tanh, Activation::silu}) {
    EXPECT_THAT(activate_backward(activation, zeros(2, 3, 1), every(1, 2, 3, 1)), IsNear(every(0.5, 2, 3, 1)))
        << note(name_of(activation) + "_backward at x = 0, with d_y = 1");
  }
  EXPECT_THAT(relu_backward(zeros(2, 3, 1), every(1, 2, 3, 1)), IsNear(zeros(2, 3, 1)))
      << note("relu_backward at x = 0: there is no derivative there; PyTorch takes 0");
}

TEST(ActivationsBackward, AddUpToOneAtXAndMinusX) {
  const arma::cube x = 2 * normal(4, 5, 2), one = every(1, 4, 5, 2);
  for (const Activation activation : all_activations) {
    const arma::cube sum = activate_backward(activation, x, one) + activate_backward(activation, -x, one);
    EXPECT_THAT(sum, IsNear(one, hidden_axes))
        << note("the derivatives of " + name_of(activation) + " at x and at -x: f(x) - f(-x) is x");
  }
}

TEST(ActivationsBackward, AreNegativeBelowTheLowestPoint) {
  arma::cube x(1, 2, 1);
  x(0) = -1.3;  // silu is lowest at -1.278, gelu at -0.752
  x(1) = -4;
  for (const Activation activation : {Activation::gelu, Activation::gelu_tanh, Activation::silu}) {
    const arma::cube d_x = activate_backward(activation, x, every(1, 1, 2, 1));
    ASSERT_THAT(d_x, HasShape({{"L", 1}, {"F", 2}, {"B", 1}}));
    EXPECT_THAT(d_x, IsNear(naive_backward(activation, x, every(1, 1, 2, 1)), hidden_axes))
        << note(name_of(activation) +
                " falls from 0 to its lowest point before it rises: its derivative is negative "
                "at -1.3 and -4");
  }
}

TEST(ActivationsBackward, MultiplyTheGradientNumberByNumber) {
  for (const Activation activation : all_activations) {
    const arma::cube x = normal(4, 5, 2), d_y = normal(4, 5, 2);
    const arma::cube slope = activate_backward(activation, x, every(1, 4, 5, 2));
    ASSERT_THAT(slope, HasShape({{"L", 4}, {"F", 5}, {"B", 2}}));
    EXPECT_THAT(activate_backward(activation, x, d_y), IsNear(arma::cube(d_y % slope), hidden_axes))
        << note(name_of(activation) + "_backward; expected: d_y times what d_y = 1 gives");
  }
}

TEST(ActivationsBackward, EqualPyTorch) {
  const GoldenCase golden = load_golden("activations");
  for (const Activation activation : all_activations) {
    EXPECT_THAT(activate_backward(activation, golden.cube("x"), golden.cube("d_y")),
                Matches(golden.expected(name_of(activation))))
        << note(name_of(activation) + "_backward");
  }
}

TEST(ActivationsBackward, EqualTheDifferences) {
  for (const Activation activation : all_activations) {
    const arma::cube x = arma::sign(normal(3, 4, 2)) % (0.1 + arma::abs(normal(3, 4, 2)));  // away from relu's kink
    const arma::cube d_y = normal(3, 4, 2);
    const auto function = [&](const arma::cube& z) { return activate(activation, z); };
    EXPECT_THAT(activate_backward(activation, x, d_y), Matches(gradient_by_differences(function, d_y, x, hidden_axes)))
        << note(name_of(activation) + "_backward") << by_differences();
  }
}

TEST(ActivationsBackward, StayFiniteForLargeNumbers) {
  arma::cube x(2, 3, 1);
  x.slice(0) = {{-1e4, -800, -40}, {40, 800, 1e4}};
  for (const Activation activation : all_activations) {
    EXPECT_THAT(activate_backward(activation, x, every(1, 2, 3, 1)),
                IsNear(arma::cube(arma::conv_to<arma::cube>::from(x > 0)), hidden_axes))
        << note(name_of(activation) + "_backward: 0 far to the left, 1 far to the right") << given("x", x);
  }
}

TEST(ActivationsBackward, LeaveTheirArguments) {
  const arma::cube x = normal(4, 3, 2), d_y = normal(4, 3, 2);
  for (const Activation activation : all_activations) {
    expect_leaves_its_arguments(name_of(activation) + "_backward", {{"x", x}, {"d_y", d_y}},
                                [&] { activate_backward(activation, x, d_y); });
  }
}

// ----------------------------------------------------------- feed_forward_forward and feed_forward_backward, 26.4

TEST(FeedForwardForward, GivesWhatTheLayerGives) {
  for (const Activation activation : all_activations) {
    const FeedForward layer(3, 5, activation);
    const arma::cube X = 2 * normal(4, 3, 2);
    EXPECT_THAT(feed_forward_forward(layer, X).output, IsNear(layer(X), token_axes)) << note(name_of(activation));
  }
}

TEST(FeedForwardForward, KeepsWhatTheBackwardPassReads) {
  const FeedForward layer(3, 5, Activation::gelu);
  const arma::cube X = normal(4, 3, 2);
  const KeptFeedForward kept = feed_forward_forward(layer, X).kept;
  EXPECT_THAT(kept.X, IsNear(X, token_axes)) << note("kept.X");
  EXPECT_THAT(kept.up, IsNear(layer.up_proj(X), hidden_axes)) << note("kept.up: before the activation");
  EXPECT_HOLDS(kept.gate.is_empty(), "kept.gate is " + shape_text(kept.gate) + ", and FeedForward has no gate");
}

TEST(FeedForwardBackward, GivesEachInputAGradientOfItsShape) {
  const FeedForward layer(3, 5);
  const FeedForwardBackward got = feed_forward_backward(layer, normal(4, 3, 2), kept_of(layer, normal(4, 3, 2)));
  EXPECT_THAT(got.d_X, HasShape({{"L", 4}, {"E", 3}, {"B", 2}})) << note("d_X");
  EXPECT_THAT(got.d_layer.up_proj.weight, HasShape({{"E", 3}, {"F", 5}})) << note("up_proj.weight");
  EXPECT_THAT(got.d_layer.down_proj.weight, HasShape({{"F", 5}, {"E", 3}})) << note("down_proj.weight");
}

TEST(FeedForwardBackward, EqualsPyTorch) {
  for (const Activation activation : all_activations) {
    const GoldenCase golden = load_golden(feed_forward_case(activation));
    const FeedForward layer = feed_forward_of(golden, "", activation);
    const arma::cube X = golden.cube("X");
    const FeedForwardBackward got = feed_forward_backward(layer, golden.cube("d_output"), kept_of(layer, X));
    expect_golden(named(got.d_layer), golden, note(name_of(activation)));
    EXPECT_THAT(got.d_X, Matches(golden.expected("d_X"))) << note("d_X, " + name_of(activation));
  }
}

TEST(FeedForwardBackward, EqualsTheDifferences) {
  const FeedForward layer(4, 5, Activation::gelu);
  const arma::cube X = normal(3, 4, 2), d_output = normal(3, 4, 2);
  EXPECT_THAT(feed_forward_backward(layer, d_output, kept_of(layer, X)).d_X,
              Matches(gradient_by_differences(layer, d_output, X, token_axes)))
      << by_differences();
}

TEST(FeedForwardBackward, EqualsTheDefinitionForOtherSizes) {
  for (const uword F : {uword(1), uword(3), uword(17)}) {
    const FeedForward layer(3, F, Activation::gelu_tanh);
    const arma::cube X = 2 * normal(4, 3, 2), d_output = normal(4, 3, 2);
    const FeedForwardBackward got = feed_forward_backward(layer, d_output, kept_of(layer, X));
    const FeedForwardBackward wanted = naive(layer, X, d_output);
    expect_same(named(got.d_layer), named(wanted.d_layer));
    EXPECT_THAT(got.d_X, IsNear(wanted.d_X, token_axes)) << note("d_X, F = " + std::to_string(F));
  }
}

// ----------------------------------------------------------------------- swiglu_forward and swiglu_backward, 26.4

TEST(SwigluForward, GivesWhatTheLayerGives) {
  const SwiGLU layer(3, 5);
  const arma::cube X = 2 * normal(4, 3, 2);
  EXPECT_THAT(swiglu_forward(layer, X).output, IsNear(layer(X), token_axes));
}

TEST(SwigluForward, KeepsWhatTheBackwardPassReads) {
  const SwiGLU layer(3, 5);
  const arma::cube X = normal(4, 3, 2);
  const KeptFeedForward kept = swiglu_forward(layer, X).kept;
  EXPECT_THAT(kept.X, IsNear(X, token_axes)) << note("kept.X");
  EXPECT_THAT(kept.gate, IsNear(layer.gate_proj(X), hidden_axes)) << note("kept.gate: before silu");
  EXPECT_THAT(kept.up, IsNear(layer.up_proj(X), hidden_axes)) << note("kept.up: X through up_proj");
}

TEST(SwigluBackward, GivesTheExampleWorkedByHand) {
  const GoldenCase golden = load_golden("swiglu_by_hand");
  const SwiGLU layer = swiglu_of(golden);
  const FeedForwardBackward got = swiglu_backward(layer, golden.cube("d_output"), kept_of(layer, golden.cube("X")));
  expect_golden(named(got.d_layer), golden);
  EXPECT_THAT(got.d_X, Matches(golden.expected("d_X"))) << note("d_X");
}

TEST(SwigluBackward, GivesNothingToUpProjThroughAClosedGate) {
  SwiGLU layer(3, 5);
  layer.gate_proj.weight.zeros();  // silu(0) is 0, its derivative 1/2
  const arma::cube X = normal(4, 3, 2);
  const FeedForwardBackward got = swiglu_backward(layer, normal(4, 3, 2), kept_of(layer, X));
  EXPECT_THAT(got.d_layer.up_proj.weight, IsNear(arma::mat(3, 5, arma::fill::zeros), {"E", "F"}))
      << note("the gradient of up_proj.weight, where gate_proj.weight is 0: silu(0) = 0 lets nothing through");
  EXPECT_HOLDS(got.d_layer.gate_proj.weight.n_elem == 15 && arma::abs(got.d_layer.gate_proj.weight).max() > 0,
               "the gradient of gate_proj.weight is 0 where that weight is 0; silu has the slope 1/2 there");
}

TEST(SwigluBackward, EqualsPyTorch) {
  const GoldenCase golden = load_golden("swiglu");
  const SwiGLU layer = swiglu_of(golden);
  const FeedForwardBackward got = swiglu_backward(layer, golden.cube("d_output"), kept_of(layer, golden.cube("X")));
  expect_golden(named(got.d_layer), golden);
  EXPECT_THAT(got.d_X, Matches(golden.expected("d_X"))) << note("d_X");
}

TEST(SwigluBackward, EqualsTheDifferences) {
  const SwiGLU layer(4, 5);
  const arma::cube X = 2 * normal(3, 4, 2), d_output = normal(3, 4, 2);
  EXPECT_THAT(swiglu_backward(layer, d_output, kept_of(layer, X)).d_X,
              Matches(gradient_by_differences(layer, d_output, X, token_axes)))
      << by_differences();
}

TEST(SwigluBackward, EqualsTheDefinitionForOtherSizes) {
  for (const uword F : {uword(1), uword(3), uword(17)}) {
    const SwiGLU layer(3, F);
    const arma::cube X = 3 * normal(4, 3, 2), d_output = normal(4, 3, 2);
    const FeedForwardBackward got = swiglu_backward(layer, d_output, kept_of(layer, X));
    const FeedForwardBackward wanted = naive(layer, X, d_output);
    expect_same(named(got.d_layer), named(wanted.d_layer));
    EXPECT_THAT(got.d_X, IsNear(wanted.d_X, token_axes)) << note("d_X, F = " + std::to_string(F));
  }
}

// --------------------------------------------------------------------------- block_forward and block_backward, 26.5

TEST(BlockForward, GivesWhatTheBlockGives) {
  for (const std::string& name : both_blocks) {
    const DecoderBlock block = drawn_block(name);
    const arma::cube X = normal(5, 6, 2);
    DecoderBlock copy = block;
    EXPECT_THAT(block_forward(block, X, mask_of(config_of(name), 5)).output, IsNear(copy.extend(X), token_axes))
        << about(name) << note("expected: what DecoderBlock::extend gives with an empty cache");
  }
}

TEST(BlockForward, HandsTheMaskToAttention) {
  for (const std::string& name : both_blocks) {
    const DecoderBlock block = drawn_block(name);
    const arma::cube X = normal(5, 6, 2);
    for (const Mask& mask : {Mask(), random_mask(5, 5, 2)}) {
      const arma::cube h = X + multi_head_forward(block.attention, apply_layer(block.attention_norm, X), mask).output;
      EXPECT_THAT(
          block_forward(block, X, mask).output,
          IsNear(arma::cube(h + apply_layer(block.feed_forward, apply_layer(block.feed_forward_norm, h))), token_axes))
          << about(name) << note(mask.is_empty() ? "an empty mask blocks nothing" : "a mask for each sequence");
    }
  }
}

TEST(BlockForward, KeepsWhatTheBackwardPassReads) {
  for (const std::string& name : both_blocks) {
    DecoderBlock block = drawn_block(name);
    const arma::cube X = normal(5, 6, 2);
    const KeptBlock kept = block_forward(block, X, mask_of(config_of(name), 5)).kept;
    EXPECT_THAT(kept.X, IsNear(X, token_axes)) << about(name) << note("kept.X: what went into the first norm");
    EXPECT_THAT(kept.attention.X, IsNear(apply_layer(block.attention_norm, X), token_axes))
        << about(name) << note("kept.attention.X: what the first norm gave");
    close_network(block);
    EXPECT_THAT(kept.h, IsNear(block.extend(X), token_axes))
        << about(name) << note("kept.h: the stream after attention, which went into the second norm");
  }
}

TEST(BlockBackward, GivesTheInputAGradientOfItsShape) {
  const DecoderBlock block = drawn_block("block_llama");
  const BlockBackward got = block_backward(block, normal(5, 6, 2), block_forward(block, normal(5, 6, 2)).kept);
  EXPECT_THAT(got.d_X, HasShape({{"L", 5}, {"E", 6}, {"B", 2}})) << note("d_X");
}

TEST(BlockBackward, HandsOnTheGradientWhereBothBranchesGiveZeros) {
  for (const std::string& name : both_blocks) {
    DecoderBlock block = drawn_block(name);
    close_attention(block);
    close_network(block);
    const arma::cube d_output = normal(5, 6, 2);
    EXPECT_THAT(block_backward(block, d_output, block_forward(block, normal(5, 6, 2)).kept).d_X,
                IsNear(d_output, token_axes))
        << about(name) << note("the last layers of both branches are 0: the output is X, so that d_X is d_output");
  }
}

/// d_X of a block whose other branch gives zeros: past the branch, and through it.
arma::cube d_X_of_attention_alone(const DecoderBlock& block, const arma::cube& d_output, const arma::cube& X,
                                  const Mask& mask) {
  const auto kept = multi_head_forward(block.attention, apply_layer(block.attention_norm, X), mask).kept;
  const arma::cube d_normed = multi_head_backward(block.attention, d_output, kept).d_X;
  return d_output + std::visit([&](const auto& norm) { return naive(norm, X, d_normed).d_X; }, block.attention_norm);
}

arma::cube d_X_of_network_alone(const DecoderBlock& block, const arma::cube& d_output, const arma::cube& X) {
  const arma::cube normed = apply_layer(block.feed_forward_norm, X);
  const arma::cube d_normed =
      std::visit([&](const auto& layer) { return naive(layer, normed, d_output).d_X; }, block.feed_forward);
  return d_output + std::visit([&](const auto& norm) { return naive(norm, X, d_normed).d_X; }, block.feed_forward_norm);
}

TEST(BlockBackward, GoesBackThroughOneBranchAtATime) {
  for (const std::string& name : both_blocks) {
    for (const bool attention : {true, false}) {
      DecoderBlock block = drawn_block(name);
      attention ? close_network(block) : close_attention(block);
      const arma::cube X = normal(5, 6, 2), d_output = normal(5, 6, 2);
      const Mask mask = mask_of(config_of(name), 5);
      const arma::cube wanted =
          attention ? d_X_of_attention_alone(block, d_output, X, mask) : d_X_of_network_alone(block, d_output, X);
      EXPECT_THAT(block_backward(block, d_output, block_forward(block, X, mask).kept).d_X, IsNear(wanted, token_axes))
          << about(name) << note(attention ? "the feed-forward network gives 0" : "attention gives 0")
          << note("expected: d_output, and what goes back through the other branch, by lesson 25 and the definitions");
    }
  }
}

TEST(BlockBackward, IsLinearInTheGradientOfTheOutput) {
  const DecoderBlock block = drawn_block("block_llama");
  const KeptBlock kept = block_forward(block, normal(5, 6, 2)).kept;
  const arma::cube one = normal(5, 6, 2), other = normal(5, 6, 2);
  const BlockBackward a = block_backward(block, one, kept), b = block_backward(block, other, kept);
  ASSERT_THAT(a.d_X, HasShape({{"L", 5}, {"E", 6}, {"B", 2}}));
  EXPECT_THAT(block_backward(block, 2 * one - other, kept).d_X, IsNear(arma::cube(2 * a.d_X - b.d_X), token_axes));
}

TEST(BlockBackward, GivesNothingToTheFutureAndToWhatTheWindowHides) {
  for (const std::string& name : both_blocks) {
    const DecoderBlock block = drawn_block(name);
    arma::cube d_output = zeros(6, 6, 2);
    d_output.row(4).ones();
    const Mask mask = mask_of(config_of(name), 6);
    const arma::cube d_X = block_backward(block, d_output, block_forward(block, normal(6, 6, 2), mask).kept).d_X;
    ASSERT_THAT(arma::size(d_X), ::testing::Eq(arma::size(6, 6, 2)));
    EXPECT_THAT(arma::cube(d_X.rows(5, 5)), IsNear(zeros(1, 6, 2), token_axes))
        << about(name) << note("d_X of token 5, where the loss reads token 4 only");
    if (name != "block_llama") continue;
    EXPECT_THAT(arma::cube(d_X.rows(0, 1)), IsNear(zeros(2, 6, 2), token_axes))
        << about(name) << note("d_X of tokens 0 and 1, where the loss reads token 4 only, which sees 2, 3 and 4");
  }
}

TEST(BlockBackward, KeepsTheBatchApart) {
  const DecoderBlock block = drawn_block("block_gpt2");
  const arma::cube X = normal(5, 6, 3), d_output = normal(5, 6, 3);
  const Mask mask = causal_mask(5, 5);
  const auto d_X = [&](const arma::cube& x, const arma::cube& d) {
    return block_backward(block, d, block_forward(block, x, mask).kept).d_X;
  };
  expect_keeps_apart("sequence", 3, d_X(X, d_output),
                     [&](uword b) { return d_X(X.slices(b, b), d_output.slices(b, b)); });
}

TEST(BlockBackward, EqualsPyTorch) {
  for (const std::string& name : both_blocks) {
    const GoldenCase golden = load_golden(name);
    const DecoderBlock block = block_of(golden, config_of(name));
    const BlockForward forward = block_forward(block, golden.cube("X"), mask_of(config_of(name), 5));
    EXPECT_THAT(forward.output, Matches(golden.expected("output"))) << about(name) << note("the output");
    const BlockBackward got = block_backward(block, golden.cube("d_output"), forward.kept);
    expect_golden(named(got.d_layer), golden, about(name));
    EXPECT_THAT(got.d_X, Matches(golden.expected("d_X"))) << about(name) << note("d_X");
  }
}

TEST(BlockBackward, EqualsTheDifferences) {
  for (const std::string& name : both_blocks) {
    const DecoderBlock block = drawn_block(name);
    const arma::cube X = normal(5, 6, 2), d_output = normal(5, 6, 2);
    const Mask mask = mask_of(config_of(name), 5);
    const arma::cube d_X = block_backward(block, d_output, block_forward(block, X, mask).kept).d_X;
    ASSERT_THAT(d_X, HasShape({{"L", 5}, {"E", 6}, {"B", 2}})) << about(name);
    // Each token moves along one random direction of its features: one by one they would take six times as long.
    const arma::mat direction = normal(1, 6);
    const auto along = [&](const arma::cube& steps) {  // (L x 1 x B)
      arma::cube moved = X;
      for (uword b = 0; b < X.n_slices; ++b) moved.slice(b) += steps.slice(b) * direction;
      return DecoderBlock(block).extend(moved);
    };
    arma::cube slopes(5, 1, 2);
    for (uword b = 0; b < X.n_slices; ++b) slopes.slice(b) = d_X.slice(b) * direction.t();
    EXPECT_THAT(slopes, Matches(gradient_by_differences(along, d_output, zeros(5, 1, 2), {"L", "1", "B"})))
        << about(name) << note("each row of d_X times the same random row") << by_differences();
  }
}

// -------------------------------------------------------------------- embedding_backward and positions_backward, 26.6

TEST(EmbeddingBackward, HasTheShapeOfTheWeight) {
  EXPECT_THAT(embedding_backward(Embedding(7, 3), drawn_ids(7, 4, 2), normal(4, 3, 2)), HasShape({{"V", 7}, {"E", 3}}));
}

TEST(EmbeddingBackward, GivesTheExampleWorkedByHand) {
  const GoldenCase golden = load_golden("embedding_by_hand");
  EXPECT_THAT(embedding_backward(Embedding(4, 2), ids_of(golden), golden.cube("d_Y")),
              Matches(golden.expected("d_weight")))
      << note("the ids are 2, 0, 2") << given("d_Y", golden.cube("d_Y"));
}

TEST(EmbeddingBackward, AddsUpTheRowsOfATokenThatRepeats) {
  const arma::cube d_Y = normal(4, 3, 2);
  arma::mat wanted(6, 3, arma::fill::zeros);
  wanted.row(5) = arma::sum(d_Y.slice(0), 0) + arma::sum(d_Y.slice(1), 0);
  arma::umat ids(4, 2);
  ids.fill(5);
  EXPECT_THAT(embedding_backward(Embedding(6, 3), ids, d_Y), IsNear(wanted, table_axes)) << note("all eight ids are 5");
}

TEST(EmbeddingBackward, EqualsPyTorch) {
  const GoldenCase golden = load_golden("embedding");
  EXPECT_THAT(embedding_backward(Embedding(7, 2), ids_of(golden), golden.cube("d_Y")),
              Matches(golden.expected("d_weight")))
      << note("15 tokens of 4 kinds, V = 7");
}

TEST(EmbeddingBackward, EqualsTheDifferences) {
  const Embedding embedding(5, 3);
  const arma::umat ids = drawn_ids(5, 4, 2);
  const arma::cube d_Y = normal(4, 3, 2);
  const auto of_weight = [&](const arma::cube& x) {
    Embedding moved = embedding;
    moved.weight = x.slice(0);
    return moved(ids);
  };
  EXPECT_THAT(embedding_backward(embedding, ids, d_Y),
              Matches(gradient_by_differences(of_weight, d_Y, as_cube(embedding.weight), table_axes)))
      << by_differences();
}

TEST(PositionsBackward, AddsUpTheSequences) {
  const arma::cube d_X = normal(4, 3, 2);
  arma::mat wanted(6, 3, arma::fill::zeros);
  wanted.head_rows(4) = d_X.slice(0) + d_X.slice(1);
  EXPECT_THAT(positions_backward(normal(6, 3), d_X), IsNear(wanted, {"P", "E"}))
      << note("row i of the table was added to row i of both sequences; rows 4 and 5 were not used");
}

// -------------------------------------------------------------------------------------------- loss_and_gradients, 26.7

TEST(LossAndGradients, GivesEachParameterAGradientOfItsShape) {
  for (const std::string& name : all_models) {
    const LanguageModel model = drawn_model(name);
    const uword V = model.config().vocab_size, P = model.config().max_position;
    const LanguageModelGradients got = loss_and_gradients(model, drawn_ids(V, 5, 2), drawn_ids(V, 5, 2)).gradients;
    EXPECT_THAT(got.token_embedding, HasShape({{"V", V}, {"E", 6}})) << about(name) << note("token_embedding");
    EXPECT_HOLDS(got.blocks.size() == 2, std::to_string(got.blocks.size()) + " blocks have gradients, expected 2")
        << about(name);
    if (P > 0) {
      EXPECT_THAT(got.position_embedding, HasShape({{"P", P}, {"E", 6}}))
          << about(name) << (got.position_embedding.is_empty() ? likely_mistake("positions_gradient_forgotten") : "");
    } else {
      EXPECT_HOLDS(got.position_embedding.is_empty(), "position_embedding has a gradient; a llama has no such table");
    }
    if (model.config().tied_head) {
      EXPECT_HOLDS(got.head.is_empty(), "head has a gradient; a tied head has no weight of its own") << about(name);
    } else {
      EXPECT_THAT(got.head, HasShape({{"E", 6}, {"V", V}}))
          << about(name) << note("head") << (got.head.n_rows == V ? likely_mistake("head_gradient_transposed") : "");
    }
  }
}

TEST(LossAndGradients, GivesTheLossOfTheModel) {
  for (const std::string& name : all_models) {
    const LanguageModel model = drawn_model(name);
    const uword V = model.config().vocab_size;
    const arma::umat ids = drawn_ids(V, 6, 2), targets = drawn_ids(V, 6, 2);
    EXPECT_THAT(number(loss_and_gradients(model, ids, targets).loss),
                IsNear(number(loss_of(model, ids, targets)), number_axes))
        << about(name) << note("expected: the mean of -log p of the targets, p by LanguageModel::extend");
  }
}

TEST(LossAndGradients, ReadsTheWindowOfTheConfiguration) {
  for (const uword window : {uword(1), uword(2), uword(20)}) {
    LanguageModelConfig config = config_of("llama");
    config.attention.window = window;
    const LanguageModel model(config);
    const arma::umat ids = drawn_ids(11, 6, 2), targets = drawn_ids(11, 6, 2);
    EXPECT_THAT(number(loss_and_gradients(model, ids, targets).loss),
                IsNear(number(loss_of(model, ids, targets)), number_axes))
        << note("a llama with a window of " + std::to_string(window) + ", and 6 tokens");
  }
}

TEST(LossAndGradients, LeavesTheCachesAlone) {
  LanguageModel model = drawn_model("llama");
  model.extend(drawn_ids(11, 3, 2));
  const LanguageModel before = model;
  const arma::umat ids = drawn_ids(11, 4, 2), targets = drawn_ids(11, 4, 2);
  EXPECT_THAT(number(loss_and_gradients(model, ids, targets).loss),
              IsNear(number(loss_of(model, ids, targets)), number_axes))
      << note("the model has taken three tokens before: they are no part of these sequences");
  EXPECT_HOLDS(arma::all(model.lengths() == before.lengths()), "the model has other tokens in its caches than before");
}

TEST(LossAndGradients, EqualsPyTorch) {
  for (const std::string& name : all_models) {
    const GoldenCase golden = load_golden(name);
    const LanguageModel model = model_of(name);
    const LossAndGradients got = loss_and_gradients(model, ids_of(golden), targets_of(golden));
    EXPECT_THAT(number(got.loss), Matches(golden.expected("loss"))) << about(name) << note("the loss");
    ASSERT_HOLDS(has_shapes_of(got.gradients, model), wrong_shapes);
    expect_golden(named(got.gradients), golden, about(name));
  }
}

TEST(LossAndGradients, EqualsTheDifferences) {
  for (const std::string name : {"llama_untied", "gpt2"}) {
    const LanguageModel model = drawn_model(name);
    const uword V = model.config().vocab_size;
    const arma::umat ids = drawn_ids(V, 4, 2), targets = drawn_ids(V, 4, 2);
    const LanguageModelGradients got = loss_and_gradients(model, ids, targets).gradients;
    ASSERT_HOLDS(has_shapes_of(got, model), wrong_shapes);
    const auto slopes = [&](const arma::mat& gradient, const arma::mat& parameter,
                            const std::function<void(LanguageModel&, const arma::mat&)>& set) {
      const auto loss = [&](const arma::cube& x) {
        LanguageModel moved = model;
        set(moved, x.slice(0));
        return as_cube(number(loss_of(moved, ids, targets)));
      };
      return diagnose_slopes(as_cube(gradient), loss, every(1, 1, 1, 1), as_cube(parameter), 1);
    };
    const auto embedding = slopes(got.token_embedding, model.token_embedding.weight,
                                  [](LanguageModel& moved, const arma::mat& x) { moved.token_embedding.weight = x; });
    EXPECT_TRUE(embedding.empty()) << embedding << about(name) << note("the gradient of token_embedding");
    const auto query =
        slopes(got.blocks[0].attention.query_proj.weight, model.blocks[0].attention.query_proj.weight,
               [](LanguageModel& moved, const arma::mat& x) { moved.blocks[0].attention.query_proj.weight = x; });
    EXPECT_TRUE(query.empty()) << query << about(name) << note("the gradient of query_proj.weight of block 0");
    if (name == "gpt2") {
      const auto positions = slopes(got.position_embedding, model.position_embedding,
                                    [](LanguageModel& moved, const arma::mat& x) { moved.position_embedding = x; });
      EXPECT_TRUE(positions.empty()) << positions << about(name) << note("the gradient of position_embedding");
    } else {
      const auto head = slopes(got.head, model.head, [](LanguageModel& moved, const arma::mat& x) { moved.head = x; });
      EXPECT_TRUE(head.empty()) << head << about(name) << note("the gradient of head");
    }
  }
}

TEST(LossAndGradients, GivesTheHeadRowsThatSumToZero) {
  const LanguageModel model = drawn_model("gpt2_untied");
  const arma::mat head = loss_and_gradients(model, drawn_ids(13, 5, 2), drawn_ids(13, 5, 2)).gradients.head;
  ASSERT_THAT(head, HasShape({{"E", 6}, {"V", 13}}));
  EXPECT_THAT(arma::mat(arma::sum(head, 1)), IsNear(arma::mat(6, 1, arma::fill::zeros), {"E", "1"}))
      << note("the sums of the rows of the head's gradient: p - y sums to zero for each token");
}

TEST(LossAndGradients, GivesTokensThatDoNotOccurAGradientOnlyThroughATiedHead) {
  for (const std::string name : {"llama_untied", "llama"}) {
    const LanguageModel model = drawn_model(name);
    const arma::mat got = loss_and_gradients(model, drawn_ids(8, 5, 2), drawn_ids(8, 5, 2)).gradients.token_embedding;
    ASSERT_THAT(got, HasShape({{"V", 11}, {"E", 6}}));
    const arma::mat absent = got.tail_rows(3);
    if (model.config().tied_head) {
      EXPECT_HOLDS(arma::all(arma::vec(arma::max(arma::abs(absent), 1)) > 0),
                   "a token that does not occur has a row of zeros, but the head, which is tied, gives it a logit")
          << about(name);
    } else {
      EXPECT_THAT(absent, IsNear(arma::mat(3, 6, arma::fill::zeros), table_axes))
          << about(name) << note("the rows of tokens that do not occur");
    }
  }
}

TEST(LossAndGradients, AddsTheTwoSharesOfATiedEmbedding) {
  for (const std::string name : {"llama", "gpt2"}) {
    const LanguageModel tied = drawn_model(name);
    LanguageModelConfig config = tied.config();
    config.tied_head = false;
    LanguageModel untied(config);
    untied.token_embedding = tied.token_embedding;
    untied.position_embedding = tied.position_embedding;
    untied.blocks = tied.blocks;
    untied.final_norm = tied.final_norm;
    untied.head = tied.token_embedding.weight.t();
    const uword V = tied.config().vocab_size;
    const arma::umat ids = drawn_ids(V, 5, 2), targets = drawn_ids(V, 5, 2);
    const LanguageModelGradients got = loss_and_gradients(tied, ids, targets).gradients;
    const LanguageModelGradients two = loss_and_gradients(untied, ids, targets).gradients;
    ASSERT_HOLDS(has_shapes_of(two, untied), wrong_shapes);
    EXPECT_THAT(got.token_embedding, IsNear(arma::mat(two.token_embedding + two.head.t()), table_axes))
        << about(name)
        << note(
               "expected: what a head with the same numbers of its own gets, transposed, and what the "
               "embedding gets then");
  }
}

TEST(LossAndGradients, IgnoresPadding) {
  for (const std::string& name : all_models) {
    const LanguageModel model = drawn_model(name);
    const uword V = model.config().vocab_size;
    arma::umat ids = drawn_ids(V, 6, 2), targets = drawn_ids(V, 6, 2);
    targets.tail_rows(2).fill(ignored_target);
    const LossAndGradients whole = loss_and_gradients(model, ids, targets);
    const LossAndGradients shorter = loss_and_gradients(model, ids.head_rows(4), targets.head_rows(4));
    EXPECT_THAT(number(whole.loss), IsNear(number(shorter.loss), number_axes)) << about(name) << note("the loss");
    ASSERT_HOLDS(has_shapes_of(whole.gradients, model) && has_shapes_of(shorter.gradients, model), wrong_shapes);
    expect_same(named(whole.gradients), named(shorter.gradients),
                about(name) + note("the targets of the last two tokens are ignored; expected: what the sequences give "
                                   "without them"));
  }
}

TEST(LossAndGradients, IsZeroWhenNoTargetCounts) {
  const LanguageModel model = drawn_model("gpt2");
  arma::umat targets(5, 2);
  targets.fill(ignored_target);
  const LossAndGradients got = loss_and_gradients(model, drawn_ids(13, 5, 2), targets);
  EXPECT_THAT(number(got.loss), IsNear(number(0), number_axes));
  expect_zero(named(got.gradients), note("every target is ignored"));
}

TEST(LossAndGradients, LeadsDownhill) {
  for (const std::string name : {"llama", "gpt2"}) {
    const GoldenCase golden = load_golden(name);
    LanguageModel model = model_of(name);
    const arma::umat ids = ids_of(golden), targets = targets_of(golden);
    const LanguageModelGradients got = loss_and_gradients(model, ids, targets).gradients;
    ASSERT_HOLDS(has_shapes_of(got, model), wrong_shapes);
    model.token_embedding.weight -= 0.1 * got.token_embedding;
    const double loss = loss_of(model, ids, targets), before = golden.mat("loss")(0, 0);
    EXPECT_HOLDS(loss < before, "the loss goes from " + std::to_string(before) + " to " + std::to_string(loss) +
                                    " when 0.1 times its gradient is subtracted from the embedding")
        << about(name);
  }
}

// ------------------------------------------------------------------------------------------------------- bad input

TEST(LayerNormBackward, RejectsShapesThatDoNotFit) {
  const LayerNorm norm(3);
  const RMSNorm other(3);
  EXPECT_PRED_FORMAT1(RejectsArgument("X", {"4 x 5 x 2", "3"}),
                      [&] { layer_norm_backward(norm, zeros(4, 5, 2), zeros(4, 5, 2)); });
  EXPECT_PRED_FORMAT1(RejectsArgument("d_Y", {"3 x 3 x 2", "4"}),
                      [&] { layer_norm_backward(norm, zeros(4, 3, 2), zeros(3, 3, 2)); });
  EXPECT_PRED_FORMAT1(RejectsArgument("d_Y", {"4 x 3 x 1", "2"}),
                      [&] { rms_norm_backward(other, zeros(4, 3, 2), zeros(4, 3, 1)); });
}

TEST(ActivationsBackward, RejectGradientsOfAnotherShape) {
  for (const Activation activation : all_activations) {
    EXPECT_PRED_FORMAT1(RejectsArgument("d_y", {"4 x 5 x 2", "3"}),
                        [&] { activate_backward(activation, zeros(4, 3, 2), zeros(4, 5, 2)); });
    EXPECT_PRED_FORMAT1(RejectsArgument("d_y", {"4 x 3 x 1", "2"}),
                        [&] { activate_backward(activation, zeros(4, 3, 2), zeros(4, 3, 1)); });
  }
}

TEST(FeedForwardBackward, RejectsAGradientOfAnotherShape) {
  const FeedForward layer(3, 5);
  const SwiGLU other(3, 5);
  const arma::cube X = zeros(4, 3, 2);
  EXPECT_PRED_FORMAT1(RejectsArgument("d_output", {"4 x 5 x 2", "3"}),
                      [&] { feed_forward_backward(layer, zeros(4, 5, 2), kept_of(layer, X)); });
  EXPECT_PRED_FORMAT1(RejectsArgument("d_output", {"4 x 3 x 1", "2"}),
                      [&] { swiglu_backward(other, zeros(4, 3, 1), kept_of(other, X)); });
  EXPECT_PRED_FORMAT1(RejectsArgument("d_output", {"5 x 3 x 2", "4"}),
                      [&] { feed_forward_backward(layer, zeros(5, 3, 2), kept_of(layer, X)); });
  EXPECT_PRED_FORMAT1(RejectsArgument("X", {"4 x 5 x 2", "3"}), [&] { swiglu_forward(other, zeros(4, 5, 2)); });
}

TEST(BlockBackward, RejectsAGradientOfAnotherShape) {
  const DecoderBlock block = drawn_block("block_llama");
  const KeptBlock kept = block_forward(block, zeros(5, 6, 2) + 1).kept;
  EXPECT_PRED_FORMAT1(RejectsArgument("d_output", {"4 x 6 x 2", "5"}),
                      [&] { block_backward(block, zeros(4, 6, 2), kept); });
  EXPECT_PRED_FORMAT1(RejectsArgument("d_output", {"5 x 6 x 1", "2"}),
                      [&] { block_backward(block, zeros(5, 6, 1), kept); });
  EXPECT_PRED_FORMAT1(RejectsArgument("X", {"5 x 7 x 2", "6"}), [&] { block_forward(block, zeros(5, 7, 2)); });
}

TEST(EmbeddingBackward, RejectsShapesAndIdsThatDoNotFit) {
  const Embedding embedding(5, 3);
  arma::umat ids = drawn_ids(5, 4, 2);
  EXPECT_PRED_FORMAT1(RejectsArgument("d_Y", {"2 x 3 x 4", "4"}),
                      [&] { embedding_backward(embedding, ids, zeros(2, 3, 4)); });
  EXPECT_PRED_FORMAT1(RejectsArgument("L", {"9", "8"}), [&] { positions_backward(normal(8, 3), zeros(9, 3, 2)); });
  ids(3, 1) = 5;
  EXPECT_PRED_FORMAT1(RejectsArgument("ids", {"5"}), [&] { embedding_backward(embedding, ids, zeros(4, 3, 2)); });
}

TEST(LossAndGradients, RejectsIdsAndTargetsThatDoNotFit) {
  const LanguageModel model = drawn_model("gpt2");
  arma::umat ids = drawn_ids(13, 5, 2), targets = drawn_ids(13, 5, 2);
  EXPECT_PRED_FORMAT1(RejectsArgument("targets", {"4 x 2", "5"}),
                      [&] { loss_and_gradients(model, ids, targets.head_rows(4)); });
  EXPECT_PRED_FORMAT1(RejectsArgument("position", {"9"}),
                      [&] { loss_and_gradients(model, drawn_ids(13, 10, 2), drawn_ids(13, 10, 2)); });
  ids(2, 1) = 13;
  EXPECT_PRED_FORMAT1(RejectsArgument("ids", {"13"}), [&] { loss_and_gradients(model, ids, targets); });
}

// ----------------------------------------------------------------------------------------------------------- speed

ATTN_SPEED("loss and gradients, 2 sequences of 32 tokens, V = 96, N = 2, E = 24", [] {
  LanguageModelConfig config = config_of("llama_untied");
  config.vocab_size = 96;
  config.hidden_dim = 64;
  config.attention.embed_dim = 24;
  const arma::umat ids = drawn_ids(96, 32, 2), targets = drawn_ids(96, 32, 2);
  return [model = LanguageModel(config), ids, targets] {
    return as_cube(loss_and_gradients(model, ids, targets).gradients.token_embedding);
  };
});

}  // namespace
}  // namespace attn::judge
