#include "flash_layer.hpp"

#include <utility>

namespace attn::bench {

FlashLayer::FlashLayer(const Linear& qkv_proj, const Linear& output_proj, arma::uword heads, HeadsAttention attention)
    : qkv_weight_(arma::conv_to<arma::fmat>::from(qkv_proj.weight)),
      output_weight_(arma::conv_to<arma::fmat>::from(output_proj.weight)),
      qkv_bias_(arma::conv_to<arma::frowvec>::from(qkv_proj.bias)),
      output_bias_(arma::conv_to<arma::frowvec>::from(output_proj.bias)),
      heads_(heads),
      attention_(std::move(attention)) {}

arma::fcube FlashLayer::forward(const arma::fcube& X) const {
  const arma::uword L = X.n_rows, E = X.n_cols, D = E / heads_;
  arma::fcube output(L, E, X.n_slices);
  for (arma::uword b = 0; b < X.n_slices; ++b) {
    arma::fmat qkv = X.slice(b) * qkv_weight_;  // (L x 3E): Q, K, V, and in each of them head after head
    qkv.each_row() += qkv_bias_;
    const auto heads = [&](arma::uword part) { return arma::fcube(qkv.colptr(part * E), L, D, heads_, false, true); };
    const arma::fcube context = attention_(heads(0), heads(1), heads(2));  // (L x D x H) is (L x E)
    output.slice(b) = arma::fmat(const_cast<float*>(context.memptr()), L, E, false, true) * output_weight_;
    output.slice(b).each_row() += output_bias_;
  }
  return output;
}

}  // namespace attn::bench
