#pragma once

#include <armadillo>
#include <vector>

#include "attn/language_model.hpp"
#include "text_data.hpp"

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

}  // namespace attn::training
