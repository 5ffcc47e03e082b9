#include "draw_map.hpp"

#include <iostream>

#include "attention_map.hpp"
#include "layer_attention.hpp"
#include "system/text_style.hpp"
#include "lesson/text.hpp"
#include "system/files.hpp"
#include "token_text.hpp"

namespace attn::generating {

namespace {

constexpr const char* trained_on =
    "These weights were trained, on the six novels of Jane Austen: models/small, a model like Llama, a thousand times "
    "smaller.";
constexpr const char* look_for =
    "What to look for: a row looks at itself and at what is to its left, never to its right. A strong line just below "
    "the diagonal is a head that looks at the token before; a strong first column, one that has found nothing; and a "
    "strong cell far from the diagonal, a token that looks back at one like it.";

}  // namespace

void draw_map(Checkpoint& checkpoint, const Prepared& prepared) {
  const learn::GenerateOptions& options = prepared.options;
  const TextStyle style = TextStyle::of_output();
  const HeadOfLayer shown = options.layer_and_head.empty()
                                ? sharpest_head(checkpoint.model, prepared.ids)
                                : head_of_layer(checkpoint.model, prepared.ids, prepared.layer, prepared.head);
  const auto labels = labels_of(checkpoint.tokenizer, prepared.ids);
  if (options.trained) std::cout << style(trained_on) << "\n\n";
  const std::string layer = "layer " + std::to_string(shown.layer);
  std::string caption = layer + ", head " + std::to_string(shown.head) + ": rows look at columns, in percent";
  if (options.layer_and_head.empty()) caption += "; of all heads the sharpest, others with --attention LAYER.HEAD";
  std::cout << style(caption) << "\n" << attention_map_text(shown.weights.slice(shown.head), labels, style);
  if (options.trained) std::cout << "\n" << style(look_for) << "\n";
  if (!options.svg.empty()) {
    const std::string origin =
        "The weights of " + layer + " of " + in_ascii(prepared.model_name) + ", which were trained.";
    write_new_file(options.svg, attention_map_svg(shown.weights, labels, origin));
    std::cout << "\nwrote " << options.svg << ": " << layer << ", a panel for each head\n";
  }
  std::cout << std::flush;
}

}  // namespace attn::generating
