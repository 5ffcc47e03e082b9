#pragma once

#include <armadillo>

#include "attn/linear.hpp"
#include "attn/norm.hpp"

namespace attn {

/// The widths of a layer of latent attention. In brackets: the name in the config.json of DeepSeek-V2 and V3 for Hugging
/// Face's transformers.
struct LatentAttentionConfig {
  arma::uword embed_dim = 0;         ///< E, the embedding width (hidden_size)
  arma::uword num_heads = 0;         ///< H (num_attention_heads)
  arma::uword head_dim = 0;          ///< D: features of a head's query and key that are not rotated (qk_nope_head_dim)
  arma::uword rope_dim = 0;          ///< R: those that are rotated, an even number (qk_rope_head_dim)
  arma::uword value_dim = 0;         ///< Dv: width of a head's value (v_head_dim)
  arma::uword latent_dim = 0;        ///< C: width of the latent of keys and values (kv_lora_rank)
  arma::uword query_latent_dim = 0;  ///< Cq: width of the latent of queries (q_lora_rank; V2-Lite has none)
};

/// What one token adds to the caches of all layers: C + R numbers in each, however many heads there are.
///
/// @param bytes_per_number 2 for 16-bit numbers
/// @throws std::invalid_argument naming latent_dim, rope_dim, num_layers or bytes_per_number, when it is zero. The result
///         must be below 2^64, which an implementation need not check.
arma::uword latent_cache_bytes(const LatentAttentionConfig& config, arma::uword num_layers,
                               arma::uword bytes_per_number);

/// FLOPs of attend_expanded and of attend_absorbed for one sequence: L queries, S rows, those of the queries among them. A multiplication and an
/// addition are two. Counted are the products with latent_up, and the scores and the mixing of all L·S pairs, blocked ones
/// too; not the scaling and the softmax. The counts must be below 2^64, which an implementation need not check.
///
/// @throws std::invalid_argument naming L, S, or the field of config, when it is zero; of config, num_heads, head_dim,
///         rope_dim, value_dim and latent_dim count.
arma::uword expanded_flops(const LatentAttentionConfig& config, arma::uword L, arma::uword S);
arma::uword absorbed_flops(const LatentAttentionConfig& config, arma::uword L, arma::uword S);

/// Multi-head latent attention (MLA), causal, with its cache. DeepSeek-AI, DeepSeek-V2 (2024), section 2.1 and
/// appendix C; the RMSNorms, section 3.1.2. The layout of the weights is that of the published models
/// (DeepseekV3Attention in transformers). Projections have no bias.
///
/// A token leaves one row in the cache: its latent, C numbers, and one rotated key, R numbers, that all heads share.
/// From the latent each head can compute the other D features of its key, and its value.
class LatentAttention {
 public:
  Linear query_down;    ///< E -> Cq (q_a_proj)
  RMSNorm query_norm;   ///< over Cq (q_a_layernorm)
  Linear query_up;      ///< Cq -> H·(D + R): for each head D features, and R that will be rotated (q_b_proj)
  Linear latent_down;   ///< E -> C + R: the latent, and the key that will be rotated (kv_a_proj_with_mqa)
  RMSNorm latent_norm;  ///< over C (kv_a_layernorm)
  Linear latent_up;     ///< C -> H·(D + Dv): for each head D features of its key, and its value (kv_b_proj)
  Linear output_proj;   ///< H·Dv -> E (o_proj)

  /// @throws std::invalid_argument naming the field: any that is zero; rope_dim, when it is odd. A product or sum of
  ///         fields must be below 2^64, which an implementation need not check.
  explicit LatentAttention(const LatentAttentionConfig& config);

  /// What the cache keeps of each token.
  ///
  ///   row = [ c | k_R ],   c = latent_norm(c'),   k_R = rope(k_R'),   [ c' | k_R' ] = x · latent_down
  ///
  /// RoPE has interleaved pairs, and pair n the speed 10000^(-2n / R), as apply_rope has them.
  ///
  /// @param X              (L x E x B)
  /// @param first_position position of row 0: how many tokens came before
  /// @return               (L x C+R x B)
  /// @throws std::invalid_argument naming X, its shape and what was expected.
  arma::cube latent_rows(const arma::cube& X, arma::uword first_position = 0) const;

  /// Queries of all heads: the first D features of each as query_up gives them, the last R rotated.
  ///
  /// @param X              (L x E x B)
  /// @param first_position as in latent_rows
  /// @return               (L x D+R x H·B), slice b·H + h
  /// @throws std::invalid_argument naming X, its shape and what was expected.
  arma::cube queries(const arma::cube& X, arma::uword first_position = 0) const;

  /// Causal attention, the direct way: keys and values of all heads are computed from the rows first.
  ///
  ///   context_h = softmax(causal(Q_h K_h^T / sqrt(D + R))) V_h
  ///   K_h = [ latents · W_K,h | rotated keys ],   V_h = latents · W_V,h,   [ W_K,h | W_V,h ]: columns of latent_up
  ///
  /// @param Q    (L x D+R x H·B), from queries
  /// @param rows (S x C+R x B), from latent_rows; the L queries are the last of the S tokens
  /// @return     (L x Dv x H·B)
  /// @throws std::invalid_argument naming Q or rows, its shape and what was expected; L, when it is above S.
  arma::cube attend_expanded(const arma::cube& Q, const arma::cube& rows) const;

  /// The same, up to rounding, without a key or a value of any head: latent_up is applied to the queries, and to the
  /// mixed latents. It allocates nothing as large as the S x D keys of a head, as long as L is below D (scores are L x S), and
  /// S is much larger than the widths.
  arma::cube attend_absorbed(const arma::cube& Q, const arma::cube& rows) const;

  /// Takes the next L tokens of each sequence, which all have the same length: a prompt, a part of it, the next token.
  /// Appends their rows to the cache, and attends to all of it: absorbed, where that takes fewer FLOPs than expanded.
  ///
  /// @param X (L x E x B), B as in the first call
  /// @return  (L x E x B)
  /// @throws std::invalid_argument naming X, its shape and what was expected. The cache is then as it was before.
  arma::cube extend(const arma::cube& X);

  /// (S x C+R x B): the rows of all tokens so far; empty before the first call.
  const arma::cube& cache() const { return cache_; }
  const LatentAttentionConfig& config() const { return config_; }

 private:
  LatentAttentionConfig config_;
  arma::cube cache_;
};

}  // namespace attn
