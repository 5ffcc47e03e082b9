#pragma once

#include <string>
#include <vector>

#include "learn/commands/curriculum.hpp"

/// Programs with a language model that runs what the learner wrote: ./learn generate and ./learn train.
namespace attn::learn {

/// A lesson that the model runs through.
struct ModelPart {
  lesson::Lesson lesson;
  bool own;             ///< the learner's files run; else the reference's
  std::string why_not;  ///< of files that the learner changed and that do not run; else empty
};

/// Which parts are whose, and which lesson is next, in a line or two; and a line for each one that could not be used.
std::string parts_text(const std::vector<ModelPart>& parts);

/// Builds a program with the learner's parts, and runs it.
/// @param program   "generate": its files are in programs/generate/
/// @param words     its command line
/// @param reference with all parts of the reference
int run_model(Course& course, const std::string& program, const std::vector<std::string>& words, bool reference);

}  // namespace attn::learn
