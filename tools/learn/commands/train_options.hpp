#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>

/// The command line of ./learn train, which the tool reads, and hands to the program in demos/train/.
namespace attn::learn {

struct TrainOptions {
  std::string task = "reverse";
  std::optional<std::uint64_t> steps;  ///< none: as many as the task takes
  std::uint64_t seed = 1;
  std::string svg;         ///< a new file; empty: none
  bool reference = false;  ///< none of the learner's parts
};

/// @param options filled when the command line is parsed; has to outlive `command`
inline void add_train_options(CLI::App& command, TrainOptions& options) {
  command.add_option("--task", options.task, "what is learned: reverse, copy, sort or induction")
      ->check(CLI::IsMember({"reverse", "copy", "sort", "induction"}).description(""))
      ->type_name("TASK")
      ->capture_default_str();
  command
      .add_option("--steps", options.steps, "the training ends after so many steps; without it, the task's own number")
      ->check(CLI::Range(1, 1'000'000).description(""))
      ->type_name("N");
  command.add_option("--seed", options.seed, "of the weights and the examples: the same seed, the same numbers")
      ->check(CLI::NonNegativeNumber.description(""))
      ->type_name("N")
      ->capture_default_str();
  command.add_option("--svg", options.svg, "a picture of the attention of the layer that is shown, into this new file")
      ->type_name("FILE");
  command.add_flag("--reference", options.reference, "with the reference's parts alone");
}

}  // namespace attn::learn
