// Lessons 07, 09, 16, 21 and 24: whole layers of attention, and their gradients.
#include <utility>

#include "attn/attention_backward.hpp"
#include "attn/cached_attention.hpp"
#include "attn/cross_attention.hpp"
#include "attn/decoder_attention.hpp"
#include "attn/multi_head_attention.hpp"
#include "questions.hpp"

namespace attn::moving {

namespace {

arma::cube cube_in(const Json& request, const std::string& field) {
  const arma::mat x = matrix_in(request, field);
  arma::cube cube(x.n_rows, x.n_cols, 1);
  cube.slice(0) = x;
  return cube;
}

Mask mask_in(const Json& request) {
  return request.contains("mask") ? arma::conv_to<Mask>::from(cube_in(request, "mask")) : Mask();
}

/// "query_proj": {"weight": (in x out), "bias": (1 x out)}, and so for the others; a missing bias stays as it is.
template <typename Layer>
void set_projections(Layer& layer, const Json& request) {
  const std::pair<const char*, Linear*> all[] = {{"query_proj", &layer.query_proj},
                                                 {"key_proj", &layer.key_proj},
                                                 {"value_proj", &layer.value_proj},
                                                 {"output_proj", &layer.output_proj}};
  for (const auto& [name, linear] : all) {
    const Json& of = request.at(name);
    linear->weight = matrix_in(of, "weight");
    if (of.contains("bias")) linear->bias = matrix_in(of, "bias");
  }
}

}  // namespace

/// {"X": (L x E), "heads": H, "query_proj": ..., "mask": ...} -> weights of each head, and output
Json multi_head(const Json& request) {
  const arma::cube X = cube_in(request, "X");
  MultiHeadAttention layer(X.n_cols, request.at("heads").get<arma::uword>(), 0);
  set_projections(layer, request);
  const arma::cube output = layer.forward(X, mask_in(request));
  return {{"weights", json_of(layer.attention_weights())}, {"output", json_of(output.slice(0))}};
}

/// {"query": (L x E), "memory": (S x E), "heads": H, "query_proj": ..., "mask": ...} -> keys and weights of each head, and
/// output
Json cross(const Json& request) {
  const arma::cube query = cube_in(request, "query"), memory = cube_in(request, "memory");
  CrossAttention layer(query.n_cols, request.at("heads").get<arma::uword>(), 0);
  set_projections(layer, request);
  const ProjectedMemory projected = layer.project_memory(memory, memory);
  const arma::cube output = layer.forward(query, projected, mask_in(request));
  return {{"keys", json_of(projected.keys)},
          {"weights", json_of(layer.attention_weights())},
          {"output", json_of(output.slice(0))}};
}

/// {"X": (L x E), "heads": H, "query_proj": ..., "prompt": n} -> the output of all rows: n by prefill, the next one by
/// decode, the others by extend; and the keys in the cache, of each head
Json cached(const Json& request) {
  const arma::cube X = cube_in(request, "X");
  const auto prompt = request.at("prompt").get<arma::uword>();
  CachedAttention layer(X.n_cols, request.at("heads").get<arma::uword>());
  set_projections(layer, request);
  arma::mat output = layer.prefill(X.rows(0, prompt - 1)).slice(0);
  if (prompt < X.n_rows) output = arma::join_cols(output, layer.decode(X.rows(prompt, prompt)).slice(0));
  if (prompt + 1 < X.n_rows) {
    output = arma::join_cols(output, layer.extend(X.rows(prompt + 1, X.n_rows - 1)).slice(0));
  }
  return {{"output", json_of(output)}, {"keys", json_of(layer.cache().keys())}};
}

/// {"X": (L x E), "heads": H, "kv_heads": G, "head_dim": D, "window": w, "bias": ..., "speeds": (1 x D/2), "query_proj": ...,
///  "calls": [rows of each call]} -> the output of all rows, and the keys in the cache, of each key/value head
Json decoder(const Json& request) {
  const arma::cube X = cube_in(request, "X");
  DecoderAttentionConfig config;
  config.embed_dim = X.n_cols;
  config.num_heads = request.at("heads").get<arma::uword>();
  config.num_kv_heads = request.at("kv_heads").get<arma::uword>();
  config.head_dim = request.at("head_dim").get<arma::uword>();
  config.window = request.at("window").get<arma::uword>();
  config.bias = request.at("bias").get<bool>();
  if (request.contains("speeds")) config.rope_speeds = matrix_in(request, "speeds");
  DecoderAttention layer(config);
  set_projections(layer, request);
  arma::mat output;
  arma::uword first = 0;
  for (const Json& call : request.at("calls")) {
    const auto count = call.get<arma::uword>();
    output = arma::join_cols(output, layer.extend(X.rows(first, first + count - 1)).slice(0));
    first += count;
  }
  return {{"output", json_of(output)}, {"keys", json_of(layer.cache().keys())}};
}

/// {"Q": (L x D), "K": (S x D), "V": (S x Dv), "d_context": (L x Dv), "mask": ...} -> weights, context and the gradients
Json backward(const Json& request) {
  const AttentionForward forward =
      attention_forward(cube_in(request, "Q"), cube_in(request, "K"), cube_in(request, "V"), mask_in(request));
  const AttentionGradients gradients = attention_backward(cube_in(request, "d_context"), forward.kept);
  return {{"weights", json_of(forward.kept.weights.slice(0))},
          {"context", json_of(forward.context.slice(0))},
          {"d_Q", json_of(gradients.d_Q.slice(0))},
          {"d_K", json_of(gradients.d_K.slice(0))},
          {"d_V", json_of(gradients.d_V.slice(0))}};
}

}  // namespace attn::moving
