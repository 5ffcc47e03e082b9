// Interviews and reviews as somebody sees them who sits before a terminal, on the built copy of the course.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "course_copy.hpp"
#include "learn/memory/schedule.hpp"
#include "lesson/lesson.hpp"
#include "lesson/text.hpp"
#include "run/process.hpp"
#include "scratch.hpp"
#include "screen_robot.hpp"

namespace attn::tests {
namespace {

using lesson::Lesson;
using lesson::read_file;
using lesson::read_json;

namespace fs = std::filesystem;
using learn::day_text;
using learn::today;
using nlohmann::json;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

const std::string first_lesson = "01_self_attention_v1";
const std::string blank_class = "05_interview_self_attention";
const std::string page_01 = ".learn/interview/01_self_attention_v1/self_attention_v1.cpp";
const std::string page_05 = ".learn/interview/05_interview_self_attention/self_attention_interview.hpp";
const std::string own_05 = "lessons/05_interview_self_attention/self_attention_interview.hpp";
const std::string solution_01 = "solutions/01_self_attention_v1/self_attention_v1.cpp";
const std::string solution_05 = "solutions/05_interview_self_attention/self_attention_interview.hpp";

/// The copy of the course, put back, with this state.
fs::path copy_with(const json& state) {
  const fs::path copy = fresh_course_copy();
  json file = state;
  file["version"] = 2;
  put(copy / ".learn/state.json", file.dump());
  return copy;
}

json state_of(const fs::path& copy) { return read_json(copy / ".learn/state.json"); }

/// The seconds that the clock in the corner shows; -1 where there is none.
int seconds_left(ScreenRobot& terminal) {
  static const std::regex clock(" ([0-9]+):([0-9]{2}) left");
  const std::string screen = terminal.screen();
  std::smatch found;
  return std::regex_search(screen, found, clock) ? std::stoi(found[1]) * 60 + std::stoi(found[2]) : -1;
}

bool counts_down(ScreenRobot& terminal) {
  int before = -1;
  for (double waited = 0; waited < patience; waited += 0.1) {
    const int now = seconds_left(terminal);  // -1 while the screen is half drawn
    if (now > 0 && now < before) return true;
    before = std::max(before, now);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  return false;
}

/// Ends the program by its key.
void quit(ScreenRobot& terminal, int exit_code = 0) {
  terminal.type("q");
  EXPECT_EQ(terminal.wait_for_exit(), exit_code) << terminal;
}

/// A beginning of a text that is not broken over two lines.
std::string beginning(const std::string& text) { return text.substr(0, 28); }

std::vector<std::string> backups_of(const fs::path& copy) {
  std::vector<std::string> names;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(copy / ".learn/backup", none)) {
    names.push_back(entry.path().filename().string());
  }
  return names;
}

json interview_on(const std::string& lesson, const std::string& day, double minutes, bool passed) {
  return {{"lesson", lesson}, {"when", day + "T09:00:00+0100"}, {"minutes", minutes}, {"limit", 15}, {"checks", 1},
          {"passed", passed}};
}

json card_due(long day, int repetitions = 0, double easiness = 2.5, int interval = 0) {
  return {{"repetitions", repetitions}, {"easiness", easiness}, {"interval", interval}, {"due", day_text(day)}};
}

// --------------------------------------------------------------------------------------------------- interviews

/// Opens the answer to each follow-up question.
void answer_aloud(ScreenRobot& terminal, const std::vector<lesson::Question>& questions) {
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_SHOWS(terminal, "Follow-up question " + std::to_string(i + 1) + " of 3");
    EXPECT_SHOWS(terminal, beginning(questions[i].text));
    EXPECT_THAT(terminal.screen(), Not(HasSubstr(beginning(questions[i].answer))));
    type_and_see(terminal, {{"a", beginning(questions[i].answer)}});
    terminal.type("n");
  }
  EXPECT_SHOWS(terminal, "Follow-up question 3 of 3");
}

void expect_a_pass_after_an_unscaled_answer(const json& state, const std::string& first_question) {
  ASSERT_THAT(state["interviews"], SizeIs(1));
  const json& record = state["interviews"][0];
  EXPECT_EQ(record["lesson"], blank_class);
  EXPECT_EQ(record["passed"], true);
  EXPECT_EQ(record["checks"], 2);
  EXPECT_EQ(record["limit"], 15);
  EXPECT_GT(record["minutes"], 0.0);
  EXPECT_EQ(record["mistakes"], json::array({"unscaled"}));
  EXPECT_EQ(state["cards"][blank_class]["due"], day_text(today() + 1));
  EXPECT_EQ(state["cards"][blank_class]["easiness"], 2.5) << "4 leaves it as it was";
  EXPECT_EQ(state["cards"][blank_class + ": " + first_question]["due"], day_text(today() + 1));
  EXPECT_EQ(state["days"], json::array({day_text(today())}));
}

TEST(MockInterview, IsPassedAfterAMistakeThatWasNamed) {
  const fs::path copy = fresh_course_copy();
  const std::string own = "// what I wrote in the lesson\n" + read_file(copy / own_05);
  put(copy / own_05, own);
  const auto questions = Lesson{copy, blank_class}.questions();
  ASSERT_GE(questions.size(), 3u);

  ScreenRobot terminal(tool_on_copy({"interview", "05"}), {40, 100});
  for (const std::string text :
       {"Interview: 05 interview_self_attention, 14:", "Write self-attention from a blank page", "0 checks used",
        "write  .learn/interview/05"}) {
    ASSERT_SHOWS(terminal, text);
  }
  EXPECT_TRUE(counts_down(terminal)) << terminal;
  EXPECT_THAT(read_file(copy / page_05), AllOf(HasSubstr("class SelfAttentionInterview {};"), Not(HasSubstr("TODO"))));

  put(copy / page_05, with_mistake(Lesson{copy, blank_class}, "unscaled"));
  type_and_see(terminal, {{"c", "checks passed"}});
  EXPECT_SHOWS(terminal, "1 check used");
  EXPECT_SHOWS(terminal, "  got   ");
  EXPECT_SHOWS(terminal, "where   " + page_05);
  EXPECT_THAT(terminal.screen(), AllOf(Not(HasSubstr("learn hint")), Not(HasSubstr("likely")), Not(HasSubstr(own_05))));

  type_and_see(terminal, {{"t", "Write self-attention from a blank page"}, {"t", "  got   "}});
  fs::copy_file(copy / solution_05, copy / page_05, fs::copy_options::overwrite_existing);
  type_and_see(terminal, {{"c", "Passed: "}});
  EXPECT_SHOWS(terminal, "minutes of 15, 2 checks used");
  EXPECT_SHOWS(terminal, "A personal best. 1 attempt so far.");
  EXPECT_SHOWS(terminal, "mistake  the scores are not divided by √D");
  EXPECT_EQ(seconds_left(terminal), -1) << "the clock is gone";
  answer_aloud(terminal, questions);
  type_and_see(terminal, {{"d", "yours: self_attention_interview.hpp"},
                          {"d", "Follow-up question 3 of 3"},
                          {"s", "the reference"}});  // as in the watch mode
  quit(terminal);

  expect_a_pass_after_an_unscaled_answer(state_of(copy), questions[0].text);
  EXPECT_EQ(read_file(copy / own_05), own);
}

TEST(MockInterview, GoesOnWhenTheTimeIsOverAndCountsAsLate) {
  const fs::path copy = copy_with({{"interviews", {interview_on(first_lesson, "2026-11-01", 0.01, true)}}});
  put(copy / page_01, "// what I wrote last time\n");

  ScreenRobot terminal(tool_on_copy({"interview", "01", "--minutes", "0.05"}), {40, 100});
  ASSERT_SHOWS(terminal, "Interview: 01 self_attention_v1");
  EXPECT_SHOWS(terminal, "Time is up. Go on if you like: it counts as late.");
  EXPECT_SHOWS(terminal, " over");
  fs::copy_file(copy / solution_01, copy / page_01, fs::copy_options::overwrite_existing);
  type_and_see(terminal, {{"c", "Passed, late: "}});
  EXPECT_SHOWS(terminal, "minutes of 0.05, 1 check used");
  EXPECT_SHOWS(terminal, "Your best: 0.0 minutes, on 2026-11-01. 2 attempts so far.");
  const auto questions = Lesson{copy, first_lesson}.questions();
  EXPECT_SHOWS(terminal, beginning(questions[3 % questions.size()].text));  // others than last time
  quit(terminal);

  const json state = state_of(copy);
  ASSERT_THAT(state["interviews"], SizeIs(2));
  EXPECT_EQ(state["interviews"][1]["passed"], true);
  EXPECT_DOUBLE_EQ(state["cards"][first_lesson]["easiness"], 2.36) << "late is worth a 3";
  ASSERT_THAT(backups_of(copy), ElementsAre(HasSubstr("_interview_01")));
  EXPECT_EQ(read_file(copy / ".learn/backup" / backups_of(copy)[0] / page_01), "// what I wrote last time\n");
}

TEST(MockInterview, CountsAsNotPassedWhenGivenUpAndAsksBefore) {
  const fs::path copy = copy_with({{"cards", {{blank_class, card_due(today() + 9, 3, 2.5, 15)}}}});
  ScreenRobot terminal(tool_on_copy({"interview", "05"}), {30, 100});
  ASSERT_SHOWS(terminal, " 14:");
  type_and_see(terminal, {{"q", "Hand it in as it is? It counts as not passed."}});
  EXPECT_TRUE(counts_down(terminal)) << "the clock stays while it asks\n" << terminal;
  type_and_see(terminal,
               {{"n", "Write self-attention from a blank page"}, {"q", "Hand it in as it is?"}, {"y", "Not passed: "}});
  EXPECT_SHOWS(terminal, "minutes of 15, 0 checks used");
  EXPECT_SHOWS(terminal, "1 attempt so far; none passed yet.");
  EXPECT_SHOWS(terminal, "Follow-up question 1 of 3");
  quit(terminal, 1);
  const json state = state_of(copy);
  ASSERT_THAT(state["interviews"], SizeIs(1));
  EXPECT_EQ(state["interviews"][0]["passed"], false);
  EXPECT_EQ(state["cards"][blank_class]["due"], day_text(today())) << "a failure brings it back, however early";
  EXPECT_EQ(state["cards"][blank_class]["repetitions"], 0);
  const std::string due = "Due today: 1 item.";
  EXPECT_THAT(judge::ask(tool_on_copy({"stats"}), copy).output, HasSubstr("review      " + due));
  EXPECT_THAT(judge::ask(tool_on_copy({"review"}), copy).output, HasSubstr(due));
}

TEST(MockInterview, CountsNoCheckThatDoesNotCompile) {
  const fs::path copy = fresh_course_copy();
  ScreenRobot terminal(tool_on_copy({"interview", "01"}), {40, 100});
  ASSERT_SHOWS(terminal, "0 checks used");
  put(copy / page_01, "not C++\n");
  type_and_see(terminal, {{"c", "It does not compile yet. That does not count as a check."}});
  EXPECT_SHOWS(terminal, "0 checks used");
  fs::copy_file(copy / solution_01, copy / page_01, fs::copy_options::overwrite_existing);
  type_and_see(terminal, {{"c", "Passed: "}});
  EXPECT_SHOWS(terminal, "1 check used");
}

/// The number of the lesson that an interview by chance is on.
std::string drawn() {
  ScreenRobot terminal(tool_on_copy({"interview", "--random"}));
  EXPECT_TRUE(terminal.wait_for("Interview: ")) << terminal;
  const std::string screen = terminal.screen();
  return screen.substr(screen.find("Interview: ") + 11, 2);
}

TEST(MockInterview, IsByChanceOnALessonThatPassedOrWhileFewDidOnAnImportantOne) {
  const fs::path copy = fresh_course_copy();
  EXPECT_EQ(lesson::find_lesson(copy, drawn()).study().asked, lesson::Asked::often);
  const json passed = {{"first_passed", "2026-11-01T09:00:00+0100"}, {"passing", true}};
  copy_with({{"lessons", {{first_lesson, passed}, {"02_fused_qkv", passed}, {blank_class, passed}}},
             {"interviews", {interview_on(first_lesson, "2026-11-03", 12, true)}}});
  for (int i = 0; i < 5; ++i) EXPECT_THAT(drawn(), testing::AnyOf("02", "05")) << "the last one was on 01";
}

TEST(MockInterview, GoesOnWhenCtrlCStopsACheck) {
  fresh_course_copy();
  ScreenRobot terminal(tool_on_copy({"interview", "05"}), {30, 100});
  ASSERT_SHOWS(terminal, " 14:");
  type_and_see(terminal, {{"c" + key::ctrl_c, "The check was stopped."}});
  EXPECT_SHOWS(terminal, "Write self-attention from a blank page");
  EXPECT_SHOWS(terminal, " 14:");
  type_and_see(terminal, {{key::ctrl_c, "Nothing is running. q hands in."},
                          {"qy", "Not passed: "},
                          {key::ctrl_c, "Nothing is running. q quits."}});
  quit(terminal, 1);
}

TEST(MockInterview, IsPlainTextInAsciiWhenThatIsWanted) {
  const fs::path copy = fresh_course_copy();
  ScreenRobot terminal(tool_on_copy({"interview", "01", "--plain"}), {60, 80, {{"LC_ALL", "C"}}});
  ASSERT_SHOWS(terminal, "Interview: 01 self_attention_v1, 14:5");
  EXPECT_SHOWS(terminal, "Write self-attention for me");
  type_and_see(terminal, {{"c", "01 self_attention_v1 - to do: 01.1"}, {"qy", "Not passed: "}});
  quit(terminal, 1);
  const std::string all = terminal.transcript();
  EXPECT_EQ(all.find('\x1b'), std::string::npos);
  EXPECT_TRUE(terminal.is_ascii());
  const std::string checking = "checking ...";
  const auto once = all.find(checking);
  EXPECT_NE(once, std::string::npos);
  EXPECT_EQ(all.find(checking, once + 1), std::string::npos) << "it is written once, however long it takes";
}

TEST(MockInterview, IsOnTheLessonWhoseTurnItIs) {
  const json failed = interview_on(blank_class, "2026-11-01", 12, false);
  const json passed = interview_on(blank_class, "2026-11-01", 12, true);
  const json all = {interview_on("99_gone", "2026-11-01", 12, true), interview_on(blank_class, "2026-11-02", 12, true),
                    interview_on(first_lesson, "2026-11-03", 12, true),
                    interview_on("12_interview_multi_head", "2026-11-04", 12, true),
                    interview_on(blank_class, "2026-11-05", 12, true)};
  const std::vector<std::pair<json, std::string>> turns = {
      {json::array({failed}), "05"}, {json::array({passed}), "12"}, {all, "01"}};
  for (const auto& [interviews, next] : turns) {
    copy_with({{"interviews", interviews}});
    ScreenRobot terminal(tool_on_copy({"interview"}));
    EXPECT_SHOWS(terminal, "Interview: " + next + " ");
  }
}

TEST(MockInterview, TakesOnlyWhatTheLessonBeginsWith) {
  const fs::path copy = fresh_course_copy();
  put(copy / "lessons" / first_lesson / "notes.cpp", "mine");
  fs::remove(copy / "lessons" / first_lesson / "self_attention_v1.cpp");
  ScreenRobot terminal(tool_on_copy({"interview", "01"}));
  ASSERT_SHOWS(terminal, "write  " + page_01);
  EXPECT_FALSE(fs::exists(copy / ".learn/interview" / first_lesson / "notes.cpp"));
}

// ------------------------------------------------------------------------------------------------------ reviews

/// The questions of lesson 01, and their cards.
std::vector<lesson::Question> questions_01() { return Lesson{ATTN_ROOT, first_lesson}.questions(); }
std::string card_of(std::size_t question) { return first_lesson + ": " + questions_01().at(question).text; }

judge::Answer ask_review(const std::vector<std::string>& options, const fs::path& copy) {
  std::vector<std::string> arguments = {"review"};
  arguments.insert(arguments.end(), options.begin(), options.end());
  return judge::ask(tool_on_copy(arguments), copy);
}

TEST(Review, AsksAndMovesTheDatesAsSm2Says) {
  auto questions = questions_01();
  questions.resize(2);
  std::sort(questions.begin(), questions.end(), [](const auto& a, const auto& b) { return a.text < b.text; });
  const std::string known = first_lesson + ": " + questions[0].text;
  const std::string forgotten = first_lesson + ": " + questions[1].text;
  const fs::path copy =
      copy_with({{"cards", {{known, card_due(today() - 1, 1, 2.5, 1)}, {forgotten, card_due(today(), 2, 2.5, 6)}}}});

  ScreenRobot terminal(tool_on_copy({"review"}), {40, 100});
  ASSERT_SHOWS(terminal, "Review: 2 items to go");
  EXPECT_SHOWS(terminal, beginning(questions[0].text));
  EXPECT_SHOWS(terminal, "Say your answer aloud.");
  EXPECT_THAT(terminal.screen(), Not(HasSubstr(beginning(questions[0].answer))));
  type_and_see(terminal, {{"5a", beginning(questions[0].answer)}});
  EXPECT_SHOWS(terminal, "How was yours?");
  type_and_see(terminal, {{"5", beginning(questions[1].text)}});
  EXPECT_SHOWS(terminal, "Review: 1 item to go");
  type_and_see(terminal, {{"a2", "Say your answer aloud."}});  // again, until it is graded 4
  EXPECT_SHOWS(terminal, "Review: 1 item to go");
  EXPECT_SHOWS(terminal, beginning(questions[1].text));
  const std::string next = "The next review is due on " + day_text(today() + 1);
  type_and_see(terminal, {{"a4", "Reviewed 2 items. Nothing is due today. " + next}});
  EXPECT_EQ(terminal.wait_for_exit(), 0) << terminal;

  const json cards = state_of(copy)["cards"];
  EXPECT_EQ(cards[known], card_due(today() + 6, 2, 2.6, 6));
  EXPECT_EQ(cards[forgotten], card_due(today() + 1, 0, 2.5, 1)) << "the second answer of the day changes no date";
  EXPECT_EQ(state_of(copy)["days"], json::array({day_text(today())}));
}

TEST(Review, OffersTheInterviewOfALessonThatIsDue) {
  const fs::path copy =
      copy_with({{"cards", {{first_lesson, card_due(today())}, {blank_class, card_due(today(), 2, 2.5, 6)}}}});
  ScreenRobot terminal(tool_on_copy({"review"}), {40, 100});
  ASSERT_SHOWS(terminal, "01 · Self-attention: ");
  EXPECT_SHOWS(terminal, "Write it from blank, as an interview of 15 minutes.");
  type_and_see(terminal, {{"n", "05 · Interview: "}, {"y", "Interview: 05 interview_self_attention"}});
  EXPECT_SHOWS(terminal, " 14:");
  type_and_see(terminal, {{"qy", "Not passed: "}, {"q", "Reviewed 1 item. Due today: 2 items."}});
  EXPECT_EQ(terminal.wait_for_exit(), 0) << terminal;
  const json cards = state_of(copy)["cards"];
  EXPECT_EQ(cards[first_lesson]["due"], day_text(today()));
  EXPECT_EQ(cards[blank_class]["due"], day_text(today()));
  EXPECT_EQ(cards[blank_class]["repetitions"], 0);
}

TEST(Review, AsksALessonsQuestionsThoughTheyAreNotDue) {
  const json later = card_due(today() + 9, 3, 2.5, 15);
  const fs::path copy = copy_with({{"cards", {{card_of(0), later}, {card_of(1), later}, {blank_class, later}}}});
  ScreenRobot terminal(tool_on_copy({"review", "--lesson", "01"}), {40, 100});
  const auto questions = questions_01();
  ASSERT_SHOWS(terminal, "01 self_attention_v1, often asked");
  EXPECT_SHOWS(terminal, beginning(questions[0].text));
  type_and_see(terminal, {{"a", "A senior interviewer expects:"}});
  EXPECT_SHOWS(terminal, beginning(questions[0].senior));
  type_and_see(terminal, {{"5", beginning(questions[1].text)},
                          {"a1", beginning(questions[2].text)},
                          {"q", "Stopped: 2 items reviewed, " + std::to_string(questions.size()) + " left."}});
  const json cards = state_of(copy)["cards"];
  EXPECT_EQ(cards[card_of(0)], later) << "a right answer before its day changes nothing";
  EXPECT_EQ(cards[card_of(1)]["due"], day_text(today() + 1));
}

TEST(Review, OfAllAsksWhatPassedAndWhatIsAskedMostFirst) {
  const json passed = {{"first_passed", "2026-11-01T09:00:00+0100"}, {"passing", true}};
  const fs::path copy = copy_with({{"lessons", {{"03_masking", passed}}}});
  const auto lines = lines_of(ask_review({"--all"}, copy).output);
  std::size_t questions = 0;
  for (const auto& lesson : lesson::find_lessons(copy)) questions += lesson.questions().size();
  ASSERT_THAT(lines, SizeIs(1 + questions + 1));
  EXPECT_EQ(lines[0], std::to_string(questions + 1) + " items:");
  const auto own = lesson::find_lesson(copy, "03").questions();
  for (std::size_t i = 1; i <= own.size(); ++i) EXPECT_THAT(lines[i], StartsWith("  03 masking: "));
  EXPECT_THAT(lines[own.size() + 1], StartsWith("  00 warm_up: ")) << "those of lessons that are not passed";
  const auto place = [&](lesson::Asked asked) {  // of the first one that is asked so often
    const auto found = std::find_if(own.begin(), own.end(), [&](const auto& one) { return one.asked == asked; });
    return std::find(lines.begin(), lines.end(), "  03 masking: " + found->text);
  };
  EXPECT_LT(place(lesson::Asked::often), place(lesson::Asked::sometimes));
  EXPECT_EQ(lines.back(), "  03 masking: write it from blank");
}

TEST(Review, OfWhatIsWeakAsksWhatFailedOrIsHard) {
  const json made = {{"mistakes", {{"unscaled", 2}}}};
  const fs::path copy = copy_with({{"lessons", {{"07_multi_head_attention", made}}},
                                   {"cards",
                                    {{card_of(0), card_due(today() + 1, 0, 2.5, 1)},
                                     {card_of(1), card_due(today() + 5, 2, 2.36, 6)},
                                     {card_of(2), card_due(today() + 5, 2, 2.6, 6)},
                                     {card_of(3), card_due(today() + 1)}}}});
  const auto lines = lines_of(ask_review({"--weak"}, copy).output);
  const auto questions = questions_01();
  EXPECT_THAT(lines, ElementsAre("3 items:", "  01 self_attention_v1: " + questions[0].text,
                                 "  01 self_attention_v1: " + questions[1].text,
                                 "  07 multi_head_attention: write it from blank"));
  EXPECT_THAT(ask_review({"--weak"}, fresh_course_copy()).output, HasSubstr("Nothing is weak"));
}

TEST(Review, OfWhatIsNewLeavesOutWhatWasAsked) {
  const fs::path copy = copy_with({{"cards", {{card_of(0), card_due(today() + 1)}}}});
  const std::string text = questions_01()[0].text;
  EXPECT_THAT(ask_review({"--all"}, copy).output, HasSubstr(text + "\n"));
  const std::string fresh = ask_review({"--new"}, copy).output;
  EXPECT_THAT(fresh, AllOf(HasSubstr("  01 self_attention_v1: "), Not(HasSubstr(text + "\n"))));
  EXPECT_THAT(fresh, Not(HasSubstr("write it from blank")));
  const auto plan = judge::ask(tool_on_copy({"plan", "--until", "tomorrow", "--hours", "9"}), copy);
  EXPECT_THAT(plan.output, HasSubstr("./learn review: 1 question asked before will be due again"));
}

TEST(Review, OffersAsManyQuestionsAsAPlanSays) {
  const fs::path copy = fresh_course_copy();
  const auto lines = lines_of(ask_review({"--lesson", "01", "--questions", "3"}, copy).output);
  const auto questions = questions_01();
  ASSERT_EQ(questions[2].asked, lesson::Asked::often);
  EXPECT_THAT(lines, ElementsAre("3 items:", "  01 self_attention_v1: " + questions[0].text,
                                 "  01 self_attention_v1: " + questions[1].text,
                                 "  01 self_attention_v1: " + questions[2].text));

  const auto plan = judge::ask(tool_on_copy({"plan", "--until", "tomorrow", "--hours", "9"}), copy);
  const std::string command = "./learn ";
  int reviews = 0;
  for (const std::string& line : lines_of(plan.output)) {
    const auto at = line.find(command + "review");
    if (at == std::string::npos) continue;
    ++reviews;
    std::istringstream words(line.substr(at + command.size()));
    const std::vector<std::string> arguments{std::istream_iterator<std::string>(words), {}};
    const auto offered = lines_of(judge::ask(tool_on_copy(arguments), copy).output);
    EXPECT_EQ(offered.at(0), counted(std::stoi(arguments.back()), "item") + ":") << line;
  }
  EXPECT_GT(reviews, 2);
  EXPECT_THAT(plan.output, HasSubstr("./learn review --new --questions "));
}

TEST(Review, TakesOneChoice) {
  const fs::path copy = fresh_course_copy();
  EXPECT_EQ(ask_review({"--all", "--weak"}, copy).exit_code, 2);
  EXPECT_EQ(ask_review({"--all", "--lesson", "01"}, copy).exit_code, 2);
  EXPECT_EQ(ask_review({"--new", "--lesson", "01"}, copy).exit_code, 2);
  EXPECT_EQ(judge::ask(tool_on_copy({"interview", "01", "--random"}), copy).exit_code, 2);
}

TEST(Review, ListsWhatIsDueWithoutATerminal) {
  const std::string question = questions_01().at(0).text;
  const fs::path copy = copy_with({{"cards", {{card_of(0), card_due(today())}, {blank_class, card_due(today() - 3)}}}});
  const auto [exit_code, output] = ask_review({}, copy);
  EXPECT_EQ(exit_code, 0);
  EXPECT_THAT(output, AllOf(HasSubstr("Due today: 2 items.\n"), HasSubstr("  01 self_attention_v1: " + question + "\n"),
                            HasSubstr("  05 interview_self_attention: write it from blank\n"), Not(HasSubstr("\x1b"))));
}

TEST(Review, SaysWhenNothingIsDue) {
  const json gone = {{"99_gone", card_due(today())},
                     {"99_gone: why?", card_due(today() + 1)},
                     {first_lesson + ": what was asked once?", card_due(today())}};
  const json later = {{blank_class, card_due(today() + 3)}};
  const std::string next = "Nothing is due today. The next review is due on " + day_text(today() + 3) +
                           ".\nTo practise all the same: ./learn review --all, --weak or --lesson 07.\n";
  const std::vector<std::pair<json, std::string>> cases = {
      {json::object(), "Nothing to review yet"}, {gone, "Nothing to review yet"}, {later, next}};
  for (const auto& [cards, words] : cases) {
    const fs::path copy = copy_with({{"cards", cards}});
    const auto [exit_code, output] = ask_review({}, copy);
    EXPECT_EQ(exit_code, 0);
    EXPECT_THAT(output, StartsWith(words)) << cards;
    EXPECT_EQ(state_of(copy)["cards"], cards) << "lessons and questions that are gone may come back";
  }
}

}  // namespace
}  // namespace attn::tests
