#pragma once

#include <armadillo>

namespace attn {

/// A row of features for every number: PyTorch's torch.nn.Embedding.
struct Embedding {
  arma::mat weight;  ///< (num_embeddings x E), the same way round as in PyTorch

  /// Draws the weight from the standard normal distribution, as PyTorch does, with Armadillo's generator.
  ///
  /// @param num_embeddings how many numbers there are: a vocabulary's size()
  /// @param embed_dim      E
  /// @throws std::invalid_argument naming num_embeddings or embed_dim, when it is zero.
  Embedding(arma::uword num_embeddings, arma::uword embed_dim);

  /// @param ids (L x B)
  /// @return    (L x E x B): row i of slice b is row ids(i, b) of the weight
  /// @throws std::invalid_argument naming ids, when a size is zero or a number is not below num_embeddings.
  arma::cube operator()(const arma::umat& ids) const;
};

}  // namespace attn
