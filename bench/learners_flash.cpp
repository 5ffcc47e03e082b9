#include "learners_flash.hpp"

#include "attn/flash_attention.hpp"

namespace learners {

arma::fcube flash_attention(const arma::fcube& Q, const arma::fcube& K, const arma::fcube& V, bool causal) {
  attn::FlashOptions options;
  options.causal = causal;
  return attn::flash_attention(Q, K, V, options).output;
}

}  // namespace learners
