#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "lesson/lesson.hpp"

namespace attn::gate {

/// A question of docs/interview.md, and where it is there.
struct Listed {
  std::string link;  ///< in Markdown
  lesson::Asked asked = lesson::Asked::sometimes;
  std::size_t topic = 0;  ///< its index on the page
  std::size_t place = 0;  ///< its index in its topic
};

/// Which questions to take with 15, 30, 60 and 120 minutes, as a section of Markdown: those asked often first, and among
/// them the first of each topic before the second of any. A longer time adds to a shorter one.
std::string by_minutes(std::vector<Listed> questions);

}  // namespace attn::gate
