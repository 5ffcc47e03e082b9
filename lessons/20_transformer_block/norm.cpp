#include "attn/norm.hpp"

#include "attn/shape.hpp"
#include "attn/todo.hpp"

namespace attn {

LayerNorm::LayerNorm(arma::uword dim, double eps) : epsilon(0) {
  // TODO(20.1): put eps instead of the 0, reject a dim of 0, and set weight (1 x dim) to ones and bias (1 x dim) to
  // zeros.
  todo("20.1");
}

// X (L x E x B) -> (L x E x B)
arma::cube LayerNorm::operator()(const arma::cube& X) const {
  // The second part of 20.1: reject an X of the wrong shape. From each row subtract its mean, divide it by the root of
  // its variance plus epsilon, then multiply by the weight and add the bias.
  todo("20.1");
}

RMSNorm::RMSNorm(arma::uword dim, double eps) : epsilon(0) {
  // TODO(20.2): put eps instead of the 0, reject a dim of 0, and set weight (1 x dim) to ones.
  todo("20.2");
}

// X (L x E x N) -> (L x E x N)
arma::cube RMSNorm::operator()(const arma::cube& X) const {
  // The second part of 20.2: reject an X of the wrong shape. Divide each row by the root of the mean of its squares plus
  // epsilon, then multiply by the weight.
  todo("20.2");
}

}  // namespace attn
