#include "text_screen.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <iostream>

#include "attn/generation.hpp"
#include "byte_tokenizer.hpp"
#include "end_screen.hpp"
#include "system/text_style.hpp"
#include "token_text.hpp"

namespace attn::training {

namespace {

constexpr arma::uword most_measured = 50'000;  // characters
constexpr arma::uword first_windows = 8;

std::string decimals(double value, int count) {
  char text[32];
  std::snprintf(text, sizeof text, "%.*f", count, value);
  return text;
}

std::string one_line_of(const std::string& text) {
  std::string line;
  for (const char c : text) {
    const bool blank = c == '\n' || c == '\t' || c == ' ';
    if (!blank || (!line.empty() && line.back() != ' ')) line += blank ? ' ' : c;
  }
  return line;
}

/// A line break, if the text has one: then a sample begins like a line. Else its first token.
std::vector<arma::uword> prompt_of(const TextData& data) {
  const bool has_lines = data.training.find('\n') != std::string::npos;
  if (has_lines) return ids_of("\n", data.tokenizer);
  return {data.training_ids.front()};
}

void print_row(const std::string& name, double bits, const std::string& remark) {
  std::printf("  %-16s %6.3f%s%s\n", name.c_str(), bits, remark.empty() ? "" : "   ", remark.c_str());
}

}  // namespace

void introduce_text(Training& training, const TextData& data) {
  const Recipe& recipe = training.recipe;
  arma::uword parameters = 0;
  for (const ParameterView& parameter : parameters_of(training.model)) parameters += parameter.size;
  const auto number = [](auto value) { return std::to_string(value); };
  const TextStyle style = TextStyle::of_output();
  const std::string like = recipe.architecture == "gpt2" ? "GPT-2" : "Llama";
  std::cout << style("A model like " + like + ": " + number(parameters) + " parameters, E = " + number(recipe.width) +
                     ", layers: " + number(recipe.layers) + ", heads: " + number(recipe.heads) +
                     ", context: " + number(recipe.context) + " tokens.")
            << "\n"
            << "Its text: " << std::filesystem::path(recipe.text).filename().string() << "\n"
            << style(number(data.characters) + " characters, " + number(data.different) +
                     " different ones. It learns from the first nine tenths, " + number(data.training_ids.size()) +
                     " tokens; the last tenth is held out. There are " + number(recipe.vocab_size) +
                     " tokens: 256 bytes and " + number(recipe.vocab_size - 256) +
                     (recipe.tokens == "bpe" ? " merges." : " merges, which make characters of them."))
            << "\n";
  if (!training.losses.empty()) return;
  const arma::uword count =
      std::min<arma::uword>(data.training_ids.size() - recipe.context, first_windows * (recipe.context / 2));
  const auto begin = data.training_ids.begin() + static_cast<std::ptrdiff_t>(recipe.context);
  const std::vector<arma::uword> before(data.training_ids.begin(), begin);
  const std::vector<arma::uword> tokens(begin, begin + static_cast<std::ptrdiff_t>(count));
  const double loss =
      total_nats(training.model, before, tokens, recipe.context, recipe.batch) / static_cast<double>(count);
  std::cout << "The loss before the first step is " << decimals(loss, 2) << "; of guessing, ln " << recipe.vocab_size
            << " = " << decimals(std::log(static_cast<double>(recipe.vocab_size)), 2) << ".\n\n"
            << std::flush;
}

std::string sample_of(Training& training, const TextData& data, arma::uword characters, bool one_line) {
  const std::vector<arma::uword> prompt = prompt_of(data);
  GenerationConfig config;
  config.sampling.temperature = 0.8;
  config.max_tokens = characters;
  const arma::uword positions = training.model.config().max_position;
  if (positions > 0) config.max_tokens = std::min(characters, positions - prompt.size() + 1);
  config.seed = 1;
  const ByteLevelBPE tokenizer(data.tokenizer);
  std::string bytes;
  generate(training.model, prompt, config, [&](arma::uword id) {
    bytes += tokenizer.decode({id});
    return count_characters(bytes) < characters;
  });
  training.model.reset();
  generating::CharacterStream stream(TextStyle::of_output().ascii);
  const std::string text = stream.take(one_line ? one_line_of(bytes) : bytes);
  return text + stream.finish();
}

Measured measure(Training& training, const TextData& data) {
  Measured measured;
  const std::string text = first_characters(data.held_out, most_measured);
  measured.characters = count_characters(text);
  measured.is_all = text.size() == data.held_out.size();
  const double nats = total_nats(training.model, data.training_ids, ids_of(text, data.tokenizer),
                                 training.recipe.context, training.recipe.batch);
  measured.model = nats / std::log(2.0) / static_cast<double>(measured.characters);
  measured.simple = simple_models(data.training, text);
  return measured;
}

void show_text_end(Training& training, const TextData& data) {
  show_losses(training.losses);
  std::cout << "\nwhat it writes:\n" << sample_of(training, data, 400, false) << "\n\n" << std::flush;
  const Measured measured = measure(training, data);
  std::cout << "bits per character on "
            << (measured.is_all ? "the held-out tenth, " : "the beginning of the held-out tenth, ")
            << measured.characters << " characters:\n"
            << std::flush;
  print_row("this model", measured.model, "");
  print_row("a trigram model", measured.simple.trigram, "each character from the two before it, Kneser-Ney");
  print_row("frequencies", measured.simple.unigram, "of single characters");
  print_row("guessing", measured.simple.uniform,
            "among " + std::to_string(static_cast<arma::uword>(std::lround(std::exp2(measured.simple.uniform)))) +
                " characters, an unknown one among them");
  std::fflush(stdout);
}

}  // namespace attn::training
