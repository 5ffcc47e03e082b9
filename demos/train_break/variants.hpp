#pragma once

#include "attn/attention_backward.hpp"
#include "attn/language_model_backward.hpp"

/// Mistakes that stand in the forward pass, trained as PyTorch would train them: the backward pass fits the wrong forward
/// pass. In the catalogues of the lessons only the one or the other is wrong.
namespace attn::training {

enum class Variant {
  right,
  unscaled,           ///< scores that are not divided by the root of D
  shared_projection,  ///< keys projected by the queries' weights
  dropout,            ///< right: dropout of the attention weights, with p = 0.5
  unscaled_dropout,   ///< the same without the factor 1 / (1 - p)
};

/// What is trained from now on in this process.
/// @param seed of dropout's masks
void choose_variant(Variant variant, std::uint64_t seed);

/// Dropout only while training.
void set_training(bool training);

/// The model with which right code computes what the variant computes with `model`.
LanguageModel as_computed(LanguageModel model);

}  // namespace attn::training

// CMakeLists.txt gives these names to the calls in training.cpp and multi_head_backward.cpp.
namespace attn {

LossAndGradients variant_loss_and_gradients(const LanguageModel& model, const arma::umat& ids,
                                            const arma::umat& targets);

AttentionForward variant_attention_forward(const arma::cube& Q, const arma::cube& K, const arma::cube& V,
                                           const Mask& mask, const Mask& keep, double p);

AttentionGradients variant_attention_backward(const arma::cube& d_context, const KeptAttention& kept);

}  // namespace attn
