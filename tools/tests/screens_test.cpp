// Every screen of every lesson in narrow and wide terminals, and every key in the first and the last one, with the stubs
// and with the solutions: the tool answers soon, and draws no row that is wider than the terminal. The tool is the real
// one; its builds are not, so that a walk takes seconds: a "ninja" of our own hands out the programs of checks that this
// build has made.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "learn/memory/answers.hpp"
#include "learn/memory/schedule.hpp"
#include "lesson/lesson.hpp"
#include "lesson/text.hpp"
#include "run/process.hpp"
#include "scratch.hpp"
#include "screen_robot.hpp"

namespace attn::tests {
namespace {

namespace fs = std::filesystem;
using attn::put;
using lesson::find_lessons;
using lesson::Lesson;
using lesson::read_file;
using ::testing::StartsWith;

const std::string page_up = "\x1b[5~";
const std::string page_down = "\x1b[6~";
const std::string home = "\x1b[H";
const std::string end = "\x1b[F";

const std::vector<int> widths = {20, 40, 60, 80, 100, 132, 220};

/// All of them in the first lesson. In each of the others the narrowest, the usual one at the end, and another one: all of
/// them would take minutes.
std::vector<int> widths_for(std::size_t lesson) {
  if (lesson == 0) return widths;
  const std::vector<int> others = {40, 60, 100, 132, 220};
  return {widths.front(), others[lesson % others.size()], 80};
}

/// Narrow terminals need more rows for the same text.
int rows_at(int columns) { return columns < 60 ? 70 : 24; }

/// The widest row that was drawn, of what a program wrote to its terminal.
std::string widest_row(const std::string& written) {
  std::string widest, row;
  const auto end_row = [&] {
    if (columns_of(row) > columns_of(widest)) widest = row;
    row.clear();
  };
  for (std::size_t at = 0; at < written.size(); ++at) {
    if (written[at] == '\r' || written[at] == '\n' || written.compare(at, 3, "\x1b[H") == 0) end_row();
    if (written.compare(at, 2, "\x1b]") == 0) {  // a link, up to its terminator
      at = std::min(written.find("\x1b\\", at) + 1, written.size() - 1);
    } else if (written[at] == '\x1b') {
      at = std::min(written.find_first_of("ABCDHJKhlm", at), written.size() - 1);
    } else if (written[at] != '\r' && written[at] != '\n') {
      row += written[at];
    }
  }
  end_row();
  return widest;
}

/// The processor time that a process has used, in seconds: it does not depend on what else the machine does.
double processor_seconds(pid_t process) {
  const std::string stat = read_file("/proc/" + std::to_string(process) + "/stat");
  std::istringstream in(stat.substr(stat.rfind(')') + 2));
  const std::vector<std::string> fields{std::istream_iterator<std::string>(in), {}};
  constexpr std::size_t user = 11;  // proc(5), counted from the state
  return (std::stod(fields.at(user)) + std::stod(fields.at(user + 1))) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

enum class Answers { stubs, solutions };

/// A course in a folder of its own, whose lessons are all solved or all untouched.
class TrialCourse {
 public:
  explicit TrialCourse(Answers answers) : solved_(answers == Answers::solutions) {
    if (judge::run({ATTN_ROOT "/tools/tests/restore_copy.sh", ATTN_ROOT, root_}, ATTN_ROOT) != 0) {
      throw std::runtime_error("the course could not be copied");
    }
    put(root_ / "build/dev/build.ninja", "");
    put(root_ / "build/dev/CMakeCache.txt", "\nCMAKE_HOME_DIRECTORY:INTERNAL=.\n");
    put(root_ / "bin/ninja", R"(#!/bin/sh -eu
# ninja -C FOLDER TARGET   makes the target a link to a program that is built already
program=$3
case $program in lesson_* | interview_*) program=$(sed "s/NN/${3##*_}/" "$2/answers") ;; esac
test -x ")" ATTN_PROGRAMS R"(/$program"
ln -sf ")" ATTN_PROGRAMS R"(/$program" "$2/$3"
)");
    fs::permissions(root_ / "bin/ninja", fs::perms::owner_all);
    put(root_ / "build/dev/answers", solved_ ? "solution_NN_test" : "lesson_NN");
    for (const auto& lesson : lessons()) solve(lesson);
  }

  const fs::path& root() const { return root_; }
  bool solved() const { return solved_; }
  std::vector<Lesson> lessons() const { return find_lessons(root_); }

  /// Where everything is to be solved: writes the solution into the lesson's files.
  void solve(const Lesson& lesson) const {
    if (!solved_) return;
    for (const auto& file : learn::given_files(lesson)) {
      put(root_ / file, read_file(lesson.solution_folder() / fs::path(file).filename()));
    }
  }

 private:
  Scratch scratch_;
  fs::path root_ = scratch_.path();
  bool solved_;
};

/// Types keys to the tool, one at a time, and sees that each is answered.
class Typist {
 public:
  /// @param probe a key that does nothing but say `answer`, until the next key
  Typist(const TrialCourse& course, std::vector<std::string> arguments, std::string probe, std::string answer,
         int columns = widths.front())
      : terminal_(command(course, std::move(arguments)), options(course, columns)),
        probe_(std::move(probe)),
        answer_(std::move(answer)) {}

  ScreenRobot& terminal() { return terminal_; }

  /// The screen after this key was drawn, as quickly as a person expects.
  void press(const std::string& key) {
    if (::testing::Test::HasFatalFailure()) return;
    SCOPED_TRACE("key " + ::testing::PrintToString(key));
    const double before = processor_seconds(terminal_.pid());
    terminal_.type(key);
    ASSERT_GONE(terminal_, answer_);
    terminal_.type(probe_);
    ASSERT_SHOWS(terminal_, answer_);
    EXPECT_LT(processor_seconds(terminal_.pid()) - before, 2) << terminal_;
  }

  void press_all(const std::vector<std::string>& keys) {
    for (const auto& key : keys) press(key);
  }

  /// A key that brings something which waits for the next key.
  void press(const std::string& key, const std::string& brings) {
    if (!::testing::Test::HasFatalFailure()) type_and_see(terminal_, {{key, brings}});
  }

  /// Does something at each of these widths, and sees that no row is too wide.
  template <typename Act>
  void at_widths(const std::vector<int>& some_widths, Act act) {
    for (const int columns : some_widths) {
      SCOPED_TRACE(std::to_string(columns) + " columns");
      terminal_.resize(rows_at(columns), columns);
      press(key::escape);  // what comes after it is drawn for the new size
      const std::size_t drawn = terminal_.transcript().size();
      act();
      if (::testing::Test::HasFatalFailure()) return;
      const std::string widest = widest_row(terminal_.transcript().substr(drawn));
      ASSERT_LE(columns_of(widest), columns) << widest << "\n" << terminal_;
    }
  }

 private:
  static std::vector<std::string> command(const TrialCourse& course, std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {ATTN_TOOL, "--root", course.root().string()});
    return arguments;
  }

  static TerminalOptions options(const TrialCourse& course, int columns) {
    const std::string path = (course.root() / "bin").string() + ":" + std::getenv("PATH");
    return {rows_at(columns), columns, {{"PATH", path}, {"EDITOR", "true"}}};
  }

  ScreenRobot terminal_;
  std::string probe_;
  std::string answer_;
};

const std::vector<std::string> scrolling = {key::down, page_down, " ", end, key::up, page_up, home};
const std::vector<std::string> to_the_end = {page_down, end};

void wait_for_verdict(Typist& typist) {  // which has a bar: "3 of 24 checks"
  typist.terminal().type(key::escape);
  ASSERT_GONE(typist.terminal(), "Enter checks");
  ASSERT_SHOWS(typist.terminal(), " checks");
}

void open_solution(Typist& typist, bool solved) {
  if (solved) {
    typist.press("r", "y yes");
    typist.press_all({"n", "s"});
  } else {
    typist.press("r");
    typist.press("s", "y yes");
    typist.press("n");
    typist.press("s", "y yes");
    typist.press("y");
  }
}

/// The watch mode, in one lesson after the other: every key on every screen of the first and the last one, and the
/// beginning and the end of every screen of the others.
void walk_through_lessons(Answers answers) {
  const TrialCourse course(answers);
  const auto lessons = course.lessons();
  Typist typist(course, {}, "?", "Enter checks");
  for (std::size_t i = 0; i < lessons.size(); ++i) {
    SCOPED_TRACE(lessons[i].name);
    const bool first = i == 0;
    const bool every_key = first || i + 1 == lessons.size();
    typist.at_widths(widths_for(i), [&] {
      EXPECT_THAT(typist.terminal().screen(), StartsWith(lessons[i].number()));
      wait_for_verdict(typist);
      if (every_key) {
        typist.press_all(scrolling);
        typist.press(key::enter);
        wait_for_verdict(typist);
        typist.press_all({"h", "h", "h"});
        typist.press_all(scrolling);
        typist.press_all({"l", key::down, end, page_down, key::up, home, page_up, " ", key::escape});
      } else {
        typist.press_all({end, "h", "h", "h", end, "l"});
      }
      open_solution(typist, course.solved());
      typist.press_all(every_key ? scrolling : to_the_end);
      if (!every_key) return;
      typist.press_all({"s", course.solved() ? "c" + key::ctrl_c : "c", key::escape});
      typist.press_all({first ? "n" : "p", first ? "p" : "n"});  // to a neighbour, and back
    });
    if (::testing::Test::HasFatalFailure()) return;
    typist.press_all({"e", "n"});
  }
  typist.terminal().type("q");
  EXPECT_EQ(typist.terminal().wait_for_exit(patience), 0) << typist.terminal();
}

TEST(Screens, OfUntouchedLessonsAnswerEveryKey) { walk_through_lessons(Answers::stubs); }
TEST(Screens, OfSolvedLessonsAnswerEveryKey) { walk_through_lessons(Answers::solutions); }

/// An interview on every lesson: every key in the first and the last one, and every screen of the others.
void walk_through_interviews(Answers answers) {
  const TrialCourse course(answers);
  const auto lessons = course.lessons();
  for (std::size_t i = 0; i < lessons.size(); ++i) {
    const Lesson& lesson = lessons[i];
    SCOPED_TRACE(lesson.name);
    const bool every_key = i == 0 || i + 1 == lessons.size();
    Typist typist(course, {"interview", lesson.number()}, key::ctrl_c, "Nothing is running.");
    ASSERT_SHOWS(typist.terminal(), "e edit");
    Lesson page = lesson;
    page.work_folder = ".learn/interview";
    course.solve(page);
    typist.at_widths(widths_for(i), [&] {
      typist.press_all(every_key ? scrolling : to_the_end);
      typist.press("t");
      if (every_key) typist.press_all({"x", "h", "l", "s", "r", "p", "n", "?", key::enter, key::escape});
      typist.press("q", "y yes");
      typist.press("n");
    });
    typist.press("e");
    typist.press("c", course.solved() ? "s reference" : "t the task again");
    if (!course.solved()) {
      typist.at_widths(widths_for(i), [&] {
        typist.press_all(every_key ? scrolling : to_the_end);
        typist.press_all({"t", "t"});
      });
      typist.press("q", "y yes");
      typist.press("y", "s reference");
    }
    typist.at_widths(widths_for(i), [&] {
      typist.press("d");
      typist.press_all(every_key ? scrolling : to_the_end);
      typist.press_all({"d", "a", end, "n", "a"});
      if (every_key) typist.press_all({"n", "n", "x", key::enter, key::escape});
    });
    if (::testing::Test::HasFatalFailure()) return;
    typist.terminal().type("q");
    EXPECT_EQ(typist.terminal().wait_for_exit(patience), course.solved() ? 0 : 1) << typist.terminal();
  }
}

TEST(Screens, OfInterviewsWithBlankPagesAnswerEveryKey) { walk_through_interviews(Answers::stubs); }
TEST(Screens, OfInterviewsThatArePassedAnswerEveryKey) { walk_through_interviews(Answers::solutions); }

TEST(Screens, OfAReviewAnswerEveryKey) {
  const TrialCourse course(Answers::stubs);
  nlohmann::json cards;
  const nlohmann::json due = {
      {"due", learn::day_text(learn::today())}, {"repetitions", 0}, {"easiness", 2.5}, {"interval", 0}};
  for (const auto& lesson : course.lessons()) {
    cards[lesson.name] = due;
    for (const auto& question : lesson.questions()) cards[lesson.name + ": " + question.text] = due;
  }
  std::string scroll = "x";
  for (const auto& one : scrolling) scroll += one;

  for (const int columns : {widths.front(), 80, widths.back()}) {
    SCOPED_TRACE(std::to_string(columns) + " columns");
    put(course.root() / ".learn/state.json", nlohmann::json({{"version", 2}, {"cards", cards}}).dump());
    Typist typist(course, {"review"}, "", "", columns);
    for (std::size_t left = cards.size(), in_session = 10; left > 0; --left, --in_session) {
      SCOPED_TRACE(std::to_string(left) + " items left");
      if (in_session == 0) {
        ASSERT_SHOWS(typist.terminal(), "Enter next session");
        typist.terminal().type(scroll + key::enter);
        in_session = 10;
      }
      const std::size_t shown = std::min(in_session, left);
      ASSERT_SHOWS(typist.terminal(), "Review: " + counted(static_cast<int>(shown), "item").substr(0, 7));
      const bool question = typist.terminal().screen().find("y begin") == std::string::npos;
      typist.terminal().type(scroll);
      if (question) typist.press(key::enter, "0 to 5");
      typist.terminal().type(scroll + (question ? "4" : "n"));
    }
    EXPECT_EQ(typist.terminal().wait_for_exit(patience), 0) << typist.terminal();
    const std::string widest = widest_row(typist.terminal().transcript());
    EXPECT_LE(columns_of(widest), columns) << widest;
  }
}

}  // namespace
}  // namespace attn::tests
