#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "train_break/trainings.hpp"

namespace attn::training {

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
  arma::uword heads = 2;           ///< of both models
};

/// The mistakes with names of their own.
const std::vector<Break>& breaks();

/// One of these, or any of the mistakes in the catalogues of lessons 24 to 27, by number and id, such as "27.ascent".
///
/// @param root the course's folder
/// @throws std::invalid_argument naming what was asked for and what there is
Break break_named(const std::string& name, const std::filesystem::path& root);

/// What both models are and learn.
/// @param task_was_given else it is the one that shows the mistake
Recipe recipe_of(const Break& broken, TrainOptions options, bool task_was_given);

/// A line for each of breaks(), and one for the others.
std::string list_of_breaks();

/// The edit of the reference that is made: its file, and the lines as they are and as they become. Empty for a variant.
std::string edit_text(const Break& broken, const std::filesystem::path& root);

}  // namespace attn::training
