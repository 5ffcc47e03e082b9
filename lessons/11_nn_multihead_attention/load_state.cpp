#include <stdexcept>
#include <string>

#include "attn/nn_multihead_attention.hpp"
#include "attn/shape.hpp"
#include "attn/todo.hpp"

namespace attn::nn {

MultiheadAttention::MultiheadAttention(arma::uword embed_dim, arma::uword num_heads, double dropout_p, bool bias,
                                       arma::uword kdim, arma::uword vdim)
    : query_proj(1, 1), key_proj(1, 1), value_proj(1, 1), output_proj(1, 1), dropout(0), num_heads_(num_heads) {
  // TODO(11.1): put the right sizes, and whether there is a bias, above instead of the 1s; and dropout_p instead of
  // the 0. Keys are kdim wide and values vdim; 0 stands for embed_dim. All four projections give embed_dim features.
  // require_multiple in attn/shape.hpp checks that num_heads divides embed_dim.
  todo("11.1");
}

void MultiheadAttention::load_state(const MultiheadAttentionState& state) {
  // TODO(11.2): first check every parameter of the state against the sizes of this layer, biases too (3E and E numbers,
  // or none when the layer has none). Then copy all of them. PyTorch's weights are (out x in).
  // When kdim and vdim are E, the three weights are packed in in_proj_weight; else they are q_, k_ and v_proj_weight.
  todo("11.2");
}

}  // namespace attn::nn
