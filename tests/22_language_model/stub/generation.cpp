#include "attn/generation.hpp"

#include "attn/shape.hpp"
#include "attn/todo.hpp"

namespace attn {

std::vector<arma::uword> generate(LanguageModel& model, const std::vector<arma::uword>& prompt,
                                  const GenerationConfig& config, const std::function<bool(arma::uword)>& on_token) {
  // TODO(22.7): reset the model, put the prompt through it, then draw, and put each new token through it alone, until a
  // stop token, max_tokens, or an on_token that returns false. Reject an empty prompt.
  todo("22.7");
}

double mean_negative_log_likelihood(LanguageModel& model, const std::vector<arma::uword>& tokens) {
  // TODO(22.8): the mean of -ln p(token) over all tokens but the first. Reject fewer than two.
  todo("22.8");
}

double perplexity(LanguageModel& model, const std::vector<arma::uword>& tokens) {
  // The second part of 22.8: exp of the mean.
  todo("22.8");
}

}  // namespace attn
