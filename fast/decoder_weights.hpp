#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "attn/language_model.hpp"
#include "stream.hpp"

namespace attn::fast {

/// A tensor as a safetensors file has it: row-major, anywhere in memory, which stays where it is.
struct Tensor {
  const void* data = nullptr;
  Number type = Number::float32;
  std::vector<std::size_t> shape;
};

/// Tensors by the names of Hugging Face's transformers: "model.layers.0.self_attn.q_proj.weight",
/// "h.0.attn.c_attn.weight".
using Tensors = std::map<std::string, Tensor>;

/// Columns of a linear layer's result, from weights that are read in place.
struct Projection {
  Weights weights;
  std::size_t inputs = 0, outputs = 0;
  bool by_columns = false;  ///< the weights are (inputs x outputs), GPT-2's Conv1D, and not (outputs x inputs)
  std::vector<float> bias;  ///< empty: none

  std::size_t between_outputs() const { return by_columns ? 1 : inputs; }  ///< numbers from one output to the next
  std::size_t between_inputs() const { return by_columns ? outputs : 1; }
  Weights from(std::size_t output, std::size_t input) const;
};

struct Norm {
  std::vector<float> weight, bias;  ///< bias empty: RMSNorm, else LayerNorm
  float epsilon = 0;
};

/// One block's weights. Large ones are read in place; norms and biases are copied as float32.
struct LayerWeights {
  Norm attention_norm, feed_forward_norm;
  std::vector<Projection> qkv;  ///< their columns side by side: queries, keys, values (H·D + 2·G·D)
  Projection output;            ///< H·D -> E
  Projection gate;              ///< E -> F; not used by gpt2
  Projection up;                ///< E -> F
  Projection down;              ///< F -> E
  Norm query_norm, key_norm;    ///< over D; weight empty: none
};

/// All weights of a model.
struct DecoderWeights {
  /// @throws std::invalid_argument naming the tensor that is missing, or its shape and what was expected.
  DecoderWeights(const LanguageModelConfig& config, const Tensors& tensors);

  Projection tokens;     ///< (V x E), one row per token
  Projection positions;  ///< (P x E); without data for llama
  std::vector<LayerWeights> layers;
  Norm final_norm;
  Projection head;  ///< (V x E): that of tokens, if it is tied
};

/// Row `row` of a matrix, as float32.
void copy_row(Weights weights, std::size_t row, std::size_t columns, float* to);

}  // namespace attn::fast
