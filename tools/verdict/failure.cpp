#include "verdict/failure.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
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

void merge(Failure& into, const Failure& part) {
  if (part.kind != Failure::Kind::claim) into.kind = part.kind;
  if (!part.expression.empty()) into.expression = part.expression;
  if (part.shape) into.shape = part.shape;
  if (part.worst) into.worst = part.worst;
  if (part.excerpt) into.excerpt = part.excerpt;
  if (!part.likeness.empty()) into.likeness = part.likeness;
  if (part.comparison) into.comparison = part.comparison;
  if (!part.task.empty()) into.task = part.task;
  if (!part.frames.empty()) into.frames = part.frames;
  append(into.given, part.given);
  append(into.statements, part.statements);
  append(into.notes, part.notes);
  for (const auto& id : part.likely) {
    if (std::find(into.likely.begin(), into.likely.end(), id) == into.likely.end()) into.likely.push_back(id);
  }
}

void to_json(json& out, const Excerpt& excerpt) {
  out = {{"row", excerpt.row}, {"column", excerpt.column}, {"whole", excerpt.whole}, {"cells", json::array()}};
  for (const auto& row : excerpt.cells) {
    json cells = json::array();
    for (const auto& cell : row) {
      cells.push_back({number_to_json(cell.got), number_to_json(cell.expected), cell.differs});
    }
    out["cells"].push_back(std::move(cells));
  }
}

void from_json(const json& in, Excerpt& excerpt) {
  excerpt = {in.at("row"), in.at("column"), {}, in.at("whole")};
  for (const auto& row : in.at("cells")) {
    excerpt.cells.emplace_back();
    for (const auto& cell : row) {
      excerpt.cells.back().push_back({number_from_json(cell.at(0)), number_from_json(cell.at(1)), cell.at(2)});
    }
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
  if (failure.excerpt) out["excerpt"] = *failure.excerpt;
  if (!failure.likeness.empty()) out["likeness"] = failure.likeness;
  for (const auto& [label, text] : failure.given) out["given"].push_back({label, text});
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
  if (const auto excerpt = in.find("excerpt"); excerpt != in.end()) failure.excerpt = excerpt->get<Excerpt>();
  failure.likeness = in.value("likeness", "");
  for (const auto& row : in.value("given", json::array())) failure.given.push_back({row.at(0), row.at(1)});
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
