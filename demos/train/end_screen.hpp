#pragma once

#include <armadillo>
#include <string>
#include <vector>

#include "trainer.hpp"

namespace attn::training {

/// What a task needs and a head shows.
struct ShownHead {
  arma::uword layer = 0;
  arma::uword head = 0;
  arma::cube weights;  ///< (L x L x H) of the layer
  double share = 0;    ///< of the attention in the answer's rows, what goes to where the answer is: 0 to 1
};

/// Of all heads, the one that looks most at where the answer is.
/// @param ids     L of them, a column of a batch
/// @param targets L of them
ShownHead head_for(LanguageModel& model, const Task& task, const arma::uvec& ids, const arma::uvec& targets);

/// A sequence up to where the model has to write, and what it wrote there, each wrong token in brackets:
/// "3 1 4 | 4 [7] 3".
std::string example_text(const std::vector<arma::uword>& prompt, const std::vector<arma::uword>& written,
                         const std::vector<arma::uword>& expected);

/// Prints the curve of the losses; nothing when there are none.
void show_losses(const std::vector<double>& losses);

/// Prints what a training has led to: the losses, how many tokens of held-out sequences are right, three examples, the
/// attention map of one, and writes the picture that was asked for.
/// @param svg a new file; empty: none
/// @throws NotWritable naming the picture when it could not be written
void show_end(LanguageModel& model, const Task& task, const std::vector<double>& losses, std::mt19937_64& held_out,
              const std::string& svg);

}  // namespace attn::training
