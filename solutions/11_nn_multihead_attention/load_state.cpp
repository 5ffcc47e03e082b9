#include <stdexcept>
#include <string>

#include "attn/nn_multihead_attention.hpp"
#include "attn/shape.hpp"

namespace attn::nn {

namespace {

/// PyTorch packs the three weights when queries, keys and values have the same width.
bool is_packed(const MultiheadAttention& layer) {
  const arma::uword E = layer.query_proj.weight.n_rows;
  return layer.key_proj.weight.n_rows == E && layer.value_proj.weight.n_rows == E;
}

/// A weight of PyTorch's (out x in) for this layer of ours.
void require_weight(const std::string& name, const arma::mat& weight, const Linear& layer) {
  require_shape(name, weight, {{"out", layer.weight.n_cols}, {"in", layer.weight.n_rows}});
}

/// A bias of this size, which may be 0: none.
void require_bias(const std::string& name, const arma::rowvec& bias, arma::uword size) {
  if (bias.n_elem == size) return;
  throw std::invalid_argument(name + " is " + shape_text(arma::mat(bias)) + ", expected 1 x " + std::to_string(size));
}

void require_state(const MultiheadAttention& layer, const MultiheadAttentionState& state) {
  const arma::uword E = layer.query_proj.weight.n_rows;
  const arma::uword bias_size = layer.output_proj.bias.n_elem;  // E, or 0: the layer has no bias
  if (is_packed(layer)) {
    require_shape("in_proj_weight", state.in_proj_weight, {{"3E", 3 * E}, {"E", E}});
  } else {
    require_weight("q_proj_weight", state.q_proj_weight, layer.query_proj);
    require_weight("k_proj_weight", state.k_proj_weight, layer.key_proj);
    require_weight("v_proj_weight", state.v_proj_weight, layer.value_proj);
  }
  require_bias("in_proj_bias", state.in_proj_bias, 3 * bias_size);
  require_weight("out_proj_weight", state.out_proj_weight, layer.output_proj);
  require_bias("out_proj_bias", state.out_proj_bias, bias_size);
}

}  // namespace

MultiheadAttention::MultiheadAttention(arma::uword embed_dim, arma::uword num_heads, double dropout_p, bool bias,
                                       arma::uword kdim, arma::uword vdim)
    : query_proj(require_multiple("embed_dim", embed_dim, "num_heads", num_heads), embed_dim, bias),
      key_proj(kdim == 0 ? embed_dim : kdim, embed_dim, bias),
      value_proj(vdim == 0 ? embed_dim : vdim, embed_dim, bias),
      output_proj(embed_dim, embed_dim, bias),
      dropout(dropout_p),
      num_heads_(num_heads) {}

void MultiheadAttention::load_state(const MultiheadAttentionState& state) {
  require_state(*this, state);  // all of it first: a wrong state must leave the layer as it was

  const arma::uword E = query_proj.weight.n_rows;
  if (is_packed(*this)) {
    query_proj.weight = state.in_proj_weight.rows(0, E - 1).t();
    key_proj.weight = state.in_proj_weight.rows(E, 2 * E - 1).t();
    value_proj.weight = state.in_proj_weight.rows(2 * E, 3 * E - 1).t();
  } else {
    query_proj.weight = state.q_proj_weight.t();
    key_proj.weight = state.k_proj_weight.t();
    value_proj.weight = state.v_proj_weight.t();
  }
  output_proj.weight = state.out_proj_weight.t();
  if (state.in_proj_bias.is_empty()) return;

  query_proj.bias = state.in_proj_bias.cols(0, E - 1);
  key_proj.bias = state.in_proj_bias.cols(E, 2 * E - 1);
  value_proj.bias = state.in_proj_bias.cols(2 * E, 3 * E - 1);
  output_proj.bias = state.out_proj_bias;
}

}  // namespace attn::nn
