#include "attn/kv_cache.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "attn/shape.hpp"
#include "attn/todo.hpp"

namespace attn {

KVCache::KVCache(arma::uword num_heads) : num_heads_(1) {
  // TODO(16.1): put the number of heads instead of the 1; it must not be 0 (require_positive in attn/shape.hpp).
  todo("16.1");
}

arma::uword KVCache::length(arma::uword b) const {
  // The second half of 16.1: reject a b for which there is no sequence, and return the length of sequence b.
  todo("16.1");
}

// K_new and V_new (L x D x H·B), lengths (B) or empty
void KVCache::append(const arma::cube& K_new, const arma::cube& V_new, const arma::uvec& lengths) {
  // TODO(16.3): reject what does not fit, before anything is changed. Then make room, and put the new rows of each
  // sequence after its own last one. Slice n belongs to sequence n / H.
  todo("16.3");
}

void KVCache::make_room(arma::uword rows) {
  // TODO(16.2): when there are fewer rows than that, make keys_ and values_ longer: at least twice as long as they are.
  // What is in them stays; zeros come after it.
  todo("16.2");
}

}  // namespace attn
