// Which word attends to which, in sentences of your own: lesson 10 at work.
//
//   ./learn demo 10 -- "this is an example" "我喜欢玩游戏" --heads 2 --svg map.svg
//
// With weights that were trained, by the program in programs/generate/: ./learn demo 10 --trained "this is an example"
#include <CLI/CLI.hpp>
#include <armadillo>
#include <cmath>
#include <iostream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "attn/embedding.hpp"
#include "attn/sentence_attention.hpp"
#include "attn/text.hpp"
#include "attn/todo.hpp"
#include "attn/vocabulary.hpp"
#include "lesson/text.hpp"
#include "shared/attention_map.hpp"
#include "shared/option_checks.hpp"
#include "shared/program_end.hpp"
#include "system/files.hpp"

namespace {

using attn::EncodedBatch;
using attn::Vocabulary;

/// Weights made by hand take the square of the vocabulary.
constexpr arma::uword most_words_by_hand = 200;

struct Options {
  std::vector<std::string> sentences;
  std::string words;
  arma::uword heads = 2;
  arma::uword dim = 16;
  arma::uword max_length = 10;
  arma::uword seed = 1;
  arma::uword picture_of = 1;
  std::string svg;
  bool by_hand = false;
  bool left = false;
};

/// The words of --words, or of all sentences.
Vocabulary vocabulary_of(const Options& options) {
  if (!options.words.empty()) return Vocabulary(attn::tokenize(options.words));
  std::vector<std::string> words;
  for (const std::string& sentence : options.sentences) {
    const std::vector<std::string> tokens = attn::tokenize(sentence);
    words.insert(words.end(), tokens.begin(), tokens.end());
  }
  return Vocabulary(words);
}

/// The tokens of a sentence that are in the batch.
std::vector<std::string> kept_tokens(const std::string& sentence, arma::uword length) {
  std::vector<std::string> tokens = attn::tokenize(sentence);
  if (tokens.size() > length) tokens.resize(length);
  return tokens;
}

/// What the terminal can show, by the tool's rules.
const attn::TextStyle& style() {
  static const attn::TextStyle found = attn::TextStyle::of_output();
  return found;
}

/// A layer with its embedding, and where their numbers come from.
struct Model {
  attn::Embedding embedding;
  attn::MultiHeadAttention attention;
  std::string origin;
};

Model random_model(const Options& options, const Vocabulary& vocabulary) {
  arma::arma_rng::set_seed(static_cast<arma::arma_rng::seed_type>(options.seed));
  attn::Embedding embedding(vocabulary.size(), options.dim);
  return {std::move(embedding), attn::MultiHeadAttention(options.dim, options.heads, 0),
          "Untrained: the weights of the layer are random numbers."};
}

/// Two heads whose weights are written down, not learned. A word is a one-hot row, so that the projections choose which
/// words match: in head 0 each word and itself, in head 1 each known word and the one that was numbered before it.
Model model_by_hand(const Vocabulary& vocabulary) {
  const arma::uword n = vocabulary.size();
  constexpr double sharpness = 5;  // a match has this score, all else 0
  attn::Embedding embedding(n, 2 * n);
  embedding.weight = arma::eye(n, 2 * n);  // the second half is for the columns of head 1
  attn::MultiHeadAttention attention(2 * n, 2, 0);
  arma::mat same(2 * n, 2 * n, arma::fill::zeros);
  same.submat(0, 0, n - 1, n - 1).eye();
  same.submat(0, n, n - 1, 2 * n - 1).eye();
  arma::mat before = same;
  before.submat(0, n, n - 1, 2 * n - 1).zeros();
  for (arma::uword i = 1; i + 1 < n; ++i) before(i, n + i + 1) = 1;  // word i is what word i + 1 looks for
  attention.query_proj.weight = sharpness * std::sqrt(static_cast<double>(n)) * same;
  attention.key_proj.weight = before;
  attention.query_proj.bias.zeros();
  attention.key_proj.bias.zeros();
  return {std::move(embedding), std::move(attention),
          "Made by hand, not learned: head 0 looks for the same word, head 1 for the word numbered before it."};
}

void print_head(const Options& options, const EncodedBatch& batch, const arma::cube& weights, arma::uword b,
                arma::uword head) {
  const std::vector<std::string> kept = kept_tokens(options.sentences[b], batch.lengths.at(b));
  if (kept.empty()) return;
  const arma::cube own = attn::weights_of_sentence(weights, batch, b, 2);
  std::cout << (head == 0 ? "head 0: the same word\n" : "head 1: the word numbered before it\n")
            << attn::attention_map_text(own.slice(head), kept, style());
}

void print_sentence(const Options& options, const EncodedBatch& batch, const arma::cube& weights, arma::uword b) {
  const std::vector<std::string> tokens = attn::tokenize(options.sentences[b]);
  const std::vector<std::string> kept = kept_tokens(options.sentences[b], batch.lengths.at(b));
  const arma::uword first = options.left ? batch.ids.n_rows - batch.lengths.at(b) : 0;
  std::cout << "\nsentence " << b + 1 << ":";
  for (arma::uword i = 0; i < kept.size(); ++i) {
    const arma::uword id = batch.ids.at(first + i, b);
    std::cout << " " << (style().ascii ? attn::in_ascii(kept[i]) : kept[i]) << "=" << id
              << (id == Vocabulary::unknown ? " (unknown)" : "");
  }
  std::cout << "\n";
  if (tokens.size() > kept.size()) {
    std::cout << "(cut: " << tokens.size() - kept.size() << " more tokens do not fit into --max-length "
              << options.max_length << ")\n";
  }
  const arma::cube own = attn::weights_of_sentence(weights, batch, b, options.heads);
  const arma::mat mean = arma::mean(own, 2);  // (length x length)
  std::cout << "mean of the " << options.heads << " heads, rows look at columns:\n"
            << attn::attention_map_text(kept.empty() ? arma::mat() : mean, kept, style());
}

void write_picture(const Options& options, const EncodedBatch& batch, const Model& model) {
  const arma::uword b = options.picture_of - 1;
  const arma::cube own =
      attn::weights_of_sentence(model.attention.attention_weights(), batch, b, model.attention.num_heads());
  attn::write_new_file(
      options.svg, attn::attention_map_svg(own, kept_tokens(options.sentences[b], batch.lengths.at(b)), model.origin));
  std::cout << "\nwrote " << options.svg << ": sentence " << b + 1 << ", a panel for each head\n";
}

void show(const Options& options) {
  attn::require_new_file(options.svg);
  if (options.picture_of < 1 || options.picture_of > options.sentences.size()) {
    throw std::invalid_argument("--picture-of is " + std::to_string(options.picture_of) + ", expected 1 to " +
                                std::to_string(options.sentences.size()));
  }
  const Vocabulary vocabulary = vocabulary_of(options);
  const EncodedBatch batch = attn::encode(options.sentences, vocabulary, options.max_length,
                                          options.left ? attn::Padding::left : attn::Padding::right);

  Model model = random_model(options, vocabulary);
  attn::attend(batch, model.embedding, model.attention);
  std::cout << vocabulary.size() - 1 << " words, embedding " << options.dim << " wide, " << options.heads
            << " heads. Nothing is trained: the numbers are random (seed " << options.seed << ").\n";
  for (arma::uword b = 0; b < options.sentences.size(); ++b) {
    print_sentence(options, batch, model.attention.attention_weights(), b);
  }
  if (vocabulary.size() <= most_words_by_hand) {
    Model by_hand = model_by_hand(vocabulary);
    attn::attend(batch, by_hand.embedding, by_hand.attention);
    const arma::uword b = options.picture_of - 1;
    std::cout << "\nsentence " << b + 1 << " with weights made by hand, not learned, in the same layer:\n";
    for (const arma::uword head : {0U, 1U}) print_head(options, batch, by_hand.attention.attention_weights(), b, head);
    if (options.by_hand) model = std::move(by_hand);
  }
  if (!options.svg.empty()) write_picture(options, batch, model);
  std::cout << "\nWith weights that were trained: ./learn demo 10 --trained\n";
}

}  // namespace

int main(int argc, char** argv) {
  attn::let_large_writes_fail();
  Options options;
  CLI::App app("Which word attends to which, with what you wrote in lesson 10");
  app.add_option("sentences", options.sentences, "sentences in UTF-8, each in quotes; without any, two examples");
  app.add_option("--words", options.words, "the known words; without it, all words of the sentences");
  app.add_option("--heads", options.heads, "number of heads, a divisor of dim")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  app.add_option("--dim", options.dim, "width of the embedding")->check(CLI::Range(1, 4096))->capture_default_str();
  app.add_option("--max-length", options.max_length, "longer sentences are cut")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_flag("--left", options.left, "padding on the left of the words: no map changes");
  app.add_option("--seed", options.seed, "of the random numbers")->check(attn::is_count())->capture_default_str();
  app.add_option("--svg", options.svg, "writes a picture into this new file");
  app.add_flag("--by-hand", options.by_hand, "the picture shows the weights made by hand (at most 199 words)");
  app.add_option("--picture-of", options.picture_of,
                 "number of the sentence in the picture, and with weights made by hand")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return attn::report_usage(app, error);
  }
  if (options.sentences.empty()) options.sentences = {"The cat saw the other cat", "我喜欢玩游戏"};
  try {
    show(options);
    return attn::exit_code_when_printed(0);
  } catch (const attn::NotWritten& error) {
    return attn::report_not_written(error);
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 2;
  }
}
