#include "variants.hpp"

#include <cmath>
#include <random>
#include <utility>

#include "attn/initialization.hpp"

namespace attn {

namespace training {

namespace {

constexpr double dropped = 0.5;

Variant chosen = Variant::right;
bool in_training = true;
std::mt19937_64 dropout_generator;

double root_of_width(const LanguageModel& model) {
  return std::sqrt(static_cast<double>(model.config().attention.head_dim));
}

bool drops() { return in_training && (chosen == Variant::dropout || chosen == Variant::unscaled_dropout); }

/// What a kept weight lacks when it is not divided by 1 - p.
double missing_factor() { return drops() && chosen == Variant::unscaled_dropout ? 1 - dropped : 1; }

Mask drawn_keep(arma::uword L, arma::uword S, arma::uword N) {
  Mask keep(L, S, N);
  keep.imbue([] { return static_cast<double>(dropout_generator() >> 11) * 0x1p-53 >= dropped ? 1U : 0U; });
  return keep;
}

/// From the gradients of as_computed(model) to those of the model.
void pull_back(const LanguageModel& model, LanguageModelGradients& gradients) {
  for (BlockGradients& block : gradients.blocks) {
    LinearGradients& query = block.attention.query_proj;
    LinearGradients& key = block.attention.key_proj;
    if (chosen == Variant::unscaled) {
      query.weight *= root_of_width(model);
      query.bias *= root_of_width(model);
    }
    if (chosen == Variant::shared_projection) {
      query.weight += key.weight;
      query.bias += key.bias;
      key.weight.zeros();
      key.bias.zeros();
    }
  }
}

}  // namespace

void choose_variant(Variant variant, std::uint64_t seed) {
  chosen = variant;
  dropout_generator.seed(seed);
}

void set_training(bool training) { in_training = training; }

LanguageModel as_computed(LanguageModel model) {
  for (DecoderBlock& block : model.blocks) {
    Linear& query = block.attention.query_proj;
    if (chosen == Variant::unscaled) {
      query.weight *= root_of_width(model);
      query.bias *= root_of_width(model);
    }
    if (chosen == Variant::shared_projection) block.attention.key_proj = query;
  }
  return model;
}

}  // namespace training

using namespace training;

LossAndGradients variant_loss_and_gradients(const LanguageModel& model, const arma::umat& ids,
                                            const arma::umat& targets) {
  LossAndGradients result = loss_and_gradients(as_computed(model), ids, targets);
  pull_back(model, result.gradients);
  return result;
}

AttentionForward variant_attention_forward(const arma::cube& Q, const arma::cube& K, const arma::cube& V,
                                           const Mask& mask, const Mask& keep, double p) {
  if (!drops()) return attention_forward(Q, K, V, mask, keep, p);
  AttentionForward result = attention_forward(Q, K, V, mask, drawn_keep(Q.n_rows, K.n_rows, Q.n_slices), dropped);
  result.context *= missing_factor();
  return result;
}

AttentionGradients variant_attention_backward(const arma::cube& d_context, const KeptAttention& kept) {
  return attention_backward(d_context * missing_factor(), kept);
}

}  // namespace attn
