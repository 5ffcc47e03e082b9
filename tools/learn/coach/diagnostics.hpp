#pragma once

#include <functional>
#include <string>
#include <vector>

#include "lesson/line.hpp"

/// What a compiler says, as data: GCC's and clang's output, with their chains of templates and candidates folded away.
namespace attn::learn {

/// An error or a warning, at the line of the learner's that caused it, where one did.
struct Diagnostic {
  bool is_error = true;
  bool in_learners_file = false;
  Place place;
  std::string message;             ///< with short names of types
  std::string source;              ///< the line of code; may be empty
  std::string caret;               ///< the row below it, with "^"; may be empty
  std::vector<std::string> notes;  ///< what the compiler adds about candidates, with short names of types
};

/// What has to be known to read a compiler's output.
struct LearnersFiles {
  std::string folder;                                          ///< "lessons/01_self_attention_v1"
  std::function<std::string(const std::string&, int)> row_of;  ///< the line of a file; empty when it has none
};

/// The errors and warnings, in the order in which they were printed. An error in a library that a line of the learner's
/// causes is given as one of that line, and left out when the line has another error.
std::vector<Diagnostic> diagnostics_in(const std::string& output, const LearnersFiles& files);

/// What GCC and clang say in different words, in one form each; any other message as it is, without "did you mean":
///
///   no member T in const arma::mat
///   no name arma::softmax
///   no operator *: const arma::cube, const arma::mat     (? for a type that the compiler does not print)
///   no call softmax_rows(const double&)                  (clang: of the arguments, the one that does not fit)
///   no call on const arma::mat (int, int, int)
///   no conversion void -> arma::cube
///   const arma::mat is const
std::string meaning_of(const Diagnostic& diagnostic);

/// A compiler's message without its "did you mean".
std::string without_suggestion(const std::string& message);

/// What a compiler or a linker printed, as it is.
Lines output_lines(const std::string& output);

/// A compiler's message with the names of types that a reader of the course knows: arma::mat for class
/// arma::Mat<double>, and no "aka".
std::string with_short_types(const std::string& message);

}  // namespace attn::learn
