#pragma once

#include <cstddef>
#include <vector>

#include "panels.hpp"
#include "train_kernels.hpp"
#include "trainer/parameters.hpp"
#include "trainer/workers.hpp"

namespace attn::fast {

/// A matrix transposed: (columns x rows) in strips.
struct Transposed {
  AlignedFloats numbers;
  Strips strips(std::size_t rows, std::size_t R) const { return {numbers.data(), rows * R, R}; }
};

/// The weights that a product also needs transposed, packed once per step: all of them for the backward pass, a tied
/// head for the forward pass.
struct TransposedWeights {
  struct Layer {
    Transposed qkv, output, up, down;
  };

  explicit TransposedWeights(std::size_t num_layers) : layers(num_layers) {}

  void update(Workers& workers, const TrainKernels& kernels, const TrainerParameters& parameters, std::size_t R,
              bool with_backward);

  Transposed head;
  std::vector<Layer> layers;
};

}  // namespace attn::fast
