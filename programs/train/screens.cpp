#include "train/screens.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <string>

#include "attn/checkpoint.hpp"
#include "attn/generation.hpp"
#include "lesson/text.hpp"
#include "shared/attention_map.hpp"
#include "system/files.hpp"
#include "train/curves.hpp"
#include "train/held_out.hpp"

namespace attn::training {

namespace {

constexpr arma::uword held_out_sequences = 1000;
constexpr arma::uword shown_examples = 3;

std::string percent_of(double share) { return with_decimals(100 * share, 1) + " %"; }

void show_first_loss(double loss, arma::uword V) {
  const double guessing = std::log(static_cast<double>(V));
  std::cout << "The loss before the first step is " << with_decimals(loss, 2) << "; of guessing, ln " << V << " = "
            << with_decimals(guessing, 2)
            << (loss > guessing + 0.005 ? ": random weights prefer some tokens, and that costs more than to guess" : "")
            << ".\n\n"
            << std::flush;
}

std::string example_of(LanguageModel& model, const Batch& batch, arma::uword column) {
  const std::vector<arma::uword> all = whole_sequence(batch, column);
  const auto begin = static_cast<std::ptrdiff_t>(first_counted(batch.targets.col(column)) + 1);
  const std::vector<arma::uword> prompt(all.begin(), all.begin() + begin);
  const std::vector<arma::uword> expected(all.begin() + begin, all.end());
  GenerationConfig config;
  config.sampling.temperature = 0;
  config.max_tokens = expected.size();
  const std::vector<arma::uword> written = generate(model, prompt, config);
  model.reset();
  return example_text(prompt, written, expected);
}

void show_examples(LanguageModel& model, const Task& task, const Batch& batch) {
  const bool has_separator = task.name != "induction";
  std::cout << "what it writes after new sequences (after " << (has_separator ? "|" : ">") << "; wrong: [3]):\n";
  for (arma::uword b = 0; b < shown_examples; ++b) std::cout << "  " << example_of(model, batch, b) << "\n";
}

void show_map(LanguageModel& model, const Task& task, const Batch& batch, const std::string& svg) {
  const TextStyle style = TextStyle::of_output();
  const arma::uvec ids = batch.ids.col(0);
  const HeadOfLayer shown = head_for(model, task, ids, batch.targets.col(0));
  std::vector<std::string> labels;
  for (const arma::uword id : ids) labels.push_back(text_of(id));
  const std::string layer = "layer " + std::to_string(shown.layer);
  std::cout << "\n"
            << style("the attention of " + layer + ", head " + std::to_string(shown.head) +
                     ", while it writes the first one: rows look at columns. Of all heads the one that looks most at " +
                     "where the answer is: with " + percent_of(shown.score) + " of its attention in the answer's rows")
            << "\n"
            << attention_map_text(shown.weights.slice(shown.head), labels, style) << "\n"
            << style("What to look for: " + task.look_for) << "\n";
  if (svg.empty()) return;
  write_new_file(svg, attention_map_svg(shown.weights, labels,
                                        "Layer " + std::to_string(shown.layer) + " of a model that was trained to " +
                                            task.what + "."));
  std::cout << "\nwrote " << svg << ": " << layer << ", a panel for each head\n";
}

constexpr arma::uword most_measured = 50'000;  // characters
constexpr arma::uword first_windows = 8;

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

/// What the tokens of a text are.
std::string vocabulary_text(const Recipe& recipe) {
  const auto number = [](auto value) { return std::to_string(value); };
  const arma::uword longer = recipe.vocab_size - bytes_in_vocab;  // than a byte
  const std::string each = recipe.tokens == "bpe" ? "" : "Each character is a token. ";
  if (longer == 0) return each + "There are " + number(bytes_in_vocab) + " tokens, one for each byte.";
  return each + "There are " + number(recipe.vocab_size) + " tokens: the " + number(bytes_in_vocab) + " bytes, and " +
         number(longer) +
         (recipe.tokens == "bpe" ? " of several bytes, which it found in the text."
                                 : " for characters of several bytes, and for the beginnings of such characters.");
}

constexpr int curve_columns = 70;  // with its labels
constexpr int curve_rows = 9;
const std::string to_curve = "\x1b[" + std::to_string(curve_rows) + "A";  // from the line to the first row of the curve

std::string bar_of(double share, const TextStyle& style) {
  constexpr int width = 20;
  return "[" + style.spelled(bar(static_cast<int>(share * width), width, width).text()) + "]";
}

}  // namespace

// ------------------------------------------------------------------------------------------------- a task

void introduce_task(Training& training) {
  const Task& task = task_named(training.recipe.task);
  const LanguageModelConfig& config = training.model.config();
  const TextStyle style = TextStyle::of_output();
  std::cout << style("A model like GPT-2 with " + std::to_string(config.num_layers) + " layers, " +
                     std::to_string(config.attention.num_heads) + " heads and " +
                     std::to_string(number_of_parameters(config)) + " parameters. Its task: " + task.what + ".")
            << "\n";
  std::mt19937_64 generator = training.examples;
  const Batch batch = task.draw(batch_size, generator);
  std::cout << "For example: " << text_of(whole_sequence(batch, 0)) << "\n";
  if (!training.losses.empty()) return;
  show_first_loss(loss_of(training.model, batch), config.vocab_size);
}

HeadOfLayer head_for(LanguageModel& model, const Task& task, const arma::uvec& ids, const arma::uvec& targets) {
  const arma::mat sources = sources_of(task, ids, targets);  // (L x L)
  const arma::uvec answer = arma::find(targets != ignored_target);
  const double rows = static_cast<double>(std::max<arma::uword>(answer.n_elem, 1));
  return best_head(model, {ids.begin(), ids.end()},
                   [&](const arma::mat& weights) { return arma::accu(weights % sources) / rows; });
}

std::string example_text(const std::vector<arma::uword>& prompt, const std::vector<arma::uword>& written,
                         const std::vector<arma::uword>& expected) {
  std::string text = text_of(prompt);
  if (prompt.back() != symbols) text += " >";
  for (std::size_t i = 0; i < written.size(); ++i) {
    const std::string token = text_of(written[i]);
    text += i < expected.size() && written[i] == expected[i] ? " " + token : " [" + token + "]";
  }
  return text;
}

void show_losses(const std::vector<double>& losses) {
  if (losses.empty()) return;
  std::cout << "\nloss:\n" << loss_curve(losses, TextStyle::of_output().ascii) << std::flush;
}

void show_task_end(Training& training, const std::string& svg) {
  LanguageModel& model = training.model;
  const Task& task = task_named(training.recipe.task);
  show_losses(training.losses);
  std::mt19937_64 held_out = held_out_generator(training.recipe);
  const Batch batch = task.draw(held_out_sequences, held_out);
  std::cout << "\nheld-out sequences: " << percent_of(accuracy_of(model, batch))
            << " of the tokens are right; guessing gets " << percent_of(accuracy_of_guessing()) << "\n";
  show_examples(model, task, batch);
  show_map(model, task, batch, svg);
  std::cout << std::flush;
}

// ------------------------------------------------------------------------------------------------- while it learns

Progress::Progress(const TextStyle& style, arma::uword steps, arma::uword tokens_per_step, arma::uword before)
    : style_(style), steps_(steps), tokens_per_step_(tokens_per_step), before_(before) {}

void Progress::show(const std::vector<double>& losses) { show(losses, "loss " + with_decimals(losses.back(), 3)); }

void Progress::show(const std::vector<double>& losses, const std::string& what) {
  const arma::uword done = losses.size();
  what_ = what;
  if (style_.plain) {
    if (done * 10 / steps_ == (done - 1) * 10 / steps_) return;  // not at a tenth
    std::cout << "step " << done << " of " << steps_ << ": " << what << std::endl;
    return;
  }
  const auto now = Clock::now();
  if (done < steps_ && now - shown_ < std::chrono::milliseconds(100)) return;
  shown_ = now;
  rewrite(losses);
}

std::string Progress::line_of(arma::uword done, const std::string& what, std::size_t columns) const {
  const double share = static_cast<double>(done) / static_cast<double>(steps_);
  const auto made = static_cast<double>(done - before_);
  const double time = std::max(seconds(), 1e-9);
  std::string text = " step " + std::to_string(done) + " of " + std::to_string(steps_) + ", " + what + ", " +
                     with_decimals(made * static_cast<double>(tokens_per_step_) / time, 0) + " tokens/s, " +
                     with_decimals(std::ceil(time / made * static_cast<double>(steps_ - done)), 0) + " s left";
  constexpr std::size_t bar_width = 22;
  const bool fits = bar_width + text.size() < columns;
  if (!fits && text.size() >= columns) text.resize(columns - 1);
  return (fits ? bar_of(share, style_) : "") + text;
}

/// Draws the line, and the curve above it where the terminal has room, in the place of those that are there.
void Progress::rewrite(const std::vector<double>& losses) {
  const TerminalSize size = terminal_size();  // now: it may change
  const int columns = size.columns > 0 ? size.columns : std::max(style_.columns, 40);
  const bool curve = columns > curve_columns && size.rows > curve_rows + 3 && losses.size() > 1;
  if (has_curve_ && !curve) clear();
  std::string text = "\r\x1b[?2026h";
  if (has_curve_) text += to_curve;
  if (curve) text += replaced(loss_curve(losses, style_.ascii), "\n", "\x1b[K\n");
  has_curve_ = curve;
  has_line_ = true;
  const std::string line = line_of(losses.size(), what_, static_cast<std::size_t>(std::max(columns, 40)));
  std::cout << text << line << "\x1b[K\x1b[?2026l" << std::flush;
}

void Progress::clear() {
  if (!has_line_) return;
  std::cout << "\r" << (has_curve_ ? to_curve : "") << "\x1b[J" << std::flush;
  has_curve_ = has_line_ = false;
  shown_ = {};
}

void Progress::finish(const std::vector<double>& losses, const std::string& how) {
  const double time = seconds();
  const arma::uword made = losses.size() - before_;
  if (has_curve_) {
    clear();  // what comes next shows the curve again
    std::cout << line_of(losses.size(), what_, static_cast<std::size_t>(std::max(style_.columns, 40)));
  }
  if (!style_.plain) std::cout << "\n";
  std::cout << made << (made == 1 ? " step in " : " steps in ") << with_decimals(time, 1) << " s, "
            << with_decimals(static_cast<double>(made * tokens_per_step_) / std::max(time, 1e-9), 0)
            << " tokens per second" << how << std::endl;
}

// ------------------------------------------------------------------------------------------------- a text

void introduce_text(Training& training, const TextData& data) {
  const Recipe& recipe = training.recipe;
  const auto number = [](auto value) { return std::to_string(value); };
  const TextStyle style = TextStyle::of_output();
  const std::string like = recipe.architecture == "gpt2" ? "GPT-2" : "Llama";
  std::cout << style("A model like " + like + ": " + number(number_of_parameters(training.model.config())) +
                     " parameters, E = " + number(recipe.width) + ", layers: " + number(recipe.layers) +
                     ", heads: " + number(recipe.heads) + ", context: " + number(recipe.context) + " tokens.")
            << "\n"
            << "Its text: " << std::filesystem::path(recipe.text).filename().string() << "\n"
            << style(number(data.characters) + " characters, " + number(data.different) +
                     " different ones in all of it. It learns from the first nine tenths, " +
                     number(data.training_ids.size()) + " tokens; the last tenth is held out. " +
                     vocabulary_text(recipe))
            << "\n";
  if (!training.losses.empty()) return;
  const arma::uword count =
      std::min<arma::uword>(data.training_ids.size() - recipe.context, first_windows * (recipe.context / 2));
  const auto begin = data.training_ids.begin() + static_cast<std::ptrdiff_t>(recipe.context);
  const std::vector<arma::uword> before(data.training_ids.begin(), begin);
  const std::vector<arma::uword> tokens(begin, begin + static_cast<std::ptrdiff_t>(count));
  const double nats = total_nats(training.model, before, tokens, recipe.context, recipe.batch);
  show_first_loss(nats / static_cast<double>(count), recipe.vocab_size);
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
  CharacterStream stream(TextStyle::of_output().ascii);
  const std::string text = stream.take(one_line ? one_line_of(bytes) : bytes);
  return text + stream.finish();
}

void show_text_end(Training& training, const TextData& data) {
  show_losses(training.losses);
  std::cout << "\nwhat it writes:\n" << sample_of(training, data, 400, false) << "\n\n" << std::flush;
  const std::string text = first_characters(data.held_out, most_measured);
  const arma::uword characters = count_characters(text);
  const bool is_all = text.size() == data.held_out.size();
  std::cout << "bits per character on " << (is_all ? "the held-out tenth, " : "the beginning of the held-out tenth, ")
            << characters << " characters:\n"
            << std::flush;
  const double nats = total_nats(training.model, data.training_ids, ids_of(text, data.tokenizer),
                                 training.recipe.context, training.recipe.batch);
  const SimpleModels simple = simple_models(data.training, text);
  print_row("this model", nats / std::log(2.0) / static_cast<double>(characters), "");
  print_row("a trigram model", simple.trigram, "each character from the two before it, Kneser-Ney");
  print_row("frequencies", simple.unigram, "of single characters");
  const auto known = static_cast<arma::uword>(std::lround(std::exp2(simple.uniform)));
  print_row("guessing", simple.uniform,
            "among the " + std::to_string(known - 1) + " characters of the first nine tenths, and one for any other");
  std::fflush(stdout);
}

}  // namespace attn::training
