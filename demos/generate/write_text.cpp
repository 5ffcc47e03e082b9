#include "write_text.hpp"

#include <chrono>
#include <cstdio>
#include <iostream>
#include <random>
#include <string>

#include "attn/generation.hpp"
#include "interrupt.hpp"
#include "system/text_style.hpp"
#include "token_text.hpp"

namespace attn::generating {

namespace {

using Clock = std::chrono::steady_clock;

/// "12 tokens at 310 per second"; "12 tokens" where too little was measured.
std::string speed_text(std::size_t tokens, const std::string& of_what, std::size_t timed, Clock::duration time) {
  const double seconds = std::chrono::duration<double>(time).count();
  std::string text = std::to_string(tokens) + " " + of_what + (tokens == 1 ? " token" : " tokens");
  if (timed == 0 || seconds <= 0) return text;
  char speed[64];
  const double per_second = static_cast<double>(timed) / seconds;
  std::snprintf(speed, sizeof speed, per_second < 10 ? " at %.1f per second" : " at %.0f per second", per_second);
  return text + speed;
}

/// Few digits, as it may be typed again.
std::uint64_t drawn_seed() { return std::random_device{}() % 1'000'000; }

/// Why the text ends, where one would not expect it.
std::string end_text(const Prepared& prepared, std::size_t count) {
  if (was_interrupted()) return " (interrupted)";
  const std::size_t asked = prepared.options.max_tokens.value_or(learn::default_max_tokens);
  if (count < prepared.max_tokens || prepared.max_tokens == asked) return "";
  return " (the model has " + std::to_string(prepared.files.config.max_position) + " positions)";
}

}  // namespace

int write_text(Checkpoint& checkpoint, const Prepared& prepared) {
  const learn::GenerateOptions& options = prepared.options;
  CharacterStream stream(TextStyle::of_output().ascii);
  std::cout << stream.take(prepared.prompt) << std::flush;
  catch_interrupts();

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

}  // namespace attn::generating
