// Lesson 06: the same memory, cut into heads.
#include "attn/heads.hpp"

#include <algorithm>

#include "questions.hpp"

namespace attn::moving {

/// {"X": (L x E), "heads": H} -> the heads, what merge_heads makes of them, and the numbers in the order of memory
Json heads(const Json& request) {
  const arma::mat rows = matrix_in(request, "X");
  const auto num_heads = request.at("heads").get<arma::uword>();
  arma::cube X(rows.n_rows, rows.n_cols, 1);  // (L x E x 1)
  X.slice(0) = rows;
  const arma::cube cut = split_heads(X, num_heads);  // (L x D x H)
  const arma::mat memory = arma::vectorise(cut).t();
  const arma::cube joined = merge_heads(cut, num_heads);
  return {{"heads", json_of(cut)}, {"memory", json_of(memory)}, {"merged", json_of(joined)}};
}

}  // namespace attn::moving
