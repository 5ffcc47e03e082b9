#pragma once

#include <optional>
#include <string>
#include <vector>

#include "attn/checkpoint.hpp"
#include "generate/options.hpp"

namespace attn::generating {

/// What was asked for, checked against the model's small files. No weights are read yet.
struct Prepared {
  GenerateOptions options;
  std::string model_name;  ///< "models/small"
  CheckpointFiles files;
  ByteLevelBPE tokenizer;
  std::string prompt;
  std::vector<arma::uword> ids;  ///< of the prompt
  arma::uword layer = 0;         ///< of the map, where --attention says it
  arma::uword head = 0;
  arma::uword max_tokens = 0;  ///< 0: no text
};

/// @throws std::invalid_argument with a sentence: a file that is missing or not supported, a prompt without a token or with too
///         many, a layer or head that is not there, a picture that exists already, too little memory.
Prepared prepare(const GenerateOptions& options);

/// Reads the weights.
/// @throws std::invalid_argument naming the file or the tensor that is wrong.
Checkpoint load(const Prepared& prepared);

}  // namespace attn::generating
