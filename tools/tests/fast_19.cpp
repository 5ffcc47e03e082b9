// Puts the fast kernels in the place of lesson 19's flash_attention, so that its checks judge them.
#include <stdexcept>

#include "attn/flash_attention.hpp"
#include "flash_attention.hpp"

namespace attn {

namespace {

[[noreturn]] void not_part_of_this() { throw std::logic_error("the fast kernels have flash_attention alone"); }

}  // namespace

FlashResult flash_attention(const arma::fcube& Q, const arma::fcube& K, const arma::fcube& V,
                            const FlashOptions& options) {
  return fast::flash_attention(Q, K, V, options);
}

arma::uword visible_keys(arma::uword, arma::uword, arma::uword, arma::uword, bool) { not_part_of_this(); }

void add_key_block(QueryBlock&, const arma::fmat&, const arma::fmat&, const arma::fmat&, const arma::uvec&) {
  not_part_of_this();
}

AttentionCost attention_cost(arma::uword, arma::uword, arma::uword, arma::uword) { not_part_of_this(); }

}  // namespace attn
