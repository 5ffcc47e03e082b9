#pragma once

#include <vector>

#include "kernels.hpp"
#include "trainer/parameters.hpp"
#include "trainer/pass.hpp"
#include "trainer/rope.hpp"
#include "trainer/sizes.hpp"
#include "trainer/transposed.hpp"

namespace attn::fast {

/// What a pass only reads: the model that is trained, and the kernels that compute it.
struct TrainerModel {
  /// @param config checked, with head_dim
  /// @throws std::invalid_argument naming parameters, when these are not the model's.
  TrainerModel(const LanguageModelConfig& config, const std::vector<ParameterView>& values, const Kernels& of_machine)
      : sizes(config, of_machine.rows),
        kernels(of_machine.train),
        parameters(config, values, sizes.R),
        transposed(config.num_layers),
        angles(config.attention) {}

  /// A matrix of weights as a product's right factor.
  Strips strips_of(const Place& weight) const { return {parameters.value(weight), weight.rows * sizes.R, sizes.R}; }

  /// RoPE for the queries and keys of a block of tokens, with sequences of L tokens. With sign = -1 back.
  void rotate(float* qkv, TokenBlock block, std::size_t L, float sign) const {
    for (std::size_t i = 0; i < block.rows; ++i) {
      for (std::size_t h = 0; h < sizes.H + sizes.G; ++h) {
        angles.rotate(kernels, qkv + i * sizes.row_W + h * sizes.D, (block.first + i) % L, sign);
      }
    }
  }

  ModelSizes sizes;
  const TrainKernels& kernels;
  TrainerParameters parameters;
  TransposedWeights transposed;
  RopeAngles angles;  ///< for Llama's architecture alone
};

}  // namespace attn::fast
