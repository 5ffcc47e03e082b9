#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "recipe.hpp"
#include "variants.hpp"

namespace attn::training {

/// What a model can do after its training.
struct Outcome {
  double held_out_loss = 0;
  double accuracy = 0;  ///< of the tokens that right code writes with the weights that were learned, 0 to 1
};

/// A training in a process of its own: two at once take no more time than one where there are two cores, and neither can
/// disturb the other's mistakes.
class TrainingProcess {
 public:
  /// Begins.
  /// @param mistake an id of a catalogue; empty: none
  TrainingProcess(const Recipe& recipe, Variant variant, const std::string& mistake);
  ~TrainingProcess();
  TrainingProcess(const TrainingProcess&) = delete;
  TrainingProcess& operator=(const TrainingProcess&) = delete;

  /// Reads what it has reported since.
  /// @return false when no more will come
  bool read();

  void stop();

  int descriptor() const { return descriptor_; }
  const std::vector<double>& losses() const { return losses_; }       ///< of the steps so far
  const std::optional<Outcome>& outcome() const { return outcome_; }  ///< when it has come to its end

 private:
  arma::uword steps_;
  pid_t process_ = -1;
  int descriptor_ = -1;
  std::vector<char> unread_;
  std::vector<double> losses_;
  std::optional<Outcome> outcome_;
};

}  // namespace attn::training
