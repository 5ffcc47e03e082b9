// The program of ./learn generate: a language model whose attention the learner wrote. The tool says which parts those are.
//
// Exit codes: 0 well, 1 the model threw an error, 2 it cannot be run as asked, 130 ended by Ctrl-C.
#include <CLI/CLI.hpp>
#include <chrono>
#include <exception>
#include <iostream>
#include <new>
#include <random>
#include <string>
#include <utility>

#include "attn/generation.hpp"
#include "generate/options.hpp"
#include "generate/prepared.hpp"
#include "lesson/text.hpp"
#include "shared/attention_map.hpp"
#include "shared/model_view.hpp"
#include "shared/program_end.hpp"
#include "system/files.hpp"

namespace attn::generating {

namespace {

constexpr const char* trained_on =
    "These weights were trained, on the six novels of Jane Austen: models/small, a model like Llama, a thousand times "
    "smaller.";
constexpr const char* look_for =
    "What to look for: a row looks at itself and at what is to its left, never to its right. A strong line just below "
    "the diagonal is a head that looks at the token before; a strong first column, one that has found nothing; and a "
    "strong cell far from the diagonal, a token that looks back at one like it.";

/// Draws the attention map of a layer and head for the prompt, and writes the picture that was asked for.
/// @throws NotWritable naming the picture when it could not be written
void draw_map(Checkpoint& checkpoint, const Prepared& prepared) {
  const GenerateOptions& options = prepared.options;
  const TextStyle style = TextStyle::of_output();
  const HeadOfLayer shown = options.layer_and_head.empty()
                                ? sharpest_head(checkpoint.model, prepared.ids)
                                : head_of_layer(checkpoint.model, prepared.ids, prepared.layer, prepared.head);
  const auto labels = labels_of(checkpoint.tokenizer, prepared.ids);
  if (options.trained) std::cout << style(trained_on) << "\n\n";
  const std::string layer = "layer " + std::to_string(shown.layer);
  std::string caption = layer + ", head " + std::to_string(shown.head) + ": rows look at columns, in percent";
  if (options.layer_and_head.empty()) caption += "; of all heads the sharpest, others with --attention LAYER.HEAD";
  std::cout << style(caption) << "\n" << attention_map_text(shown.weights.slice(shown.head), labels, style);
  if (options.trained) std::cout << "\n" << style(look_for) << "\n";
  if (!options.svg.empty()) {
    const std::string origin =
        "The weights of " + layer + " of " + in_ascii(prepared.model_name) + ", which were trained.";
    write_new_file(options.svg, attention_map_svg(shown.weights, labels, origin));
    std::cout << "\nwrote " << options.svg << ": " << layer << ", a panel for each head\n";
  }
  std::cout << std::flush;
}

using Clock = std::chrono::steady_clock;

/// "12 tokens at 310 per second"; "12 tokens" where too little was measured.
std::string speed_text(std::size_t tokens, const std::string& of_what, std::size_t timed, Clock::duration time) {
  const double seconds = std::chrono::duration<double>(time).count();
  std::string text = std::to_string(tokens) + " " + of_what + (tokens == 1 ? " token" : " tokens");
  if (timed == 0 || seconds <= 0) return text;
  const double per_second = static_cast<double>(timed) / seconds;
  return text + " at " + with_decimals(per_second, per_second < 10 ? 1 : 0) + " per second";
}

/// What marks a prompt that the learner did not give.
std::string default_prompt_text(const GenerateOptions& options) {
  if (!options.prompt.empty() || options.trained) return "";
  return std::string("(no prompt: this one is the default; yours: ./learn generate ") +
         (options.attention ? "--attention " : "") + "\"It is\")\n\n";
}

/// Few digits, as it may be typed again.
std::uint64_t drawn_seed() { return std::random_device{}() % 1'000'000; }

/// Why the text ends, where one would not expect it.
std::string end_text(const Prepared& prepared, std::size_t count) {
  if (was_interrupted()) return " (interrupted)";
  const std::size_t asked = prepared.options.max_tokens.value_or(default_max_tokens);
  if (count < prepared.max_tokens || prepared.max_tokens == asked) return "";
  return " (the model has " + std::to_string(prepared.files.config.max_position) + " positions)";
}

/// Writes a text that continues the prompt, token by token as it comes, and then a line that says how fast that was. Ctrl-C
/// ends the text: after the token that is being computed, or in the midst of it.
/// @return the exit code
int write_text(Checkpoint& checkpoint, const Prepared& prepared) {
  const GenerateOptions& options = prepared.options;
  CharacterStream stream(TextStyle::of_output().ascii);
  std::cout << stream.take(prepared.prompt) << std::flush;
  catch_interrupts_shortly();

  GenerationConfig config;
  config.sampling = {options.temperature, options.top_k, options.top_p};
  config.max_tokens = prepared.max_tokens;
  config.stop_tokens = checkpoint.stop_tokens;
  config.seed = options.seed.value_or(drawn_seed());
  const auto start = Clock::now();
  auto first = start;  // when the first new token was there
  auto last = start;
  std::size_t count = 0;
  generate(checkpoint.model, prepared.ids, config, [&](arma::uword token) {
    last = Clock::now();
    if (count++ == 0) first = last;
    std::cout << stream.take(bytes_of(checkpoint.tokenizer, token)) << std::flush;
    return !was_interrupted();
  });
  std::cout << stream.finish() << "\n\n"
            << speed_text(prepared.ids.size(), "prompt", count == 0 ? 0 : prepared.ids.size(), first - start) << ", "
            << speed_text(count, "new", count == 0 ? 0 : count - 1, last - first) << "; --seed " << config.seed
            << end_text(prepared, count) << std::endl;
  return was_interrupted() ? exit_interrupted : 0;
}

constexpr const char* with_reference = "With the reference's parts: ./learn generate --reference\n";
constexpr const char* crashed = "\nThe model crashed. With the reference's parts: ./learn generate --reference\n";

/// How a program ends that may take all memory there is, whatever was counted before.
int report_no_memory(const GenerateOptions& options) {
  std::cerr << "\nThere is not enough memory for " << (options.model.empty() ? "models/small" : options.model)
            << " and this prompt: take a shorter prompt, a smaller model, or end other programs\n";
  return 2;
}

int run(const Prepared& prepared, Checkpoint checkpoint) {
  std::cout << TextStyle::of_output()(default_prompt_text(prepared.options)) << std::flush;
  if (prepared.options.attention) draw_map(checkpoint, prepared);
  if (prepared.max_tokens == 0) return 0;
  if (prepared.options.attention) std::cout << "\n";
  return write_text(checkpoint, prepared);
}

}  // namespace

int generate_program(int argc, char** argv) {
  let_large_writes_fail();
  GenerateOptions options;
  CLI::App app("A language model with what you wrote", "./learn generate");
  add_generate_options(app, options);
  app.add_flag("--trained", options.trained)->group("");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return attn::report_usage(app, error);
  }
  if (options.trained) options.attention = true;
  try {
    const auto prepared = prepare(options);
    auto checkpoint = load(prepared);
    if (!options.reference) report_crashes(crashed);
    try {
      return exit_code_when_printed(run(prepared, std::move(checkpoint)));
    } catch (const NotWritable&) {
      throw;
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const std::exception& error) {
      std::cerr << "\nThe model threw an error: " << error.what() << "\n" << (options.reference ? "" : with_reference);
      return 1;
    }
  } catch (const std::bad_alloc&) {
    return report_no_memory(options);
  } catch (const std::exception& error) {
    std::cerr << harmless_text(error.what()) << "\n";
    return 2;
  }
}

}  // namespace attn::generating

int main(int argc, char** argv) { return attn::generating::generate_program(argc, argv); }
