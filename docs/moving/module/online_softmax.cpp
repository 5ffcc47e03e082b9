// Lesson 18: the softmax and attention in one pass, block by block.
#include "attn/online_softmax.hpp"

#include <algorithm>
#include <cmath>

#include "questions.hpp"

namespace attn::moving {

namespace {

Json part_of(const PartialAttention& of) {
  return {{"maximum", json_of(of.maximum(0))}, {"sum", json_of(of.sum(0))}, {"output", json_of(of.output)}};
}

}  // namespace

/// {"Q": (1 x D), "K": (S x D), "V": (S x Dv), "block": Sb, "seen": n} -> of each of the first n blocks: its own maximum, sum
/// and output; the factor by which what was there before is multiplied; and what is there after merging. And the
/// attention over all that was seen
Json online(const Json& request) {
  const arma::mat Q = matrix_in(request, "Q"), K = matrix_in(request, "K"), V = matrix_in(request, "V");
  const auto block = request.at("block").get<arma::uword>(), seen = request.at("seen").get<arma::uword>();
  PartialAttention so_far{arma::mat(1, V.n_cols, arma::fill::zeros), arma::vec{-arma::datum::inf}, arma::vec{0.0}};
  Json steps = Json::array();
  for (arma::uword n = 0, first = 0; n < seen && first < K.n_rows; ++n, first += block) {
    const arma::uword last = std::min(first + block, K.n_rows) - 1;
    const PartialAttention one = partial_attention(Q, K.rows(first, last), V.rows(first, last));
    const PartialAttention after = merge(so_far, one);
    steps.push_back({{"block", part_of(one)},
                     {"factor", std::exp(so_far.maximum(0) - after.maximum(0))},
                     {"after", part_of(after)}});
    so_far = after;
  }
  const FinishedAttention finished = finish(so_far);
  return {{"steps", steps}, {"output", json_of(finished.output)}, {"log_sum_exp", json_of(finished.log_sum_exp(0))}};
}

}  // namespace attn::moving
