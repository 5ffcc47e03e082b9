#pragma once

#include <vector>

#include "attn/merges.hpp"

namespace attn::training {

/// Byte-pair encoding as in lesson 10: most_frequent_pair, then merge_pair, again and again. How often each pair
/// occurs is kept, and merge_pair sees only the words that have the pair, so that a novel takes seconds.
///
/// @param words in the order in which their pairs are met
/// @param count at most so many; fewer when every word is a single piece
std::vector<PiecePair> learned_merges(std::vector<CountedWord> words, arma::uword count);

}  // namespace attn::training
