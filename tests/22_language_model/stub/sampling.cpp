#include "attn/sampling.hpp"

#include "attn/shape.hpp"
#include "attn/softmax.hpp"
#include "attn/todo.hpp"

namespace attn {

// logits (L x V) -> (L x V)
arma::mat log_softmax_rows(const arma::mat& logits) {
  // TODO(22.1): z - max z - ln sum exp(z - max z), for each row. Reject a size of zero.
  todo("22.1");
}

// logits (1 x V) -> (1 x V)
arma::rowvec token_probabilities(const arma::rowvec& logits, const SamplingConfig& config) {
  // TODO(22.2): the softmax of logits / temperature, where the largest logit is subtracted before the division (at
  // temperature 0 it gets all); then top-k; then top-p. What is left is divided by its sum after each. Reject what the
  // header lists.
  todo("22.2");
}

// probabilities (1 x V), 0 <= u < 1 -> id
arma::uword pick_token(const arma::rowvec& probabilities, double u) {
  // TODO(22.3): the first token at which the running sum is above u; never one of probability 0. Reject probabilities that
  // are all 0, or none, and a u that is out of range.
  todo("22.3");
}

}  // namespace attn
