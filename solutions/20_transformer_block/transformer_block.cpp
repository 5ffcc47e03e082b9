#include "attn/transformer_block.hpp"

#include "attn/shape.hpp"

namespace attn {

TransformerBlock::TransformerBlock(arma::uword embed_dim, arma::uword num_heads, arma::uword hidden_dim,
                                   double dropout_p, NormPlacement placement)
    : attention_norm(require_positive("embed_dim", embed_dim)),
      feed_forward_norm(embed_dim),
      attention(embed_dim, num_heads, dropout_p),
      feed_forward(embed_dim, hidden_dim),
      norm_placement(placement) {}

arma::cube TransformerBlock::forward(const arma::cube& X, const Mask& mask) {
  if (norm_placement == NormPlacement::pre) {
    const arma::cube h = X + attention.forward(attention_norm(X), mask);  // (L x E x B)
    return h + feed_forward(feed_forward_norm(h));
  }
  const arma::cube h = attention_norm(X + attention.forward(X, mask));  // (L x E x B)
  return feed_forward_norm(h + feed_forward(h));
}

}  // namespace attn
