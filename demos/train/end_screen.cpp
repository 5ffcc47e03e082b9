#include "end_screen.hpp"

#include <algorithm>
#include <cstdio>
#include <iostream>

#include "attention_map.hpp"
#include "layer_attention.hpp"
#include "system/text_style.hpp"
#include "loss_curve.hpp"
#include "system/files.hpp"

namespace attn::training {

namespace {

constexpr arma::uword held_out_sequences = 1000;
constexpr arma::uword shown_examples = 3;

std::string percent_of(double share) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f %%", 100 * share);
  return text;
}

std::string example_of(LanguageModel& model, const Batch& batch, arma::uword column) {
  const std::vector<arma::uword> all = whole_sequence(batch, column);
  const auto begin = static_cast<std::ptrdiff_t>(first_counted(batch.targets.col(column)) + 1);
  const std::vector<arma::uword> prompt(all.begin(), all.begin() + begin);
  const std::vector<arma::uword> expected(all.begin() + begin, all.end());
  return example_text(prompt, written_after(model, prompt, expected.size()), expected);
}

void show_examples(LanguageModel& model, const Task& task, const Batch& batch) {
  const bool has_separator = task.name != "induction";
  std::cout << "what it writes after new sequences (after " << (has_separator ? "|" : ">") << "; wrong: [3]):\n";
  for (arma::uword b = 0; b < shown_examples; ++b) std::cout << "  " << example_of(model, batch, b) << "\n";
}

void show_map(LanguageModel& model, const Task& task, const Batch& batch, const std::string& svg) {
  const TextStyle style = TextStyle::of_output();
  const arma::uvec ids = batch.ids.col(0);
  const ShownHead shown = head_for(model, task, ids, batch.targets.col(0));
  std::vector<std::string> labels;
  for (const arma::uword id : ids) labels.push_back(text_of(id));
  const std::string layer = "layer " + std::to_string(shown.layer);
  std::cout << "\n"
            << style("the attention of " + layer + ", head " + std::to_string(shown.head) +
                     ", while it writes the first one: rows look at columns. Of all heads the one that looks most at " +
                     "where the answer is: with " + percent_of(shown.share) + " of its attention in the answer's rows")
            << "\n"
            << attention_map_text(shown.weights.slice(shown.head), labels, style) << "\n"
            << style("What to look for: " + task.look_for) << "\n";
  if (svg.empty()) return;
  write_new_file(svg, attention_map_svg(shown.weights, labels,
                                        "Layer " + std::to_string(shown.layer) + " of a model that was trained to " +
                                            task.what + "."));
  std::cout << "\nwrote " << svg << ": " << layer << ", a panel for each head\n";
}

}  // namespace

ShownHead head_for(LanguageModel& model, const Task& task, const arma::uvec& ids, const arma::uvec& targets) {
  const arma::mat sources = sources_of(task, ids, targets);  // (L x L)
  const arma::uvec answer = arma::find(targets != ignored_target);
  const double rows = static_cast<double>(std::max<arma::uword>(answer.n_elem, 1));
  ShownHead best;
  visit_attention(model, {ids.begin(), ids.end()}, [&](arma::uword layer, const arma::cube& weights) {
    for (arma::uword head = 0; head < weights.n_slices; ++head) {
      const double share = arma::accu(weights.slice(head) % sources) / rows;
      if (best.weights.is_empty() || share > best.share) best = {layer, head, weights, share};
    }
    return true;
  });
  return best;
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

void show_end(LanguageModel& model, const Task& task, const std::vector<double>& losses, std::mt19937_64& held_out,
              const std::string& svg) {
  show_losses(losses);
  const Batch batch = task.draw(held_out_sequences, held_out);
  std::cout << "\nheld-out sequences: " << percent_of(accuracy_of(model, batch))
            << " of the tokens are right; guessing gets " << percent_of(accuracy_of_guessing()) << "\n";
  show_examples(model, task, batch);
  show_map(model, task, batch, svg);
  std::cout << std::flush;
}

}  // namespace attn::training
