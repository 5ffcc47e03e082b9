// models/small writes, and reads, with your sliding window in every layer: without attention sinks, and with them.
//
//   ./learn demo 17 -- "It is a truth"
#include <cmath>
#include <cstdio>
#include <iostream>
#include <string>
#include <vector>

#include "attn/checkpoint.hpp"
#include "attn/sampling.hpp"
#include "attn/sliding_window.hpp"
#include "shared/model_text.hpp"
#include "shared/program_end.hpp"

namespace {

using arma::uword;

/// The first sentences of Pride and Prejudice.
constexpr const char* novel =
    "It is a truth universally acknowledged, that a single man in possession of a good fortune, must be in want of a "
    "wife. However little known the feelings or views of such a man may be on his first entering a neighbourhood, this "
    "truth is so well fixed in the minds of the surrounding families, that he is considered as the rightful property "
    "of some one or other of their daughters.";

attn::AttentionOfHeads with_window(uword window, uword sinks) {
  return [=](const arma::cube& Q, const arma::cube& K, const arma::cube& V) {
    return attn::sliding_window_attention(Q, attn::for_each_query_head(K, Q.n_slices),
                                          attn::for_each_query_head(V, Q.n_slices), window, sinks);
  };
}

/// exp of the mean -ln p(token) over the second half of a text, where the first keys have left the window.
double perplexity_of_second_half(const arma::mat& logits, const std::vector<uword>& ids) {
  const arma::mat log_probabilities = attn::log_softmax_rows(logits);  // (L x V)
  double sum = 0;
  for (uword i = ids.size() / 2; i + 1 < ids.size(); ++i) sum -= log_probabilities(i, ids[i + 1]);
  return std::exp(sum / static_cast<double>(ids.size() - 1 - ids.size() / 2));
}

void show(const std::string& prompt_text) {
  const attn::Checkpoint checkpoint = attn::small_model();
  const std::vector<uword> prompt = attn::prompt_ids(checkpoint.tokenizer, prompt_text);
  const std::vector<uword> text = attn::prompt_ids(checkpoint.tokenizer, novel);
  struct Window {
    uword window, sinks;
    const char* title;
  };
  for (const auto& [window, sinks, title] : {Window{128, 0, "Window 128, as in training: here that is every key."},
                                             Window{8, 0, "Window 8, no sinks: a query sees at most 8 keys."},
                                             Window{8, 4, "Window 8, 4 sinks: a query sees at most 12 keys."},
                                             Window{12, 0, "Window 12, no sinks: also at most 12 keys."}}) {
    std::cout << title << "\n\n";
    const attn::AttentionOfHeads attend = with_window(window, sinks);
    attn::print_text(checkpoint, prompt, 60, [&](const std::vector<uword>& ids) {
      return arma::rowvec(attn::logits_with(checkpoint.model, ids, attend).tail_rows(1));
    });
    std::printf("\nreading the beginning of Pride and Prejudice: perplexity %.1f\n\n",
                perplexity_of_second_half(attn::logits_with(checkpoint.model, text, attend), text));
  }
  std::cout
      << "This small model can do without sinks. Llama 2 13B cannot: it goes from 5 to above 5000 (chapter 17).\n";
}

}  // namespace

int main(int argc, char** argv) {
  return attn::run_demonstration("17",
                                 [&] { show(argc > 1 ? argv[1] : "It is a truth universally acknowledged, that"); });
}
