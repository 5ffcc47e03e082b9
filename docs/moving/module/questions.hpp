#pragma once

#include <armadillo>
#include <nlohmann/json.hpp>
#include <string>

/// What the figures ask the reference. A question is a function from JSON to JSON; module/questions.cpp lists them.
namespace attn::moving {

using Json = nlohmann::json;

/// A number; what JSON cannot hold becomes "NaN", "inf" or "-inf".
Json json_of(double x);
Json json_of(const arma::mat& x);   ///< its rows
Json json_of(const arma::cube& x);  ///< its slices, each with its rows

double number_in(const Json& x);  ///< of a number, or of "NaN", "inf" or "-inf"

/// @throws std::invalid_argument naming the field, when it is not a list of lists of numbers, all equally long
arma::mat matrix_in(const Json& request, const std::string& field);

Json attend(const Json& request);
Json backward(const Json& request);
Json cached(const Json& request);
Json cross(const Json& request);
Json decoder(const Json& request);
Json decoding(const Json& request);
Json heads(const Json& request);
Json mask(const Json& request);
Json masked(const Json& request);
Json multi_head(const Json& request);
Json online(const Json& request);
Json read_text(const Json& request);
Json rope(const Json& request);
Json rope_scores(const Json& request);
Json sampling(const Json& request);
Json self_attention(const Json& request);
Json softmax(const Json& request);
Json split(const Json& request);
Json tiles(const Json& request);
Json train_begin(const Json& request);
Json train_steps(const Json& request);
Json write_text(const Json& request);

}  // namespace attn::moving
