#pragma once

#include <armadillo>
#include <string>
#include <vector>

#include "attn/tokenizer_files.hpp"
#include "recipe.hpp"

namespace attn::training {

/// A text to learn from: the first nine tenths of its bytes, and the last tenth, which is held out.
struct TextData {
  std::string training;
  std::string held_out;
  arma::uword characters = 0;
  arma::uword different = 0;  ///< characters
  TokenizerData tokenizer;    ///< of the training part alone
  std::vector<arma::uword> training_ids;
};

/// Reads a text, cuts it, and learns its tokens.
///
/// @param recipe text, tokens, vocab_size and context are read. What the text decides is written: text_hash,
///               ids_hash, and vocab_size as it came out
/// @throws std::invalid_argument saying what is wrong with the text, what was expected and what to do: a file that
///         cannot be read, is too large, is not UTF-8 (line and byte), has only one different character, or is too
///         short for the context.
TextData read_text_data(Recipe& recipe);

/// The text of a training that is gone on with.
/// @throws std::invalid_argument as read_text_data, or when the text has changed, or its tokens.
TextData read_same_text(const Recipe& recipe);

/// The first so many characters.
/// @param text valid UTF-8
std::string first_characters(const std::string& text, arma::uword count);

/// @param text valid UTF-8
arma::uword count_characters(const std::string& text);

/// Where the first byte is that is not valid UTF-8, as "line 3, byte 7 of it", both from 1; empty when there is none.
std::string first_invalid_byte(const std::string& text);

}  // namespace attn::training
