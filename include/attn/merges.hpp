#pragma once

#include <armadillo>
#include <string>
#include <utility>
#include <vector>

#include "attn/characters.hpp"

/// Byte-pair encoding: subwords are learned by merging neighbours (Sennrich et al., 2016, algorithm 1).
namespace attn {

/// A word, cut into pieces, and how often it occurs in the text that merges are learned from.
struct CountedWord {
  std::vector<std::string> pieces;
  arma::uword count = 1;
};

/// Two neighbouring pieces of a word.
using PiecePair = std::pair<std::string, std::string>;

/// The pair of neighbours that occurs most often. Each place counts as often as its word does; no pair crosses from one
/// word to the next. On a tie, the one that is met first when the words are read in their order.
///
/// @return two empty strings when there is no pair: every word is a single piece
PiecePair most_frequent_pair(const std::vector<CountedWord>& words);

/// The words with that pair made one piece, wherever it occurs in them. From left to right: of "a a a" and the pair (a, a)
/// the first two become "aa", and the third stays. Counts stay as they are.
std::vector<CountedWord> merge_pair(const std::vector<CountedWord>& words, const PiecePair& pair);

/// A word that may be new, cut by merges that were learned before: its characters, with each pair of `merges` merged,
/// in their order.
///
/// @throws std::invalid_argument as split_characters.
std::vector<std::string> cut_word(const std::string& word, const std::vector<PiecePair>& merges);

}  // namespace attn
