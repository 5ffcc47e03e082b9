#pragma once

#include <vector>

#include "attn/parameters.hpp"

namespace attn {

/// Makes all gradients together at most max_norm long, and keeps their direction: PyTorch's
/// torch.nn.utils.clip_grad_norm_ (Pascanu, Mikolov, Bengio 2013, algorithm 1).
///
///   norm = sqrt(the sum of the squares of all numbers of all gradients)
///   every number is multiplied by max_norm / (norm + 1e-6), if that is below 1
///
/// @param gradients changed in place
/// @return          the norm as it was before. Where it is not finite, the gradients mean nothing, before and after
/// @throws std::invalid_argument naming max_norm, when it is not above zero. Infinity is allowed, and clips nothing.
double clip_gradients(const std::vector<ParameterView>& gradients, double max_norm);

}  // namespace attn
