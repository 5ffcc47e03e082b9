#include "attn/model_config.hpp"

#include "attn/todo.hpp"

namespace attn {

LanguageModelConfig model_config(const ConfigFields& fields) {
  // TODO(23.8): the sizes of the model, with a default for each field that is empty: attn/model_config.hpp lists them.
  todo("23.8");
}

}  // namespace attn
