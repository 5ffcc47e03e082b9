#pragma once

#include <armadillo>

#include "attn/dropout.hpp"
#include "attn/linear.hpp"
#include "attn/mask.hpp"

/// Layers that take PyTorch's own parameters and PyTorch's own masks.
namespace attn::nn {

/// The parameters of PyTorch's nn.MultiheadAttention, by PyTorch's names and in PyTorch's layout: a weight is (out x
/// in).
struct MultiheadAttentionState {
  arma::mat in_proj_weight;    ///< (3E x E): rows 0..E-1 for queries, then keys, then values. Empty when kdim or vdim
                               ///< is not E; then these three hold the weights:
  arma::mat q_proj_weight;     ///< (E x E)
  arma::mat k_proj_weight;     ///< (E x kdim)
  arma::mat v_proj_weight;     ///< (E x vdim)
  arma::rowvec in_proj_bias;   ///< (1 x 3E); empty: no bias
  arma::mat out_proj_weight;   ///< (E x E)
  arma::rowvec out_proj_bias;  ///< (1 x E); empty: no bias
};

/// What nn.MultiheadAttention::forward takes besides the three inputs. PyTorch's masks say what is IGNORED: 1 =
/// blocked, the opposite of attn::Mask.
struct MultiheadAttentionOptions {
  arma::umat key_padding_mask;       ///< (B x S), 1 = this key is padding; empty: none
  arma::ucube bool_attn_mask;        ///< (L x S x 1) or (L x S x H·B), 1 = blocked; empty: none
  arma::cube float_attn_mask;        ///< (L x S x 1) or (L x S x H·B), added to the scaled scores; empty: none
  bool need_weights = true;          ///< false: no weights are returned
  bool average_attn_weights = true;  ///< true: the mean over the heads; false: each head's own
};

/// Both of PyTorch's boolean masks (1 = ignore) as one of ours (1 = may attend).
///
/// @param options key_padding_mask (B x S) and bool_attn_mask; the float mask is ignored
/// @return        (L x S x H·B) when there is a key_padding_mask; the inverted bool_attn_mask when there is only that;
///                empty when there is neither
/// @throws std::invalid_argument when the two masks do not fit each other. Masks that do not fit L and num_heads are
///         forward's to reject: an implementation need not check that here.
Mask allowed_mask(const MultiheadAttentionOptions& options, arma::uword L, arma::uword num_heads);

/// The mean over the heads of each sequence.
///
/// @param weights (L x S x H·B)
/// @return        (L x S x B)
/// @throws std::invalid_argument naming weights or num_heads, when a size is zero or H does not divide the slices.
arma::cube average_heads(const arma::cube& weights, arma::uword num_heads);

/// PyTorch's nn.MultiheadAttention (torch 1.13, batch_first=True), with PyTorch's names for its arguments.
///
/// A query that attends to no key gets weights of zero, where PyTorch gives NaN. Not supported: a key_padding_mask of
/// floats, add_bias_kv, add_zero_attn, dropout = 1 and input without a batch axis.
class MultiheadAttention {
 public:
  Linear query_proj;   ///< E -> E
  Linear key_proj;     ///< kdim -> E
  Linear value_proj;   ///< vdim -> E
  Linear output_proj;  ///< E -> E
  Dropout dropout;

  /// @param embed_dim  E
  /// @param num_heads  H, a divisor of E
  /// @param dropout_p  the probability that a weight is dropped, 0 <= dropout < 1
  /// @param bias       whether the four projections have a bias
  /// @param kdim, vdim the width of keys and of values; 0: E
  /// @throws std::invalid_argument naming embed_dim, num_heads or p.
  MultiheadAttention(arma::uword embed_dim, arma::uword num_heads, double dropout_p = 0.0, bool bias = true,
                     arma::uword kdim = 0, arma::uword vdim = 0);

  /// Copies PyTorch's parameters. Where kdim and vdim are both E, in_proj_weight is read, and else the three
  /// separate weights; those of the other kind are ignored.
  ///
  /// @throws std::invalid_argument naming the parameter, its shape and what was expected; nothing has changed then.
  void load_state(const MultiheadAttentionState& state);

  struct Result {
    arma::cube output;   ///< (L x E x B)
    arma::cube weights;  ///< (L x S x B) averaged, (L x S x H·B) not averaged; after dropout; empty if not needed
  };

  /// @param query (L x E x B)
  /// @param key   (S x kdim x B)
  /// @param value (S x vdim x B)
  /// @throws std::invalid_argument naming the argument, its shape and what was expected.
  Result forward(const arma::cube& query, const arma::cube& key, const arma::cube& value,
                 const MultiheadAttentionOptions& options = {});

  arma::uword num_heads() const { return num_heads_; }

 private:
  arma::uword num_heads_;
};

}  // namespace attn::nn
