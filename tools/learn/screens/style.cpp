#include "learn/screens/style.hpp"

#include <unistd.h>

#include <cctype>

#include "learn/machine/machine.hpp"
#include "lesson/text.hpp"

namespace attn::learn {

namespace fs = std::filesystem;

namespace {

// Escape sequences that every terminal of the last forty years knows (ECMA-48), and those of links (OSC 8), which
// others pass over.
constexpr const char* usual = "\x1b[0m";
constexpr const char* link_begin = "\x1b]8;;";
constexpr const char* link_end = "\x1b\\";

/// Magenta is how compilers have warnings: yellow cannot be read on white.
const char* sequence_of(Role role, bool colours) {
  switch (role) {
    case Role::plain:
    case Role::hint:
    case Role::same: return "";
    case Role::important: return "\x1b[1m";
    case Role::label:
    case Role::aside: return "\x1b[2m";
    case Role::passed:
    case Role::caret:
    case Role::right: return colours ? "\x1b[32m" : "";
    case Role::failed: return colours ? "\x1b[31m" : "";
    case Role::error: return colours ? "\x1b[1;31m" : "\x1b[1m";
    case Role::warning: return colours ? "\x1b[35m" : "";
    case Role::left: return colours ? "\x1b[36m" : "";
    case Role::selected: return "\x1b[7m";
  }
  return "";
}

/// A path as it stands in an address.
std::string percent_encoded(const std::string& path) {
  constexpr const char* digits = "0123456789ABCDEF";
  std::string encoded;
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80 && (std::isalnum(byte) != 0 || std::string("/-_.~").find(c) != std::string::npos)) {
      encoded += c;
    } else {
      encoded += {'%', digits[byte / 16], digits[byte % 16]};
    }
  }
  return encoded;
}

/// The console of Linux knows no links. VS Code makes links of what looks like a path itself, and they go to the line.
std::string links_into(const fs::path& root) {
  if (root.empty() || environment("TERM") == "linux" || environment("TERM_PROGRAM") == "vscode") return {};
  char host[256] = {};
  if (gethostname(host, sizeof host - 1) != 0) return {};
  return "file://" + percent_encoded(host) + percent_encoded(fs::absolute(root).lexically_normal().string()) + "/";
}

}  // namespace

Style Style::of_output(bool asked_plain, const fs::path& root) {
  Style style{TextStyle::of_output(asked_plain), {}};
  if (!style.plain) style.links = links_into(root);
  return style;
}

std::vector<Row> Style::rows_of(const Lines& lines) const {
  Lines in_style = lines;
  for (auto& line : in_style) {
    for (auto& span : line.spans) span.text = spelled(span.text);
  }
  return painted(in_style, columns);
}

std::string Style::drawn(const Row& row) const {
  if (plain) return text_of(row);
  std::string text;
  for (const auto& piece : row) {
    const std::string sequence = sequence_of(piece.role, colours);
    const bool linked = !links.empty() && !piece.link.empty();
    if (linked) text += link_begin + links + percent_encoded(piece.link) + link_end;
    text += sequence.empty() ? piece.text : sequence + piece.text + usual;
    if (linked) text += std::string(link_begin) + link_end;
  }
  return text;
}

std::string Style::operator()(const std::string& text) const {
  if (columns == 0 || text.empty()) return spelled(text);
  const std::string shown = (*this)(as_lines(lines_of(text)));
  return text.back() == '\n' ? shown + "\n" : shown;
}

std::string Style::operator()(const Lines& lines) const {
  std::string text;
  if (columns == 0) {
    text = spelled(attn::text_of(lines));
  } else {
    for (const auto& row : rows_of(lines)) text += drawn(row) + "\n";
  }
  if (!text.empty()) text.pop_back();
  return text;
}

}  // namespace attn::learn
