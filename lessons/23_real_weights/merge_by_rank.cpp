#include "attn/merge_by_rank.hpp"

#include "attn/todo.hpp"

namespace attn {

std::vector<std::string> merge_by_rank(std::vector<std::string> pieces, const MergeRanks& ranks) {
  // TODO(23.5): merge the pair of neighbours with the lowest rank, wherever it occurs, until no pair has a rank.
  todo("23.5");
}

}  // namespace attn
