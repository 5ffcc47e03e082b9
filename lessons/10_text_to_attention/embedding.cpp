#include "attn/embedding.hpp"

#include <stdexcept>
#include <string>

#include "attn/shape.hpp"
#include "attn/todo.hpp"

namespace attn {

Embedding::Embedding(arma::uword num_embeddings, arma::uword embed_dim) {
  // TODO(10.1): reject sizes of zero, then set weight (num_embeddings x embed_dim), drawn from the standard normal
  // distribution.
  todo("10.1");
}

// ids (L x B) -> (L x E x B)
arma::cube Embedding::operator()(const arma::umat& ids) const {
  // TODO(10.1): reject empty ids, and ids with a number that the weight has no row for. Then row i of slice b is the
  // weight's row ids(i, b).
  todo("10.1");
}

}  // namespace attn
