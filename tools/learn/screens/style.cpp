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

const char* sequence_of(Paint paint, bool colours) {
  switch (paint) {
    case Paint::usual: return "";
    case Paint::strong: return "\x1b[1m";
    case Paint::dim: return "\x1b[2m";
    case Paint::good: return colours ? "\x1b[32m" : "";
    case Paint::bad: return colours ? "\x1b[31m" : "";
    case Paint::error: return colours ? "\x1b[1;31m" : "\x1b[1m";
    case Paint::attention: return colours ? "\x1b[35m" : "";
    case Paint::other: return colours ? "\x1b[36m" : "";
    case Paint::cursor: return "\x1b[7m";
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

std::vector<Row> Style::rows_of(const Lines& lines, Look look) const {
  Lines in_style;
  for (const auto& line : lines) in_style.push_back(spelled(line));
  return painted(in_style, look, columns);
}

std::string Style::drawn(const Row& row) const {
  if (plain) return text_of(row);
  std::string text;
  for (const auto& piece : row) {
    const std::string sequence = sequence_of(piece.paint, colours);
    const bool linked = !links.empty() && !piece.link.empty();
    if (linked) text += link_begin + links + percent_encoded(piece.link) + link_end;
    text += sequence.empty() ? piece.text : sequence + piece.text + usual;
    if (linked) text += std::string(link_begin) + link_end;
  }
  return text;
}

std::string Style::operator()(const std::string& text, Look look) const {
  if (columns == 0) return spelled(text);
  std::string lines;
  for (const auto& row : rows_of(lines_of(text), look)) lines += drawn(row) + "\n";
  if (!lines.empty() && text.back() != '\n') lines.pop_back();
  return lines;
}

}  // namespace attn::learn
