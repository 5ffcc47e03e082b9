// Nothing of what a learner wrote gets lost: copies before anything is replaced, whole files, at any moment.
#include "learn/memory/answers.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <ctime>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "learn/machine/build.hpp"
#include "lesson/lesson.hpp"
#include "scratch.hpp"

namespace attn::learn {
namespace {

namespace fs = std::filesystem;
using lesson::read_file;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;
using ::testing::SizeIs;
using ::testing::StartsWith;
using ::testing::Throws;
using ::testing::ThrowsMessage;

const std::string one = "lessons/01_lesson/one.cpp";
const std::string two = "lessons/01_lesson/two.hpp";

/// A course with one lesson of two stubs.
struct CourseFolder {
  CourseFolder() {
    for (const auto& file : {one, two}) {
      put(root() / file, stub);
      put(lesson().stub_of(file), stub);
    }
    put(root() / "lessons/01_lesson/README.md", "# 01 · A lesson\n");
  }
  fs::path root() const { return scratch.path(); }
  lesson::Lesson lesson() const { return {root(), "01_lesson"}; }
  void write(const std::string& file, const std::string& text) const { put(root() / file, text); }
  std::string read(const std::string& file) const { return read_file(root() / file); }
  std::string kept(const std::string& name, const std::string& file) const {
    return read(".learn/backup/" + name + "/" + file);
  }

  const std::string stub = "todo(\"01.1\");\n";
  Scratch scratch;
};

std::vector<std::string> names(const fs::path& root) {
  std::vector<std::string> all;
  for (const auto& backup : backups(root)) all.push_back(backup.name);
  return all;
}

// ------------------------------------------------------------------------------------------------------ stubs

TEST(Edited, IsTrueForWhateverTheLearnerChanged) {
  using Change = std::function<void(const CourseFolder&)>;
  const std::vector<std::pair<std::string, Change>> edits = {
      {"a changed stub", [](const CourseFolder& course) { course.write(two, course.stub + "\n"); }},
      {"a new file", [](const CourseFolder& course) { course.write("lessons/01_lesson/mine.cpp", ""); }},
      {"a file that is gone", [](const CourseFolder& course) { fs::remove(course.root() / one); }},
  };
  for (const auto& [what, edit] : edits) {
    const CourseFolder course;
    EXPECT_FALSE(edited(course.lesson())) << what;
    edit(course);
    EXPECT_TRUE(edited(course.lesson())) << what;
  }
}

TEST(Edited, SeesNothingInAnEditorsLock) {
  const CourseFolder course;
  fs::create_symlink("learner@machine.42:1", course.root() / "lessons/01_lesson/.#one.cpp");
  EXPECT_FALSE(edited(course.lesson()));
}

TEST(Edited, ReadsNoFileThatIsTooLargeForAnAnswer) {
  const CourseFolder course;
  const std::string before = fingerprint(course.lesson());
  fs::resize_file(course.root() / two, std::uintmax_t{1} << 28);  // of zeros, which take no space
  const std::clock_t start = std::clock();
  EXPECT_TRUE(edited(course.lesson()));
  EXPECT_NE(fingerprint(course.lesson()), before);
  EXPECT_LT(std::clock() - start, CLOCKS_PER_SEC / 2) << "of processor time";
}

TEST(MissingFiles, AreThoseThatAreGone) {
  const CourseFolder course;
  fs::remove(course.root() / one);
  EXPECT_THAT(missing_files(course.lesson()), ElementsAre(one));
}

TEST(MissingFiles, AreLinksThatLeadToThemselves) {
  const CourseFolder course;
  fs::remove(course.root() / one);
  fs::create_symlink("one.cpp", course.root() / one);
  EXPECT_THAT(missing_files(course.lesson()), ElementsAre(one));
  EXPECT_THAT(unusable_files(course.lesson()), ElementsAre(HasSubstr("one.cpp is missing")));
  EXPECT_TRUE(edited(course.lesson()));
  EXPECT_NE(fingerprint(course.lesson()), "");
  EXPECT_THAT([&] { reset(course.lesson()); }, ThrowsMessage<std::runtime_error>(HasSubstr("cannot write")));
}

TEST(Fingerprint, IsOfTheLearnersFilesAlone) {
  const CourseFolder course;
  course.write(one, "a");
  course.write(two, "b");
  EXPECT_EQ(fingerprint(course.lesson()), "a1803fe2ba83649b");  // FNV-1a, computed with Python
  course.write("lessons/01_lesson/README.md", "# 01 · Improved\n");
  EXPECT_EQ(fingerprint(course.lesson()), "a1803fe2ba83649b");
  course.write(one, "b");
  course.write(two, "a");
  EXPECT_NE(fingerprint(course.lesson()), "a1803fe2ba83649b") << "what is in which file counts";
}

// ----------------------------------------------------------------------------------------------------- copies

TEST(KeepCopy, KeepsTheFilesInTheirTree) {
  const CourseFolder course;
  course.write(one, std::string("my answer\0with a byte of zero", 29));
  course.write("learn", "#!/bin/sh\n");
  fs::permissions(course.root() / "learn", fs::perms(0750));
  const std::string name = keep_copy(course.root(), {one, "learn"}, "update", "2.1");
  EXPECT_THAT(name, MatchesRegex("[0-9-]{10}_[0-9-]{8}_update_2.1"));
  EXPECT_EQ(course.kept(name, one), course.read(one));
  EXPECT_EQ(fs::status(course.root() / ".learn/backup" / name / "learn").permissions(), fs::perms(0750));

  const auto all = backups(course.root());
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_EQ(all[0].name, name);
  EXPECT_EQ(all[0].when,
            name.substr(0, 10) + " " + name.substr(11, 2) + ":" + name.substr(14, 2) + ":" + name.substr(17, 2));
  EXPECT_EQ(all[0].why, "update");
  EXPECT_THAT(all[0].files, ElementsAre("learn", one));
}

TEST(KeepCopy, LeavesOutWhatIsNotThere) {
  const CourseFolder course;
  EXPECT_EQ(keep_copy(course.root(), {"lessons/01_lesson/gone.cpp"}, "reset", "01"), "");
  EXPECT_EQ(keep_copy(course.root(), {}, "reset", "01"), "");
  EXPECT_THAT(backups(course.root()), IsEmpty()) << "nothing is made of nothing";
  keep_copy(course.root(), {"lessons/01_lesson/gone.cpp", one}, "reset", "01");
  ASSERT_THAT(backups(course.root()), SizeIs(1));
  EXPECT_THAT(backups(course.root())[0].files, ElementsAre(one));
}

TEST(KeepCopy, GivesEveryCopyANameAndKnowsTheNewest) {
  const CourseFolder course;
  std::vector<std::string> made;
  for (int i = 0; i < 12; ++i) {  // several in a second, whose names would not sort: reset, interview, 2, 10
    made.push_back(keep_copy(course.root(), {one}, i % 2 == 0 ? "reset" : "interview", "01"));
  }
  std::reverse(made.begin(), made.end());
  EXPECT_EQ(names(course.root()), made);
}

TEST(KeepCopy, CopiesWhatALinkLeadsTo) {
  const CourseFolder course;
  course.write("elsewhere.cpp", "my answer");
  fs::remove(course.root() / one);
  fs::create_symlink("../../elsewhere.cpp", course.root() / one);
  const std::string name = keep_copy(course.root(), {one}, "reset", "01");
  EXPECT_EQ(course.kept(name, one), "my answer");
  EXPECT_FALSE(fs::is_symlink(course.root() / ".learn/backup" / name / one));
}

TEST(KeepCopy, RefusesFilesOutsideOfTheCourse) {
  const CourseFolder course;
  for (const std::string file : {"../outside", "/etc/hostname", "lessons/../../outside", ""}) {
    EXPECT_THAT([&] { keep_copy(course.root(), {file}, "reset", "01"); },
                ThrowsMessage<std::invalid_argument>(StartsWith(file + " leads out of the course's folder")));
  }
}

TEST(KeepCopy, NamesTheFileThatCannotBeCopied) {
  const CourseFolder course;
  fs::create_directories(course.root() / "folder");
  EXPECT_THAT(
      [&] {
        keep_copy(course.root(), {one, "folder"}, "reset", "01");
      },
      ThrowsMessage<std::runtime_error>(HasSubstr((course.root() / "folder").string())));
  EXPECT_THAT(backups(course.root()), IsEmpty());
  EXPECT_TRUE(fs::is_empty(course.root() / ".learn/backup")) << "nothing half made is left";
}

TEST(KeepCopy, RemovesOnlyTheHalfCopiesOfKilledTools) {
  const CourseFolder course;
  const fs::path folder = course.root() / ".learn/backup";
  const auto copies = {"copy.being-written-123", "copy.being-written-124", ".new-idea", "copy.being-written-idea",
                       "mine.being-written-123"};
  for (const char* name : copies) {
    put(folder / name / one, "mine");
    if (name != std::string("copy.being-written-124")) {
      fs::last_write_time(folder / name, fs::file_time_type::clock::now() - std::chrono::hours(2));
    }
  }
  put(folder / ("copy.being-written-" + std::to_string(getpid())) / two, "half");
  const std::string name = keep_copy(course.root(), {one}, "reset", "01");
  EXPECT_EQ(course.kept(name, one), course.stub);
  EXPECT_FALSE(fs::exists(folder / name / two)) << "of a tool that had our process id";
  for (const char* copy : copies) {
    EXPECT_EQ(fs::exists(folder / copy), copy != std::string("copy.being-written-123")) << copy;
  }
}

TEST(Backups, AreOnlyWhatIsWhole) {
  const CourseFolder course;
  const std::string name = keep_copy(course.root(), {one}, "reset", "01");
  course.write(".learn/backup/copy.being-written-123/" + one, "half");
  course.write(".learn/backup/notes/" + one, "of the learner's own");
  course.write(".learn/backup/2026-11-21_15-04-05_reset_01", "a file");
  course.write(".learn/backup/2026-11-21_15-04-05-1_reset_01/" + one, "a name that we never give");
  course.write(".learn/backup/2026-11-21_15-04-05_mine_01/" + one, "a reason that we never give");
  course.write(".learn/backup/2026-11-21_15-04-05_reset_\x1b[31m/" + one, "an escape sequence");
  EXPECT_THAT(names(course.root()), ElementsAre(name));
}

// ---------------------------------------------------------------------------------------------- reset, restore

TEST(Reset, PutsTheStubsBackAndKeepsACopy) {
  const CourseFolder course;
  course.write(one, "my answer");
  course.write("lessons/01_lesson/mine.cpp", "my own");
  const std::string name = reset(course.lesson());
  EXPECT_THAT(name, MatchesRegex("[0-9-]{10}_[0-9-]{8}_reset_01"));
  EXPECT_EQ(course.read(one), course.stub);
  EXPECT_EQ(course.kept(name, one), "my answer");
  EXPECT_THAT(backups(course.root())[0].files, ElementsAre(one)) << "what was a stub already needs no copy";
  EXPECT_EQ(course.read("lessons/01_lesson/mine.cpp"), "my own") << "what the learner added stays";
}

TEST(Reset, MakesNoCopyOfStubsAndBringsAMissingOneBack) {
  const CourseFolder course;
  EXPECT_EQ(reset(course.lesson()), "");
  fs::remove(course.root() / one);
  EXPECT_EQ(reset(course.lesson()), "");
  EXPECT_EQ(course.read(one), course.stub);
  EXPECT_FALSE(fs::exists(course.root() / ".learn"));
}

TEST(Reset, ReplacesNothingWhenNoCopyCanBeMade) {
  const CourseFolder course;
  course.write(one, "my answer");
  course.write(".learn", "not a folder");
  EXPECT_THAT([&] { reset(course.lesson()); }, Throws<std::runtime_error>());
  EXPECT_EQ(course.read(one), "my answer");
}

TEST(Reset, ReplacesNothingWhenTheDiskIsFull) {
  const CourseFolder course;
  const std::string answer(100, 'a');
  course.write(one, answer);
  EXPECT_TRUE(ended_well(start_child([&] {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit room_for_a_few_bytes = {50, 50};
    setrlimit(RLIMIT_FSIZE, &room_for_a_few_bytes);
    EXPECT_THAT([&] { reset(course.lesson()); }, ThrowsMessage<std::runtime_error>(HasSubstr(one)));
    return !::testing::Test::HasFailure();
  })));
  EXPECT_EQ(course.read(one), answer);
  EXPECT_THAT(backups(course.root()), IsEmpty());
}

TEST(Restore, PutsTheFilesBackAndKeepsACopyOfWhatItReplaces) {
  const CourseFolder course;
  course.write(one, "my first answer");
  const std::string first = reset(course.lesson());
  course.write(one, "my second answer");
  const std::string second = restore(course.root(), first);
  EXPECT_EQ(course.read(one), "my first answer");
  EXPECT_EQ(course.kept(second, one), "my second answer");
  EXPECT_THAT(second, MatchesRegex(".*_restore_01"));
  EXPECT_THAT(names(course.root()), ElementsAre(second, first));
  EXPECT_EQ(course.kept(first, one), "my first answer") << "a backup stays";
}

TEST(Restore, BringsBackWhatIsGone) {
  const CourseFolder course;
  course.write(one, "my answer");
  const std::string name = reset(course.lesson());
  fs::remove_all(course.root() / "lessons");
  EXPECT_EQ(restore(course.root(), name), "");
  EXPECT_EQ(course.read(one), "my answer");
}

TEST(Restore, TakesTheBeginningOfAName) {
  const CourseFolder course;
  course.write(".learn/backup/2026-11-20_10-00-00_reset_01/" + one, "of the 20th");
  course.write(".learn/backup/2026-11-21_10-00-00_reset_01/" + one, "of the 21st");
  course.write(".learn/backup/2026-11-21_10-00-00_reset_011/" + one, "of another lesson");
  restore(course.root(), "2026-11-20");
  EXPECT_EQ(course.read(one), "of the 20th");
  restore(course.root(), "2026-11-21_10-00-00_reset_01");
  EXPECT_EQ(course.read(one), "of the 21st") << "a whole name is not the beginning of another";
}

TEST(Restore, SaysWhichBackupsThereAre) {
  const CourseFolder course;
  EXPECT_THAT([&] { restore(course.root(), "2026"); },
              ThrowsMessage<std::invalid_argument>(HasSubstr("none was made")));
  course.write(".learn/backup/2026-11-20_10-00-00_reset_01/" + one, "");
  course.write(".learn/backup/2026-11-21_10-00-00_reset_01/" + one, "");
  const auto both = AllOf(HasSubstr("\n  2026-11-20_10-00-00_reset_01"), HasSubstr("\n  2026-11-21_10-00-00_reset_01"));
  EXPECT_THAT([&] { restore(course.root(), "2026"); },
              ThrowsMessage<std::invalid_argument>(AllOf(StartsWith("several backups begin with \"2026\""), both)));
  EXPECT_THAT([&] { restore(course.root(), "../backup"); },
              ThrowsMessage<std::invalid_argument>(AllOf(StartsWith("there is no backup \"../backup\""), both)));
}

TEST(Restore, FollowsNoLinkInABackup) {
  const CourseFolder course;
  const Scratch outside;
  put(outside.path() / "secret.cpp", "secret");
  const fs::path backup = course.root() / ".learn/backup/2026-11-20_10-00-00_reset_01";
  put(backup / one, "my answer");
  fs::create_symlink(outside.path() / "secret.cpp", backup / two);
  fs::create_directory_symlink(outside.path(), backup / "folder");
  fs::create_directory_symlink(outside.path(), course.root() / ".learn/backup/2026-11-20_11-00-00_reset_01");
  EXPECT_THAT(names(course.root()), ElementsAre("2026-11-20_10-00-00_reset_01"));
  restore(course.root(), "2026-11-20");
  EXPECT_EQ(course.read(one), "my answer");
  EXPECT_EQ(course.read(two), course.stub);
  EXPECT_FALSE(fs::exists(course.root() / "folder"));
}

TEST(Restore, WritesNothingThroughAFolderThatLeadsOutside) {
  const CourseFolder course;
  const Scratch outside;
  fs::create_directory_symlink(outside.path(), course.root() / "lessons/02_away");
  const std::string away = "lessons/02_away/deep/three.cpp";
  const fs::path backup = course.root() / ".learn/backup/2026-11-20_10-00-00_reset_01";
  put(backup / one, "my answer");
  put(backup / away, "my answer");
  EXPECT_THAT([&] { restore(course.root(), "2026"); },
              ThrowsMessage<std::invalid_argument>(StartsWith(away + " leads out of the course's folder")));
  EXPECT_TRUE(fs::is_empty(outside.path()));
  EXPECT_EQ(course.read(one), course.stub) << "nothing at all is replaced";
}

// ------------------------------------------------------------------------------------------------- whole files

TEST(ReplaceFile, KeepsThePermissionsAndTheOwner) {
  const Scratch scratch;
  const fs::path file = scratch.path() / "file";
  put(file, "old");
  fs::permissions(file, fs::perms(0751));
  const bool given_away = chown(file.c_str(), 1234, 2345) == 0;  // only root may do that
  SCOPED_TRACE(given_away ? "of another user" : "our own");
  struct stat before {};
  struct stat after {};
  ASSERT_EQ(stat(file.c_str(), &before), 0);
  replace_file(file, "new");
  ASSERT_EQ(stat(file.c_str(), &after), 0);
  EXPECT_EQ(read_file(file), "new");
  EXPECT_EQ(after.st_mode & 07777, mode_t(0751));
  EXPECT_EQ(after.st_uid, before.st_uid);
  EXPECT_EQ(after.st_gid, before.st_gid);
}

TEST(ReplaceFile, MakesAFileThatIsNotThere) {
  const Scratch scratch;
  replace_file(scratch.path() / "file", "");
  EXPECT_EQ(read_file(scratch.path() / "file"), "");
  EXPECT_THAT([&] { replace_file(scratch.path() / "no/file", ""); },
              ThrowsMessage<std::runtime_error>(HasSubstr((scratch.path() / "no/file").string())));
}

TEST(ReplaceFile, FollowsLinks) {
  const Scratch scratch;
  put(scratch.path() / "mine/answer.cpp", "old");
  fs::create_directory(scratch.path() / "lesson");
  fs::create_symlink("../mine/link.cpp", scratch.path() / "lesson/file.cpp");
  fs::create_symlink("answer.cpp", scratch.path() / "mine/link.cpp");
  replace_file(scratch.path() / "lesson/file.cpp", "new");
  EXPECT_EQ(read_file(scratch.path() / "mine/answer.cpp"), "new");
  EXPECT_TRUE(fs::is_symlink(scratch.path() / "lesson/file.cpp"));

  fs::remove(scratch.path() / "mine/answer.cpp");  // now it leads to nothing
  replace_file(scratch.path() / "lesson/file.cpp", "newer");
  EXPECT_EQ(read_file(scratch.path() / "mine/answer.cpp"), "newer");

  fs::create_symlink("round", scratch.path() / "round");
  EXPECT_THAT([&] { replace_file(scratch.path() / "round", ""); },
              ThrowsMessage<std::runtime_error>(HasSubstr((scratch.path() / "round").string())));
}

TEST(ReplaceFile, RespectsAReadOnlyFile) {
  const Scratch scratch;
  const fs::path file = scratch.path() / "file";
  EXPECT_TRUE(well_as_ordinary_user([&] {
    put(file, "old");
    chmod(file.c_str(), 0444);
    EXPECT_THAT([&] { replace_file(file, "new"); },
                ThrowsMessage<std::runtime_error>(AllOf(HasSubstr(file.string()), HasSubstr("Permission denied"))));
    return !::testing::Test::HasFailure();
  }));
  EXPECT_EQ(read_file(file), "old");
}

void make_old(const fs::path& path) {
  fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::hours(2));
}

TEST(ReplaceFile, LeavesNothingBesideIt) {
  const Scratch scratch;
  const fs::path file = scratch.path() / "file";
  put(file, "old");
  put(scratch.path() / "file.being-written-1", "half");
  put(scratch.path() / "file.being-written-2", "half, of a tool that may be writing");
  make_old(scratch.path() / "file.being-written-1");
  replace_file(file, "new");
  EXPECT_FALSE(fs::exists(scratch.path() / "file.being-written-1"));
  EXPECT_TRUE(fs::exists(scratch.path() / "file.being-written-2"));
  EXPECT_EQ(std::distance(fs::directory_iterator(scratch.path()), {}), 2);
}

TEST(ReplaceFile, RemovesNothingThatItDidNotWrite) {
  const Scratch scratch;
  const fs::path file = scratch.path() / "file";
  put(scratch.path() / "elsewhere", "mine");
  make_old(scratch.path() / "elsewhere");
  std::vector<std::string> kept = {"elsewhere"};
  for (const char* name : {"file.new", "file.new-", "file.new-1", "file.new-idea", "file.being-written-",
                           "file.being-written-idea", "file.being-written-1.cpp", "file2.being-written-1"}) {
    kept.emplace_back(name);
    put(scratch.path() / name, "mine");
    make_old(scratch.path() / name);
  }
  for (const char* folder : {"file.new-idea-2", "file.being-written-3"}) {
    kept.emplace_back(folder);
    put(scratch.path() / folder / "mine.cpp", "mine");
    make_old(scratch.path() / folder);
  }
  kept.emplace_back("file.being-written-4");
  fs::create_symlink("elsewhere", scratch.path() / kept.back());
  for (int i = 0; i < 3; ++i) {  // the names that we would take
    kept.push_back("file.being-written-" + std::to_string(getpid() + i));
    put(scratch.path() / kept.back() / "mine.cpp", "mine");
  }
  replace_file(file, "new");
  EXPECT_EQ(read_file(file), "new");
  for (const auto& name : kept) EXPECT_TRUE(fs::exists(scratch.path() / name)) << name;
  const fs::path of_another = scratch.path() / "file.being-written-5";
  put(of_another, "of another user");
  make_old(of_another);
  if (chown(of_another.c_str(), 1234, 1234) == 0) {  // root may, where it has its usual rights
    replace_file(file, "newer");
    EXPECT_TRUE(fs::exists(of_another));
  }
}

TEST(WriteNewFile, LeavesNothingWhenItFails) {
  const Scratch scratch;
  const fs::path file = scratch.path() / "file";
  EXPECT_TRUE(ended_well(start_child([&] {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{1000, 1000};
    setrlimit(RLIMIT_FSIZE, &limit);
    try {
      write_new_file(file, std::string(100'000, 'x'));
      return false;
    } catch (const NotWritable& error) {
      return error.what() == file.string() + " cannot be written: File too large";
    }
  })));
  EXPECT_FALSE(fs::exists(file));
}

TEST(BuildSteps, MoveAsideAFolderThatHasSomethingInIt) {
  const Scratch scratch;
  const fs::path build = scratch.path() / "build" / "dev";
  put(build / "lesson_01" / "mine.cpp", "mine");
  put(build / "lesson_01.moved-aside" / "mine.cpp", "moved before");
  fs::create_directory(build / "learn.lock");
  const BuildSteps steps(scratch.path(), "dev", "lesson_01");
  EXPECT_EQ(read_file(build / "lesson_01.moved-aside-2" / "mine.cpp"), "mine");
  EXPECT_EQ(read_file(build / "lesson_01.moved-aside" / "mine.cpp"), "moved before");
  EXPECT_FALSE(fs::exists(build / "lesson_01"));
  EXPECT_FALSE(fs::exists(build / "learn.lock"));
}

// ------------------------------------------------------------------------------------------- tools that are killed

bool is_in_a_backup(const CourseFolder& course, const std::string& file, const std::string& text) {
  const auto all = backups(course.root());
  return std::any_of(all.begin(), all.end(), [&](const Backup& backup) {
    const bool has_it = std::find(backup.files.begin(), backup.files.end(), file) != backup.files.end();
    return has_it && course.kept(backup.name, file) == text;
  });
}

TEST(Answers, AreNeverLostWhenKilledAtAnyMoment) {
  constexpr int rounds = 200;
  const CourseFolder course;
  course.write(one, "an answer");
  const auto begin = std::chrono::steady_clock::now();
  restore(course.root(), reset(course.lesson()));
  const std::chrono::duration<double> once = std::chrono::steady_clock::now() - begin;
  RandomKills kills(std::clamp(once, std::chrono::duration<double>(0.005), std::chrono::duration<double>(0.06)));
  int copied = 0;
  for (int round = 0; round < rounds; ++round) {
    SCOPED_TRACE(round);
    fs::remove_all(course.root() / ".learn");
    const auto answer = [&](const std::string& file) { return file + ", answer " + std::to_string(round) + "\n"; };
    for (const auto& file : {one, two}) course.write(file, answer(file));
    EXPECT_TRUE(kills.kill_one([&](const auto& begun) {
      begun();
      for (;;) restore(course.root(), reset(course.lesson()));
      return false;
    }));
    const int before = copied;
    for (const auto& file : {one, two}) {
      const std::string now = course.read(file);
      ASSERT_TRUE(now == answer(file) || now == course.stub) << now;
      ASSERT_TRUE(now == answer(file) || is_in_a_backup(course, file, answer(file)));
      copied += now == course.stub;
    }
    kills.count(copied > before);
  }
  EXPECT_GT(copied, rounds / 10) << "the children hardly got to work";
}

}  // namespace
}  // namespace attn::learn
