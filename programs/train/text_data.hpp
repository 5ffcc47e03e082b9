#pragma once

#include <armadillo>
#include <string>
#include <vector>

#include "attn/byte_level_bpe.hpp"
#include "attn/merges.hpp"
#include "attn/tokenizer_files.hpp"
#include "train/training.hpp"

namespace attn::training {

/// Byte-level BPE whose tokens are characters: all 256 bytes, and the merges that unite the bytes of each character
/// of the text. A character that the text does not have is written as its bytes.
///
/// @param text valid UTF-8
TokenizerData character_tokenizer(const std::string& text);

/// Byte-level BPE with at most V tokens, learned from a text (Sennrich et al. 2016): lesson 10's algorithm, and the
/// words of GPT-2's pattern. Of equally frequent pairs, the one that is met first. Fewer tokens, when no pair is
/// left.
///
/// @param text valid UTF-8
/// @param V    at least 256
TokenizerData learned_tokenizer(const std::string& text, arma::uword V);

/// The ids of a text: ByteLevelBPE::encode, but each different word is cut only once.
std::vector<arma::uword> ids_of(const std::string& text, const TokenizerData& tokenizer);

/// A tokenizer of one of the two functions above as tokenizer.json, which Hugging Face's transformers read.
std::string tokenizer_json(const TokenizerData& tokenizer);

/// Byte-pair encoding as in lesson 10: most_frequent_pair, then merge_pair, again and again. How often each pair
/// occurs is kept, and merge_pair sees only the words that have the pair, so that a novel takes seconds.
///
/// @param words in the order in which their pairs are met
/// @param count at most so many; fewer when every word is a single piece
std::vector<PiecePair> learned_merges(std::vector<CountedWord> words, arma::uword count);

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

/// The text of a training that is resumed.
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
