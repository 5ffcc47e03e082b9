#include "attn/load_weights.hpp"

#include <string>

#include "attn/todo.hpp"

namespace attn {

void load_gpt2(LanguageModel& model, TensorFiles& tensors) {
  // TODO(23.9): set every weight of the model from the tensor with GPT-2's name for it: attn/load_weights.hpp lists them.
  todo("23.9");
}

void load_llama(LanguageModel& model, TensorFiles& tensors) {
  // TODO(23.10): set every weight of the model from the tensor with Llama's name for it, transposed where it is nn.Linear's.
  todo("23.10");
}

}  // namespace attn
