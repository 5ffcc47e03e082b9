#pragma once

#include <armadillo>

namespace attn {

/// Softmax of every row: each row becomes non-negative and sums to one.
///
///   softmax(z)_j = exp(z_j - max z) / sum_k exp(z_k - max z)
///
/// The maximum is subtracted first, so that no exponential overflows (Goodfellow, Bengio, Courville:
/// Deep Learning, section 4.1). A row that holds NaN becomes NaN throughout.
///
/// @param scores (L x S)
/// @return       (L x S)
/// @throws std::invalid_argument when a size is zero.
arma::mat softmax_rows(const arma::mat& scores);

/// The same for every slice.
///
/// @param scores (L x S x B)
/// @return       (L x S x B)
/// @throws std::invalid_argument when a size is zero.
arma::cube softmax_rows(const arma::cube& scores);

}  // namespace attn
