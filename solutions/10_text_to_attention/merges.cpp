#include "attn/merges.hpp"

#include <map>

namespace attn {

PiecePair most_frequent_pair(const std::vector<CountedWord>& words) {
  std::map<PiecePair, arma::uword> counts;
  for (const CountedWord& word : words) {
    for (std::size_t i = 1; i < word.pieces.size(); ++i) counts[{word.pieces[i - 1], word.pieces[i]}] += word.count;
  }
  PiecePair best;
  arma::uword most = 0;
  for (const CountedWord& word : words) {  // in the order of the words: a map is sorted by its keys
    for (std::size_t i = 1; i < word.pieces.size(); ++i) {
      const PiecePair pair(word.pieces[i - 1], word.pieces[i]);
      if (counts[pair] <= most) continue;
      most = counts[pair];
      best = pair;
    }
  }
  return best;
}

std::vector<CountedWord> merge_pair(const std::vector<CountedWord>& words, const PiecePair& pair) {
  std::vector<CountedWord> result;
  for (const CountedWord& word : words) {
    std::vector<std::string> pieces;
    for (const std::string& piece : word.pieces) {
      if (!pieces.empty() && pieces.back() == pair.first && piece == pair.second) {
        pieces.back() += piece;
      } else {
        pieces.push_back(piece);
      }
    }
    result.push_back({pieces, word.count});
  }
  return result;
}

std::vector<std::string> cut_word(const std::string& word, const std::vector<PiecePair>& merges) {
  std::vector<CountedWord> words = {{split_characters(word), 1}};
  for (const PiecePair& pair : merges) words = merge_pair(words, pair);
  return words[0].pieces;
}

}  // namespace attn
