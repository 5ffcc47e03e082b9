// ./learn doctor: what is missing or broken is named, with the line that fixes it. On temporary courses, and machines
// on which there are only stand-ins.
#include "learn/commands/doctor/doctor.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <sstream>

#include "learn/commands/doctor/examinations.hpp"
#include "run/process.hpp"
#include "scratch.hpp"

namespace attn::learn {

/// How GoogleTest shows a finding.
void PrintTo(const Finding& finding, std::ostream* out) {
  *out << static_cast<int>(finding.kind) << " " << finding.what << ": " << finding.is << " (fix: " << finding.fix
       << ")";
}

namespace {

namespace fs = std::filesystem;
using checkup::judge_probe;
using std::chrono_literals::operator""h;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StrEq;

/// A variable of the environment, set (or, with nullptr, not set) for as long as this lives.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    if (const char* const before = std::getenv(name)) before_ = before;
    value == nullptr ? unsetenv(name) : setenv(name, value, 1);
  }
  ~Variable() { before_ ? setenv(name_, before_->c_str(), 1) : unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
  std::optional<std::string> before_;
};

/// A course with one lesson, on a machine whose PATH holds only stand-ins.
class Doctor : public ::testing::Test {
 protected:
  Doctor() {
    put(root_ / "lessons" / "00_first" / "first.cpp", "");
    fs::create_directory(scratch_ / "bin");
    path_.emplace("PATH", (scratch_ / "bin").c_str());
  }

  /// A program that does what the shell's line says.
  void stand_in(const std::string& name, const std::string& line) {
    const fs::path file = scratch_ / "bin" / name;
    put(file, "#!/bin/sh\n" + line + "\n");
    fs::permissions(file, fs::perms::owner_all | fs::perms::others_exec | fs::perms::others_read);
  }

  /// A configured build folder.
  void configured(const std::string& more = "") {
    stand_in("c++", ":");
    put(root_ / "build" / "dev" / "build.ninja", "");
    put(root_ / "build" / "dev" / "CMakeCache.txt",
        "# made by CMake\nCMAKE_HOME_DIRECTORY:INTERNAL=" + root_.string() + "\nCMAKE_CXX_COMPILER:FILEPATH=" +
            (scratch_ / "bin" / "c++").string() + "\nCMAKE_GENERATOR:INTERNAL=Ninja\n" + more);
  }

  Finding look_at(const std::string& what) {
    const auto findings = examine(root_);
    const auto found =
        std::find_if(findings.begin(), findings.end(), [&](const Finding& finding) { return finding.what == what; });
    if (found != findings.end()) return *found;
    ADD_FAILURE() << "nothing is said about " << what;
    return {};
  }

  const Scratch folder_{fs::temp_directory_path()};  // the stand-ins are run
  const fs::path scratch_ = folder_.path();
  fs::path root_ = scratch_ / "course";
  std::optional<Variable> path_;
};

auto is(Finding::Kind kind, const std::string& says, const std::string& fix) {
  return AllOf(Field("kind", &Finding::kind, kind), Field("is", &Finding::is, HasSubstr(says)),
               Field("fix", &Finding::fix, HasSubstr(fix)));
}
auto is_ok(const std::string& says) { return is(Finding::Kind::ok, says, ""); }
auto is_remark(const std::string& says, const std::string& fix) { return is(Finding::Kind::remark, says, fix); }
auto is_wrong(const std::string& says, const std::string& fix) { return is(Finding::Kind::wrong, says, fix); }

// ------------------------------------------------------------------------------------------------------ programs

TEST_F(Doctor, NamesThePackageOfWhatIsMissing) {
  stand_in("apt-get", ":");
  EXPECT_THAT(look_at("compiler"), is_wrong("there is no C++ compiler", "apt-get install g++"));
  EXPECT_THAT(look_at("CMake"), is_wrong("not installed", "apt-get install cmake"));
  EXPECT_THAT(look_at("Ninja"), is_wrong("not installed", "apt-get install ninja-build"));
  EXPECT_THAT(look_at("linker"), is_remark("the default one", "apt-get install lld"));
  EXPECT_THAT(look_at("clangd"), is_remark("not installed", "apt-get install clangd"));
  EXPECT_THAT(look_at("course"), is_remark("git is not installed", "apt-get install git"));
}

TEST_F(Doctor, KnowsHowPackagesAreInstalledHere) {
  EXPECT_THAT(look_at("Ninja").fix, HasSubstr("package manager"));
  stand_in("pacman", ":");
  EXPECT_THAT(look_at("Ninja").fix, HasSubstr("pacman -S --needed ninja"));
  stand_in("dnf", ":");
  EXPECT_THAT(look_at("compiler").fix, HasSubstr("dnf install gcc-c++"));
  EXPECT_THAT(look_at("linker").fix, HasSubstr("dnf install lld"));
  stand_in("apt-get", ":");
  stand_in("sudo", ":");
  EXPECT_THAT(look_at("Ninja").fix,
              StrEq(geteuid() == 0 ? "apt-get install ninja-build" : "sudo apt-get install ninja-build"));
}

TEST_F(Doctor, TellsOldProgramsFromNewOnes) {
  const auto expect = [&](const std::string& program, const std::string& script, const auto& finding) {
    stand_in(program, script);
    EXPECT_THAT(look_at(program == "cmake" ? "CMake" : "compiler"), finding) << script;
  };
  expect("cmake", "echo cmake version 3.22.1", is_wrong("3.22.1", "cmake"));
  expect("cmake", "echo cmake version 3.25.0", is_ok("3.25.0"));
  expect("cmake", "echo cmake version 4.0.3", is_ok("4.0.3"));
  expect("cmake", "exit 1", is_wrong("does not report its version", "cmake"));
  const std::string define = "printf '#define %s\\n' ";
  expect("c++", define + "'__GNUC__ 8' '__GNUC_MINOR__ 4' '__GNUC_PATCHLEVEL__ 0'", is_wrong("g++ 8.4.0", "g++"));
  expect("c++", define + "'__GNUC__ 13' '__GNUC_MINOR__ 2' '__GNUC_PATCHLEVEL__ 1'", is_ok("g++ 13.2.1"));
  expect("c++", define + "'__GNUC__ 4' '__clang__ 1' '__clang_major__ 13' '__clang_minor__ 0' '__clang_patchlevel__ 1'",
         is_remark("clang++ 13.0.1", "g++"));
  expect("c++", "exit 1", is_wrong("does not answer", "g++"));
}

TEST_F(Doctor, NamesTheHeaderThatTheCompilerDoesNotFind) {
  stand_in("c++", "echo '#define __GNUC__ 13\n#define attn_has_libcli11_dev\n#define CLI11_VERSION \"2.4.1\"'");
  EXPECT_THAT(look_at("CLI11"), is_ok("2.4.1"));
  EXPECT_THAT(look_at("Armadillo"), is_wrong("<armadillo> is not found", "libarmadillo-dev"));
}

// -------------------------------------------------------------------------------------------------- the build folder

TEST_F(Doctor, SaysWhatIsWrongWithTheBuildFolder) {
  const fs::path build = root_ / "build" / "dev";
  EXPECT_THAT(look_at("build"), is_remark("build/dev is not set up yet", "cmake --preset dev"));
  configured();
  EXPECT_THAT(look_at("build"), is_ok("build/dev, configured with"));
  fs::remove(scratch_ / "bin" / "c++");
  EXPECT_THAT(look_at("build"), is_wrong("which is no longer there", "rm -r build/dev"));
  configured("CMAKE_GENERATOR:INTERNAL=Unix Makefiles\n");
  EXPECT_THAT(look_at("build"), is_wrong("Unix Makefiles", "rm -r build/dev"));
  configured();
  fs::remove(build / "build.ninja");
  EXPECT_THAT(look_at("build"), is_wrong("only in part", "cmake --preset dev"));
  fs::rename(root_, scratch_ / "moved");
  root_ = scratch_ / "moved";
  EXPECT_THAT(look_at("build"), is_wrong("moved or copied", "rm -r build/dev"));
  fs::remove(root_ / "build" / "dev" / "CMakeCache.txt");
  EXPECT_THAT(look_at("build"), is_wrong("not configured", "cmake --preset dev"));
}

TEST_F(Doctor, ComparesTheLinkerOfTheBuildFolderWithThoseThatAreThere) {
  configured("ATTN_LLD:FILEPATH=" + (scratch_ / "ld.lld").string() + "\n");
  EXPECT_THAT(look_at("linker"), is_wrong("no longer there", "cmake --preset dev -U ATTN_LLD"));
  configured("ATTN_LLD:FILEPATH=ATTN_LLD-NOTFOUND\n");
  stand_in("ld.lld", ":");
  EXPECT_THAT(look_at("linker"), is_remark("does not use it yet", "cmake --preset dev"));
}

/// What the tool in the build folder of another course says about the course.
std::string answer_from(const fs::path& build, const fs::path& root) {
  fs::create_directories(build);
  fs::copy_file(ATTN_TOOL, build / "learn", fs::copy_options::skip_existing);
  return judge::ask({build / "learn", "--root", root, "doctor"}, build).output;
}

TEST_F(Doctor, SeesThatItBelongsToTheCourseThatThisOneIsACopyOf) {
  configured();
  const fs::path build = scratch_ / "copy" / "build" / "dev";
  const std::string fix = "fix: rm -r '" + build.string() + "'";
  EXPECT_THAT(answer_from(build, root_), HasSubstr(fix)) << "without a cache";
  fs::copy_file(root_ / "build" / "dev" / "CMakeCache.txt", build / "CMakeCache.txt");
  EXPECT_THAT(answer_from(build, root_), AllOf(HasSubstr("this tool works on"), HasSubstr(fix)));
}

TEST_F(Doctor, TakesNoOtherCoursesToolForACopy) {
  configured();
  const fs::path build = scratch_ / "other" / "build" / "dev";
  put(build / "CMakeCache.txt", "CMAKE_HOME_DIRECTORY:INTERNAL=" + (scratch_ / "other").string() + "\n");
  EXPECT_THAT(answer_from(build, root_), AllOf(HasSubstr("build/dev, configured with"), Not(HasSubstr("copied"))));
}

// ---------------------------------------------------------------------------------------------------------- OpenBLAS

const std::string openblas =
    R"json({"armadillo": "11.4.2 (Ship of Theseus)", "blas": "/lib/libopenblas.so", "core": "Zen",
  "is_openblas": true, "config": "OpenBLAS 0.3.21 NO_LAPACKE", "threads": 2, "sgemm": 99.0, "dgemm": )json";

TEST(JudgeProbe, TellsWhichOpenBlasItIsAndHowFast) {
  const Variable unset[] = {
      {"OPENBLAS_NUM_THREADS", nullptr}, {"GOTO_NUM_THREADS", nullptr}, {"OMP_NUM_THREADS", nullptr}};
  EXPECT_THAT(judge_probe(openblas + "50.0}"),
              ElementsAre(is_ok("11.4.2"), is_ok("0.3.21 for Zen, 2 threads, 50 GFLOP/s in double and 99 in float: "
                                                 "/lib/libopenblas.so")));
  const Variable threads("OPENBLAS_NUM_THREADS", "1");
  EXPECT_THAT(judge_probe(openblas + "50.0}").back(),
              is_remark("OPENBLAS_NUM_THREADS is 1", "unset OPENBLAS_NUM_THREADS"));
}

TEST(JudgeProbe, RefusesABlasThatIsNotOpenBlas) {
  const std::string answer = R"({"armadillo": "11.4.2", "blas": "/lib/libblas.so.3.11", "is_openblas": false})";
  const std::string says = "/lib/libblas.so.3.11 is loaded, which is not OpenBLAS";
  const Variable preload("LD_PRELOAD", nullptr);
  const Variable folders("LD_LIBRARY_PATH", nullptr);
  EXPECT_THAT(judge_probe(answer).back(), is_wrong(says, "cmake --preset dev -U ATTN_OPENBLAS"));
  const Variable set("LD_LIBRARY_PATH", "/opt/blas");
  EXPECT_THAT(judge_probe(answer).back(), is_wrong(says, "unset LD_PRELOAD LD_LIBRARY_PATH"));
}

TEST(JudgeProbe, WondersAboutASlowOne) {
  const Variable usual("OPENBLAS_CORETYPE", nullptr);
  EXPECT_THAT(judge_probe(openblas + "1.9}").back(), is_remark("1.9 GFLOP/s", "./learn doctor"));
  const Variable core("OPENBLAS_CORETYPE", "Prescott");
  EXPECT_THAT(judge_probe(openblas + "1.9}").back(), is_remark("1.9 GFLOP/s", "unset OPENBLAS_CORETYPE"));
}

TEST(JudgeProbe, SaysThatTheAnswerIsNone) {
  for (const char* none : {"", "[1]"})
    EXPECT_THAT(judge_probe(none).back(), is_wrong("does not answer", "learn_probe"));
}

// -------------------------------------------------------------------------------------------------------- the editor

TEST_F(Doctor, SaysThatTheEditorHasNoCompileCommands) {
  const fs::path commands = root_ / "compile_commands.json";
  EXPECT_THAT(look_at("editor"), is_wrong("compile_commands.json is not there", "cmake --preset dev"));
  for (const std::string damaged : {"", "[{", "[{\"command\": \"\"}]", "3"}) {
    put(commands, damaged);
    EXPECT_THAT(look_at("editor"), is_wrong("damaged", "cmake --preset dev")) << damaged;
  }
  fs::remove(commands);
  fs::create_symlink("build/dev/compile_commands.json", commands);
  EXPECT_THAT(look_at("editor"),
              is_wrong("leads to build/dev/compile_commands.json, which is not there", "cmake --preset dev"));
}

TEST_F(Doctor, SaysWhichOfTheLearnersFilesTheEditorDoesNotKnow) {
  const std::string commands = "[{\"file\": \"" + (root_ / "lessons/00_first/first.cpp").string() + "\"}]";
  put(root_ / "build" / "dev" / "compile_commands.json", commands);
  fs::create_symlink("build/dev/compile_commands.json", root_ / "compile_commands.json");
  EXPECT_THAT(look_at("editor"), is_ok("knows every lesson's files"));
  put(root_ / "lessons" / "01_second" / "second.hpp", "");
  EXPECT_THAT(look_at("editor"), is_ok("knows every lesson's files"));
  put(root_ / "lessons" / "01_second" / "second.cpp", "");
  EXPECT_THAT(look_at("editor"), is_wrong("does not know lessons/01_second/second.cpp", "cmake --preset dev"));
  fs::remove_all(root_ / "lessons" / "01_second");
  fs::remove(root_ / "compile_commands.json");
  put(root_ / "compile_commands.json", commands);
  EXPECT_THAT(look_at("editor"), is_remark("not that of build/dev", "cmake --preset dev"));
}

TEST_F(Doctor, LooksForTheEditorThatIsChosen) {
  const Variable visual("VISUAL", "");
  const Variable unset("EDITOR", nullptr);
  stand_in("vi", ":");
  EXPECT_THAT(look_at("EDITOR"), is_remark("neither VISUAL nor EDITOR is set", "export EDITOR=vi"));
  const Variable editor("EDITOR", "hx --wait");
  EXPECT_THAT(look_at("EDITOR"), is_remark("EDITOR is hx, which is not there", "export EDITOR=vi"));
  stand_in("hx", ":");
  EXPECT_THAT(look_at("EDITOR"), is_ok("EDITOR is hx --wait"));
}

TEST_F(Doctor, SaysWhenSymbolsAreWrittenInAscii) {
  const Variable utf8("LC_ALL", "C.UTF-8");
  EXPECT_THAT(look_at("locale"), is_ok("C.UTF-8"));
  const Variable plain("LC_ALL", "C");
  EXPECT_THAT(look_at("locale"), is_remark("ASCII", "export LC_ALL=C.UTF-8"));
  const Variable unknown("LC_ALL", "xx_YY.UTF-8");
  EXPECT_THAT(look_at("locale"), is_remark("xx_YY.UTF-8 is not installed", "export LC_ALL=C.UTF-8"));
}

// ------------------------------------------------------------------------------------------------------------ storage

TEST_F(Doctor, SaysThatNothingCanBeSavedInAReadOnlyFolder) {
  put(root_ / ".learn" / "state.json", "{}");
  EXPECT_TRUE(well_as_ordinary_user([&] {
    EXPECT_THAT(look_at("state"), is_ok("can be read"));
    fs::permissions(root_ / ".learn", fs::perms::owner_read | fs::perms::owner_exec);
    EXPECT_THAT(look_at("state"), is_wrong(".learn/ cannot be written to", "chmod -R u+rw .learn"));
    fs::permissions(root_ / ".learn", fs::perms::owner_all);
    fs::permissions(root_ / ".learn" / "state.json", fs::perms::owner_read);
    EXPECT_THAT(look_at("state"), is_wrong("state.json cannot be written to", "chmod -R u+rw .learn/state.json"));
    fs::permissions(root_ / ".learn" / "state.json", fs::perms::none);
    EXPECT_THAT(look_at("state"), is_wrong("state.json cannot be read", "chmod -R u+rw .learn/state.json"));
    return !HasFailure();
  }));
}

TEST_F(Doctor, SaysHowAFolderCanBeWrittenToAgain) {
  stand_in("sudo", ":");
  const fs::path build = root_ / "build";
  const auto expect_wrong = [&](const std::string& fix) {
    EXPECT_TRUE(well_as_ordinary_user([&] {
      EXPECT_THAT(look_at("folder"), is_wrong(fs::canonical(build).string() + " cannot be written to", fix));
      return !HasFailure();
    }));
  };
  fs::create_directory(build);
  EXPECT_THAT(look_at("folder"), is_ok(root_.string() + " on "));
  fs::permissions(build, fs::perms::owner_read | fs::perms::owner_exec);
  expect_wrong("chmod -R u+rw build");
  if (chown(build.c_str(), 1234, 2345) != 0) {  // only root may give a folder away; to others, "/" is another's
    fs::remove(build);
    fs::create_directory_symlink("/", build);
  }
  struct stat status {};
  ASSERT_EQ(stat(build.c_str(), &status), 0);
  if (status.st_uid == geteuid()) return;  // root without its rights: nothing at all is another's
  expect_wrong((geteuid() == 0 ? "chown -R " : "sudo chown -R ") + std::to_string(geteuid()) + " build");
}

TEST_F(Doctor, SaysThatTheSavedStateIsDamaged) {
  EXPECT_THAT(look_at("state"), is_ok("nothing is saved"));
  put(root_ / ".learn" / "state.json", "{\"version\": 2, \"less");
  EXPECT_THAT(look_at("state"), is_wrong("it is not JSON", "mv .learn/state.json "));
  fs::remove_all(root_ / ".learn");
  put(root_ / ".learn", "");
  EXPECT_THAT(look_at("state"), is_wrong(".learn is not a folder", "mv .learn "));
}

TEST_F(Doctor, SaysThatAFileIsFromTheFuture) {
  EXPECT_THAT(look_at("clock"), is_ok("it is 20"));
  fs::last_write_time(root_ / "lessons/00_first/first.cpp", fs::file_time_type::clock::now() + 1h);
  EXPECT_THAT(look_at("clock"), is_wrong("lessons/00_first/first.cpp was saved later", "find . -newermt"));
}

// ------------------------------------------------------------------------------------------------- what is printed

std::string printed(const std::vector<Finding>& findings, int columns) {
  std::ostringstream out;
  print(findings, columns, out);
  return out.str();
}

TEST(Print, KeepsToTheWidthOfTheTerminalButNeverBreaksALineToRun) {
  const std::string line = "sudo apt-get install a-package-with-a-long-name another-package-with-a-long-name";
  EXPECT_EQ(
      printed({{Finding::Kind::ok, "compiler", "g++ 12.2.0", ""},
               {Finding::Kind::remark, "linker", "the default one; a faster one saves up to 0.4 s each time", line}},
              60),
      "ok       compiler       g++ 12.2.0\n"
      "remark   linker         the default one; a faster one saves\n"
      "                        up to 0.4 s each time\n"
      "                        fix: " +
          line + "\n\nNothing is wrong.\n");
}

TEST(Print, FillsALineToItsEnd) {
  const Finding finding{Finding::Kind::ok, "a", "all of this fits exactly", ""};
  EXPECT_THAT(printed({finding}, 24 + 24), HasSubstr("all of this fits exactly\n"));
  EXPECT_THAT(printed({finding}, 24 + 23), HasSubstr("all of this fits\n                        exactly\n"));
}

TEST(Print, CountsWhatIsWrong) {
  const Finding finding{Finding::Kind::wrong, "Ninja", "it is not installed", "apt-get install ninja-build"};
  EXPECT_THAT(printed({finding}, 80),
              AllOf(HasSubstr("wrong    Ninja "), EndsWith("\n1 thing is wrong: see \"fix\" above.\n")));
  EXPECT_THAT(printed({finding, finding}, 80), EndsWith("\n2 things are wrong: see \"fix\" above.\n"));
}

TEST_F(Doctor, EndsWithOneWhenSomethingIsWrong) {
  std::ostringstream out;
  EXPECT_EQ(doctor(root_, out), 1);
  EXPECT_THAT(out.str(), HasSubstr("see \"fix\" above"));
  const std::string said = out.str();
  EXPECT_TRUE(std::all_of(said.begin(), said.end(), [](char c) { return c == '\n' || (c >= ' ' && c <= '~'); }));
}

// Builds learn_probe in this build folder, unless that is done.
TEST(DoctorOnThisMachine, FindsNothingWrongWithWhatBuildsTheCourse) {
  for (const auto& finding : examine(ATTN_ROOT, ATTN_PRESET)) {
    if (finding.what == "editor" || finding.what == "state") continue;  // the learner's own
    EXPECT_NE(finding.kind, Finding::Kind::wrong) << finding.what << ": " << finding.is;
    EXPECT_THAT(finding.is, AllOf(Not(IsEmpty()), Not(HasSubstr("not tried")))) << finding.what;
  }
}

}  // namespace
}  // namespace attn::learn
