#pragma once

#include <armadillo>
#include <functional>
#include <string>
#include <vector>

#include "attn/checkpoint.hpp"

/// models/small for demonstrations of single lessons: it writes a text, with one part of it exchanged.
namespace attn {

Checkpoint small_model();

/// Attention in all heads of one layer: Q (L x D x H), K and V (L x D x G), queries and keys rotated already -> (L x D x H).
using AttentionOfHeads = std::function<arma::cube(const arma::cube& Q, const arma::cube& K, const arma::cube& V)>;

/// The logits (L x V) of a whole text, where every layer attends by `attend`. Keeps no cache.
arma::mat logits_with(const LanguageModel& model, const std::vector<arma::uword>& ids, const AttentionOfHeads& attend);

/// Each key/value head once for every query head that reads it: (S x D x G) -> (S x D x H).
arma::cube for_each_query_head(const arma::cube& heads, arma::uword num_heads);

/// From the tokens so far to the logits (1 x V) of the next one.
using NextLogits = std::function<arma::rowvec(const std::vector<arma::uword>& ids)>;

/// Prints the text so far and continues it, token by token as it comes. The same logits give the same text: the seed is fixed.
/// @return all tokens
std::vector<arma::uword> print_text(const Checkpoint& checkpoint, std::vector<arma::uword> ids, arma::uword new_tokens,
                                    const NextLogits& next_logits);

}  // namespace attn
