#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "learn/machine/verdict.hpp"
#include "learn/memory/history.hpp"
#include "lesson/lesson.hpp"
#include "lesson/line.hpp"

/// What watch, interview and review show: from data to lines, without a terminal and without files.
namespace attn::learn {

constexpr int deepest_hint = 3;

/// The top of a page.
/// @param beside the title, such as a clock
Lines header_lines(const std::string& title, const std::string& below, const std::string& beside = "");

/// A job that runs: "building, step 3 of 14 ...". In plain style without its steps, each of which would be a new page.
std::string doing_line(const std::string& doing, bool plain, bool first_build);

/// @param goals what one can do after the lesson, for when it passed
/// @param speed the learner's beside the reference's, for when it passed
/// @param next_steps how far the learner has come, and what is next, for when it passed
Lines verdict_lines(const Verdict& verdict, const std::vector<std::string>& goals, const Line& speed,
                    const Lines& next_steps = {});

/// What somebody sees who has not written anything yet: no more than a terminal of 60 columns and 20 rows shows.
/// @param first where to begin
/// @param doing what runs meanwhile; may be empty
Lines welcome_lines(const Place& first, const std::string& doing);

/// The hints of these tasks, up to a level.
Lines hint_lines(const std::vector<lesson::Task>& tasks, int level);

/// The curriculum with a mark at one line.
/// @param at what is marked, for plain style, which repeats it in words; empty for a screen
Lines list_lines(Lines curriculum, std::size_t selected, const std::string& at);

/// What "check all" found so far.
/// @param not_started the lessons that were not checked, because nothing is written in them
/// @param running the lesson that is being checked and how far; empty: all are done
Lines all_lines(const Lines& done, const Lines& not_started, const std::string& running, const Line& progress);

using Keys = std::vector<std::pair<std::string, std::string>>;

/// Keys and what they do, in as many lines as it takes; none is broken between a key and its words.
Lines key_lines(const Keys& keys, int columns);

/// How many checks pass, what to read, and what to write.
/// @param files that the learner writes
Lines watch_status(const lesson::Lesson& lesson, const std::vector<std::string>& files,
                   const std::optional<Verdict>& verdict, int columns);

/// "12:05 left", "0:30 over".
std::string clock_text(double minutes_left);

/// How an interview went.
/// @param before the interviews on the lesson before this one
/// @param mistakes the sentences of those that were made
Lines result_lines(const InterviewRecord& interview, const Tries& before, const std::vector<std::string>& mistakes);

/// One of the follow-up questions. @param answered whether its answer is shown
Lines follow_up_lines(const std::vector<lesson::Question>& questions, std::size_t asked, bool answered);

/// A question of a review. @param answered whether its answer is shown, to be graded
Lines review_lines(const std::string& lesson, const lesson::Question& question, bool answered);

}  // namespace attn::learn
