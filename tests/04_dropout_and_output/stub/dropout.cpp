#include "attn/dropout.hpp"

#include <stdexcept>
#include <string>

#include "attn/todo.hpp"

namespace attn {

Dropout::Dropout(double p) : p_(0) {
  // TODO(04.1): reject a p that is not 0 <= p < 1, NaN among them, and keep the others in p_. apply and draw must
  // reject such a p too, so a small function of your own above this one (in a namespace without a name) serves all
  // three.
  todo("04.1");
}

// x, keep -> as large as x
arma::cube Dropout::apply(const arma::cube& x, const Mask& keep, double p) {
  // TODO(04.2): reject a wrong p, and a keep that is not as large as x. Then x / (1 - p) where keep is not 0, and 0
  // elsewhere.
  todo("04.2");
}

// -> (rows x cols x slices), zeros and ones
Mask Dropout::draw(arma::uword rows, arma::uword cols, arma::uword slices, double p) {
  // TODO(04.3): reject a wrong p. Then a mask in which each number, drawn on its own from Armadillo's generator, is 0
  // with probability p and else 1.
  todo("04.3");
}

// x -> as large as x
arma::cube Dropout::operator()(const arma::cube& x) {
  // TODO(04.4): in evaluation x as it is; while training apply() with the mask that next_mask(x) gives.
  todo("04.4");
}

}  // namespace attn
