#include "verdict/failure.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

/// null is nothing.
template <typename T>
struct nlohmann::adl_serializer<std::optional<T>> {
  static void to_json(json& out, const std::optional<T>& value) { out = value ? json(*value) : json(nullptr); }
  static void from_json(const json& in, std::optional<T>& value) {
    if (!in.is_null()) value = in.get<T>();
  }
};

namespace attn::judge {

using nlohmann::json;

namespace {

constexpr char opening = '\x1e';
constexpr char closing = '\x1f';

json number_to_json(double x) {
  if (std::isfinite(x)) return x;
  return std::isnan(x) ? "nan" : x > 0 ? "inf" : "-inf";
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

// ---------------------------------------------------------------------------------------------------- as JSON

double number_from_json(const json& value) {
  return value.is_number() ? value.get<double>() : std::stod(value.get<std::string>());
}

static void to_json(json& out, const WorstElement& worst) {
  out = {worst.place, number_to_json(worst.got), number_to_json(worst.expected), worst.wrong, worst.total};
}

static void from_json(const json& in, WorstElement& worst) {
  worst = {in.at(0), number_from_json(in.at(1)), number_from_json(in.at(2)), in.at(3), in.at(4)};
}

static void to_json(json& out, const Excerpt::Cell& cell) {
  out = {number_to_json(cell.got), number_to_json(cell.expected), cell.differs};
}

static void from_json(const json& in, Excerpt::Cell& cell) {
  cell = {number_from_json(in.at(0)), number_from_json(in.at(1)), in.at(2)};
}

NLOHMANN_JSON_SERIALIZE_ENUM(Failure::Kind, {{Failure::Kind::claim, "claim"},
                                             {Failure::Kind::shape, "shape"},
                                             {Failure::Kind::value, "value"},
                                             {Failure::Kind::exception, "exception"},
                                             {Failure::Kind::not_written, "not_written"},
                                             {Failure::Kind::ended, "ended"}})
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ShapeFact, got, expected, axes)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Excerpt, row, column, cells, whole)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Fingerprint, sizes, means)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Comparison, number, expected, got, tolerance)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Statement, label, text)

/// The macro makes inline functions: those of a type of this file, since other files call those of Failure.
struct FailureAsJson : Failure {};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(FailureAsJson, kind, expression, shape, worst, excerpt, given, likeness, statements,
                                   likely, notes, comparison, task, frames)

void to_json(json& out, const Failure& failure) { out = FailureAsJson{failure}; }

void from_json(const json& in, Failure& failure) { failure = in.get<FailureAsJson>(); }

std::string encode(const Failure& part) {
  return opening + json(part).dump(-1, ' ', true, json::error_handler_t::replace) + closing;
}

std::optional<Failure> decode(const std::string& text) {
  std::optional<Failure> failure;
  for (auto begin = text.find(opening); begin != std::string::npos; begin = text.find(opening, begin + 1)) {
    const auto end = text.find(closing, begin);
    if (end == std::string::npos) break;
    try {
      const auto part = json::parse(text.substr(begin + 1, end - begin - 1)).get<Failure>();
      if (!failure) failure.emplace();
      merge(*failure, part);
    } catch (const std::exception&) {
      // the learner's own text, with the characters that mark a part
    }
  }
  return failure;
}

}  // namespace attn::judge
