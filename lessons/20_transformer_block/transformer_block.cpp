#include "attn/transformer_block.hpp"

#include "attn/shape.hpp"
#include "attn/todo.hpp"

namespace attn {

TransformerBlock::TransformerBlock(arma::uword embed_dim, arma::uword num_heads, arma::uword hidden_dim,
                                   double dropout_p, NormPlacement placement)
    : attention_norm(1), feed_forward_norm(1), attention(1, 1, 0), feed_forward(1, 1), norm_placement(placement) {
  // TODO(20.6): put the right sizes above instead of the 1s, and the dropout instead of the 0. Reject an embed_dim of 0
  // by this name; the layers reject all else.
  todo("20.6");
}

// X (L x E x B) -> (L x E x B)
arma::cube TransformerBlock::forward(const arma::cube& X, const Mask& mask) {
  // The second part of 20.6: attention's branch, then the feed-forward network's. Each is added to what went in, with
  // the norm before it or after the sum.
  todo("20.6");
}

}  // namespace attn
