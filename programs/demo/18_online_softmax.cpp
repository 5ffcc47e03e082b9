// models/small writes a sentence with your attention in every layer: one key at a time, 8 keys at a time, and all at once.
//
//   ./learn demo 18 -- "It is a truth"
#include <iostream>
#include <string>
#include <vector>

#include "attn/checkpoint.hpp"
#include "attn/masking.hpp"
#include "attn/online_softmax.hpp"
#include "shared/model_text.hpp"
#include "shared/program_end.hpp"

namespace {

using arma::uword;
using Ids = std::vector<uword>;

constexpr uword new_tokens = 40;

attn::AttentionOfHeads in_blocks(uword block_size) {
  return [=](const arma::cube& Q, const arma::cube& K, const arma::cube& V) {
    return attn::attention_in_blocks(Q, attn::for_each_query_head(K, Q.n_slices),
                                     attn::for_each_query_head(V, Q.n_slices), block_size,
                                     attn::causal_mask(Q.n_rows, K.n_rows));
  };
}

void show(const std::string& prompt_text) {
  const attn::Checkpoint checkpoint = attn::small_model();
  const Ids prompt = attn::prompt_ids(checkpoint.tokenizer, prompt_text);
  std::vector<Ids> texts;
  struct Blocks {
    uword size;
    const char* title;
  };
  for (const auto& [size, title] :
       {Blocks{1, "One key at a time."}, Blocks{8, "8 keys at a time."}, Blocks{128, "All keys at once."}}) {
    std::cout << title << "\n\n";
    const attn::AttentionOfHeads attend = in_blocks(size);
    texts.push_back(attn::print_text(checkpoint, prompt, new_tokens, [&](const Ids& ids) {
      return arma::rowvec(attn::logits_with(checkpoint.model, ids, attend).tail_rows(1));
    }));
    std::cout << "\n";
  }
  const bool same = texts[0] == texts[1] && texts[1] == texts[2];
  std::cout << (same ? "All three texts are the same.\n" : "The texts differ: ./learn check 18\n");
}

}  // namespace

int main(int argc, char** argv) {
  return attn::run_demonstration("18",
                                 [&] { show(argc > 1 ? argv[1] : "It is a truth universally acknowledged, that"); });
}
