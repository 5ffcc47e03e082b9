// Which word attends to which, in sentences of your own: lesson 10 at work.
//
//   ./learn demo 10 -- "this is an example" "我喜欢玩游戏" --heads 2 --svg map.svg
#include <CLI/CLI.hpp>
#include <armadillo>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

#include "attention_map.hpp"
#include "attn/embedding.hpp"
#include "attn/sentence_attention.hpp"
#include "attn/text.hpp"
#include "attn/todo.hpp"
#include "attn/vocabulary.hpp"
#include "not_written.hpp"

namespace {

using attn::EncodedBatch;
using attn::Vocabulary;

struct Options {
  std::vector<std::string> sentences;
  std::string words;
  arma::uword heads = 2;
  arma::uword dim = 16;
  arma::uword max_length = 10;
  arma::uword seed = 1;
  arma::uword picture_of = 1;
  std::string svg;
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

/// What the terminal can show, by the tool's rules; in ASCII where it can show nothing else.
const attn::learn::Style& style() {
  static const attn::learn::Style found = attn::learn::Style::of_output(false);
  return found;
}

void print_sentence(const Options& options, const EncodedBatch& batch, const arma::cube& weights, arma::uword b) {
  const std::vector<std::string> tokens = attn::tokenize(options.sentences[b]);
  const std::vector<std::string> kept = kept_tokens(options.sentences[b], batch.lengths.at(b));
  std::cout << "\nsentence " << b + 1 << ":";
  for (arma::uword i = 0; i < kept.size(); ++i) {
    const arma::uword id = batch.ids.at(i, b);
    std::cout << " " << kept[i] << "=" << id << (id == Vocabulary::unknown ? " (unknown)" : "");
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

/// @throws std::runtime_error when the file exists already, or cannot be written.
void write_new_file(const std::string& path, const std::string& text) {
  std::FILE* file = std::fopen(path.c_str(), "wx");  // x: never over an existing file
  if (file == nullptr) {
    throw std::runtime_error(errno == EEXIST ? path + " exists already and is left as it is: give another name"
                                             : path + " cannot be written: " + std::strerror(errno));
  }
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if ((std::fclose(file) != 0) || !written) throw std::runtime_error(path + " could not be written to its end");
}

void show(const Options& options) {
  if (!options.svg.empty() && std::filesystem::exists(std::filesystem::symlink_status(options.svg))) {
    throw std::runtime_error(options.svg + " exists already and is left as it is: give another name");
  }
  if (options.picture_of < 1 || options.picture_of > options.sentences.size()) {
    throw std::invalid_argument("--picture-of is " + std::to_string(options.picture_of) + ", expected 1 to " +
                                std::to_string(options.sentences.size()));
  }
  const Vocabulary vocabulary = vocabulary_of(options);
  const EncodedBatch batch = attn::encode(options.sentences, vocabulary, options.max_length);

  arma::arma_rng::set_seed(static_cast<arma::arma_rng::seed_type>(options.seed));
  const attn::Embedding embedding(vocabulary.size(), options.dim);
  attn::MultiHeadAttention attention(options.dim, options.heads, 0);
  attn::attend(batch, embedding, attention);

  std::cout << vocabulary.size() - 1 << " words, embedding " << options.dim << " wide, " << options.heads
            << " heads. Nothing is trained: the numbers are random (seed " << options.seed << ").\n";
  for (arma::uword b = 0; b < options.sentences.size(); ++b) {
    print_sentence(options, batch, attention.attention_weights(), b);
  }
  if (options.svg.empty()) return;
  const arma::uword b = options.picture_of - 1;
  const arma::cube own = attn::weights_of_sentence(attention.attention_weights(), batch, b, options.heads);
  write_new_file(options.svg, attn::attention_map_svg(own, kept_tokens(options.sentences[b], batch.lengths.at(b)),
                                                      "Untrained: the weights of the layer are random numbers."));
  std::cout << "\nwrote " << options.svg << ": sentence " << b + 1 << ", a panel for each head\n";
}

}  // namespace

int main(int argc, char** argv) {
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
  app.add_option("--seed", options.seed, "of the random numbers")->check(CLI::NonNegativeNumber)->capture_default_str();
  app.add_option("--svg", options.svg, "writes a picture into this new file");
  app.add_option("--picture-of", options.picture_of, "number of the sentence in the picture")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  if (options.sentences.empty()) options.sentences = {"This is an example sentence", "我喜欢玩游戏"};
  try {
    show(options);
  } catch (const attn::NotWritten& error) {
    return attn::report_not_written(error);
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 2;
  }
  return 0;
}
