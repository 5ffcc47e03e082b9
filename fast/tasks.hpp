#pragma once

#include <algorithm>
#include <cstddef>

#include "units.hpp"

/// What the threads share out among themselves. Each kind of work has a numbered list of tasks; at(i) decodes a number.
namespace attn::fast {

/// Panels or heads [first, first + count).
struct Range {
  std::size_t first, count;
};

/// The group'th group of so many panels; the last one may be smaller.
inline Range group_at(std::size_t group, std::size_t panels) {
  const std::size_t first = group * panels_per_group;
  return {first, std::min(panels_per_group, panels - first)};
}

/// A group of panels times one band of a layer's weights.
struct ProjectionTask {
  Range panels;
  std::size_t part;  ///< of qkv_proj: 0 queries, 1 keys, 2 values; of output_proj: 0
  std::size_t head;  ///< whose band it is
};

struct ProjectionTasks {
  std::size_t panels, parts, heads;

  std::size_t size() const { return divided_up(panels, panels_per_group) * parts * heads; }
  ProjectionTask at(std::size_t i) const { return {group_at(i / heads / parts, panels), i / heads % parts, i % heads}; }
};

/// A group of panels of queries, all of one slice, which is one head of one sequence.
struct AttentionTask {
  std::size_t slice;
  Range panels;
};

/// In each slice the last group comes first: in causal order it sees the most keys, and takes the longest.
struct AttentionTasks {
  std::size_t slices, panels_per_slice;

  std::size_t groups() const { return divided_up(panels_per_slice, panels_per_group); }
  std::size_t size() const { return slices * groups(); }
  AttentionTask at(std::size_t i) const {
    return {i / groups(), group_at(groups() - 1 - i % groups(), panels_per_slice)};
  }
};

}  // namespace attn::fast
