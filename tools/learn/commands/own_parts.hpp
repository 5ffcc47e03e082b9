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

/// How many parts are the learner's, and which lesson is next; and a line for each one that could not be used.
/// @param program "generate", whose help lists all parts
std::string parts_text(const std::vector<ModelPart>& parts, const std::string& program);

/// The numbers of the lessons that a program's model runs through.
std::vector<std::string> lessons_of_program(const std::filesystem::path& root, const std::string& program);

/// For when a lesson passed: that its code runs in ./learn generate now, or in ./learn train; empty where it is in neither.
std::string runs_in_text(const lesson::Lesson& lesson);

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
