#pragma once

#include <armadillo>

#include "attn/feed_forward.hpp"
#include "attn/mask.hpp"
#include "attn/multi_head_attention.hpp"
#include "attn/norm.hpp"

namespace attn {

/// Where a block normalizes.
enum class NormPlacement {
  pre,  ///< what goes into a branch: x + f(norm(x)). GPT-2, Llama
  post  ///< what a branch was added to: norm(x + f(x)). The first Transformer (2017), BERT
};

/// One block of a transformer: attention between tokens, then a feed-forward network for each token. Each is a branch
/// whose result is added to what went in (the residual connection).
///
///   pre    h = X + attention(attention_norm(X)),     output = h + feed_forward(feed_forward_norm(h))
///   post   h = attention_norm(X + attention(X)),     output = feed_forward_norm(h + feed_forward(h))
///
/// Xiong et al.: On Layer Normalization in the Transformer Architecture (2020); PyTorch's
/// `torch.nn.TransformerEncoderLayer` with `norm_first`. The only dropout is the one inside attention, on its weights:
/// PyTorch's layer also drops in the feed-forward network and at the end of each branch.
class TransformerBlock {
 public:
  LayerNorm attention_norm;     ///< of attention's branch
  LayerNorm feed_forward_norm;  ///< of the feed-forward network's branch
  MultiHeadAttention attention;
  FeedForward feed_forward;  ///< with gelu
  NormPlacement norm_placement;

  /// @param embed_dim  E, the embedding width
  /// @param num_heads  H, a divisor of E
  /// @param hidden_dim F, the width inside the feed-forward network
  /// @param dropout_p  of attention, 0 <= dropout_p < 1
  /// @throws std::invalid_argument naming embed_dim, num_heads, hidden_dim or p, when a size is zero, H does not divide
  ///         E, or p is not a probability below one.
  TransformerBlock(arma::uword embed_dim, arma::uword num_heads, arma::uword hidden_dim, double dropout_p = 0.1,
                   NormPlacement norm_placement = NormPlacement::pre);

  /// @param X    (L x E x B)
  /// @param mask of attention: (L x L x 1), (L x L x B) or (L x L x H·B), 0 = blocked; empty: nothing is blocked
  /// @return     (L x E x B)
  /// @throws std::invalid_argument naming X or mask, its shape and what was expected.
  arma::cube forward(const arma::cube& X, const Mask& mask = {});
};

}  // namespace attn
