#include <algorithm>
#include <stdexcept>
#include <string>

#include "attn/decoder_attention.hpp"
#include "attn/shape.hpp"

namespace attn {

arma::umat positions_after(const arma::uvec& old_lengths, arma::uword L) {
  require_product({{"old_lengths, its number of elements,", old_lengths.n_elem}, {"L", L}});
  sum_of({{"the largest of old_lengths", old_lengths.max()}, {"L", L}});
  arma::umat positions(L, old_lengths.n_elem);  // (L x B)
  for (arma::uword b = 0; b < positions.n_cols; ++b) {
    for (arma::uword i = 0; i < L; ++i) positions(i, b) = old_lengths(b) + i;
  }
  return positions;
}

Mask decoder_mask(const arma::uvec& old_lengths, const arma::uvec& new_lengths, arma::uword L, arma::uword S,
                  arma::uword window) {
  require_product({{"old_lengths, its number of elements,", old_lengths.n_elem}, {"L", L}, {"S", S}});
  const arma::umat positions = positions_after(old_lengths, L);  // (L x B)
  if (new_lengths.n_elem != old_lengths.n_elem) {
    throw std::invalid_argument("new_lengths has " + std::to_string(new_lengths.n_elem) +
                                " elements, expected B = " + std::to_string(old_lengths.n_elem));
  }
  require_at_most("new_lengths, its largest,", new_lengths.max(), "L", L);
  if (arma::uvec(old_lengths + new_lengths).max() > S) {
    throw std::invalid_argument("S is " + std::to_string(S) + ", expected at least the tokens of each sequence, " +
                                std::to_string(arma::uvec(old_lengths + new_lengths).max()));
  }
  Mask mask(L, S, old_lengths.n_elem, arma::fill::zeros);  // (L x S x B)
  for (arma::uword b = 0; b < mask.n_slices; ++b) {
    for (arma::uword i = 0; i < new_lengths(b); ++i) {
      const arma::uword end = positions(i, b) + 1;                              // after its own key
      const arma::uword start = window == 0 ? 0 : end - std::min(window, end);  // not below zero
      for (arma::uword j = start; j < end; ++j) mask(i, j, b) = 1;
    }
  }
  return mask;
}

}  // namespace attn
