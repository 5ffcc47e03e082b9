#pragma once

#include <string>
#include <vector>

namespace attn::training {

/// A curve of text, 8 rows high and at most 60 columns wide, and below it the number of the last step. Each column has
/// the mean of its steps; the highest row is at the highest of these means, the lowest row ends at 0.
///
/// @param losses of each step; all finite, at least one
/// @param ascii  for a terminal that knows nothing else
std::string loss_curve(const std::vector<double>& losses, bool ascii);

}  // namespace attn::training
