#include "questions.hpp"

#include <cmath>
#include <limits>
#include <map>
#include <stdexcept>
#include <string>

namespace attn::moving {

namespace {

// One per line
// clang-format off
const std::map<std::string, Json (*)(const Json&)> questions = {
    {"attend", attend},
    {"backward", backward},
    {"cached", cached},
    {"cross", cross},
    {"decoder", decoder},
    {"decoding", decoding},
    {"heads", heads},
    {"mask", mask},
    {"masked", masked},
    {"multi_head", multi_head},
    {"online", online},
    {"read_text", read_text},
    {"rope", rope},
    {"rope_scores", rope_scores},
    {"sampling", sampling},
    {"self_attention", self_attention},
    {"softmax", softmax},
    {"split", split},
    {"tiles", tiles},
    {"train_begin", train_begin},
    {"train_steps", train_steps},
    {"write_text", write_text},
};
// clang-format on

}  // namespace

Json json_of(double x) {
  if (std::isfinite(x)) return x;
  return std::isnan(x) ? "NaN" : x > 0 ? "inf" : "-inf";
}

Json json_of(const arma::mat& x) {
  Json rows = Json::array();
  for (arma::uword i = 0; i < x.n_rows; ++i) {
    Json row = Json::array();
    for (arma::uword j = 0; j < x.n_cols; ++j) row.push_back(json_of(x(i, j)));
    rows.push_back(row);
  }
  return rows;
}

Json json_of(const arma::cube& x) {
  Json slices = Json::array();
  for (arma::uword n = 0; n < x.n_slices; ++n) slices.push_back(json_of(x.slice(n)));
  return slices;
}

double number_in(const Json& x) {
  if (x.is_number()) return x.get<double>();
  if (x == "inf") return std::numeric_limits<double>::infinity();
  if (x == "-inf") return -std::numeric_limits<double>::infinity();
  return std::numeric_limits<double>::quiet_NaN();
}

arma::mat matrix_in(const Json& request, const std::string& field) {
  const Json& rows = request.at(field);
  if (!rows.is_array() || rows.empty()) throw std::invalid_argument(field + " is empty");
  arma::mat x(rows.size(), rows[0].size());
  for (arma::uword i = 0; i < x.n_rows; ++i) {
    if (rows[i].size() != x.n_cols) throw std::invalid_argument(field + " has rows of different lengths");
    for (arma::uword j = 0; j < x.n_cols; ++j) x(i, j) = number_in(rows[i][j]);
  }
  return x;
}

}  // namespace attn::moving

/// The answer to a question, as JSON: {"answer": ...}, or {"error": "a sentence"}. It is valid until the next question.
extern "C" const char* answer(const char* question, const char* request) {
  using attn::moving::Json;
  const auto written = [](const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); };
  static std::string text;
  try {
    const Json asked = Json::parse(request);
    text = written(Json{{"answer", attn::moving::questions.at(question)(asked)}});
  } catch (const std::exception& error) {
    text = written(Json{{"error", error.what()}});
  }
  return text.c_str();
}
