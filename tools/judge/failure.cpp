#include "judge/failure.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

namespace attn::judge {

using nlohmann::json;

namespace {

constexpr char opening = '\x1e';
constexpr char closing = '\x1f';

const char* const kinds[] = {"claim", "shape", "value", "exception", "not_written", "ended"};

Failure::Kind kind_of(const std::string& name) {
  const auto found = std::find(std::begin(kinds), std::end(kinds), name);
  if (found == std::end(kinds)) throw std::invalid_argument("unknown kind of failure: " + name);
  return static_cast<Failure::Kind>(found - std::begin(kinds));
}

/// JSON has no NaN and no infinity.
json number_to_json(double x) {
  if (std::isfinite(x)) return x;
  return std::isnan(x) ? "nan" : x > 0 ? "inf" : "-inf";
}

double number_from_json(const json& value) {
  if (value.is_number()) return value.get<double>();
  return std::stod(value.get<std::string>());
}

template <class T>
void append(std::vector<T>& to, const std::vector<T>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

}  // namespace

std::string Fingerprint::text() const {
  std::string text;
  for (const auto size : sizes) text += (text.empty() ? "" : "x") + std::to_string(size);
  for (const double mean : means) {
    char number[32];
    std::snprintf(number, sizeof number, " %.9f", mean);
    text += number;
  }
  return text;
}

Fingerprint Fingerprint::from_text(const std::string& text) {
  Fingerprint print;
  std::istringstream in(text);
  std::size_t size = 0;
  while (in >> size) {
    print.sizes.push_back(size);
    if (in.peek() != 'x') break;
    in.get();
  }
  in >> print.means[0] >> print.means[1];
  if (in.fail()) throw std::invalid_argument("\"" + text + "\" is not a fingerprint such as \"4x3 0.12 -0.34\"");
  return print;
}

bool Fingerprint::equals(const Fingerprint& other, double tolerance) const {
  // Rounding errors of many numbers cancel, so that a tenth of what each may have is plenty; text() keeps 1e-9.
  const double most = std::max(2e-9, tolerance / 10);
  return sizes == other.sizes && std::abs(means[0] - other.means[0]) <= most &&
         std::abs(means[1] - other.means[1]) <= most;
}

void merge(Failure& into, const Failure& part) {
  if (part.kind != Failure::Kind::claim) into.kind = part.kind;
  if (!part.expression.empty()) into.expression = part.expression;
  if (part.shape) into.shape = part.shape;
  if (part.worst) into.worst = part.worst;
  if (part.comparison) into.comparison = part.comparison;
  if (!part.task.empty()) into.task = part.task;
  if (!part.frames.empty()) into.frames = part.frames;
  append(into.statements, part.statements);
  append(into.notes, part.notes);
  for (const auto& id : part.likely) {
    if (std::find(into.likely.begin(), into.likely.end(), id) == into.likely.end()) into.likely.push_back(id);
  }
}

void to_json(json& out, const Failure& failure) {
  out = {{"kind", kinds[static_cast<int>(failure.kind)]}};
  if (!failure.expression.empty()) out["expression"] = failure.expression;
  if (failure.shape) {
    out["shape"] = {{"got", failure.shape->got}, {"expected", failure.shape->expected}, {"axes", failure.shape->axes}};
  }
  if (const auto& worst = failure.worst) {
    out["worst"] = {{"place", worst->place},
                    {"got", number_to_json(worst->got)},
                    {"expected", number_to_json(worst->expected)},
                    {"wrong", worst->wrong},
                    {"total", worst->total}};
  }
  for (const auto& [label, text] : failure.statements) out["statements"].push_back({label, text});
  if (!failure.likely.empty()) out["likely"] = failure.likely;
  if (!failure.notes.empty()) out["notes"] = failure.notes;
  if (const auto& comparison = failure.comparison) {
    out["comparison"] = {{"number", comparison->number},
                         {"expected", comparison->expected.text()},
                         {"got", comparison->got.text()},
                         {"tolerance", comparison->tolerance}};
  }
  if (!failure.task.empty()) out["task"] = failure.task;
  if (!failure.frames.empty()) out["frames"] = failure.frames;
}

void from_json(const json& in, Failure& failure) {
  failure = {};
  failure.kind = kind_of(in.at("kind"));
  failure.expression = in.value("expression", "");
  if (const auto shape = in.find("shape"); shape != in.end()) {
    failure.shape = ShapeFact{shape->at("got"), shape->at("expected"), shape->at("axes")};
  }
  if (const auto worst = in.find("worst"); worst != in.end()) {
    failure.worst = WorstElement{worst->at("place"), number_from_json(worst->at("got")),
                                 number_from_json(worst->at("expected")), worst->at("wrong"), worst->at("total")};
  }
  for (const auto& statement : in.value("statements", json::array())) {
    failure.statements.push_back({statement.at(0), statement.at(1)});
  }
  failure.likely = in.value("likely", failure.likely);
  failure.notes = in.value("notes", failure.notes);
  if (const auto comparison = in.find("comparison"); comparison != in.end()) {
    failure.comparison = Comparison{comparison->at("number"), Fingerprint::from_text(comparison->at("expected")),
                                    Fingerprint::from_text(comparison->at("got")), comparison->at("tolerance")};
  }
  failure.task = in.value("task", "");
  failure.frames = in.value("frames", failure.frames);
}

std::string encode(const Failure& part) {
  return opening + json(part).dump(-1, ' ', true, json::error_handler_t::replace) + closing;
}

std::optional<Failure> decode(const std::string& text) {
  std::optional<Failure> failure;
  for (auto begin = text.find(opening); begin != std::string::npos; begin = text.find(opening, begin + 1)) {
    const auto end = text.find(closing, begin);
    if (end == std::string::npos) break;
    if (!failure) failure.emplace();
    merge(*failure, json::parse(text.substr(begin + 1, end - begin - 1)).get<Failure>());
  }
  return failure;
}

}  // namespace attn::judge
