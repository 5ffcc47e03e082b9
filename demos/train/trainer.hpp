#pragma once

#include <random>
#include <vector>

#include "attn/training.hpp"
#include "recipe.hpp"
#include "tasks.hpp"

namespace attn::training {

inline constexpr arma::uword batch_size = 32;  // of a task

/// A training: all that is needed to go on with it. A saved one has exactly this.
struct Training {
  Recipe recipe;
  LanguageModel model;
  AdamWState state;
  std::vector<double> losses;  ///< of each step that was made
  std::mt19937_64 examples;    ///< draws what the next step learns from

  bool is_finished() const { return losses.size() >= recipe.steps; }
};

/// Before the first step. A model for a task is one like GPT-2, of two layers with two heads each and about
/// 18 000 parameters.
Training new_run(const Recipe& recipe);

/// For what is measured at the end: another sequence of numbers than that of the examples.
std::mt19937_64 held_out_generator(const Recipe& recipe);

/// The loss of a batch, without its gradients.
double loss_of(LanguageModel& model, const Batch& batch);

/// The share of the targets that count for which the right token is the likeliest one.
double accuracy_of(LanguageModel& model, const Batch& batch);

/// The likeliest tokens after a text, one after the other, each of them read before the next one is written.
std::vector<arma::uword> written_after(LanguageModel& model, const std::vector<arma::uword>& ids, arma::uword count);

}  // namespace attn::training
