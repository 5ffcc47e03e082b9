#include "attn/embedding.hpp"

#include <stdexcept>
#include <string>

#include "attn/shape.hpp"

namespace attn {

Embedding::Embedding(arma::uword num_embeddings, arma::uword embed_dim) {
  require_product({{"num_embeddings", num_embeddings}, {"embed_dim", embed_dim}});
  weight = arma::mat(num_embeddings, embed_dim, arma::fill::randn);
}

arma::cube Embedding::operator()(const arma::umat& ids) const {
  if (ids.is_empty()) {
    throw std::invalid_argument("ids is " + std::to_string(ids.n_rows) + " x " + std::to_string(ids.n_cols) +
                                ", expected L x B (no size may be 0)");
  }
  if (ids.max() >= weight.n_rows) {
    throw std::invalid_argument("ids holds " + std::to_string(ids.max()) +
                                ", expected numbers below num_embeddings = " + std::to_string(weight.n_rows));
  }
  arma::cube embedded(ids.n_rows, weight.n_cols, ids.n_cols);  // (L x E x B)
  for (arma::uword b = 0; b < ids.n_cols; ++b) embedded.slice(b) = weight.rows(ids.col(b));
  return embedded;
}

}  // namespace attn
