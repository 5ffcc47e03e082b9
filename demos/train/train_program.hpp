#pragma once

#include "steps.hpp"

namespace attn::training {

/// The program of ./learn train: what its main() does.
/// @param fast whether these are the fast kernels' steps
/// @return     0 well, 1 the code threw an error or the loss is no number, 2 it cannot be run as asked, or not be
///             saved; 130 ended by Ctrl-C, 143 by SIGTERM
int train_program(int argc, char** argv, bool fast, const MakeSteps& make_steps);

}  // namespace attn::training
