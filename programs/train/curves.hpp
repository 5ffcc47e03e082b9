#pragma once

#include <string>
#include <vector>

namespace attn::training {

/// A curve as a line of text, 8 rows high and at most 60 columns wide, and below it the number of the last step. Each column has
/// the mean of its steps; the highest row is at the highest of these means, the lowest row ends at 0.
///
/// @param losses of each step; all finite, at least one
/// @param ascii  for a terminal that knows nothing else
std::string loss_curve(const std::vector<double>& losses, bool ascii);

/// The losses of two trainings with the same number of steps.
struct TwoCurves {
  std::vector<double> right;
  std::vector<double> wrong;  ///< may end early, with a loss that is not finite
  double guessing = 0;        ///< the loss of guessing
  std::string right_name = "right";
  std::string wrong_name = "with the mistake";
};

/// Both curves as text, 12 rows high and at most 60 columns wide. Each column has the mean of its steps. What is above
/// twice the loss of guessing is drawn in the highest row, and the text says so.
std::string curves_text(const TwoCurves& curves, bool ascii);

/// Both curves as a picture of its own.
/// @param title of the picture
/// @param wrong what the second curve is called
std::string curves_svg(const TwoCurves& curves, const std::string& title, const std::string& wrong);

}  // namespace attn::training
