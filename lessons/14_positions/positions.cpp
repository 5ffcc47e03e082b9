#include "attn/positions.hpp"

#include <cmath>
#include <stdexcept>
#include <string>

#include "attn/shape.hpp"
#include "attn/todo.hpp"

namespace attn {

// -> (L x E); row i is position first_position + i
arma::mat sinusoidal_positions(arma::uword L, arma::uword E, arma::uword first_position) {
  // TODO(14.1): reject an L or E of zero, and an odd E (require_positive, require_multiple in attn/shape.hpp). Then a
  // sine in every even column and a cosine in every odd one; the two of a pair have the same angle.
  todo("14.1");
}

// X (L x D x N), positions (L x M), speeds (1 x D/2) -> (L x D x N); slice n has the positions of column n / (N / M)
arma::cube apply_rope(const arma::cube& X, RopePairing pairing, const arma::umat& positions,
                      const arma::rowvec& speeds) {
  // TODO(14.2): reject an X with a size of zero or an odd number of columns, positions and speeds that do not fit X, and
  // speeds that are not finite. Empty positions are 0, 1, ... L-1, empty speeds those of 14.1 with D instead of E. Then
  // rotate every pair of features by its angle. `pairing` says which two columns are a pair.
  todo("14.2");
}

// weight (in x H·D) -> (in x H·D), its columns in another order; the bias likewise
Linear to_half_split(const Linear& interleaved, arma::uword num_heads) {
  // TODO(14.3): reject sizes of zero, heads of odd width, and a bias that is not as wide as the weight
  // (require_shape("interleaved.bias", ...)). Then put the columns of every head into the order that half-split pairs
  // need, and the bias, where there is one, into the same.
  todo("14.3");
}

// -> (1 x H)
arma::rowvec alibi_slopes(arma::uword num_heads) {
  // TODO(14.4): reject num_heads of zero. Then the slopes, for a power of two and for any other number of heads.
  todo("14.4");
}

// -> (L x S x H)
arma::cube alibi_bias(arma::uword num_heads, arma::uword L, arma::uword S) {
  // TODO(14.5): reject an L or S of zero. Then minus the slope of the head times the distance from query to key, where
  // query i is at position i + S - L.
  todo("14.5");
}

}  // namespace attn
