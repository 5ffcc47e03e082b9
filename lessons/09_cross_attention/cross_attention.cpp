#include "attn/cross_attention.hpp"

#include <cmath>
#include <utility>

#include "attn/heads.hpp"
#include "attn/masking.hpp"
#include "attn/shape.hpp"
#include "attn/todo.hpp"

namespace attn {

// The constructor and the forward of three inputs are given.
CrossAttention::CrossAttention(arma::uword embed_dim, arma::uword num_heads, double dropout_p)
    : query_proj(require_multiple("embed_dim", embed_dim, "num_heads", num_heads), embed_dim),
      key_proj(embed_dim, embed_dim),
      value_proj(embed_dim, embed_dim),
      output_proj(embed_dim, embed_dim),
      dropout(dropout_p),
      num_heads_(num_heads) {}

arma::cube CrossAttention::forward(const arma::cube& query, const arma::cube& key, const arma::cube& value,
                                   const Mask& mask) {
  return forward(query, project_memory(key, value), mask);
}

// key and value (S x E x B) -> keys and values (S x D x H·B)
ProjectedMemory CrossAttention::project_memory(const arma::cube& key, const arma::cube& value) const {
  // TODO(09.1): reject key or value when its shape is wrong (require_shape): S and B are key's, value must have the same.
  // Then each goes through its own projection and split_heads.
  todo("09.1");
}

// query (L x E x B), memory for B sequences of S keys, mask (L x S x 1, B or H·B) -> (L x E x B)
arma::cube CrossAttention::forward(const arma::cube& query, const ProjectedMemory& memory, const Mask& mask) {
  // TODO(09.2): reject memory, query or mask when its shape is wrong (require_memory, require_shape, require_mask). L is
  // query's, S and B are the memory's. Project query only, and split it. For each slice softmax(Q K^T / sqrt(D)) V:
  // blocked scores are -inf, the weights go through dropout and are kept in attention_weights_. Then merge the heads and
  // project once more.
  todo("09.2");
}

// memory (S x D x H·B), n numbers -> (S x D x H·n)
ProjectedMemory CrossAttention::select_sequences(const ProjectedMemory& memory, const arma::uvec& sequences) const {
  // TODO(09.3): reject a wrong memory, no number at all, and a number that is no sequence of the memory (require_positive,
  // require_at_most). Then sequence i of the result is sequence sequences(i) of the memory: all its slices, of keys and
  // of values.
  todo("09.3");
}

}  // namespace attn
