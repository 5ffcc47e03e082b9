// models/small writes a sentence twice: with your cache, and without any.
//
//   ./learn demo 16 -- "It is a truth"
#include <chrono>
#include <iostream>
#include <string>
#include <vector>

#include "attn/checkpoint.hpp"
#include "lesson/text.hpp"
#include "shared/model_text.hpp"
#include "shared/program_end.hpp"

namespace {

using arma::uword;
using Ids = std::vector<uword>;

/// What the model says after the last of these tokens (1 x V).
arma::rowvec after(attn::LanguageModel& model, const Ids& ids) {
  return model.extend(arma::umat(arma::uvec(ids))).slice(0).tail_rows(1);
}

void show(const std::string& prompt_text) {
  constexpr uword new_tokens = 60;
  attn::Checkpoint checkpoint = attn::small_model();
  attn::LanguageModel& model = checkpoint.model;
  const Ids prompt = attn::prompt_ids(checkpoint.tokenizer, prompt_text);
  uword rows = 0;  // that went through the model
  const auto write = [&](const char* title, const attn::NextLogits& next_logits) {
    std::cout << title << "\n\n";
    model.reset();
    rows = 0;
    const auto start = std::chrono::steady_clock::now();
    const Ids ids = attn::print_text(checkpoint, prompt, new_tokens, next_logits);
    const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - start;
    std::cout << "\n"
              << rows << " tokens went through the model, "
              << attn::with_decimals(time.count() / static_cast<double>(new_tokens), 1) << " ms for each new one\n\n";
    return ids;
  };
  const Ids with_cache = write("With your cache: the prompt once, then each token alone.", [&](const Ids& ids) {
    const Ids fresh(ids.begin() + static_cast<std::ptrdiff_t>(rows), ids.end());
    rows += fresh.size();
    return after(model, fresh);
  });
  const Ids without = write("Without a cache: the whole text again for each token.", [&](const Ids& ids) {
    model.reset();
    rows += ids.size();
    return after(model, ids);
  });
  std::cout << (with_cache == without ? "Both texts are the same.\n" : "The two texts differ: ./learn check 16\n");
}

}  // namespace

int main(int argc, char** argv) {
  return attn::run_demonstration("16",
                                 [&] { show(argc > 1 ? argv[1] : "It is a truth universally acknowledged, that"); });
}
