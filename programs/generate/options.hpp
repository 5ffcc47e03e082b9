#pragma once

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "shared/option_checks.hpp"

/// The command line of ./learn generate. The tool checks it before it builds the program, which reads the same words again.
namespace attn::generating {

struct GenerateOptions {
  std::vector<std::string> prompt;  ///< words that are joined by spaces; none: a prompt that fits the model
  std::string model;                ///< a folder; empty: models/small
  double temperature = 0.8;
  std::size_t top_k = 0;
  double top_p = 0.95;
  std::optional<std::uint64_t> seed;      ///< none: drawn, and printed
  std::optional<std::size_t> max_tokens;  ///< none: default_max_tokens, or no text at all beside a map
  bool attention = false;
  std::string layer_and_head;  ///< "2.1"; empty: one that shows something
  std::string svg;             ///< a new file; empty: none
  bool reference = false;      ///< none of the learner's parts
  bool trained = false;        ///< for ./learn demo 10 --trained: explains the map
};

constexpr std::size_t default_max_tokens = 200;

/// "2.1" is a layer and a head.
inline bool is_layer_and_head(const std::string& text) {
  const auto dot = text.find('.');
  const auto is_number = [](const std::string& digits) {
    return !digits.empty() && digits.size() < 5 && digits.find_first_not_of("0123456789") == std::string::npos;
  };
  return dot != std::string::npos && is_number(text.substr(0, dot)) && is_number(text.substr(dot + 1));
}

/// @param options filled when the command line is parsed; has to outlive `command`
inline void add_generate_options(CLI::App& command, GenerateOptions& options) {
  command.add_option("prompt", options.prompt, "what the text begins with, in quotes");
  command.add_option("--model", options.model, "a folder with a checkpoint; without it, models/small")
      ->check(CLI::ExistingDirectory)
      ->type_name("");
  command.add_option("--temperature", options.temperature, "0: always the most likely token; above 1: more surprises")
      ->check(number_that([](double x) { return std::isfinite(x) && x >= 0; }, "a finite number of at least 0"))
      ->type_name("NUMBER")
      ->capture_default_str();
  command.add_option("--top-k", options.top_k, "only so many of the most likely tokens; 0: all")
      ->check(is_count())
      ->type_name("N")
      ->capture_default_str();
  command.add_option("--top-p", options.top_p, "only the most likely tokens, up to this sum of probabilities")
      ->check(number_that([](double x) { return x > 0 && x <= 1; }, "above 0 and at most 1"))
      ->type_name("NUMBER")
      ->capture_default_str();
  command.add_option("--seed", options.seed, "of the random numbers: the same seed, the same text")
      ->check(is_count())
      ->type_name("N");
  command
      .add_option("--max-tokens", options.max_tokens,
                  "the text ends after so many new tokens [" + std::to_string(default_max_tokens) + "]")
      ->check(CLI::Range(1, 1'000'000).description(""))
      ->type_name("N");
  CLI::Option* attention =
      command
          .add_option_function<std::string>(
              "--attention",
              [&options](const std::string& value) {
                options.attention = true;
                if (value.find(' ') != std::string::npos && options.prompt.empty()) {  // --attention "The cat sat"
                  options.prompt = {value};
                  return;
                }
                options.layer_and_head = value;
                if (!value.empty() && !is_layer_and_head(value)) {
                  throw CLI::ValidationError("--attention", "it is " + value + ", expected layer.head, such as 2.1");
                }
              },
              "draw the prompt's attention map of a layer and head, counted from 0, such as 2.1; no text, unless "
              "--max-tokens asks for it")
          ->expected(0, 1)
          ->type_name("LAYER.HEAD");
  command.add_option("--svg", options.svg, "with --attention: a picture of all heads of the layer, into this new file")
      ->needs(attention)
      ->check(is_new_file())
      ->type_name("FILE");
  command.add_flag("--reference", options.reference, "with the reference's parts alone");
}

}  // namespace attn::generating
