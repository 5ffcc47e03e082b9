#pragma once

#include <armadillo>
#include <random>
#include <string>
#include <vector>

#include "attn/batches.hpp"

/// What ./learn train teaches: tasks that need attention, with an unlimited number of examples.
namespace attn::training {

/// Digits, and one more token: the separator.
inline constexpr arma::uword symbols = 10;
inline constexpr arma::uword length = 10;

/// Sequence, separator, the same sequence. As reverse_batch, but for the order of the answer; so is sort_batch.
/// @return (2 n x B) each; n targets of each sequence count
Batch copy_batch(arma::uword n, arma::uword B, std::mt19937_64& generator);

/// Sequence, separator, the sequence in ascending order.
Batch sort_batch(arma::uword n, arma::uword B, std::mt19937_64& generator);

/// A few different symbols, again and again: after "... A B ... A" comes B. How many there are is drawn for each
/// sequence, from n / 2 to n, so that positions alone do not give the answer.
/// @param n at most as many as there are symbols
/// @return  (2 n x B) each; targets count where the token occurred before
Batch induction_batch(arma::uword n, arma::uword B, std::mt19937_64& generator);

struct Task {
  std::string name;          ///< "reverse"
  std::string what;          ///< "write ten digits backwards"
  std::string look_for;      ///< what the map of a head that does it looks like
  arma::uword steps;         ///< after which a model can do it
  arma::uword warmup_steps;  ///< of these
  double positions;  ///< the deviation of the learned positions at first; small where they do not tell the answer

  /// @return (2 n x B) each, n being `length`
  Batch draw(arma::uword B, std::mt19937_64& generator) const;
};

/// All of them; the first one is the one that is shown unless another one is asked for.
const std::vector<Task>& tasks();

/// @throws std::invalid_argument when there is none with this name
const Task& task_named(const std::string& name);

/// How often the right token is found by chance.
inline double accuracy_of_guessing() { return 1.0 / static_cast<double>(symbols); }

/// Where the answer is: 1 where the row's target is the column's token and the task takes it from there. Of copies, the
/// one with the same index; of tokens to be sorted, any that is the same; in a repetition, those after the
/// earlier occurrences of the row's own token. Rows whose target does not count are 0.
///
/// @param ids     L of them, a column of a batch
/// @param targets L of them
/// @return        (L x L)
arma::mat sources_of(const Task& task, const arma::uvec& ids, const arma::uvec& targets);

/// "3", or "|" for the separator.
std::string text_of(arma::uword id);

/// Tokens separated by spaces: "3 1 4 | 4 1 3".
std::string text_of(const std::vector<arma::uword>& ids);

/// A column of a batch with its last target: all that the sequence has.
std::vector<arma::uword> whole_sequence(const Batch& batch, arma::uword column);

/// The row of the first target that counts: from there on a model has to write.
arma::uword first_counted(const arma::uvec& targets);

}  // namespace attn::training
