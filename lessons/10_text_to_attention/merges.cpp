#include "attn/merges.hpp"

#include <map>

#include "attn/todo.hpp"

namespace attn {

// l o w · l o w e r -> (l, o)
PiecePair most_frequent_pair(const std::vector<CountedWord>& words) {
  // TODO(10.8): count each pair of neighbours as often as its word occurs, and return the most frequent pair; on a
  // tie, the one that is met first. Two empty strings when there is no pair.
  todo("10.8");
}

// l o w · l o w e r, (l, o) -> lo w · lo w e r
std::vector<CountedWord> merge_pair(const std::vector<CountedWord>& words, const PiecePair& pair) {
  // TODO(10.8): make the pair one piece wherever it occurs, from left to right.
  todo("10.8");
}

// "slow", (l, o) (lo, w) -> "s", "low"
std::vector<std::string> cut_word(const std::string& word, const std::vector<PiecePair>& merges) {
  // TODO(10.9): begin with the word's characters, and apply the merges in their order.
  todo("10.9");
}

}  // namespace attn
