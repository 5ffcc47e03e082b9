#pragma once

#include <string>

#include "learn/coach/diagnostics.hpp"

/// What a learner reads instead of a compiler's or a linker's output. From text to lines: it runs nothing.
namespace attn::learn {

/// The first errors that the learner's files cause, at most three: the place, the message, the line of code, and what
/// to do about it in a sentence, where the table in sentences.cpp has one. When no error is of the learner's files, the
/// first ones that there are. Empty when the output has no error of a compiler or a linker.
Lines errors_explained(const std::string& output, const LearnersFiles& files);

/// The warnings about the learner's files: a line for each kind, at most four. Empty when there are none.
Lines warnings_folded(const std::string& output, const LearnersFiles& files);

}  // namespace attn::learn
