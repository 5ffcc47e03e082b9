#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "lesson/lesson.hpp"
#include "lesson/line.hpp"
#include "system/files.hpp"

/// The learner's own files: what they started as, and how nothing of them gets lost.
namespace attn::learn {

/// The files that a lesson begins with, where the learner writes them: all that has a stub, also when it was deleted.
std::vector<std::string> given_files(const lesson::Lesson& lesson);

/// Those of them that are not there: deleted, or renamed.
std::vector<std::string> missing_files(const lesson::Lesson& lesson);

/// What keeps a lesson from being judged, in a sentence for each file: it is missing, too long, or not a file.
std::vector<std::string> unusable_files(const lesson::Lesson& lesson);

/// A file of the learner's.
/// @param file as the learner sees it, "lessons/NN_name/file.cpp"
/// @throws std::runtime_error with a sentence when it is none that the tool can work with.
std::string read_answer(const lesson::Lesson& lesson, const std::string& file);

/// What the learner wrote beside the reference, file by file, in lines of this width; where that is too narrow, only what
/// differs, one below the other.
Lines beside_the_reference(const lesson::Lesson& lesson, int columns);

/// Whether the learner has written anything in this lesson: changed a stub, deleted or added a file.
bool edited(const lesson::Lesson& lesson);

/// A short text that changes when the learner's files of this lesson do.
std::string fingerprint(const lesson::Lesson& lesson);

/// A copy kept before something was replaced: a folder below `.learn/backup/`.
struct Backup {
  std::string name;                ///< "2026-11-21_15-04-05_reset_01": time, why, lesson
  std::string when;                ///< "2026-11-21 15:04:05"
  std::string why;                 ///< "reset"
  std::vector<std::string> files;  ///< below the course's folder: "lessons/01_self_attention_v1/x.cpp"
};

/// Copies files of the course to a new backup, synced to disk before it returns. Files that are not there are left out.
/// @param files below the course's folder
/// @param why one word: reset, interview, restore, update
/// @param of what it is about, such as a lesson's number
/// @return its name; empty when there was nothing to copy
/// @throws std::runtime_error naming the file when a copy cannot be made: then nothing may be replaced.
/// @throws std::invalid_argument when a file is not below the course's folder.
std::string keep_copy(const std::filesystem::path& root, const std::vector<std::string>& files, const std::string& why,
                      const std::string& of);

/// All backups, newest first.
std::vector<Backup> backups(const std::filesystem::path& root);

/// Puts the files of a backup back, after keeping a copy of what they replace.
/// @param name the backup's, or the beginning of one, when no other begins like it
/// @return the name of the copy that was made of what stood there; empty when nothing did
/// @throws std::invalid_argument when there is no such backup, or several, or a file of it would be written outside of
/// the course's folder.
std::string restore(const std::filesystem::path& root, const std::string& name);

/// Puts a lesson's stubs back, after keeping a copy of what they replace. Files that the learner added stay.
/// @return the name of the copy; empty when the files were stubs already.
std::string reset(const lesson::Lesson& lesson);

/// A lesson as an interview begins it: its stubs, without their comments on what to do, in `.learn/interview/`. What
/// was there before, unless it is such a stub, is kept in a backup.
lesson::Lesson blank_page(const lesson::Lesson& lesson);

}  // namespace attn::learn
