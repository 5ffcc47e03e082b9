#pragma once

#include "prepared.hpp"

namespace attn::generating {

/// Writes a text that continues the prompt, token by token as it comes, and then a line that says how fast that was. Ctrl-C
/// ends the text; pressed again a little later, it ends the program at once.
/// @return the exit code
int write_text(Checkpoint& checkpoint, const Prepared& prepared);

}  // namespace attn::generating
