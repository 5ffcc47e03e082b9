#pragma once

#include <armadillo>

#include "attn/embedding.hpp"

namespace attn {

/// Backward pass of Y = embedding(ids), which copies row ids(i, b) to row i of slice b (PyTorch's
/// embedding_dense_backward).
///
/// @param ids (L x B), what was looked up
/// @param d_Y (L x E x B): how much the loss changes per change of each number of Y
/// @return    (num_embeddings x E); zeros in the row of a number that does not occur
/// @throws std::invalid_argument naming ids, when a size is zero or a number is not below num_embeddings; d_Y, its
///         shape and what was expected.
arma::mat embedding_backward(const Embedding& embedding, const arma::umat& ids, const arma::cube& d_Y);

/// Backward pass of adding row i of a table to row i of every sequence, as a gpt2 does with whole sequences.
///
/// @param table (P x E), one row for each position
/// @param d_X   (L x E x B), L at most P: how much the loss changes per change of each number of the sum
/// @return      (P x E); zeros from row L on
/// @throws std::invalid_argument naming d_X, its shape and what was expected, or L and P, when L is above P ("L is 9,
///         expected at most P = 8").
arma::mat positions_backward(const arma::mat& table, const arma::cube& d_X);

}  // namespace attn
