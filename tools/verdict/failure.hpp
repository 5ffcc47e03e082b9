#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "verdict/fingerprint.hpp"

/// What a check found wrong, as data. It travels from the check through the supervisor's pipe into the report, and from
/// there to the tool and the gate. Only words.hpp turns it into text.
namespace attn::judge {

/// A shape that differs from the expected one, or the shape of a result whose values differ. Two axes for a matrix,
/// three for a cube.
struct ShapeFact {
  std::vector<std::size_t> got;
  std::vector<std::size_t> expected;
  std::vector<std::string> axes;
};

/// The element that is furthest from its expected value, or the first NaN.
struct WorstElement {
  std::vector<std::size_t> place;  ///< row and column, and slice where there are several
  double got = 0;
  double expected = 0;
  std::size_t wrong = 0;  ///< how many elements differ; or are NaN
  std::size_t total = 0;
};

/// A part of a result beside what was expected there: of the slice with the worst element.
struct Excerpt {
  struct Cell {
    double got = 0;
    double expected = 0;
    bool differs = false;
  };
  std::size_t row = 0;  ///< where it begins
  std::size_t column = 0;
  std::vector<std::vector<Cell>> cells;  ///< by row and column
  bool whole = true;                     ///< whether it is the whole slice
};

/// A value that differed, in a form that can be compared with what the catalogued mistakes give at the same place.
struct Comparison {
  int number = 0;  ///< of the comparisons in its check, from 0
  Fingerprint expected;
  Fingerprint got;
  double tolerance = 0;
};

/// A line of its own: "threw   nothing".
struct Statement {
  std::string label;
  std::string text;
};

/// One failed assertion.
struct Failure {
  enum class Kind {
    claim,        ///< something other than a result's numbers
    shape,        ///< a result has the wrong shape
    value,        ///< a result has wrong numbers
    exception,    ///< something was thrown
    not_written,  ///< by todo()
    ended,        ///< the check ended the program, or had to be stopped
  };

  Kind kind = Kind::claim;
  std::string expression;  ///< what the assertion looked at, as it stands in the check; may be empty
  std::optional<ShapeFact> shape;
  std::optional<WorstElement> worst;
  std::optional<Excerpt> excerpt;
  std::vector<std::pair<std::string, Excerpt>> given;  ///< small inputs by name: each cell's `got`
  std::string likeness;                                ///< what the numbers look like (likeness.hpp)
  std::vector<Statement> statements;
  std::vector<std::string> likely;  ///< ids of catalogued mistakes
  std::vector<std::string> notes;
  std::optional<Comparison> comparison;
  std::string task;                 ///< that todo() names
  std::vector<std::size_t> frames;  ///< addresses of the calls that led here, the innermost first (trace.hpp)
};

/// Adds what `part` says to a failure. Its kind counts unless it is a claim.
void merge(Failure& into, const Failure& part);

void to_json(nlohmann::json& json, const Failure& failure);
void from_json(const nlohmann::json& json, Failure& failure);

/// A number, or "nan", "inf" and "-inf", which JSON has no numbers for.
double number_from_json(const nlohmann::json& value);

// ------------------------------------------------------------------------------------------- inside a message

/// A failure as a part of a text. GoogleTest hands on nothing but text: what a matcher explains, and what is streamed
/// to an assertion. Several may follow each other, with other text between them.
std::string encode(const Failure& part);

/// All that is encoded in a text, merged; nothing when there is none.
std::optional<Failure> decode(const std::string& text);

}  // namespace attn::judge
