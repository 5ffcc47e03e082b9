#pragma once

#include <armadillo>
#include <string>
#include <vector>

#include "attn/byte_level_bpe.hpp"

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

}  // namespace attn::training
