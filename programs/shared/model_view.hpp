#pragma once

#include <armadillo>
#include <functional>
#include <string>
#include <vector>

#include "attn/byte_level_bpe.hpp"
#include "attn/language_model.hpp"

/// What can be shown of a language model: the attention of its layers, and its tokens.
namespace attn {

/// What a layer's attention gives: (L x L x H), row i of slice h is what token i takes from each token in head h.
/// @return whether the next layer is wanted, too
using VisitLayer = std::function<bool(arma::uword layer, const arma::cube& weights)>;

/// Computes the weights of each layer's attention for a text, which the layers themselves do not keep: the blocks below
/// run, and then what the layer's attention does up to the softmax. Begins and ends by resetting the model.
///
/// @param ids L of them, at least one
void visit_attention(LanguageModel& model, const std::vector<arma::uword>& ids, const VisitLayer& visit);

/// A head, and the weights of all heads of its layer.
struct HeadOfLayer {
  arma::uword layer = 0;
  arma::uword head = 0;
  arma::cube weights;  ///< (L x L x H)
  double score = 0;    ///< by which it was chosen
};

HeadOfLayer head_of_layer(LanguageModel& model, const std::vector<arma::uword>& ids, arma::uword layer,
                          arma::uword head);

/// Of all heads, the first one whose weights (L x L) have the highest score.
HeadOfLayer best_head(LanguageModel& model, const std::vector<arma::uword>& ids,
                      const std::function<double(const arma::mat& weights)>& score_of);

/// Of all heads, the one that looks most sharply at other tokens: neither at the token itself nor at the first one, which
/// many heads look at when they have found nothing.
HeadOfLayer sharpest_head(LanguageModel& model, const std::vector<arma::uword>& ids);

/// What a model writes, as a terminal can show it: bytes go in, whole characters come out. Control characters and bytes that
/// are not valid UTF-8 become U+FFFD, as weights may come from anywhere.
class CharacterStream {
 public:
  /// @param ascii for a terminal that knows nothing else
  explicit CharacterStream(bool ascii) : ascii_(ascii) {}

  /// @return all characters that are whole now
  std::string take(const std::string& bytes);

  /// @return what is left when no more bytes come
  std::string finish();

 private:
  std::string shown(const std::string& text) const;

  bool ascii_;
  std::string pending_;  // the beginning of a character
};

/// The bytes of a token. Empty for a row of the vocabulary that no token has: models have such rows, as padding, and the head
/// gives them a probability, too.
std::string bytes_of(const ByteLevelBPE& tokenizer, arma::uword id);

/// What is written above a column of a map for each token: its text, without a space at its beginning. A line break is "\n".
std::vector<std::string> labels_of(const ByteLevelBPE& tokenizer, const std::vector<arma::uword>& ids);

}  // namespace attn
