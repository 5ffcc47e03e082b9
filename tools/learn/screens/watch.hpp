#pragma once

#include "learn/commands/curriculum.hpp"

namespace attn::learn {

/// Going through the lessons: builds and checks on every save, and listens to keys. Returns when the learner quits.
/// @param plain no colour, no cursor movement
int watch(Course& course, bool plain);

}  // namespace attn::learn
