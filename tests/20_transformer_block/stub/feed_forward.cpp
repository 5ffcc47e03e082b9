#include "attn/feed_forward.hpp"

#include "attn/shape.hpp"
#include "attn/todo.hpp"

namespace attn {

FeedForward::FeedForward(arma::uword embed_dim, arma::uword hidden_dim, Activation function)
    : up_proj(1, 1), down_proj(1, 1), activation(Activation::relu) {
  // TODO(20.4): put the right sizes above instead of the 1s, and the given function. Reject sizes of 0, each by its own
  // name (require_positive in attn/shape.hpp).
  todo("20.4");
}

// X (L x E x B) -> (L x E x B)
arma::cube FeedForward::operator()(const arma::cube& X) const {
  // The second part of 20.4: reject an X of the wrong shape. Project up, apply the activation, project down.
  todo("20.4");
}

SwiGLU::SwiGLU(arma::uword embed_dim, arma::uword hidden_dim)
    : gate_proj(1, 1, false), up_proj(1, 1, false), down_proj(1, 1, false) {
  // TODO(20.5): put the right sizes above instead of the 1s. Reject sizes of 0, each by its own name.
  todo("20.5");
}

// X (L x E x B) -> (L x E x B)
arma::cube SwiGLU::operator()(const arma::cube& X) const {
  // The second part of 20.5: reject an X of the wrong shape. The gate goes through silu, and is multiplied, number by
  // number, with the other projection. Project the result down.
  todo("20.5");
}

}  // namespace attn
