// models/small writes a sentence twice: with your flash attention in every layer, and with the model's own attention.
//
//   ./learn demo 19 -- "It is a truth"
#include <algorithm>
#include <cstdio>
#include <iostream>
#include <string>
#include <vector>

#include "attn/checkpoint.hpp"
#include "attn/flash_attention.hpp"
#include "shared/model_text.hpp"
#include "shared/program_end.hpp"

namespace {

using arma::uword;
using Ids = std::vector<uword>;

constexpr uword most_tokens = 128;  // the model's window: up to here, causal order is all the mask that there is
constexpr uword block = 32;

arma::fcube in_float(const arma::cube& X) { return arma::conv_to<arma::fcube>::from(X); }

void show(const std::string& prompt_text) {
  attn::Checkpoint checkpoint = attn::small_model();
  const Ids prompt = attn::prompt_ids(checkpoint.tokenizer, prompt_text);
  const uword new_tokens = most_tokens - std::min<uword>(most_tokens, prompt.size());

  double untiled = 0, tiled = 0;  // bytes of one pass, all layers and heads
  const auto flash = [&](const arma::cube& Q, const arma::cube& K, const arma::cube& V) {
    const attn::FlashOptions options = {true, {}, block, block};
    const attn::AttentionCost cost = attn::attention_cost(Q.n_rows, K.n_rows, Q.n_cols, block);
    untiled += static_cast<double>(Q.n_slices) * cost.untiled_bytes;
    tiled += static_cast<double>(Q.n_slices) * cost.tiled_bytes;
    return arma::conv_to<arma::cube>::from(
        attn::flash_attention(in_float(Q), in_float(K), in_float(V), options).output);
  };
  std::cout << "With your flash attention: tiles of 32 x 32, in float.\n\n";
  const Ids in_tiles = attn::print_text(checkpoint, prompt, new_tokens, [&](const Ids& ids) {
    untiled = tiled = 0;
    return arma::rowvec(attn::logits_with(checkpoint.model, ids, flash).tail_rows(1));
  });
  std::cout << "\nWith the model's own attention: whole matrices of scores, in double.\n\n";
  const Ids whole = attn::print_text(checkpoint, prompt, new_tokens, [&](const Ids& ids) {
    checkpoint.model.reset();
    return arma::rowvec(checkpoint.model.extend(arma::umat(arma::uvec(ids))).slice(0).tail_rows(1));
  });
  std::cout << (in_tiles == whole ? "\nBoth texts are the same.\n" : "\nThe two texts differ: ./learn check 19\n");
  std::printf(
      "The last token's pass, 4 layers of 4 heads, by your attention_cost: %.1f MB moved untiled, %.1f MB in tiles.\n",
      untiled / 1e6, tiled / 1e6);
}

}  // namespace

int main(int argc, char** argv) {
  return attn::run_demonstration("19",
                                 [&] { show(argc > 1 ? argv[1] : "It is a truth universally acknowledged, that"); });
}
