#include "attn/decode_cost.hpp"

#include "attn/shape.hpp"
#include "attn/todo.hpp"

namespace attn {

arma::uword decode_flops(const DecodeSizes& sizes) {
  // TODO(16.7): reject sizes of zero, by name, in all four functions, used or not. Here: the FLOPs of four projections
  // of B tokens, of their scores, and of the mixing.
  todo("16.7");
}

arma::uword cache_bytes(const DecodeSizes& sizes) {
  // The second part of 16.7: the bytes of all keys and values.
  todo("16.7");
}

arma::uword decode_bytes(const DecodeSizes& sizes) {
  // The third part of 16.7: the bytes of the four weights, and of the cache.
  todo("16.7");
}

double arithmetic_intensity(const DecodeSizes& sizes) {
  // The fourth part of 16.7: FLOPs for each byte, as a fraction.
  todo("16.7");
}

}  // namespace attn
