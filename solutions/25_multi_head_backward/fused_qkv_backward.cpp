#include "attn/fused_qkv_backward.hpp"

#include <stdexcept>
#include <string>

#include "attn/shape.hpp"

namespace attn {

LinearBackward fused_qkv_backward(const Linear& qkv_proj, const arma::cube& X, const arma::cube& d_Q,
                                  const arma::cube& d_K, const arma::cube& d_V) {
  require_shape("X", X, {{"L"}, {"E", qkv_proj.weight.n_rows}, {"B"}});
  require_shape("d_Q", d_Q, {{"L", X.n_rows}, {"H·D"}, {"B", X.n_slices}});
  require_shape("d_K", d_K, {{"L", X.n_rows}, {"G·D"}, {"B", X.n_slices}});
  require_shape("d_V", d_V, {{"L", X.n_rows}, {"G·D", d_K.n_cols}, {"B", X.n_slices}});
  if (d_Q.n_cols + 2 * d_K.n_cols != qkv_proj.weight.n_cols) {
    throw std::invalid_argument("d_Q, d_K and d_V have " + std::to_string(d_Q.n_cols + 2 * d_K.n_cols) +
                                " columns together, expected those of qkv_proj, " +
                                std::to_string(qkv_proj.weight.n_cols));
  }
  arma::cube d_QKV(d_Q.n_rows, qkv_proj.weight.n_cols, d_Q.n_slices);  // (L x (H + 2G)·D x B)
  for (arma::uword b = 0; b < d_Q.n_slices; ++b) {
    d_QKV.slice(b) = arma::join_rows(d_Q.slice(b), d_K.slice(b), d_V.slice(b));
  }
  return linear_backward(qkv_proj, X, d_QKV);
}

}  // namespace attn
