#pragma once

#include <armadillo>
#include <map>
#include <string>
#include <vector>

#include "attn/merges.hpp"

namespace attn {

/// The rank of each pair that may be merged: 0 for the one that was learned first.
using MergeRanks = std::map<PiecePair, arma::uword>;

/// Merges neighbours as byte-pair encoding does with a text: of all pairs of neighbours the one with the lowest rank, at
/// all places from left to right; then again, with the new neighbours, until no pair has a rank.
///
/// For merges in the order of their ranks this is cut_word of lesson 10, which goes through all merges, and not through the
/// pairs of the word. `bpe` in encoder.py of openai/gpt-2.
std::vector<std::string> merge_by_rank(std::vector<std::string> pieces, const MergeRanks& ranks);

}  // namespace attn
