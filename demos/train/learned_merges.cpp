#include "learned_merges.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace attn::training {

namespace {

/// Where a pair occurs.
struct Places {
  arma::uword count = 0;        // each word as often as it occurs
  std::set<std::size_t> words;  // those that have it, or had it
};
using Pairs = std::map<PiecePair, Places>;

template <typename Visit>
void visit_pairs(const CountedWord& word, const Visit& visit) {
  for (std::size_t i = 1; i < word.pieces.size(); ++i) visit(PiecePair(word.pieces[i - 1], word.pieces[i]));
}

/// The place of its first occurrence: the word, and where in it.
std::pair<std::size_t, std::size_t> first_place(const Pairs::value_type& pair, const std::vector<CountedWord>& words) {
  for (const std::size_t word : pair.second.words) {
    const std::vector<std::string>& pieces = words[word].pieces;
    for (std::size_t i = 1; i < pieces.size(); ++i) {
      if (pieces[i - 1] == pair.first.first && pieces[i] == pair.first.second) return {word, i};
    }
  }
  return {words.size(), 0};
}

/// The most frequent one; of equals, the one that is met first.
Pairs::const_iterator best_of(const Pairs& pairs, const std::vector<CountedWord>& words) {
  auto best = pairs.end();
  for (auto pair = pairs.begin(); pair != pairs.end(); ++pair) {
    if (pair->second.count == 0) continue;
    if (best == pairs.end() || pair->second.count > best->second.count ||
        (pair->second.count == best->second.count && first_place(*pair, words) < first_place(*best, words))) {
      best = pair;
    }
  }
  return best;
}

}  // namespace

std::vector<PiecePair> learned_merges(std::vector<CountedWord> words, arma::uword count) {
  Pairs pairs;
  for (std::size_t w = 0; w < words.size(); ++w) {
    visit_pairs(words[w], [&](const PiecePair& pair) {
      pairs[pair].count += words[w].count;
      pairs[pair].words.insert(w);
    });
  }
  std::vector<PiecePair> merges;
  while (merges.size() < count) {
    const auto best = best_of(pairs, words);
    if (best == pairs.end()) break;
    merges.push_back(best->first);
    const std::set<std::size_t> changed = best->second.words;
    for (const std::size_t w : changed) {
      visit_pairs(words[w], [&](const PiecePair& pair) { pairs[pair].count -= words[w].count; });
      words[w] = merge_pair({words[w]}, merges.back()).front();
      visit_pairs(words[w], [&](const PiecePair& pair) {
        pairs[pair].count += words[w].count;
        pairs[pair].words.insert(w);
      });
    }
    pairs.erase(merges.back());
  }
  return merges;
}

}  // namespace attn::training
