#pragma once

#include "prepared.hpp"

namespace attn::generating {

/// Draws the attention map of a layer and head for the prompt, and writes the picture that was asked for.
/// @throws NotWritable naming the picture when it could not be written
void draw_map(Checkpoint& checkpoint, const Prepared& prepared);

}  // namespace attn::generating
