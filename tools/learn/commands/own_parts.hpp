#pragma once

#include <string>
#include <vector>

#include "learn/commands/curriculum.hpp"
#include "learn/machine/build.hpp"

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

/// Builds a program of the preset that learners use. Says how long it takes if that is the first time, and which step it is at.
Built build_program(const Course& course, const std::string& program);

/// Builds a program with the learner's parts, and runs it.
/// @param program "generate": its files are in programs/generate/
/// @param words   its command line
int run_model(Course& course, const std::string& program, const std::vector<std::string>& words);

/// Builds a program of the reference alone, and runs it.
/// @param program "generate_solution"
/// @param says    what runs, in a sentence
int run_reference(const Course& course, const std::string& program, const std::vector<std::string>& words,
                  const std::string& says = "All of it is the reference's.");

/// Trains with the learner's files of lessons 24 to 27 as they are, whatever their checks say, beside the reference.
int run_own_backward_pass(const Course& course, const std::vector<std::string>& words);

}  // namespace attn::learn
