#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "attn/language_model.hpp"
#include "attn/training.hpp"
#include "train/options.hpp"
#include "train/tasks.hpp"

namespace attn::training {

/// FNV-1a with 64 bits (Fowler, Noll, Vo 1991): shows whether bytes have changed by accident.
class Hash {
 public:
  Hash& add(const void* data, std::size_t size) {
    const auto* bytes = static_cast<const unsigned char*>(data);
    for (std::size_t i = 0; i < size; ++i) value_ = (value_ ^ bytes[i]) * 0x100000001B3;
    return *this;
  }
  Hash& add(const std::string& text) { return add(text.data(), text.size()); }

  /// 16 hexadecimal digits.
  std::string text() const {
    char digits[17];
    std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(value_));
    return digits;
  }

 private:
  std::uint64_t value_ = 0xCBF29CE484222325;
};

/// What a training is asked to do: plain data, saved with it. With the same recipe, and the same text, all numbers
/// are the same.
struct Recipe : KeptOptions {
  std::string task;            ///< "reverse"; empty: a text is learned
  std::string text;            ///< the text's path, from the root; empty: a task is learned
  std::string text_hash;       ///< of its bytes
  std::string ids_hash;        ///< of its tokens, as ids
  arma::uword vocab_size = 0;  ///< V
  arma::uword kv_heads = 0;    ///< G
  arma::uword steps = 0;

  bool is_text() const { return task.empty(); }
};

/// The recipe of a command line; without what only the text can say: text_hash, ids_hash, and V of characters.
Recipe recipe_of(const TrainOptions& options);

/// @throws std::invalid_argument naming the field that is missing, or not what this program writes.
Recipe recipe_from_json(const std::string& json);
std::string to_json(const Recipe& recipe);

/// The sizes of the model. A llama has a window of L tokens: that is no different while it trains, and it can go on
/// beyond.
LanguageModelConfig model_config_of(const Recipe& recipe);

TrainingConfig training_config_of(const Recipe& recipe);

inline constexpr arma::uword batch_size = 32;  // of a task

/// A training: all that is needed to resume it. A saved one has exactly this.
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

/// Whether all parameters, and what the optimizer remembers, are finite numbers: others are not worth saving.
bool all_finite(Training& training);

/// The loss of a batch, without its gradients.
double loss_of(LanguageModel& model, const Batch& batch);

/// The share of the targets that count for which the right token is the likeliest one.
double accuracy_of(LanguageModel& model, const Batch& batch);

/// Makes the steps of a training.
class Steps {
 public:
  virtual ~Steps() = default;

  /// One step: train_step of lesson 27, or what gives the same but for rounding. The loss is not appended.
  virtual StepReport make(Training& training, const Batch& batch, const TrainingConfig& config) = 0;

  /// Ensures that the training has the parameters, and what the optimizer remembers, as they are now.
  virtual void put_into(Training& training) = 0;
};

/// Steps for a training that was just begun, or read from a file. A program has one of two: lesson_steps.cpp, which calls
/// train_step of the learner or the reference; or fast_steps.cpp, with the fast kernels in single precision. Both give the
/// same bits however often a training is stopped and resumed.
std::unique_ptr<Steps> make_steps(Training& training);
extern const bool has_fast_steps;

}  // namespace attn::training
