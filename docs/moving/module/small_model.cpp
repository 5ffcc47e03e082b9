// models/small: a text and what comes next.
#include <memory>
#include <random>

#include "attn/checkpoint.hpp"
#include "attn/generation.hpp"
#include "attn/sampling.hpp"
#include "questions.hpp"
#include "shared/model_view.hpp"

namespace attn::moving {

namespace {

constexpr std::size_t most_tokens = 96;   // so many rows of a map
constexpr std::size_t most_bytes = 4000;  // of a text that is cut into tokens
constexpr arma::uword most_likely = 10;

std::unique_ptr<Checkpoint> small;  // NOLINT: between two questions

Checkpoint& opened() {
  if (!small) small = std::make_unique<Checkpoint>(load_language_model("small"));
  return *small;
}

/// The tokens of what somebody has typed.
std::vector<arma::uword> ids_of(const Checkpoint& checkpoint, const std::string& text) {
  if (text.empty()) throw std::invalid_argument("There is no text: type a word.");
  const std::string limit = "this figure shows at most " + std::to_string(most_tokens) + ". Take a shorter text.";
  if (text.size() > most_bytes) throw std::invalid_argument("The text is far too long; of tokens, " + limit);
  std::vector<arma::uword> ids = prompt_ids(checkpoint.tokenizer, text, Specials::as_text);
  if (ids.size() > most_tokens) {
    throw std::invalid_argument("The text has " + std::to_string(ids.size()) + " tokens; " + limit);
  }
  return ids;
}

SamplingConfig sampling_in(const Json& request) {
  SamplingConfig config;
  config.temperature = number_in(request.at("temperature"));
  config.top_k = request.at("top_k").get<arma::uword>();
  config.top_p = number_in(request.at("top_p"));
  return config;
}

}  // namespace

/// {"text": "It is"} -> its tokens; the likeliest next ones; and the weights of all layers and heads, (L x L) each
Json read_text(const Json& request) {
  Checkpoint& checkpoint = opened();
  const std::vector<arma::uword> ids = ids_of(checkpoint, request.at("text").get<std::string>());
  Json weights = Json::array();
  visit_attention(checkpoint.model, ids, [&](arma::uword, const arma::cube& of_layer) {
    weights.push_back(json_of(of_layer));
    return true;
  });
  const arma::mat logits = checkpoint.model.extend(arma::umat(arma::uvec(ids))).slice(0);  // (L x V)
  checkpoint.model.reset();
  const arma::rowvec probabilities = token_probabilities(logits.tail_rows(1), {});  // (1 x V)
  const arma::uvec order = arma::stable_sort_index(probabilities.t(), "descend");
  Json next = Json::array();
  for (const arma::uword id : order.head(most_likely)) {
    next.push_back({{"id", id}, {"text", bytes_of(checkpoint.tokenizer, id)}, {"probability", probabilities(id)}});
  }
  return {{"ids", ids}, {"tokens", labels_of(checkpoint.tokenizer, ids)}, {"next", next}, {"weights", weights}};
}

/// {"text": "It is", "temperature": T, "top_k": k, "top_p": p, "seed": s, "count": n} -> what the model writes after it
Json write_text(const Json& request) {
  Checkpoint& checkpoint = opened();
  const std::vector<arma::uword> ids = ids_of(checkpoint, request.at("text").get<std::string>());
  GenerationConfig config;
  config.sampling = sampling_in(request);
  config.max_tokens = request.at("count").get<arma::uword>();
  config.stop_tokens = checkpoint.stop_tokens;
  config.seed = request.at("seed").get<std::uint64_t>();
  CharacterStream stream(false);
  std::string text;
  const std::vector<arma::uword> written = generate(checkpoint.model, ids, config, [&](arma::uword id) {
    text += stream.take(bytes_of(checkpoint.tokenizer, id));
    return true;
  });
  return {{"ids", written}, {"text", text + stream.finish()}};
}

/// {"texts": [...]} -> each cut into words, as the tokenizer of models/small cuts it
Json split(const Json& request) {
  const TextSplitter splitter(opened().tokenizer.data().splitting);
  Json all = Json::array();
  for (const Json& text : request.at("texts")) all.push_back(splitter(text.get<std::string>()));
  return {{"parts", all}};
}

}  // namespace attn::moving
