#pragma once

#include <filesystem>
#include <string>

#include "learn/screens/paint.hpp"
#include "system/text_style.hpp"

namespace attn::learn {

/// How the tool's output should look: painted, and with links.
struct Style : TextStyle {
  std::string links;  ///< what the address of a file of the course begins with; empty: no links

  /// @param root the course's folder, for links; empty: none
  static Style of_output(bool asked_plain, const std::filesystem::path& root = {});

  /// A text, or lines, as this style wants it: spelled, wrapped and painted.
  std::string operator()(const std::string& text) const;
  std::string operator()(const Lines& lines) const;

  /// Lines spelled, wrapped and painted; and a row of them as it is written to a terminal.
  std::vector<Row> rows_of(const Lines& lines) const;
  std::string drawn(const Row& row) const;
};

}  // namespace attn::learn
