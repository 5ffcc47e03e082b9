#pragma once

#include "learn/commands/curriculum.hpp"

namespace attn::learn {

/// What is due today by spaced repetition (schedule.hpp): interview questions to answer aloud and grade, and lessons to
/// redo from blank. Without a terminal it lists them.
int review(Course& course, bool plain);

}  // namespace attn::learn
