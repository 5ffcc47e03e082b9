#pragma once

#include <armadillo>

namespace attn {

/// Cuts the E columns into H heads of D = E / H columns. Head h of sequence b becomes slice b·H + h.
///
/// A slice is stored column after column, so the columns of a head already lie side by side: no number moves. A cube
/// that is moved in keeps its memory: `split_heads(std::move(Q), H)`, `split_heads(query_proj(X), H)`.
///
/// @param X (L x E x B): Q, K or V of a layer, not its input. Every head can use all features of a token, as the
///          projections do; what is cut is their result
/// @return  (L x D x H·B)
/// @throws std::invalid_argument naming X or num_heads and its size, when a size is zero or H does not divide E.
arma::cube split_heads(arma::cube X, arma::uword num_heads);

/// The inverse of split_heads: puts the H heads of each sequence side by side. A cube that is moved in keeps its memory.
///
/// @param X_heads (L x D x H·B)
/// @return        (L x E x B)
/// @throws std::invalid_argument naming X_heads or num_heads and its size, when a size is zero or H does not divide the
///         number of slices.
arma::cube merge_heads(arma::cube X_heads, arma::uword num_heads);

}  // namespace attn
