#include <algorithm>

#include "attn/online_softmax.hpp"
#include "attn/paged_cache.hpp"
#include "attn/shape.hpp"
#include "attn/todo.hpp"

namespace attn {

// Q (L x D x H) -> (L x D x H)
arma::cube paged_attention(const arma::cube& Q, const PagedCache& cache, arma::uword id) {
  // TODO(31.5): reject an unknown id, a Q of the wrong shape, and more queries than tokens. For each head: attention over each
  // page of the table alone, and the parts merged.
  todo("31.5");
}

}  // namespace attn
