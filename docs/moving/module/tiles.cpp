// Lesson 19: which tiles are computed.
#include "attn/flash_attention.hpp"
#include "questions.hpp"

namespace attn::moving {

/// {"L": ..., "S": ..., "length": keys that exist, "causal": ..., "query_block": Lb, "key_block": Sb}
///   -> how many keys each query sees; what attention costs with tiles and without
Json tiles(const Json& request) {
  const auto size = [&](const char* name) { return request.at(name).get<arma::uword>(); };
  Json visible = Json::array();
  for (arma::uword i = 0; i < size("L"); ++i) {
    visible.push_back(visible_keys(i, size("L"), size("S"), size("length"), request.at("causal").get<bool>()));
  }
  const AttentionCost cost = attention_cost(size("L"), size("S"), size("D"), size("query_block"));
  return {{"visible", visible},
          {"flops", cost.flops},
          {"untiled_bytes", cost.untiled_bytes},
          {"tiled_bytes", cost.tiled_bytes}};
}

}  // namespace attn::moving
