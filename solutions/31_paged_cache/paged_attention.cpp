#include <algorithm>
#include <vector>

#include "attn/online_softmax.hpp"
#include "attn/paged_cache.hpp"
#include "attn/shape.hpp"

namespace attn {

arma::cube paged_attention(const arma::cube& Q, const PagedCache& cache, arma::uword id) {
  const PagePool& pool = cache.pool();
  const std::vector<arma::uword>& table = cache.table(id);
  const arma::uword S = cache.length(id), G = pool.num_heads(), page_size = pool.page_size();
  require_shape("Q", Q, {{"L"}, {"D", pool.head_dim()}, {"H"}});
  require_multiple("Q, its number of heads,", Q.n_slices, "num_heads", G);
  require_at_most("L", Q.n_rows, "S", S);

  const arma::uword group_size = Q.n_slices / G;  // neighbouring query heads that share a key/value head
  std::vector<PartialAttention> seen(Q.n_slices);
  for (arma::uword k = 0; k < table.size(); ++k) {
    const arma::uword first = k * page_size, rows = std::min(page_size, S - first);  // the last page may have room
    Mask mask(Q.n_rows, rows, 1);
    for (arma::uword i = 0; i < Q.n_rows; ++i) {
      for (arma::uword j = 0; j < rows; ++j) mask(i, j, 0) = first + j + Q.n_rows <= i + S ? 1 : 0;
    }
    for (arma::uword h = 0; h < Q.n_slices; ++h) {
      const arma::uword slice = table[k] * G + h / group_size;
      const PartialAttention part = partial_attention(Q.slice(h), pool.keys.slice(slice).head_rows(rows),
                                                      pool.values.slice(slice).head_rows(rows), mask);
      seen[h] = k == 0 ? part : merge(seen[h], part);
    }
  }

  arma::cube context(arma::size(Q));  // (L x D x H)
  for (arma::uword h = 0; h < Q.n_slices; ++h) context.slice(h) = finish(seen[h]).output;
  return context;
}

}  // namespace attn
