#include "attn/load_weights.hpp"

#include <string>
#include <variant>

namespace attn {

namespace {

/// A layer of GPT-2, which stores (in x out) already.
void load_conv1d(Linear& layer, TensorFiles& tensors, const std::string& name) {
  layer.weight = tensors.matrix(name + ".weight", layer.weight.n_rows, layer.weight.n_cols);
  layer.bias = tensors.row(name + ".bias", layer.weight.n_cols);
}

/// PyTorch's nn.Linear, which stores (out x in). An optional bias is zeros where the file has none.
void load_linear(Linear& layer, TensorFiles& tensors, const std::string& name, bool optional_bias = false) {
  layer.weight = tensors.matrix(name + ".weight", layer.weight.n_cols, layer.weight.n_rows).t();
  if (layer.bias.is_empty()) return;
  if (!optional_bias || tensors.has(name + ".bias")) {
    layer.bias = tensors.row(name + ".bias", layer.weight.n_cols);
  } else {
    layer.bias.zeros();
  }
}

void load_layer_norm(AnyNorm& norm, TensorFiles& tensors, const std::string& name) {
  auto& layer = std::get<LayerNorm>(norm);
  layer.weight = tensors.row(name + ".weight", layer.weight.n_cols);
  layer.bias = tensors.row(name + ".bias", layer.weight.n_cols);
}

void load_rms_norm(RMSNorm& norm, TensorFiles& tensors, const std::string& name) {
  norm.weight = tensors.row(name + ".weight", norm.weight.n_cols);
}

/// Queries, keys and values are the thirds of its columns.
void load_fused(DecoderAttention& attention, TensorFiles& tensors, const std::string& name) {
  const arma::uword E = attention.query_proj.weight.n_rows;
  const arma::mat weight = tensors.matrix(name + ".weight", E, 3 * E);
  const arma::rowvec bias = tensors.row(name + ".bias", 3 * E);
  arma::uword first = 0;
  for (Linear* layer : {&attention.query_proj, &attention.key_proj, &attention.value_proj}) {
    layer->weight = weight.cols(first, first + E - 1);
    layer->bias = bias.cols(first, first + E - 1);
    first += E;
  }
}

void load_head(LanguageModel& model, TensorFiles& tensors) {
  if (model.config().tied_head) return;
  const arma::mat& embedding = model.token_embedding.weight;  // (V x E)
  model.head = tensors.matrix("lm_head.weight", embedding.n_rows, embedding.n_cols).t();
}

}  // namespace

void load_gpt2(LanguageModel& model, TensorFiles& tensors) {
  const std::string prefix = tensors.has("transformer.wte.weight") ? "transformer." : "";
  arma::mat& embedding = model.token_embedding.weight;  // (V x E)
  embedding = tensors.matrix(prefix + "wte.weight", embedding.n_rows, embedding.n_cols);
  model.position_embedding =
      tensors.matrix(prefix + "wpe.weight", model.position_embedding.n_rows, model.position_embedding.n_cols);
  for (std::size_t i = 0; i < model.blocks.size(); ++i) {
    const std::string name = prefix + "h." + std::to_string(i);
    DecoderBlock& block = model.blocks[i];
    load_layer_norm(block.attention_norm, tensors, name + ".ln_1");
    load_fused(block.attention, tensors, name + ".attn.c_attn");
    load_conv1d(block.attention.output_proj, tensors, name + ".attn.c_proj");
    load_layer_norm(block.feed_forward_norm, tensors, name + ".ln_2");
    auto& feed_forward = std::get<FeedForward>(block.feed_forward);
    load_conv1d(feed_forward.up_proj, tensors, name + ".mlp.c_fc");
    load_conv1d(feed_forward.down_proj, tensors, name + ".mlp.c_proj");
  }
  load_layer_norm(model.final_norm, tensors, prefix + "ln_f");
  load_head(model, tensors);
}

void load_llama(LanguageModel& model, TensorFiles& tensors) {
  arma::mat& embedding = model.token_embedding.weight;  // (V x E)
  embedding = tensors.matrix("model.embed_tokens.weight", embedding.n_rows, embedding.n_cols);
  for (std::size_t i = 0; i < model.blocks.size(); ++i) {
    const std::string name = "model.layers." + std::to_string(i);
    DecoderBlock& block = model.blocks[i];
    DecoderAttention& attention = block.attention;
    load_rms_norm(std::get<RMSNorm>(block.attention_norm), tensors, name + ".input_layernorm");
    load_linear(attention.query_proj, tensors, name + ".self_attn.q_proj");
    load_linear(attention.key_proj, tensors, name + ".self_attn.k_proj");
    load_linear(attention.value_proj, tensors, name + ".self_attn.v_proj");
    load_linear(attention.output_proj, tensors, name + ".self_attn.o_proj", true);  // Qwen 2 has no bias there
    if (attention.config().qk_norm) {
      load_rms_norm(attention.query_norm, tensors, name + ".self_attn.q_norm");
      load_rms_norm(attention.key_norm, tensors, name + ".self_attn.k_norm");
    }
    load_rms_norm(std::get<RMSNorm>(block.feed_forward_norm), tensors, name + ".post_attention_layernorm");
    auto& feed_forward = std::get<SwiGLU>(block.feed_forward);
    load_linear(feed_forward.gate_proj, tensors, name + ".mlp.gate_proj");
    load_linear(feed_forward.up_proj, tensors, name + ".mlp.up_proj");
    load_linear(feed_forward.down_proj, tensors, name + ".mlp.down_proj");
  }
  load_rms_norm(std::get<RMSNorm>(model.final_norm), tensors, "model.norm");
  load_head(model, tensors);
}

}  // namespace attn
