// Lesson 14: rotary positions.
#include "attn/positions.hpp"

#include <cmath>

#include "questions.hpp"

namespace attn::moving {

namespace {

/// A row at a position, rotated: (1 x D).
arma::mat rotated(const arma::mat& row, arma::uword position) {
  arma::cube X(1, row.n_cols, 1);  // (1 x D x 1)
  X.slice(0) = row;
  return apply_rope(X, RopePairing::interleaved, arma::umat{position}).slice(0);
}

double score(const arma::mat& q, arma::uword i, const arma::mat& k, arma::uword j) {
  return arma::dot(rotated(q, i), rotated(k, j)) / std::sqrt(static_cast<double>(q.n_cols));
}

}  // namespace

/// {"q": (1 x D), "k": (1 x D), "i": position, "j": position} -> both rotated, and their score
Json rope(const Json& request) {
  const arma::mat q = matrix_in(request, "q"), k = matrix_in(request, "k");
  const auto i = request.at("i").get<arma::uword>(), j = request.at("j").get<arma::uword>();
  return {{"q", json_of(rotated(q, i))}, {"k", json_of(rotated(k, j))}, {"score", json_of(score(q, i, k, j))}};
}

/// {"q": ..., "k": ..., "most": n} -> the scores for a query that is -n, ..., 0, ..., n tokens after the key
Json rope_scores(const Json& request) {
  const arma::mat q = matrix_in(request, "q"), k = matrix_in(request, "k");
  Json scores = Json::array();
  const auto most = request.at("most").get<arma::uword>();
  for (arma::uword j = most; j > 0; --j) scores.push_back(json_of(score(q, 0, k, j)));
  for (arma::uword i = 0; i <= most; ++i) scores.push_back(json_of(score(q, i, k, 0)));
  return {{"scores", scores}};
}

}  // namespace attn::moving
