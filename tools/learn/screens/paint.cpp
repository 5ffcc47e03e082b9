#include "learn/screens/paint.hpp"

#include <algorithm>
#include <cctype>

#include "lesson/text.hpp"

namespace attn::learn {

namespace {

constexpr auto none = std::string::npos;

/// One line as it can be shown, and what each of its bytes is.
struct Inked {
  explicit Inked(const Line& line) {
    for (const auto& span : line.spans) {
      text += harmless(span.text, columns_of(text));
      roles.resize(text.size(), span.role);
    }
    link.resize(text.size());
  }

  Role role() const { return roles.empty() ? Role::plain : roles.front(); }

  std::string text;
  std::vector<Role> roles;
  std::vector<std::size_t> link;  ///< the number of a link, from 1; 0 is none
  std::vector<std::string> links;
};

bool is_in_path(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '/' || c == '-';
}

/// Behind ":22:43" or ":22"; `at` where there is none.
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
    for (auto at = text.find(folder); at != none; at = text.find(folder, at + 1)) {
      if (at > 0 && text[at - 1] != '-' && is_in_path(text[at - 1])) continue;
      auto end = at;
      while (end < text.size() && is_in_path(text[end])) ++end;
      while (text[end - 1] == '.') --end;
      if (text.find('.', at + folder.size()) >= end) continue;  // a folder
      line.links.push_back(text.substr(at, end - at));
      const auto numbered = end_of_position(text, end);
      std::fill(line.link.begin() + static_cast<std::ptrdiff_t>(at),
                line.link.begin() + static_cast<std::ptrdiff_t>(numbered), line.links.size());
    }
  }
}

/// A row of a line in pieces, the next of whose bytes is `at`. Breaking lines changes nothing but spaces.
Row pieces_of(const std::string& row, const Inked& line, std::size_t& at) {
  Row pieces;
  const std::size_t begin = row.find_first_not_of(' ');
  for (std::size_t i = 0; i < row.size(); ++i) {
    const bool indent = i < begin && at != i;  // of a row behind a break
    while (!indent && row[i] != ' ' && at < line.text.size() && line.text[at] == ' ') ++at;
    const bool known = !indent && at < line.text.size() && line.text[at] == row[i];
    const Role role = known ? line.roles[at] : Role::plain;
    const std::string link = known && line.link[at] > 0 ? line.links[line.link[at] - 1] : "";
    if (pieces.empty() || pieces.back().role != role || pieces.back().link != link) pieces.push_back({"", role, link});
    pieces.back().text += row[i];
    at += known ? 1 : 0;
  }
  return pieces;
}

bool is_comparison(Role role) { return role == Role::same || role == Role::left; }

}  // namespace

std::vector<Row> painted(const Lines& lines, int columns) {
  std::vector<Row> rows;
  for (const auto& one : lines) {
    Inked line(one);
    if (!is_comparison(line.role())) ink_links(line);
    if (line.text.empty()) rows.emplace_back();
    if (line.role() == Role::aside) {
      rows.push_back({{cut(line.text, columns), line.role(), ""}});
      continue;
    }
    std::size_t at = 0;
    for (const auto& row : wrapped(line.text, columns)) {
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

}  // namespace attn::learn
