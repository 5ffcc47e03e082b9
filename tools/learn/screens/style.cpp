#include "learn/screens/style.hpp"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <limits>
#include <optional>
#include <string_view>

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
    case Role::code:
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

/// One line as it can be shown, and what each of its bytes is.
struct Inked {
  explicit Inked(const Line& line) {
    for (const auto& span : line.spans) {
      text += harmless(span.text, columns_of(text));
      roles.resize(text.size(), span.role);
    }
    links.resize(text.size());
  }

  Role role() const { return roles.empty() ? Role::plain : roles.front(); }

  std::string text;
  std::vector<Role> roles;
  std::vector<std::string_view> links;  ///< the file that the byte leads to, in the text; empty: none
};

bool is_in_path(char c) { return is_word(c) || c == '.' || c == '/' || c == '-'; }

/// After ":22:43" or ":22"; `at` where there is none.
std::size_t end_of_position(const std::string& text, std::size_t at) {
  for (int numbers = 0; numbers < 2 && at < text.size() && text[at] == ':'; ++numbers) {
    const auto end = std::min(text.find_first_not_of("0123456789", at + 1), text.size());
    if (end == at + 1) break;
    at = end;
  }
  return at;
}

/// Files of the course that the line names become links, with the line's number where one follows.
void ink_links(Inked& line) {
  const std::string& text = line.text;
  for (const std::string folder : {"lessons/", "solutions/", "tests/", "include/attn/", ".learn/interview/"}) {
    for (auto at = text.find(folder); at != std::string::npos; at = text.find(folder, at + 1)) {
      if (at > 0 && text[at - 1] != '-' && is_in_path(text[at - 1])) continue;
      auto end = at;
      while (end < text.size() && is_in_path(text[end])) ++end;
      while (text[end - 1] == '.') --end;
      if (text.find('.', at + folder.size()) >= end) continue;  // a folder
      const auto numbered = end_of_position(text, end);
      for (auto i = at; i < numbered; ++i) line.links[i] = std::string_view(text).substr(at, end - at);
    }
  }
}

/// The same line, where it is too wide and ends with its place: with the file's name alone.
/// @param keep_folders as long as the place fits into a row of its own
Line without_folder(const Line& line, int columns, bool keep_folders) {
  constexpr int label = 10;
  if (!line.place || columns_of(line.text()) <= columns) return line;
  Line shorter = line;
  std::string& text = shorter.spans.back().text;
  const std::string place = line.place->text();
  if (keep_folders && label + columns_of(place) <= columns) return line;
  if (text.size() < place.size() || text.compare(text.size() - place.size(), place.size(), place) != 0) return line;
  text.erase(text.size() - place.size(), place.rfind('/') + 1);
  return shorter;
}

/// The name of this file becomes a link, where it stands without its folder.
void ink_name(Inked& line, const std::string& file) {
  const std::string name = fs::path(file).filename().string();
  const auto at = line.text.rfind(name);
  if (name.empty() || at == std::string::npos || !line.links[at].empty()) return;
  std::fill(line.links.begin() + static_cast<std::ptrdiff_t>(at),
            line.links.begin() + static_cast<std::ptrdiff_t>(end_of_position(line.text, at + name.size())), file);
}

/// A row of a line in pieces, the next of whose bytes is `at`. Breaking lines changes nothing but spaces.
Row pieces_of(const std::string& row, const Inked& line, std::size_t& at) {
  Row pieces;
  const std::size_t begin = row.find_first_not_of(' ');
  for (std::size_t i = 0; i < row.size(); ++i) {
    const bool indent = i < begin && at != i;  // of a row after a break
    while (!indent && row[i] != ' ' && at < line.text.size() && line.text[at] == ' ') ++at;
    const bool known = !indent && at < line.text.size() && line.text[at] == row[i];
    const Role role = known ? line.roles[at] : Role::plain;
    const std::string link(known ? line.links[at] : "");
    if (pieces.empty() || pieces.back().role != role || pieces.back().link != link) pieces.push_back({"", role, link});
    pieces.back().text += row[i];
    at += known ? 1 : 0;
  }
  return pieces;
}

bool is_comparison(Role role) { return role == Role::same || role == Role::left || role == Role::right; }

/// "   22 |" and then code, or below it what is marked there.
bool is_quoted(const Line& line) { return line.spans.size() == 2 && line.spans[0].role == Role::label; }
bool is_caret(const Line& line) { return is_quoted(line) && line.spans[1].role == Role::caret; }

/// The columns of quoted code that are shown: those around the caret, where not all of them fit.
class Window {
 public:
  Window(const Line& code, const Line& caret, int columns, const std::string& gap)
      : gap_(gap), label_(columns_of(code.spans[0].text)), end_(columns - label_) {
    const int room = end_;
    const int all =
        std::max(columns_of(harmless(code.spans[1].text, label_)), columns_of(harmless(caret.spans[1].text, label_)));
    fits_ = all <= room || room < 4 * columns_of(gap);  // in less, nothing is worth showing
    const int at = static_cast<int>(caret.spans[1].text.find('^'));
    if (fits_ || at < room - columns_of(gap)) return;
    begin_ = std::min(at - room / 2, all - room);
    end_ = begin_ + room;
  }

  bool fits() const { return fits_; }

  /// @param is_code what is cut off is marked
  Line shown(const Line& line, bool is_code) const {
    const std::string text = harmless(line.spans[1].text, label_);
    const int gap = is_code ? columns_of(gap_) : 0;
    const int begin = begin_ > 0 ? begin_ + gap : 0;
    const bool cut = is_code && columns_of(text) > end_;
    std::string part = columns_between(text, begin, cut ? end_ - gap : end_);
    if (is_code && begin_ > 0) part.insert(0, gap_);
    if (cut) part += gap_;
    return {{line.spans[0], {part, line.spans[1].role}}, line.place};
  }

 private:
  std::string gap_;
  int label_;
  int begin_ = 0;
  int end_;
  bool fits_ = true;
};

/// The same lines, where quoted code and the caret below it are as wide as the terminal at most: broken into rows, the caret
/// would point at nothing.
Lines with_cut_quotes(const Lines& lines, int columns, const std::string& gap) {
  Lines shown;
  std::optional<Window> window;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const bool caret = is_caret(lines[i]);
    if (!caret) {
      window.reset();
      if (is_quoted(lines[i]) && i + 1 < lines.size() && is_caret(lines[i + 1])) {
        window.emplace(lines[i], lines[i + 1], columns, gap);
      }
    }
    shown.push_back(window && !window->fits() ? window->shown(lines[i], !caret) : lines[i]);
  }
  return shown;
}

}  // namespace

std::vector<Row> painted(const Lines& lines, int columns, const Painting& how) {
  std::vector<Row> rows;
  for (const auto& one : with_cut_quotes(lines, columns, how.gap)) {
    Inked line(without_folder(one, columns, how.keep_folders));
    const bool comparison = is_comparison(line.role());
    if (!comparison) ink_links(line);
    if (one.place) ink_name(line, one.place->file);
    if (line.text.empty()) rows.emplace_back();
    if (line.role() == Role::aside) {
      rows.push_back({{cut(line.text, columns), line.role(), ""}});
      continue;
    }
    std::size_t at = 0;
    const bool whole = how.keep_code && (comparison || line.role() == Role::code);
    for (const auto& row : wrapped(line.text, whole ? std::numeric_limits<int>::max() : columns)) {
      const bool selected = line.role() == Role::selected;
      rows.push_back(selected ? Row{{padded(row, columns), line.role(), ""}} : pieces_of(row, line, at));
    }
  }
  return rows;
}

std::string text_of(const Row& row) {
  std::string text;
  for (const auto& piece : row) text += piece.text;
  return text;
}

Style Style::of_output(bool asked_plain, const fs::path& root) {
  Style style{TextStyle::of_output(asked_plain), {}};
  if (!style.plain) style.links = links_into(root);
  return style;
}

std::vector<Row> Style::rows_of(const Lines& lines, bool keep_code) const {
  Lines in_style = lines;
  for (auto& line : in_style) {
    for (auto& span : line.spans) span.text = spelled(span.text);
  }
  return painted(in_style, columns, {spelled("…"), environment("TERM_PROGRAM") == "vscode", keep_code});
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
    for (const auto& row : rows_of(lines, true)) text += drawn(row) + "\n";
  }
  if (!text.empty()) text.pop_back();
  return text;
}

}  // namespace attn::learn
