#include "shared/model_text.hpp"

#include <iostream>
#include <random>
#include <utility>

#include "attn/heads.hpp"
#include "attn/positions.hpp"
#include "attn/sampling.hpp"
#include "attn/shape.hpp"
#include "shared/model_view.hpp"
#include "shared/program_end.hpp"
#include "system/text_style.hpp"

namespace attn {

Checkpoint small_model() { return load_language_model(ATTN_ROOT "/models/small"); }

arma::mat logits_with(const LanguageModel& model, const std::vector<arma::uword>& ids, const AttentionOfHeads& attend) {
  const DecoderAttentionConfig config = model.config().attention;
  const arma::umat positions = positions_after({0}, ids.size());      // (L x 1)
  arma::cube X = model.token_embedding(arma::umat(arma::uvec(ids)));  // (L x E x 1)
  for (const DecoderBlock& block : model.blocks) {
    const DecoderAttention& layer = block.attention;
    const arma::cube normed = apply_layer(block.attention_norm, X);
    const auto rotated = [&](const Linear& proj, arma::uword heads) {
      return apply_rope(split_heads(proj(normed), heads), config.pairing, positions, config.rope_speeds);
    };
    arma::cube context =
        attend(rotated(layer.query_proj, config.num_heads), rotated(layer.key_proj, config.num_kv_heads),
               split_heads(layer.value_proj(normed), config.num_kv_heads));  // (L x D x H)
    X += layer.output_proj(merge_heads(std::move(context), config.num_heads));
    X += apply_layer(block.feed_forward, apply_layer(block.feed_forward_norm, X));
  }
  return apply_layer(model.final_norm, X).slice(0) * model.token_embedding.weight.t();
}

arma::cube for_each_query_head(const arma::cube& heads, arma::uword num_heads) {
  arma::cube repeated(heads.n_rows, heads.n_cols, num_heads);
  for (arma::uword h = 0; h < num_heads; ++h) repeated.slice(h) = heads.slice(h * heads.n_slices / num_heads);
  return repeated;
}

std::vector<arma::uword> print_text(const Checkpoint& checkpoint, std::vector<arma::uword> ids, arma::uword new_tokens,
                                    const NextLogits& next_logits) {
  require_positive("prompt, its number of tokens,", ids.size());
  CharacterStream stream(TextStyle::of_output().ascii);
  const auto print = [&](arma::uword id) {
    std::cout << stream.take(bytes_of(checkpoint.tokenizer, id)) << std::flush;
  };
  for (const arma::uword id : ids) print(id);
  std::mt19937_64 generator(7);
  for (arma::uword n = 0; n < new_tokens && !was_interrupted(); ++n) {
    const arma::rowvec probabilities = token_probabilities(next_logits(ids), {0.8, 0, 0.95});
    ids.push_back(pick_token(probabilities, draw_uniform(generator)));
    print(ids.back());
  }
  std::cout << stream.finish() << "\n";
  return ids;
}

}  // namespace attn
