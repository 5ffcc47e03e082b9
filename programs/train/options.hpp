#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "shared/option_checks.hpp"

/// The command line of ./learn train. The tool checks it before it builds the program, which reads the same words again.
namespace attn::training {

/// What a training keeps of its command line as it is.
struct KeptOptions {
  std::string tokens = "characters";   ///< of a text; or "bpe"
  std::string architecture = "llama";  ///< or "gpt2"
  std::uint64_t width = 64;            ///< E
  std::uint64_t layers = 2;            ///< N
  std::uint64_t heads = 4;             ///< H
  std::uint64_t context = 64;          ///< L
  std::uint64_t batch = 8;             ///< B
  double rate = 6e-3;                  ///< the highest learning rate
  std::uint64_t seed = 1;
  bool fast = false;  ///< steps by the fast kernels, in single precision
};

struct TrainOptions : KeptOptions {
  std::string task = "reverse";
  std::string text;                       ///< a file; empty: a task is learned
  std::optional<std::uint64_t> vocab;     ///< of bpe; none: default_vocab
  std::optional<std::uint64_t> kv_heads;  ///< G; none: H
  std::optional<std::uint64_t> steps;     ///< none: as many as the task takes, or default_text_steps
  std::string save;                       ///< a folder; empty: models/trained/NAME
  std::optional<std::string> resume;      ///< a folder; empty: the newest one
  std::optional<std::string> broken;      ///< a mistake to make; empty: list them
  std::string svg;                        ///< a new file; empty: none
  bool reference = false;                 ///< none of the learner's parts
};

constexpr std::uint64_t default_vocab = 512;
constexpr std::uint64_t bytes_in_vocab = 256;  // every byte is a token
constexpr std::uint64_t default_text_steps = 2000;

namespace command_line {

/// A file with something in it. What it says is read later.
inline CLI::Validator is_text_file() {
  return CLI::Validator(
      [](const std::string& path) -> std::string {
        namespace fs = std::filesystem;
        std::error_code error;
        const fs::file_status status = fs::status(path, error);
        if (!fs::exists(status)) return "there is no file " + path + ": expected a text in UTF-8";
        if (fs::is_directory(status)) return path + " is a folder, expected a file with a text in UTF-8";
        if (!fs::is_regular_file(status)) return path + " is not a regular file: write the text into one first";
        if (fs::file_size(path, error) == 0) return path + " is empty: expected a text, the longer the better";
        return "";
      },
      "");
}

inline void require(bool fits, const std::string& option, const std::string& what) {
  if (!fits) throw CLI::ValidationError(option, what);
}

/// What only a training on a text has.
inline const std::vector<std::string> options_of_texts = {"--tokens", "--vocab", "--architecture", "--width",
                                                          "--layers", "--heads", "--kv-heads",     "--context",
                                                          "--batch",  "--rate"};

/// @throws CLI::ValidationError naming an option that does not go with the others, and what to do
inline void require_options_that_fit(const CLI::App& command) {
  const auto both = [&](const std::string& one, const std::string& other) {
    return command.count(one) > 0 && command.count(other) > 0;
  };
  std::vector<std::string> kept = {"--task", "--text", "--seed", "--save"};
  kept.insert(kept.end(), options_of_texts.begin(), options_of_texts.end());
  for (const std::string& option : kept) {
    require(!both("--resume", option), option,
            "a training that is gone on with keeps its own: leave it out, or leave out --resume to begin anew");
  }
  require(!both("--task", "--text"), "--text", "it is learned instead of a task: leave out --task");
  require(!both("--svg", "--text"), "--svg", "it shows what a task needs: leave it out with --text");
  for (const std::string& option : options_of_texts) {
    require(command.count(option) == 0 || command.count("--text") > 0, option,
            "it goes with --text FILE: a task has its own model");
  }
}

/// Sizes that are right one by one may not go together.
/// @throws CLI::ValidationError naming one, what was expected, and what to do
inline void require_sizes_that_fit(const TrainOptions& options) {
  const auto number = [](std::uint64_t value) { return std::to_string(value); };
  const std::uint64_t E = options.width, H = options.heads, G = options.kv_heads.value_or(H);
  require(E % H == 0, "--heads",
          "it is " + number(H) + ", expected a divisor of --width, which is " + number(E) + ", such as 1 or 2");
  require(options.architecture != "llama" || E / H % 2 == 0, "--heads",
          "it is " + number(H) + ", so that a head is " + number(E / H) +
              " wide, expected an even number, as RoPE turns pairs: take another --width or --heads");
  require(H % G == 0, "--kv-heads", "it is " + number(G) + ", expected a divisor of --heads, which is " + number(H));
  require(options.architecture != "gpt2" || G == H, "--kv-heads",
          "it is " + number(G) + ", expected " + number(H) + ", as many as --heads: gpt2 has no groups of heads");
  require(!options.vocab || options.tokens == "bpe", "--vocab",
          "it goes with --tokens bpe: with characters the text decides how many tokens there are");
}

}  // namespace command_line

inline void add_text_options(CLI::App& command, TrainOptions& options) {
  const auto size = [&](const std::string& name, auto& value, int least, int most, const std::string& what) {
    return command.add_option(name, value, what)->check(CLI::Range(least, most).description(""))->type_name("N");
  };
  command.add_option("--tokens", options.tokens, "of the text: characters, or bpe, subwords that it learns")
      ->check(CLI::IsMember({"characters", "bpe"}).description(""))
      ->type_name("KIND")
      ->capture_default_str();
  size("--vocab", options.vocab, static_cast<int>(bytes_in_vocab) + 1, 65536,
       "with --tokens bpe: so many tokens [" + std::to_string(default_vocab) + "]");
  command.add_option("--architecture", options.architecture, "llama (RoPE, SwiGLU, RMSNorm) or gpt2")
      ->check(CLI::IsMember({"llama", "gpt2"}).description(""))
      ->type_name("NAME")
      ->capture_default_str();
  size("--width", options.width, 2, 4096, "of the embeddings, E")->capture_default_str();
  size("--layers", options.layers, 1, 64, "blocks")->capture_default_str();
  size("--heads", options.heads, 1, 256, "of queries, H")->capture_default_str();
  size("--kv-heads", options.kv_heads, 1, 256, "of keys and values, G [as many as --heads]");
  size("--context", options.context, 2, 4096, "tokens that the model sees at once")->capture_default_str();
  size("--batch", options.batch, 1, 4096, "pieces of the text per step")->capture_default_str();
  command.add_option("--rate", options.rate, "the highest learning rate")
      ->check(number_that([](double x) { return x > 0 && x <= 1; }, "above 0 and at most 1, such as 0.003"))
      ->type_name("NUMBER")
      ->capture_default_str();
}

/// A task that is learned twice, by the reference's code. Nothing is saved. Without --task it is one that shows the
/// mistake.
inline void add_break_option(CLI::App& command, TrainOptions& options) {
  CLI::Option* broken =
      command
          .add_option_function<std::string>(
              "--break", [&options](const std::string& name) { options.broken = name; },
              "learns with a mistake and beside it without, and draws both losses; without a name, lists "
              "the mistakes")
          ->expected(0, 1)
          ->type_name("NAME");
  for (const char* other : {"--text", "--save", "--resume", "--fast"}) broken->excludes(command.get_option(other));
}

/// @param options filled when the command line is parsed; has to outlive `command`
inline void add_train_options(CLI::App& command, TrainOptions& options) {
  command.add_option("--task", options.task, "what is learned: reverse, copy, sort or induction")
      ->check(CLI::IsMember({"reverse", "copy", "sort", "induction"}).description(""))
      ->type_name("TASK")
      ->capture_default_str();
  command.add_option("--text", options.text, "a text is learned instead, in UTF-8")
      ->check(command_line::is_text_file())
      ->type_name("FILE");
  add_text_options(command, options);
  command
      .add_option("--steps", options.steps,
                  "the training ends after so many steps; without it, the task's own number, or " +
                      std::to_string(default_text_steps) +
                      " for a text. With --resume, a training goes on until then, also a finished one; from there its "
                      "learning rate is that of a training of N steps")
      ->check(CLI::Range(1, 1'000'000).description(""))
      ->type_name("N");
  command.add_option("--seed", options.seed, "of the weights and the examples: the same seed, the same numbers")
      ->check(is_count())
      ->type_name("N")
      ->capture_default_str();
  command
      .add_option(
          "--save", options.save,
          "the folder that keeps the training, and the model of a text; without it, models/trained/ and the name "
          "of the task or the text, numbered where a finished training has it")
      ->check(is_plain_name())
      ->type_name("FOLDER");
  command
      .add_option_function<std::string>(
          "--resume", [&options](const std::string& folder) { options.resume = folder; },
          "resumes a training that was stopped: of this folder, or the newest one in models/trained")
      ->expected(0, 1)
      ->type_name("FOLDER");
  command
      .add_option("--svg", options.svg,
                  "of a task: a picture of the attention of the layer that is shown, into this new file")
      ->check(is_new_file())
      ->type_name("FILE");
  command.add_flag("--fast", options.fast,
                   "the steps are made by the fast kernels, in float32, and the rest by the reference's parts");
  add_break_option(command, options);
  command.add_flag("--reference", options.reference, "with the reference's parts alone");
  command.parse_complete_callback([&command, &options] {
    command_line::require_options_that_fit(command);
    command_line::require_sizes_that_fit(options);
  });
}

}  // namespace attn::training
