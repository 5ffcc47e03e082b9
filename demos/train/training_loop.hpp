#pragma once

#include "progress.hpp"
#include "session.hpp"
#include "steps.hpp"

namespace attn::training {

/// Makes steps until all are made, or Ctrl-C: shows how far it is, saves now and then, and for a text shows what the
/// model writes.
/// @return whether the training is saved as it is then
/// @throws NotANumber, or what the code of a lesson throws.
bool train(Session& session, Steps& steps, Progress& progress);

}  // namespace attn::training
