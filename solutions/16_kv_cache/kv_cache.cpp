#include "attn/kv_cache.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "attn/shape.hpp"

namespace attn {

namespace {

/// How many of the L new rows are tokens of each sequence.
arma::uvec checked_lengths(const arma::uvec& lengths, arma::uword L, arma::uword batch) {
  if (lengths.is_empty()) return arma::uvec(batch).fill(L);
  if (lengths.n_elem != batch) {
    throw std::invalid_argument("lengths has " + std::to_string(lengths.n_elem) +
                                " elements, expected B = " + std::to_string(batch) + ", or none");
  }
  if (lengths.max() > L) {
    throw std::invalid_argument("lengths holds " + std::to_string(lengths.max()) +
                                ", expected at most L = " + std::to_string(L));
  }
  return lengths;
}

}  // namespace

KVCache::KVCache(arma::uword num_heads) : num_heads_(require_positive("num_heads", num_heads)) {}

arma::uword KVCache::length(arma::uword b) const {
  if (b < batch_size()) return lengths_(b);
  throw std::invalid_argument("b is " + std::to_string(b) +
                              ", expected less than the number of sequences, B = " + std::to_string(batch_size()));
}

void KVCache::append(const arma::cube& K_new, const arma::cube& V_new, const arma::uvec& lengths) {
  // Before the first append the cache's sizes are 0, which means any size here.
  require_shape("K_new", K_new, {{"L"}, {"D", keys_.n_cols}, {"H·B", keys_.n_slices}});
  require_multiple("K_new, its number of slices,", K_new.n_slices, "num_heads", num_heads_);
  require_shape("V_new", V_new, {{"L", K_new.n_rows}, {"D", K_new.n_cols}, {"H·B", K_new.n_slices}});
  const arma::uword batch = K_new.n_slices / num_heads_;
  const arma::uvec added = checked_lengths(lengths, K_new.n_rows, batch);

  if (lengths_.is_empty()) {
    lengths_.zeros(batch);
    keys_.set_size(0, K_new.n_cols, K_new.n_slices);
    values_.set_size(0, K_new.n_cols, K_new.n_slices);
  }
  make_room((lengths_ + added).max());
  for (arma::uword n = 0; n < K_new.n_slices; ++n) {
    const arma::uword b = n / num_heads_;
    for (arma::uword i = 0; i < added(b); ++i) {
      keys_.slice(n).row(lengths_(b) + i) = K_new.slice(n).row(i);
      values_.slice(n).row(lengths_(b) + i) = V_new.slice(n).row(i);
    }
  }
  lengths_ += added;
}

void KVCache::make_room(arma::uword rows) {
  if (rows <= capacity()) return;
  const arma::uword new_capacity = std::max(rows, 2 * capacity());
  keys_.resize(new_capacity, keys_.n_cols, keys_.n_slices);  // keeps the old rows, and fills up with zeros
  values_.resize(new_capacity, values_.n_cols, values_.n_slices);
}

}  // namespace attn
