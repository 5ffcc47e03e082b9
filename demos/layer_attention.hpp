#pragma once

#include <armadillo>
#include <functional>
#include <vector>

#include "attn/language_model.hpp"

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
  arma::cube weights;
};

HeadOfLayer head_of_layer(LanguageModel& model, const std::vector<arma::uword>& ids, arma::uword layer,
                          arma::uword head);

/// Of all heads, the one that looks most sharply at other tokens: neither at the token itself nor at the first one, which
/// many heads look at when they have found nothing.
HeadOfLayer sharpest_head(LanguageModel& model, const std::vector<arma::uword>& ids);

}  // namespace attn
