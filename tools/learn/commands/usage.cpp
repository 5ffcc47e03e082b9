#include "learn/commands/usage.hpp"

#include <algorithm>
#include <numeric>
#include <regex>

#include "lesson/text.hpp"

namespace attn::learn {

namespace {

/// How many letters have to be added, removed or replaced to make one word of another.
std::size_t edit_distance(const std::string& one, const std::string& other) {
  std::vector<std::size_t> row(other.size() + 1);  // from the beginning of `one` to each beginning of `other`
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < one.size(); ++i) {
    std::size_t diagonal = row[0]++;
    for (std::size_t j = 0; j < other.size(); ++j) {
      const std::size_t replaced = diagonal + (one[i] == other[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

/// These words with the nearest of the options where one is misspelled; empty where none is, or one is far from all.
std::string with_options_meant(const std::vector<std::string>& words, const std::vector<std::string>& options) {
  std::string line;
  bool changed = false;
  for (const auto& word : words) {
    const std::string name = word.substr(0, word.find('='));
    std::string best = name;
    if (name.rfind("--", 0) == 0 && std::find(options.begin(), options.end(), name) == options.end()) {
      std::size_t nearest = 3;
      for (const auto& option : options) {
        const std::size_t distance = edit_distance(name, option);
        if (distance < nearest) nearest = distance, best = option;
      }
      if (best == name) return "";
      changed = true;
    }
    line += (line.empty() ? "" : " ") + best + word.substr(name.size());
  }
  return changed ? line : "";
}

}  // namespace

std::string meant(const std::vector<std::string>& words, const std::vector<std::string>& commands,
                  const std::vector<std::string>& options) {
  std::size_t nearest = 3;  // more than two letters is another word
  std::string command;
  std::size_t at = 0;
  for (std::size_t i = 0; i < words.size(); ++i) {
    for (const auto& known : commands) {
      const std::size_t distance = edit_distance(words[i], known);
      if (distance >= std::min(nearest, words[i].size())) continue;
      nearest = distance;
      command = known;
      at = i;
    }
  }
  if (nearest == 0 && at == 0) return with_options_meant(words, options);  // it is spelled and placed well
  for (std::size_t i = 0; i < words.size() && !command.empty(); ++i) {
    if (i != at) command += " " + words[i];
  }
  return command;
}

Lines help_lines(const std::string& help) {
  static const std::regex described("((?:  )?[a-z]+)(  +[^ ].*)");
  Lines lines;
  for (const auto& row : lines_of(help)) {
    std::smatch part;
    const bool named = std::regex_match(row, part, described);
    lines.push_back(named ? Line({{part[1], Role::important}, {part[2]}}) : Line(row));
  }
  return lines;
}

}  // namespace attn::learn
