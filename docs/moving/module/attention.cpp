// Lessons 00 to 09: the softmax, and attention of one head and of several.
#include <cmath>

#include "attn/masking.hpp"
#include "attn/self_attention_v1.hpp"
#include "attn/softmax.hpp"
#include "questions.hpp"

namespace attn::moving {

/// {"scores": [[...]], "temperature": T, "shift": c, "subtracts": true} -> the scores plus c, divided by T; their exponentials,
/// after the largest was subtracted or not; the weights
Json softmax(const Json& request) {
  const arma::mat scores =
      (matrix_in(request, "scores") + number_in(request.at("shift"))) / number_in(request.at("temperature"));
  const double subtracted = request.at("subtracts").get<bool>() ? scores.max() : 0;
  return {{"scores", json_of(scores)},
          {"exponentials", json_of(arma::mat(arma::exp(scores - subtracted)))},
          {"weights", json_of(softmax_rows(scores))}};
}

namespace {

/// A matrix as a cube of one slice.
arma::cube one_slice(const arma::mat& x) {
  arma::cube cube(x.n_rows, x.n_cols, 1);
  cube.slice(0) = x;
  return cube;
}

}  // namespace

/// {"Q": ..., "K": ..., "V": ..., "mask": ... (may be missing)} -> scores, weights and context of one head
Json attend(const Json& request) {
  const arma::cube Q = one_slice(matrix_in(request, "Q")), K = one_slice(matrix_in(request, "K"));
  Mask mask;
  if (request.contains("mask")) mask = arma::conv_to<Mask>::from(one_slice(matrix_in(request, "mask")));
  const arma::cube scores = attention_scores_einsum(Q, K) / std::sqrt(static_cast<double>(Q.n_cols));  // (L x S x 1)
  // What mixes the rows of the identity is the weights themselves
  const arma::cube weights = scaled_dot_product_attention(Q, K, one_slice(arma::eye(K.n_rows, K.n_rows)), mask);
  const arma::cube context = scaled_dot_product_attention(Q, K, one_slice(matrix_in(request, "V")), mask);
  return {{"scores", json_of(masked_fill(scores, mask, -arma::datum::inf).slice(0))},
          {"weights", json_of(weights.slice(0))},
          {"sums", json_of(arma::mat(arma::sum(weights.slice(0), 1)))},
          {"context", json_of(context.slice(0))}};
}

/// {"scores": (S x S), "mask": ...} -> the weights of scaled_dot_product_attention, for queries and keys that have these scores
Json masked(const Json& request) {
  const arma::mat scores = matrix_in(request, "scores");
  const arma::mat identity = arma::eye(arma::size(scores));
  const Mask mask = arma::conv_to<Mask>::from(one_slice(matrix_in(request, "mask")));
  // scores · (√S I)ᵀ / √S are the scores, and what mixes the rows of the identity is the weights themselves
  const arma::cube K = one_slice(identity * std::sqrt(static_cast<double>(scores.n_cols)));
  const arma::mat weights = scaled_dot_product_attention(one_slice(scores), K, one_slice(identity), mask).slice(0);
  return {{"weights", json_of(weights)}, {"sums", json_of(arma::mat(arma::sum(weights, 1)))}};
}

/// {"length": n, "size": L, "causal": true} -> the mask of L tokens, of which the first n are real
Json mask(const Json& request) {
  const auto size = request.at("size").get<arma::uword>();
  const Mask padding = padding_mask(arma::uvec{request.at("length").get<arma::uword>()}, size, size);  // (L x L x 1)
  const Mask both = request.at("causal").get<bool>() ? combine_masks(padding, causal_mask(size, size)) : padding;
  return {{"mask", json_of(arma::conv_to<arma::mat>::from(both.slice(0)))}};
}

/// {"X": ..., "W_q": ..., "W_k": ..., "W_v": ...} -> weights of SelfAttentionV1, the sum of each row, and the context
Json self_attention(const Json& request) {
  const arma::mat X = matrix_in(request, "X");  // (L x E)
  SelfAttentionV1 layer(X.n_cols);
  layer.query_proj.weight = matrix_in(request, "W_q");
  layer.key_proj.weight = matrix_in(request, "W_k");
  layer.value_proj.weight = matrix_in(request, "W_v");
  const arma::cube context = layer.forward(one_slice(X));
  const arma::mat& weights = layer.attention_weights().slice(0);  // (L x L)
  return {{"weights", json_of(weights)},
          {"sums", json_of(arma::mat(arma::sum(weights, 1)))},
          {"context", json_of(context.slice(0))}};
}

}  // namespace attn::moving
