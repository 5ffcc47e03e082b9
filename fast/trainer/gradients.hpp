#pragma once

#include <cstddef>

#include "panels.hpp"
#include "trainer/activations.hpp"
#include "trainer/arrays.hpp"
#include "trainer/model.hpp"
#include "trainer/pass.hpp"
#include "trainer/workers.hpp"

namespace attn::fast {

/// The gradients of all parameters, for two halves of the tokens, one array after the other: their sum replaces the
/// first.
class TrainerGradients {
 public:
  explicit TrainerGradients(const TrainerParameters& parameters)
      : numbers_(zeros(halves * parameters.size())), size_(parameters.size()) {}

  /// The sums, once add_halves() was called: an array with the parameters' places.
  const AlignedFloats& numbers() const { return numbers_; }

  float* of(const Place& place, std::size_t half) const {
    return place.empty() ? nullptr : numbers_.data() + half * size_ + place.first;
  }

  void add_halves(Workers& workers, const TrainerModel& model);

  /// Of all sums.
  double norm(Workers& workers, const TrainerModel& model) const;

 private:
  AlignedFloats numbers_;
  std::size_t size_;
};

/// A matrix of activations or their gradients, in rows.
struct ActivationRows {
  const AlignedFloats& numbers;
  std::size_t row;  ///< from one row to the next
};

/// The sums over the tokens of a pass that are the gradients of parameters, as tasks.
class GradientSums {
 public:
  using size_t = std::size_t;

  GradientSums(const TrainerModel& model, const Pass& pass, TrainerGradients& gradients)
      : model_(model), pass_(pass), gradients_(gradients) {}

  /// inputs^T d_outputs, and the sums of d_outputs: a task for some rows of a few strips.
  Tasks::Kind of_linear(const LinearPlaces& linear, ActivationRows inputs, ActivationRows d_outputs) const;

  /// The sums over the blocks, in their order: a task for each half.
  /// @param number as of LayerGradients::of_norm
  Tasks::Kind of_norm(const NormPlaces& norm, const LayerGradients& d, size_t number) const;

  /// Each token's row gets the token's gradient: a task for each half and strip. A tied head has written its share
  /// before.
  Tasks::Kind of_embeddings(ActivationRows d_embedded) const;

 private:
  void add_strips(Scratch& own, const LinearPlaces& linear, ActivationRows inputs, ActivationRows d_outputs,
                  size_t half, size_t first_column, size_t first_row) const;

  const TrainerModel& model_;
  const Pass& pass_;
  TrainerGradients& gradients_;
};

}  // namespace attn::fast
