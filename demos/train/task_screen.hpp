#pragma once

#include "trainer.hpp"

namespace attn::training {

/// Prints the model, the task with an example, and what a model knows that has learned nothing.
void introduce_task(Training& training);

}  // namespace attn::training
