// Lesson 22: choosing the next token.
#include <random>

#include "attn/sampling.hpp"
#include "questions.hpp"

namespace attn::moving {

/// {"logits": (1 x V), "temperature": T, "top_k": k, "top_p": p, "draws": n, "seed": s}
///   -> plain: the probabilities at this temperature; order: their ids, the most likely first; sums: of plain in this order;
///      probabilities: after top-k and top-p; counts: how often each was drawn
Json sampling(const Json& request) {
  const arma::rowvec logits = matrix_in(request, "logits");
  SamplingConfig config;
  config.temperature = number_in(request.at("temperature"));
  const arma::rowvec plain = token_probabilities(logits, config);  // (1 x V)
  const arma::uvec order = arma::stable_sort_index(plain.t(), "descend");
  config.top_k = request.at("top_k").get<arma::uword>();
  config.top_p = number_in(request.at("top_p"));
  const arma::rowvec probabilities = token_probabilities(logits, config);

  std::mt19937_64 generator(request.at("seed").get<std::uint64_t>());
  arma::rowvec counts(logits.n_cols, arma::fill::zeros);
  for (int n = request.at("draws").get<int>(); n > 0; --n)
    counts(pick_token(probabilities, draw_uniform(generator))) += 1;

  const arma::rowvec in_order = plain.elem(order).t();
  return {{"plain", json_of(plain)},
          {"order", json_of(arma::conv_to<arma::mat>::from(order.t()))},
          {"sums", json_of(arma::mat(arma::cumsum(in_order)))},
          {"probabilities", json_of(probabilities)},
          {"counts", json_of(counts)}};
}

}  // namespace attn::moving
