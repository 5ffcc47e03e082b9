#pragma once

#include <armadillo>
#include <cstdint>
#include <functional>
#include <vector>

#include "attn/language_model.hpp"
#include "attn/sampling.hpp"

namespace attn {

/// So many tokens of a prompt go through the model at once (Agrawal et al. 2023, chunked prefill).
inline constexpr arma::uword prompt_chunk = 256;

/// How a text is continued.
struct GenerationConfig {
  SamplingConfig sampling;
  arma::uword max_tokens = 32;           ///< at most this many new tokens
  std::vector<arma::uword> stop_tokens;  ///< ids that end the text, such as <|endoftext|>; they are not returned
  std::uint64_t seed = 0;                ///< of std::mt19937_64
};

/// Continues a text, token by token: the prompt goes through the model once, and then each new token alone, as the cache
/// keeps all others. A long prompt may go through in parts, one after the other: the result is the same, and no scores are
/// as large as L x L. Begins by resetting the model.
///
/// One number of draw_uniform is drawn for each token, at temperature 0, too. A token goes through the model only if another
/// one is drawn after it. So afterwards the cache has the prompt and all new tokens but the last; after a stop token, all.
///
/// @param prompt   ids of the vocabulary, at least one
/// @param on_token called with each new token, as soon as it is there; ends the text by returning false (that token
///                 still counts). May be empty
/// @return         the new tokens, without the prompt, and without the stop token that ended them
/// @throws std::invalid_argument naming prompt, when it is empty; or what LanguageModel::extend and token_probabilities
///         name.
std::vector<arma::uword> generate(LanguageModel& model, const std::vector<arma::uword>& prompt,
                                  const GenerationConfig& config = {},
                                  const std::function<bool(arma::uword)>& on_token = {});

/// How well a model predicts a text: the mean of -ln p(token) over all tokens but the first, each given all those
/// before it. PyTorch's `F.cross_entropy(logits[:-1], tokens[1:])`. Begins by resetting the model.
///
/// @param tokens at least two ids
/// @return       in nats per token; ln V for a model that knows nothing
/// @throws std::invalid_argument naming tokens, when there are fewer than two; or what LanguageModel::extend names.
double mean_negative_log_likelihood(LanguageModel& model, const std::vector<arma::uword>& tokens);

/// exp(mean_negative_log_likelihood): among how many equally likely tokens the model seems to choose. V for a model that
/// knows nothing. Jelinek et al. (1977).
double perplexity(LanguageModel& model, const std::vector<arma::uword>& tokens);

}  // namespace attn
