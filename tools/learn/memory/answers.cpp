#include "learn/memory/answers.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <map>
#include <optional>
#include <regex>
#include <stdexcept>
#include <system_error>
#include <tuple>

#include "learn/memory/calendar.hpp"
#include "lesson/text.hpp"

namespace attn::learn {

namespace fs = std::filesystem;
using lesson::Lesson;
using lesson::read_file;

namespace {

constexpr std::uintmax_t most_bytes = 64 * 1024;  ///< of an answer: ten times the longest of the solutions

fs::path backup_folder(const fs::path& root) { return root / ".learn" / "backup"; }

/// Whether there is a file; nothing is at the end of a link that leads to itself.
bool is_there(const fs::path& file) {
  std::error_code none;
  return fs::exists(file, none);
}

/// The learner's files as they are, without what an editor leaves while it is open (a link to nowhere).
std::vector<std::string> files_of(const Lesson& lesson) {
  std::vector<std::string> files = lesson.stub_files();
  std::error_code none;
  const auto gone = [&](const std::string& file) { return !fs::is_regular_file(lesson.root / file, none); };
  files.erase(std::remove_if(files.begin(), files.end(), gone), files.end());
  return files;
}

/// Why the tool cannot work with an answer: the end of a sentence; empty when it can, or when nothing is there.
std::string why_unusable(const fs::path& file) {
  std::error_code missing;
  const auto status = fs::status(file, missing);
  if (!fs::exists(status)) return {};
  if (!fs::is_regular_file(status)) {
    return "is a folder, a pipe or a device, and not a file: move it away, and ./learn reset puts the stub back.";
  }
  const auto size = fs::file_size(file, missing);
  if (size <= most_bytes) return {};
  return "has " + std::to_string(size) + " bytes, and an answer may have " + std::to_string(most_bytes) + ".";
}

/// Whether there is a file with this text. One of another size is not read: it may be larger than the memory.
/// @throws std::runtime_error for a folder, a pipe or a device
bool has_text(const fs::path& file, const std::string& text) {
  std::error_code none;
  if (!fs::exists(file, none) || (fs::is_regular_file(file) && fs::file_size(file) != text.size())) return false;
  return read_file(file) == text;
}

/// A stub without the comments that say what to do: the interviewer did.
std::string blank(const std::string& stub) {
  std::string kept;
  bool in_todo = false;
  for (const auto& line : lines_of(stub)) {
    const auto text = line.find_first_not_of(' ');
    const bool comment = text != std::string::npos && line.compare(text, 2, "//") == 0;
    in_todo = comment && (in_todo || line.compare(text, 8, "// TODO(") == 0);
    if (!in_todo) kept += line + "\n";
  }
  return kept;
}

// ----------------------------------------------------------------------------------------- names of backups

/// "2026-11-21_15-04-05_reset_01", and for the second one in that second "2026-11-21_15-04-05-2_reset_01": so the
/// order of the copies is known.
struct Name {
  std::string time;
  int place = 1;  ///< among those of the same second
  std::string why;
  std::string of;

  std::string text() const { return time + (place > 1 ? "-" + std::to_string(place) : "") + "_" + why + "_" + of; }
};

/// Nothing when it is not a name that we give to a backup.
std::optional<Name> parse_name(const std::string& text) {
  static const std::regex form(
      "(\\d{4}-\\d\\d-\\d\\d_\\d\\d-\\d\\d-\\d\\d)(?:-(\\d{1,6}))?_(reset|interview|restore|update)_([a-z0-9.]+)");
  std::smatch match;
  if (!std::regex_match(text, match, form)) return {};
  const Name name{match[1], match[2].matched ? std::stoi(match[2]) : 1, match[3], match[4]};
  return name.text() == text ? std::optional(name) : std::nullopt;
}

/// The files in a backup, and nothing that only leads to a file elsewhere.
std::vector<std::string> files_below(const fs::path& folder) {
  std::vector<std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (fs::is_regular_file(entry.symlink_status())) files.push_back(entry.path().lexically_relative(folder).string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<Name> names_of_backups(const fs::path& root) {
  std::vector<Name> names;
  std::error_code none_yet;
  for (const auto& entry : fs::directory_iterator(backup_folder(root), none_yet)) {
    const auto name = parse_name(entry.path().filename().string());
    if (name && fs::is_directory(entry.symlink_status())) names.push_back(*name);
  }
  std::sort(names.begin(), names.end(), [](const Name& a, const Name& b) {
    return std::tie(a.time, a.place, a.why, a.of) > std::tie(b.time, b.place, b.why, b.of);
  });
  return names;
}

/// The one backup that is meant.
Name find_backup(const fs::path& root, const std::string& wanted) {
  std::vector<Name> found;
  std::string known;
  for (const Name& name : names_of_backups(root)) {
    if (name.text() == wanted) return name;
    if (name.text().rfind(wanted, 0) == 0) found.push_back(name);
    known += "\n  " + name.text();
  }
  if (found.size() == 1) return found.front();
  if (known.empty()) throw std::invalid_argument("there is no backup \"" + wanted + "\": none was made yet");
  throw std::invalid_argument((found.empty() ? "there is no backup" : "several backups begin with") + (" \"" + wanted) +
                              "\"; name one of these:" + known);
}

bool leads_upwards(const fs::path& path) {
  return path.empty() || path.is_absolute() || std::find(path.begin(), path.end(), "..") != path.end();
}

[[noreturn]] void refuse_outside(const fs::path& root, const std::string& file) {
  throw std::invalid_argument(file + " leads out of the course's folder " + root.string());
}

/// The file itself may be the learner's own link to where the answers are kept. Its folder has to be the course's.
void check_in_course(const fs::path& root, const std::string& file) {
  const fs::path folder = fs::weakly_canonical((root / file).parent_path());
  if (leads_upwards(folder.lexically_relative(fs::canonical(root)))) refuse_outside(root, file);
}

void copy_synced(const fs::path& from, const fs::path& to) {
  std::error_code failed;
  fs::create_directories(to.parent_path(), failed);
  if (!failed) fs::copy_file(from, to, failed);
  if (failed) throw std::runtime_error("cannot copy " + from.string() + " to " + to.string() + ": " + failed.message());
  sync_to_disk(to);
}

/// Removes the copies that a killed tool did not finish, and for which therefore nothing was replaced: one that has our name,
/// and those that are over an hour old.
void remove_half_copies(const fs::path& root, const fs::path& our_name) {
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(backup_folder(root), none)) {
    if (entry.path().stem() != our_name.stem() || !is_left_over(entry.path())) continue;
    const auto age = fs::file_time_type::clock::now() - entry.last_write_time(none);
    if (entry.path() == our_name || age > std::chrono::hours(1)) fs::remove_all(entry.path(), none);
  }
}

/// Gives a finished copy its name, which is new: a folder with files in it is never replaced by rename.
std::string name_copy(const fs::path& root, const fs::path& copy, const std::string& why, const std::string& of) {
  const fs::path folder = backup_folder(root);
  Name name{now_for_a_name(), 1, why, of};
  for (const Name& other : names_of_backups(root)) {
    if (other.time == name.time) name.place = std::max(name.place, other.place + 1);
  }
  while (rename(copy.c_str(), (folder / name.text()).c_str()) != 0) {
    if (errno != ENOTEMPTY && errno != EEXIST) {
      throw std::runtime_error("cannot write " + (folder / name.text()).string() + ": " +
                               std::generic_category().message(errno));
    }
    ++name.place;
  }
  return name.text();
}

/// Gives files of the learner's these texts, after keeping a copy of those that change. @return the copy's name
std::string replace_answers(const Lesson& lesson, const std::map<std::string, std::string>& texts,
                            const std::string& why) {
  std::vector<std::string> changed;
  for (const auto& [file, text] : texts) {
    if (!has_text(lesson.root / file, text)) changed.push_back(file);
  }
  const std::string copy = keep_copy(lesson.root, changed, why, lesson.number());
  for (const auto& file : changed) {
    fs::create_directories((lesson.root / file).parent_path());
    replace_file(lesson.root / file, texts.at(file));
  }
  return copy;
}

}  // namespace

// ------------------------------------------------------------------------------------------------------ stubs

std::vector<std::string> given_files(const Lesson& lesson) {
  std::vector<std::string> files;
  std::error_code none;
  for (const auto& stub : fs::directory_iterator(lesson.stub_folder(), none)) {
    files.push_back(lesson.work_folder + "/" + lesson.name + "/" + stub.path().filename().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<std::string> missing_files(const Lesson& lesson) {
  std::vector<std::string> missing;
  for (const auto& file : given_files(lesson)) {
    if (!is_there(lesson.root / file)) missing.push_back(file);
  }
  return missing;
}

std::vector<std::string> unusable_files(const Lesson& lesson) {
  std::vector<std::string> sentences;
  for (const auto& file : missing_files(lesson)) {
    sentences.push_back(file + " is missing. ./learn reset " + lesson.number() +
                        " puts back what it began as (in the watch mode: r); ./learn backups lists older copies.");
  }
  for (const auto& file : lesson.stub_files()) {
    const std::string reason = why_unusable(lesson.root / file);
    if (!reason.empty()) sentences.push_back(file + " " + reason);
  }
  return sentences;
}

std::string read_answer(const Lesson& lesson, const std::string& file) {
  const std::string reason = why_unusable(lesson.root / file);
  if (!reason.empty()) throw std::runtime_error(file + " " + reason);
  return read_file(lesson.root / file);
}

Lines beside_the_reference(const Lesson& lesson, int columns) {
  constexpr int wide = 110;  // below it, most lines of code would be broken in half of it
  Lines lines;
  const int half = (columns - 3) / 2;
  for (const auto& file : given_files(lesson)) {
    const fs::path reference = lesson.solution_folder() / fs::path(file).filename();
    const std::string name = fs::path(file).filename().string();
    const std::string yours = read_answer(lesson, file);
    if (!lines.empty()) lines.emplace_back();
    if (columns >= wide) {
      lines.emplace_back(padded("yours: " + name, half) + "   the reference", Role::same);
      append(lines, side_by_side(yours, lesson::read_file(reference), columns));
      continue;
    }
    const Lines changes = unified_diff(yours, lesson::read_file(reference));
    lines.push_back(Line({{"yours: " + name}, {" (-)", Role::left}, {"   the reference"}, {" (+)", Role::right}}));
    append(lines, changes.empty() ? Lines{"no difference"} : changes);
  }
  return lines;
}

bool edited(const Lesson& lesson) {
  if (!missing_files(lesson).empty()) return true;
  const auto files = files_of(lesson);
  return std::any_of(files.begin(), files.end(), [&](const std::string& file) {
    const fs::path stub = lesson.stub_of(file);
    return !fs::exists(stub) || !has_text(lesson.root / file, read_file(stub));
  });
}

std::string fingerprint(const Lesson& lesson) {
  std::uint64_t hash = 14695981039346656037u;  // FNV-1a
  const auto add = [&](const std::string& text) {
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
    hash *= 1099511628211u;  // a byte of zero: where one text ends and the next begins
  };
  for (const auto& file : files_of(lesson)) {
    add(file);
    const std::string reason = why_unusable(lesson.root / file);
    add(reason.empty() ? read_file(lesson.root / file) : reason);  // it is not judged, and may be large
  }
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
  return text;
}

// ---------------------------------------------------------------------------------------------------- backups

std::string keep_copy(const fs::path& root, const std::vector<std::string>& files, const std::string& why,
                      const std::string& of) {
  const fs::path copy = name_while_written(backup_folder(root) / "copy");
  remove_half_copies(root, copy);
  if (fs::exists(fs::symlink_status(copy))) throw std::runtime_error(copy.string() + " is in the way: rename it");
  try {
    for (const auto& file : files) {
      if (leads_upwards(file)) refuse_outside(root, file);
      if (is_there(root / file)) copy_synced(root / file, copy / file);
    }
    if (!fs::exists(copy)) return {};
    for (const auto& entry : fs::recursive_directory_iterator(copy)) {
      if (entry.is_directory()) sync_to_disk(entry.path());
    }
    sync_to_disk(copy);
    const std::string name = name_copy(root, copy, why, of);
    for (const fs::path& folder : {backup_folder(root), root / ".learn", root}) sync_to_disk(folder);
    return name;
  } catch (const std::exception&) {
    std::error_code ignored;
    fs::remove_all(copy, ignored);
    throw;
  }
}

std::vector<Backup> backups(const fs::path& root) {
  std::vector<Backup> all;
  for (const Name& name : names_of_backups(root)) {
    std::string when = name.time;
    when[10] = ' ';
    when[13] = when[16] = ':';
    all.push_back({name.text(), when, name.why, files_below(backup_folder(root) / name.text())});
  }
  return all;
}

std::string restore(const fs::path& root, const std::string& name) {
  const Name backup = find_backup(root, name);
  const fs::path folder = backup_folder(root) / backup.text();
  const auto files = files_below(folder);
  for (const auto& file : files) check_in_course(root, file);  // all of them, before anything is replaced
  const std::string copy = keep_copy(root, files, "restore", backup.of);
  for (const auto& file : files) {
    fs::create_directories((root / file).parent_path());
    replace_file(root / file, read_file(folder / file));
  }
  return copy;
}

std::string reset(const Lesson& lesson) {
  std::map<std::string, std::string> stubs;
  for (const auto& file : given_files(lesson)) stubs[file] = read_file(lesson.stub_of(file));
  return replace_answers(lesson, stubs, "reset");
}

Lesson blank_page(const Lesson& lesson) {
  Lesson page = lesson;
  page.work_folder = ".learn/interview";
  std::map<std::string, std::string> stubs;
  for (const auto& file : given_files(page)) stubs[file] = blank(read_file(page.stub_of(file)));
  replace_answers(page, stubs, "interview");
  return page;
}

}  // namespace attn::learn
