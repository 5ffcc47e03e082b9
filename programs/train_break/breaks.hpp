#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

/// What ./learn train --break can break. The tool lists it, and refuses other names before it builds the program.
namespace attn::training {

/// Mistakes of the forward pass, trained as PyTorch would train them: the backward pass fits the wrong forward
/// pass. In the catalogues of the lessons only the one or the other is wrong.
enum class Variant {
  right,
  unscaled,           ///< scores that are not divided by the root of D
  shared_projection,  ///< keys projected by the queries' weights
  dropout,            ///< right: dropout of the attention weights, with p = 0.5
  unscaled_dropout,   ///< the same without the factor 1 / (1 - p)
};

/// A mistake that ./learn train --break makes.
struct Break {
  std::string name;           ///< "row-sum"; of another one of a catalogue its place there: "27.ascent"
  std::string lesson;         ///< "24": whose checks name the mistake
  std::string id;             ///< in the lesson's catalogue; empty: a variant
  std::string look_for = {};  ///< what it does to learning; empty: try it
  std::string what = {};      ///< what is wrong, in a sentence; of a catalogued mistake, break_named finds it
  Variant right = Variant::right;
  Variant wrong = Variant::right;
  std::string task = "induction";  ///< that shows it
  std::uint64_t heads = 2;         ///< of both models

  bool is_mine() const { return name == "mine"; }  ///< what the learner wrote, as it is
};

/// The mistakes with names of their own.
const std::vector<Break>& breaks();

/// One of these, "mine", or any of the mistakes in the catalogues of lessons 24 to 27, by number and id, such as "27.ascent".
///
/// @param root the course's folder
/// @throws std::invalid_argument naming what was asked for and what there is
Break break_named(const std::string& name, const std::filesystem::path& root);

/// A line for each of breaks(), and one for the others.
std::string list_of_breaks();

/// The edit of the reference that is made: its file, and the lines as they are and as they become. Empty for a variant.
std::string edit_text(const Break& broken, const std::filesystem::path& root);

}  // namespace attn::training
