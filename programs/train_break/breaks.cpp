#include "train_break/breaks.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>

#include "lesson/lesson.hpp"
#include "lesson/text.hpp"

namespace attn::training {

namespace {

constexpr std::array<const char*, 4> lessons = {"24", "25", "26", "27"};

std::string names() {
  std::string text;
  for (const Break& broken : breaks()) text += (text.empty() ? "" : ", ") + broken.name;
  return text;
}

/// Of a mistake that is made in a file of the solution.
lesson::Mistake mistake_of(const Break& broken, const std::filesystem::path& root) {
  const std::vector<lesson::Mistake> mistakes = lesson::find_lesson(root, broken.lesson).mistakes();
  const auto found = std::find_if(mistakes.begin(), mistakes.end(),
                                  [&](const lesson::Mistake& mistake) { return mistake.id == broken.id; });
  if (found == mistakes.end() || found->file == "fused_qkv_backward.cpp") {
    throw std::invalid_argument("--break is " + broken.name + ", but the model of this training has no mistake " +
                                broken.id + " of lesson " + broken.lesson + ": the ids are in tests/" +
                                lesson::find_lesson(root, broken.lesson).name + "/mistakes.json");
  }
  return *found;
}

}  // namespace

const std::vector<Break>& breaks() {
  static const std::vector<Break> all = {
      {"scale", "01", "",
       "Both models have one head per layer, with D = 32. Without the division scores are 5.7 times as large: the "
       "softmax is sharp before anything is learned, and where it is sharp its gradient is almost 0. The wider a "
       "head, the worse: with D = 64 hardly anything is learned; with two heads and D = 16 it depends on the seed.",
       "the scores are not divided by the root of D", Variant::right, Variant::unscaled, "induction", 1},
      {"shared-projection", "02", "",
       "The score of i with j is then that of j with i, and a token tends to look at itself. It is learned late, or "
       "not to the end.",
       "queries and keys have the same projection", Variant::right, Variant::shared_projection},
      {"dropout-scale", "04", "",
       "Both learn with dropout, p = 0.5, and their losses are much the same. What counts comes afterwards: without "
       "dropout, the attention weights are suddenly twice those that the model knows, and the loss on held-out "
       "sequences is higher than it could be. (The curves end far above that: they are of steps with dropout.)",
       "the attention weights that dropout keeps are not divided by 1 - p", Variant::dropout, Variant::unscaled_dropout,
       "copy"},
      {"row-sum", "24", "row_sum_forgotten",
       "What is missing is the weights times the row sum: the error pushes the scores that are large already up or "
       "down, whether or not that lowers the loss. Copying is learned in spite of it (--task copy), induction is "
       "not."},
      {"softmax-skipped", "24", "softmax_skipped",
       "Queries and keys get a gradient that has little to do with the loss. The model learns which tokens there "
       "are, and the loss stays near ln 10 = 2.30."},
      {"first-sequence", "25", "weight_of_first_sequence",
       "For the weights of the linear layers the batch might as well have one sequence: their gradients are far "
       "noisier, and the model learns far too slowly."},
      {"mask", "26", "model_mask_left_out",
       "The loss falls to nearly 0, on held-out sequences, too: the model reads the token that it has to predict. "
       "When it writes, there is no such token yet, and it fails. A loss that is too good is a leak."},
      {"residual", "26", "attention_residual_forgotten",
       "The gradient reaches the lower block only through attention, so that the embeddings and the first block "
       "learn late."},
      {"block-order", "26", "blocks_in_forward_order",
       "Each block gets the gradient that belongs to another place. Tasks that one block can do are learned (--task "
       "copy); induction needs both, one after the other, and is not."},
      {"decay-in-gradient", "27", "decay_in_the_gradient",
       "The decay is divided by the root of v like the rest of the gradient: where gradients are small, it is as "
       "large as they are. All is learned later."},
      {"betas-swapped", "27", "betas_swapped",
       "The mean of the gradients changes slowly, and that of their squares quickly: steps follow old gradients, "
       "divided by the size of the newest one. It learns, but late."},
      {"sgd", "27", "plain_descent",
       "With a rate for AdamW, gradient descent hardly moves: AdamW's steps are about as long as the rate, those of "
       "gradient descent as long as the rate times the gradient."},
      {"warm-up", "27", "no_warmup",
       "It is quicker here: the model is small, and the gradients of the first steps can be trusted. Wide and deep "
       "models may diverge without a warm-up."}};
  return all;
}

Break break_named(const std::string& name, const std::filesystem::path& root) {
  for (Break broken : breaks()) {
    if (broken.name != name) continue;
    if (!broken.id.empty()) broken.what = mistake_of(broken, root).says;
    return broken;
  }
  if (name == "mine") return {name, "", ""};
  const std::size_t dot = std::min(name.find('.'), name.size());
  Break broken{name, name.substr(0, dot), name.substr(std::min(dot + 1, name.size()))};
  if (dot == name.size() || std::find(lessons.begin(), lessons.end(), broken.lesson) == lessons.end()) {
    throw std::invalid_argument("--break is " + name + ", expected " + names() +
                                ", mine, or a mistake of lessons 24 to 27, such as 27.ascent");
  }
  broken.what = mistake_of(broken, root).says;
  return broken;
}

std::string list_of_breaks() {
  std::string text = "./learn train --break NAME trains with a mistake, beside the right code. NAME is one of\n\n";
  for (const Break& broken : breaks()) {
    const std::string what = broken.id.empty() ? broken.what : "lesson " + broken.lesson + "'s " + broken.id;
    text += "  " + broken.name + std::string(20 - broken.name.size(), ' ') + what + "\n";
  }
  return text +
         "  mine                what you wrote in lessons 24 to 27, as it is\n"
         "\nor a lesson from 24 to 27 and the id of any mistake in its tests/NN_name/mistakes.json, such as "
         "27.ascent.\n";
}

std::string edit_text(const Break& broken, const std::filesystem::path& root) {
  if (broken.id.empty()) return "";
  const lesson::Mistake mistake = mistake_of(broken, root);
  std::string text = "solutions/" + lesson::find_lesson(root, broken.lesson).name + "/" + mistake.file + ":\n";
  for (const auto& change : mistake.changes) {
    for (const auto& row : lines_of(change.find)) text += "  - " + row + "\n";
    for (const auto& row : lines_of(change.replace.empty() ? "(nothing)" : change.replace)) text += "  + " + row + "\n";
  }
  return text;
}

}  // namespace attn::training
