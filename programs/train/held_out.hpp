#pragma once

#include <armadillo>
#include <array>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "attn/language_model.hpp"
#include "train/text_data.hpp"

namespace attn::training {

/// How well a model predicts tokens that come after others: -ln p of each of them, summed. Windows of L tokens that
/// overlap by half, so that each token has at least L / 2 before it.
///
/// @param before at least L tokens
/// @param tokens what is predicted
/// @param L      at most as many as the model has positions
/// @param B      windows at once
/// @return       in nats
double total_nats(LanguageModel& model, const std::vector<arma::uword>& before, const std::vector<arma::uword>& tokens,
                  arma::uword L, arma::uword B);

/// How well simple models of characters predict a text, for comparison.
struct SimpleModels {
  double uniform = 0;  ///< bits per character: all characters that occur are equally likely, and so is an unknown one
  double unigram = 0;  ///< each as often as it occurs, whatever comes before
  double trigram = 0;  ///< given the two characters before
};

/// Interpolated models with Kneser-Ney smoothing (Chen, Goodman 1999): of a count, the
/// discount of 0.75 goes to the model that looks at one character less. The last one of these is uniform over the n
/// different characters of the training text, and one more: any that is unknown.
class TrigramModel {
 public:
  explicit TrigramModel(const std::string& training);

  /// -log2 of the probability of a character, each a code point.
  double bits(char32_t before_last, char32_t last, char32_t next) const;
  double unigram_bits(char32_t next) const;
  double uniform_bits() const;

  /// The last two characters; for a shorter text one that is unknown.
  const std::array<char32_t, 2>& end_of_training() const { return end_; }

 private:
  struct Total {
    double count = 0;
    double distinct = 0;
  };
  using Counts = std::unordered_map<std::uint64_t, double>;
  using Totals = std::unordered_map<std::uint64_t, Total>;

  double probability(std::size_t level, const std::array<std::uint64_t, 3>& characters) const;
  std::uint64_t id(char32_t character) const;

  std::unordered_map<char32_t, std::uint64_t> ids_;
  std::array<Counts, 3> counts_;  // of one character after how many others, of two after how many, of three
  std::array<Totals, 3> totals_;  // of what comes after none, one, two
  Counts frequencies_;            // how often each one occurs
  double length_ = 0;
  std::array<char32_t, 2> end_ = {0x110000, 0x110000};  // no character
};

/// Bits per character of a text that comes after the training text.
/// @param text at least one character
SimpleModels simple_models(const std::string& training, const std::string& text);

}  // namespace attn::training
