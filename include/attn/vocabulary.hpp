#pragma once

#include <armadillo>
#include <map>
#include <string>
#include <vector>

namespace attn {

/// Words and their numbers. 0 stands for every unknown word, and also fills up short sentences.
class Vocabulary {
 public:
  static constexpr arma::uword unknown = 0;

  /// The words get the numbers 1, 2, 3, ... in this order. Letters A to Z are lower-cased; a word that occurs again
  /// keeps its first number and takes no new one.
  ///
  /// @throws std::invalid_argument naming words, when one is empty.
  explicit Vocabulary(const std::vector<std::string>& words);

  /// Its number, or 0 for a word that is not in the vocabulary.
  arma::uword id(const std::string& word) const;

  /// The word with that number, and "?" for 0.
  ///
  /// @throws std::invalid_argument naming id and the size, when there is no such number.
  const std::string& word(arma::uword id) const;

  /// How many numbers there are, 0 among them: one more than there are words.
  arma::uword size() const { return words_.size(); }

 private:
  std::vector<std::string> words_ = {"?"};
  std::map<std::string, arma::uword> ids_;
};

/// On which side of its words a short sentence is filled up.
enum class Padding { right, left };

/// Sentences as numbers, all of one length.
struct EncodedBatch {
  arma::umat ids;                    ///< (L x B): column b holds the numbers of sentence b, and zeros on one side
  arma::uvec lengths;                ///< (B): how many of them are words; 0 for an empty sentence
  Padding padding = Padding::right;  ///< right: the words come first; left: they come last
};

/// Tokenizes sentences and looks up their words. A sentence of more than max_length tokens keeps the first max_length,
/// whatever the side; a shorter one is filled up with zeros on that side.
///
/// An unknown word is 0 as well: only `lengths` and `padding` distinguish words from padding.
///
/// @param max_length L, at least 1
/// @throws std::invalid_argument naming sentences when there is none, max_length when it is 0, or as tokenize.
EncodedBatch encode(const std::vector<std::string>& sentences, const Vocabulary& vocabulary, arma::uword max_length,
                    Padding padding = Padding::right);

}  // namespace attn
