#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "checks/blank_class.hpp"
#include "checks/golden.hpp"
#include "checks/properties.hpp"

/// The class that a learner wrote from a blank page, as its checks use it.
namespace attn::judge {

using WrittenLayer = std::unique_ptr<AttentionUnderTest>;

inline Projections projections_of(const WrittenLayer& attention) {
  return {{"query_proj", attention->query_proj()},
          {"key_proj", attention->key_proj()},
          {"value_proj", attention->value_proj()},
          {"output_proj", attention->output_proj()}};
}

/// The layer of a golden case, without dropout unless p is given. `sizes` are the constructor's, before p.
inline WrittenLayer layer_from(const GoldenCase& golden, const std::vector<arma::uword>& sizes, double p = 0.0) {
  WrittenLayer attention = make_attention(sizes, p);
  attention->query_proj() = golden.linear("query_proj");
  attention->key_proj() = golden.linear("key_proj");
  attention->value_proj() = golden.linear("value_proj");
  attention->output_proj() = golden.linear("output_proj");
  return attention;
}

}  // namespace attn::judge
