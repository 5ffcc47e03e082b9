#pragma once

#include <armadillo>
#include <chrono>
#include <string>
#include <vector>

#include "shared/model_view.hpp"
#include "system/text_style.hpp"
#include "train/text_data.hpp"
#include "train/training.hpp"

/// What is on the screen before, while and after a model learns.
namespace attn::training {

/// Prints the model, the task with an example, and what a model knows that has learned nothing.
void introduce_task(Training& training);

/// Prints the model and the text, and what a model knows that has learned nothing.
void introduce_text(Training& training, const TextData& data);

/// Shows how far a training is. In a terminal one line that is written again and again, below the losses so far as a
/// curve, if there is room for it; elsewhere ten lines.
class Progress {
 public:
  /// @param tokens_per_step how many are read
  /// @param before          steps that were made before this program began
  Progress(const TextStyle& style, arma::uword steps, arma::uword tokens_per_step, arma::uword before = 0);

  /// @param losses of all steps that are made
  /// @param what   "loss 0.502", which is the newest one's text
  void show(const std::vector<double>& losses, const std::string& what);
  void show(const std::vector<double>& losses);

  /// Takes what is in the terminal away, so that something else can be printed. The next show() draws anew.
  void clear();

  /// Ends the line, and prints how fast that was.
  /// @param how "; interrupted", or nothing
  void finish(const std::vector<double>& losses, const std::string& how);

 private:
  using Clock = std::chrono::steady_clock;

  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
  std::string line_of(arma::uword done, const std::string& what, std::size_t columns) const;
  void rewrite(const std::vector<double>& losses);

  TextStyle style_;
  arma::uword steps_;
  arma::uword tokens_per_step_;
  arma::uword before_;
  std::string what_;  // the text of the newest loss
  Clock::time_point start_ = Clock::now();
  Clock::time_point shown_;
  bool has_curve_ = false;  // on the screen now
  bool has_line_ = false;
};

/// What the model writes, of itself: always with the same random numbers.
/// @param characters about so many; in one line, where they are few
std::string sample_of(Training& training, const TextData& data, arma::uword characters, bool one_line);

/// Prints what a training on a text has led to: the losses, a sample, and bits per character of the held-out tenth (of a
/// long one, of its first characters) beside those of simple models.
void show_text_end(Training& training, const TextData& data);

/// Of all heads, the one that looks most at where the answer is. Its score is the share of the attention in the answer's
/// rows that goes there, 0 to 1.
/// @param ids     L of them, a column of a batch
/// @param targets L of them
HeadOfLayer head_for(LanguageModel& model, const Task& task, const arma::uvec& ids, const arma::uvec& targets);

/// A sequence up to where the model has to write, and what it wrote there, each wrong token in brackets:
/// "3 1 4 | 4 [7] 3".
std::string example_text(const std::vector<arma::uword>& prompt, const std::vector<arma::uword>& written,
                         const std::vector<arma::uword>& expected);

/// Prints the curve of the losses; nothing when there are none.
void show_losses(const std::vector<double>& losses);

/// Prints what a training on a task has led to: the losses, how many tokens of held-out sequences are right, three
/// examples, the attention map of one, and writes the picture that was asked for.
/// @param svg a new file; empty: none
/// @throws NotWritable naming the picture when it could not be written
void show_task_end(Training& training, const std::string& svg);

}  // namespace attn::training
