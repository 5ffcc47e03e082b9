#include "attn/generation.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "attn/shape.hpp"

namespace attn {

namespace {

/// Puts the tokens of one sequence through the model, in chunks, so that no scores are as large as L x L. Returns its logits
/// (L x V).
arma::mat extended(LanguageModel& model, const std::vector<arma::uword>& tokens) {
  const arma::uvec ids(tokens);                             // (L)
  arma::mat logits(ids.n_elem, model.config().vocab_size);  // (L x V)
  for (arma::uword first = 0; first < ids.n_elem; first += prompt_chunk) {
    const arma::uword last = std::min(first + prompt_chunk, ids.n_elem) - 1;
    logits.rows(first, last) = model.extend(arma::umat(ids.rows(first, last))).slice(0);
  }
  return logits;
}

}  // namespace

std::vector<arma::uword> generate(LanguageModel& model, const std::vector<arma::uword>& prompt,
                                  const GenerationConfig& config, const std::function<bool(arma::uword)>& on_token) {
  require_positive("prompt, its number of tokens,", prompt.size());
  model.reset();
  std::mt19937_64 generator(config.seed);
  arma::rowvec logits = extended(model, prompt).tail_rows(1);  // (1 x V): about the token after the prompt
  std::vector<arma::uword> tokens;
  while (tokens.size() < config.max_tokens) {
    const arma::uword token = pick_token(token_probabilities(logits, config.sampling), draw_uniform(generator));
    const auto& stops = config.stop_tokens;
    if (std::find(stops.begin(), stops.end(), token) != stops.end()) break;
    tokens.push_back(token);
    if (on_token && !on_token(token)) break;
    if (tokens.size() < config.max_tokens) logits = extended(model, {token});
  }
  return tokens;
}

double mean_negative_log_likelihood(LanguageModel& model, const std::vector<arma::uword>& tokens) {
  if (tokens.size() < 2) {
    throw std::invalid_argument("tokens has " + std::to_string(tokens.size()) + " elements, expected at least 2");
  }
  model.reset();
  const arma::mat log_probabilities = log_softmax_rows(extended(model, tokens));  // (n x V)
  double sum = 0;
  for (arma::uword i = 0; i + 1 < tokens.size(); ++i) sum -= log_probabilities(i, tokens[i + 1]);
  return sum / static_cast<double>(tokens.size() - 1);
}

double perplexity(LanguageModel& model, const std::vector<arma::uword>& tokens) {
  return std::exp(mean_negative_log_likelihood(model, tokens));
}

}  // namespace attn
