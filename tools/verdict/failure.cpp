#include "verdict/failure.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>

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

// ---------------------------------------------------------------------------------------------------- as JSON

static void to_json(json& out, const Fingerprint& print) { out = print.text(); }

static void from_json(const json& in, Fingerprint& print) { print = Fingerprint::from_text(in); }

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

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ShapeFact, got, expected, axes)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Excerpt, row, column, cells, whole)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Comparison, number, expected, got, tolerance)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Statement, label, text)

/// Calls visit(name, field) for each field but the kind.
template <typename AnyFailure, typename Visit>
static void visit_fields(AnyFailure& failure, const Visit& visit) {
  visit("expression", failure.expression);
  visit("shape", failure.shape);
  visit("worst", failure.worst);
  visit("excerpt", failure.excerpt);
  visit("given", failure.given);
  visit("likeness", failure.likeness);
  visit("statements", failure.statements);
  visit("likely", failure.likely);
  visit("notes", failure.notes);
  visit("comparison", failure.comparison);
  visit("task", failure.task);
  visit("frames", failure.frames);
}

void to_json(json& out, const Failure& failure) {
  out = {{"kind", kinds[static_cast<int>(failure.kind)]}};
  visit_fields(failure, [&](const char* name, const auto& field) { out[name] = field; });
}

void from_json(const json& in, Failure& failure) {
  failure = {};
  failure.kind = kind_of(in.at("kind"));
  visit_fields(failure, [&](const char* name, auto& field) {
    if (const auto found = in.find(name); found != in.end()) found->get_to(field);
  });
}

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
