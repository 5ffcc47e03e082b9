#pragma once

#include <cstdint>
#include <string>

#include "attn/language_model.hpp"
#include "attn/training.hpp"
#include "learn/commands/train_options.hpp"

namespace attn::training {

/// What a training is asked to do: plain data, saved with it. With the same recipe, and the same text, all numbers
/// are the same.
struct Recipe {
  std::string task;            ///< "reverse"; empty: a text is learned
  std::string text;            ///< the text's path, from the root; empty: a task is learned
  std::string text_hash;       ///< of its bytes
  std::string ids_hash;        ///< of its tokens, as ids
  std::string tokens;          ///< "characters" or "bpe"; empty for a task
  std::string architecture;    ///< "llama" or "gpt2"
  arma::uword vocab_size = 0;  ///< V
  arma::uword width = 0;       ///< E
  arma::uword layers = 0;      ///< N
  arma::uword heads = 0;       ///< H
  arma::uword kv_heads = 0;    ///< G
  arma::uword context = 0;     ///< L
  arma::uword batch = 0;       ///< B
  arma::uword steps = 0;
  double rate = 0;  ///< the highest learning rate
  std::uint64_t seed = 0;
  bool fast = false;  ///< its steps are made by the fast kernels

  bool is_text() const { return task.empty(); }
};

/// The recipe of a command line; without what only the text can say: text_hash, ids_hash, and V of characters.
Recipe recipe_of(const learn::TrainOptions& options);

/// @throws std::invalid_argument naming the field that is missing, or not what this program writes.
Recipe recipe_from_json(const std::string& json);
std::string to_json(const Recipe& recipe);

/// The sizes of the model. A llama has a window of L tokens: that is no different while it trains, and it can go on
/// beyond.
LanguageModelConfig model_config_of(const Recipe& recipe);

TrainingConfig training_config_of(const Recipe& recipe);

}  // namespace attn::training
