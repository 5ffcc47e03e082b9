#include "attn/heads.hpp"

#include "attn/shape.hpp"
#include "attn/view.hpp"

namespace attn {

arma::cube split_heads(arma::cube X, arma::uword num_heads) {
  require_shape("X", X, {{"L"}, {"E"}, {"B"}});
  require_multiple("X, its number of columns,", X.n_cols, "num_heads", num_heads);
  view(X, X.n_rows, X.n_cols / num_heads, num_heads * X.n_slices);  // (L x D x H·B)
  return X;
}

arma::cube merge_heads(arma::cube X_heads, arma::uword num_heads) {
  require_shape("X_heads", X_heads, {{"L"}, {"D"}, {"H·B"}});
  require_multiple("X_heads, its number of slices,", X_heads.n_slices, "num_heads", num_heads);
  view(X_heads, X_heads.n_rows, X_heads.n_cols * num_heads, X_heads.n_slices / num_heads);  // (L x E x B)
  return X_heads;
}

}  // namespace attn
