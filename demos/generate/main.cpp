// The program of ./learn generate: a language model whose attention the learner wrote. The tool says which parts those are.
//
// Exit codes: 0 well, 1 the model threw an error, 2 it cannot be run as asked, 130 ended by Ctrl-C.
#include <CLI/CLI.hpp>
#include <exception>
#include <iostream>
#include <utility>

#include "crash.hpp"
#include "draw_map.hpp"
#include "learn/commands/generate_options.hpp"
#include "system/files.hpp"
#include "prepared.hpp"
#include "write_text.hpp"

namespace {

constexpr const char* with_reference = "With the reference's parts: ./learn generate --reference\n";
constexpr const char* crashed = "\nThe model crashed. With the reference's parts: ./learn generate --reference\n";

int run(const attn::generating::Prepared& prepared, attn::Checkpoint checkpoint) {
  if (prepared.options.attention) draw_map(checkpoint, prepared);
  if (prepared.max_tokens == 0) return 0;
  if (prepared.options.attention) std::cout << "\n";
  return write_text(checkpoint, prepared);
}

}  // namespace

int main(int argc, char** argv) {
  attn::learn::GenerateOptions options;
  CLI::App app("A language model with what you wrote", "./learn generate");
  attn::learn::add_generate_options(app, options);
  app.add_flag("--trained", options.trained)->group("");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  if (options.trained) options.attention = true;
  try {
    const auto prepared = attn::generating::prepare(options);
    auto checkpoint = load(prepared);
    if (!options.reference) attn::report_crashes(crashed);
    try {
      return run(prepared, std::move(checkpoint));
    } catch (const attn::NotWritable&) {
      throw;
    } catch (const std::exception& error) {
      std::cerr << "\nThe model threw an error: " << error.what() << "\n" << (options.reference ? "" : with_reference);
      return 1;
    }
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 2;
  }
}
