#pragma once

#include "attn/training.hpp"
#include "tasks.hpp"

namespace attn::training {

inline constexpr arma::uword batch_size = 32;

/// A model like GPT-2, of two layers with two heads each and about 18 000 parameters, drawn anew: as the
/// task needs it at first.
LanguageModel new_model(const Task& task, std::uint64_t seed);

/// How a task is learned in so many steps.
TrainingConfig config_of(const Task& task, arma::uword steps);

/// The loss of a batch, without its gradients.
double loss_of(LanguageModel& model, const Batch& batch);

/// The share of the targets that count for which the right token is the likeliest one.
double accuracy_of(LanguageModel& model, const Batch& batch);

/// The likeliest tokens after a text, one after the other, each of them read before the next one is written.
std::vector<arma::uword> written_after(LanguageModel& model, const std::vector<arma::uword>& ids, arma::uword count);

}  // namespace attn::training
