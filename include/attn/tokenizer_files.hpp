#pragma once

#include <armadillo>
#include <filesystem>
#include <string>
#include <vector>

#include "attn/merges.hpp"
#include "attn/text_splitter.hpp"

/// What the files of a tokenizer say. Given: no lesson asks for it.
namespace attn {

/// A token that is found in the text before anything else, and is not cut: <|endoftext|>.
struct SpecialToken {
  std::string text;
  arma::uword id = 0;
};

/// A byte-level byte-pair encoding, as it is in files.
struct TokenizerData {
  std::vector<std::string> tokens;        ///< by id, in byte symbols ("Ġthe"); empty for special ones and for gaps
  std::vector<PiecePair> merges;          ///< by rank, in byte symbols
  std::vector<SpecialToken> specials;     ///< all with their own ids
  TextSplitting splitting;                ///< how a text between two special tokens is cut into words
  bool ignore_merges = false;             ///< a word that is a token as a whole is not merged (Llama 3)
  std::vector<arma::uword> begin_tokens;  ///< what every text begins with: <|begin_of_text|> for Llama 3, else nothing
};

/// Reads tokenizer.json of a folder or, if there is none and the model is GPT-2, vocab.json and merges.txt.
///
/// @throws std::invalid_argument naming the file and what is wrong with it, or the field that is not supported: another
///         model than byte-level BPE, another normalizer than NFC.
TokenizerData read_tokenizer(const std::filesystem::path& folder);

}  // namespace attn
