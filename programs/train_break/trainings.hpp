#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "attn/attention_backward.hpp"
#include "attn/language_model_backward.hpp"
#include "train/training.hpp"
#include "train_break/breaks.hpp"

namespace attn::training {

/// What both models are and learn.
/// @param task_was_given else it is the one that shows the mistake
Recipe recipe_of(const Break& broken, TrainOptions options, bool task_was_given);

/// What is trained from now on in this process.
/// @param seed of dropout's masks
void choose_variant(Variant variant, std::uint64_t seed);

/// Dropout only while training.
void set_training(bool training);

/// The model with which right code computes what the variant computes with `model`.
LanguageModel as_computed(LanguageModel model);

/// What a model can do after its training.
struct Outcome {
  double held_out_loss = 0;
  double accuracy = 0;  ///< of the tokens that right code writes with the weights that were learned, 0 to 1
};

struct TrainingReport {
  std::vector<double> losses;      ///< of each step that was made
  std::optional<Outcome> outcome;  ///< when it has come to its end
};

/// Trains until all steps are made or a loss is not finite, or `go_on`, which gets the losses so far after each step,
/// returns false.
TrainingReport train_variant(const Recipe& recipe, Variant variant,
                             const std::function<bool(const std::vector<double>& losses)>& go_on);

/// The same into a file, as it comes: each loss, then the outcome.
/// @param file a descriptor, for TrainingProcess::report()
void write_training(const Recipe& recipe, Variant variant, int file);

/// So long may a step of a training that is waited for take: a thousand times what it takes.
inline constexpr std::chrono::seconds longest_step{10};

/// A training in a process of its own: two at once take no more time than one where there are two cores, and neither can
/// disturb the other's mistakes.
class TrainingProcess {
 public:
  /// Begins.
  /// @param mistake an id of a catalogue; empty: none
  TrainingProcess(const Recipe& recipe, Variant variant, const std::string& mistake);

  /// Begins another program, which calls write_training() with the same recipe and the descriptor after --losses.
  TrainingProcess(const Recipe& recipe, const std::string& program);
  ~TrainingProcess();
  TrainingProcess(const TrainingProcess&) = delete;
  TrainingProcess& operator=(const TrainingProcess&) = delete;

  /// Waits until it has ended; ends it when `keep_waiting` returns false, or when no step comes for so long.
  void wait(const std::function<bool()>& keep_waiting, std::chrono::seconds longest = longest_step);

  /// What it has done so far.
  TrainingReport report() const;

  /// How another program ended, where it did not end well: "crashed (Segmentation fault)", "threw an error: ...", "was
  /// stopped: ...".
  std::string failure() const;

 private:
  explicit TrainingProcess(const Recipe& recipe);

  arma::uword steps_;
  int file_;    // in memory: its losses, then its outcome
  int prints_;  // in memory: what another program prints
  pid_t process_;
  int status_ = 0;
  std::string stopped_;  // why wait() ended it, where nobody asked for that
};

}  // namespace attn::training

// CMakeLists.txt gives these names to the calls in training.cpp and multi_head_backward.cpp.
namespace attn {

LossAndGradients variant_loss_and_gradients(const LanguageModel& model, const arma::umat& ids,
                                            const arma::umat& targets);

AttentionForward variant_attention_forward(const arma::cube& Q, const arma::cube& K, const arma::cube& V,
                                           const Mask& mask, const Mask& keep, double p);

AttentionGradients variant_attention_backward(const arma::cube& d_context, const KeptAttention& kept);

}  // namespace attn
