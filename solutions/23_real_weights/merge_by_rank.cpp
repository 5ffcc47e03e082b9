#include "attn/merge_by_rank.hpp"

#include <utility>

namespace attn {

std::vector<std::string> merge_by_rank(std::vector<std::string> pieces, const MergeRanks& ranks) {
  while (true) {
    auto best = ranks.end();
    for (std::size_t i = 1; i < pieces.size(); ++i) {
      const auto found = ranks.find({pieces[i - 1], pieces[i]});
      if (found != ranks.end() && (best == ranks.end() || found->second < best->second)) best = found;
    }
    if (best == ranks.end()) return pieces;

    std::vector<std::string> merged;
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      const bool is_pair =
          i + 1 < pieces.size() && pieces[i] == best->first.first && pieces[i + 1] == best->first.second;
      merged.push_back(is_pair ? pieces[i] + pieces[i + 1] : pieces[i]);
      if (is_pair) ++i;
    }
    pieces = std::move(merged);
  }
}

}  // namespace attn
