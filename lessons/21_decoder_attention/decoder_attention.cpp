#include "attn/decoder_attention.hpp"

#include <cmath>
#include <utility>

#include "attn/heads.hpp"
#include "attn/masking.hpp"
#include "attn/shape.hpp"
#include "attn/todo.hpp"

namespace attn {

// Q (L x D x H·B), K and V (S x D x G·B), mask (L x S x B) -> (L x D x H·B)
arma::cube grouped_attention(const arma::cube& Q, const arma::cube& K, const arma::cube& V, const Mask& mask,
                             double soft_cap) {
  // TODO(21.3): attention in which H / G neighbouring slices of Q share a slice of K and V. A soft_cap above 0 bends the
  // scores before the mask. Reject shapes that do not fit each other, and a soft_cap that is negative or not finite.
  todo("21.3");
}

DecoderAttention::DecoderAttention(const DecoderAttentionConfig& config)
    : query_proj(1, 1),
      key_proj(1, 1),
      value_proj(1, 1),
      output_proj(1, 1),
      query_norm(1),
      key_norm(1),
      config_(config),
      cache_(1) {
  // TODO(21.4): put the right sizes above instead of the 1s: biases if config.bias says so, norms as wide as a head, a
  // cache for the key/value heads. config_.head_dim becomes D. Reject what the header lists.
  todo("21.4");
}

// X (L x E x B), lengths (B) or empty -> (L x E x B)
arma::cube DecoderAttention::extend(const arma::cube& X, const arma::uvec& lengths) {
  // TODO(21.5): reject an X of the wrong shape. Project, normalize if config_.qk_norm says so, rotate queries and keys
  // by their absolute positions, append keys and values to the cache, then let the new queries attend to all of it.
  // While no sequence has a token, return zeros.
  todo("21.5");
}

void DecoderAttention::reset() {
  // The second part of 21.4: an empty cache.
  todo("21.4");
}

}  // namespace attn
