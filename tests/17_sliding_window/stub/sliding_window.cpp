#include "attn/sliding_window.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "attn/shape.hpp"
#include "attn/softmax.hpp"
#include "attn/todo.hpp"

namespace attn {

// -> the keys of query i, ascending, each once
arma::uvec window_keys(arma::uword i, arma::uword L, arma::uword S, arma::uword window, arma::uword sinks) {
  // TODO(17.1): reject an L, S or window of zero, and an i that is not below L. Query i is at position i + S - L. It
  // sees the first `sinks` keys as far as they are before its window, and then the `window` newest keys up to its
  // position; none when i + S is below L. arma::uword never goes below zero: add and compare before you subtract.
  todo("17.1");
}

// -> (L x S x 1): 1 may attend, 0 is blocked
Mask sliding_window_mask(arma::uword L, arma::uword S, arma::uword window, arma::uword sinks) {
  // TODO(17.2): zeros, and ones at the keys of each query.
  todo("17.2");
}

// Q (L x D x N), K (S x D x N), V (S x Dv x N) -> (L x Dv x N)
arma::cube sliding_window_attention(const arma::cube& Q, const arma::cube& K, const arma::cube& V, arma::uword window,
                                    arma::uword sinks) {
  // TODO(17.3): reject wrong shapes. Then, for each query and each slice: the scores of its keys alone, divided by
  // sqrt(D), one softmax over all of them, and the mixture of their values. Zeros for a query without keys. Nothing
  // as large as L x S is made.
  todo("17.3");
}

}  // namespace attn
