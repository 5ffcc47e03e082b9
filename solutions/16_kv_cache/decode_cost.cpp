#include "attn/decode_cost.hpp"

#include <algorithm>

#include "attn/shape.hpp"

namespace attn {

namespace {

void require_sizes(const DecodeSizes& sizes) {
  require_positive("embed_dim", sizes.embed_dim);
  require_positive("length", sizes.length);
  require_positive("batch_size", sizes.batch_size);
  require_positive("bytes_per_number", sizes.bytes_per_number);
  // Above all sums below, so that none of them wraps around.
  require_product({{"16", 16},
                   {"batch_size", sizes.batch_size},
                   {"bytes_per_number", sizes.bytes_per_number},
                   {"embed_dim", sizes.embed_dim},
                   {"max(embed_dim, length)", std::max(sizes.embed_dim, sizes.length)}});
}

}  // namespace

arma::uword decode_flops(const DecodeSizes& sizes) {
  require_sizes(sizes);
  const arma::uword projections = 4 * 2 * sizes.embed_dim * sizes.embed_dim;
  const arma::uword scores_and_mixing = 2 * 2 * sizes.length * sizes.embed_dim;
  return sizes.batch_size * (projections + scores_and_mixing);
}

arma::uword cache_bytes(const DecodeSizes& sizes) {
  require_sizes(sizes);
  return 2 * sizes.batch_size * sizes.length * sizes.embed_dim * sizes.bytes_per_number;  // K and V
}

arma::uword decode_bytes(const DecodeSizes& sizes) {
  const arma::uword weights = 4 * sizes.embed_dim * sizes.embed_dim * sizes.bytes_per_number;
  return cache_bytes(sizes) + weights;
}

double arithmetic_intensity(const DecodeSizes& sizes) {
  return static_cast<double>(decode_flops(sizes)) / static_cast<double>(decode_bytes(sizes));
}

}  // namespace attn
