#pragma once

#include <string>

#include "held_out.hpp"
#include "text_data.hpp"
#include "trainer.hpp"
#include "trigram.hpp"

namespace attn::training {

/// Prints the model and the text, and what a model knows that has learned nothing.
void introduce_text(Training& training, const TextData& data);

/// What the model writes, of itself: always with the same random numbers.
/// @param characters about so many; in one line, where they are few
std::string sample_of(Training& training, const TextData& data, arma::uword characters, bool one_line);

/// The model beside simple ones, on the same characters of the held-out tenth.
struct Measured {
  arma::uword characters = 0;  ///< that were measured: of a long text the first ones
  bool is_all = false;         ///< of the held-out tenth
  double model = 0;            ///< bits per character
  SimpleModels simple;
};
Measured measure(Training& training, const TextData& data);

/// Prints what a training on a text has led to: the losses, a sample, and bits per character.
void show_text_end(Training& training, const TextData& data);

}  // namespace attn::training
