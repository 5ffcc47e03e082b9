#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

/// What the course knows about its lessons: read from the lessons themselves, so that nothing is listed twice. Used by
/// the command-line tool and by the main of every lesson's checks.
namespace attn::lesson {

/// One place of an edit.
struct Change {
  std::string find;     ///< occurs in the file exactly once
  std::string replace;  ///< what is there instead
};

/// A change to a file of the solution, in one place or in several.
struct Edit {
  std::string id;
  std::string file;  ///< of the solution
  std::vector<Change> changes;
};

/// The text with all changes of an edit made.
/// @throws std::runtime_error when a `find` does not occur exactly once in `text`, or two of them overlap.
std::string apply(const Edit& edit, const std::string& text);

/// A well-known wrong answer: an entry of tests/NN_name/mistakes.json.
struct Mistake : Edit {
  std::string says;               ///< one sentence to the learner
  std::vector<std::string> also;  ///< ids that checks name themselves, and that are true of this one too
  bool named = true;              ///< false: values alone cannot tell it; `why` says why
  std::string why;
};

/// An answer that the catalogue does not know, written without looking at it: an entry of tests/NN_name/answers.json. They
/// measure the judge.
struct Answer : Edit {
  std::string what;                ///< what was done
  bool right = false;              ///< true: right in another style; false: wrong
  std::vector<std::string> names;  ///< ids of mistakes whose sentences are true of this answer
  std::string outcome;             ///< what the judge says of it: see gate/answers.hpp
  std::string why;                 ///< why a wrong one passes, or a right one is rejected, if so
};

/// One task of a lesson and its hints, from hints.md.
struct Task {
  std::string id;  ///< "01.2"
  std::string title;
  std::vector<std::string> levels;  ///< a question, the idea, almost the line
};

/// How often interviewers ask something: our estimate, to decide what to learn first.
enum class Asked { often, sometimes, rarely };

/// "often", "sometimes", "rarely".
std::string word_of(Asked asked);

/// A question of a chapter's interview corner, with the answer that is folded away there, and what interview.md says of
/// it.
struct Question {
  std::string text;
  std::string answer;
  Asked asked = Asked::sometimes;
  std::string senior = {};  ///< what a senior interviewer expects beyond the answer; empty when nothing is said
};

/// What studying a lesson takes, as the chapter says in `<!-- study: 75 minutes | often asked | after 00, 01 -->`.
struct Study {
  int minutes = 0;  ///< to read, write and debug; 0 when the chapter does not say it
  Asked asked = Asked::sometimes;
  std::vector<std::string> after;  ///< numbers of the lessons that are needed first
};

/// What an interviewer says who gives the lesson's task, from interview.md.
struct InterviewBrief {
  int minutes;  ///< what a prepared person needs for a good try
  std::string text;
};

/// Where the pieces of one lesson are, and what is in them.
struct Lesson {
  std::filesystem::path root;           ///< the course's folder
  std::string name;                     ///< "01_self_attention_v1"
  std::string work_folder = "lessons";  ///< below `root`: where the learner writes; another folder in an interview

  std::string number() const;  ///< "01"
  std::string title() const;   ///< "01 self_attention_v1"

  bool in_interview() const { return work_folder != "lessons"; }

  /// The targets that build its checks, linked with the learner's files ("lesson_01", or "interview_01" in an
  /// interview) and with the reference ("solution_01_test"), and its demonstration ("demo_01").
  std::string program() const { return (in_interview() ? "interview_" : "lesson_") + number(); }
  std::string solution_program() const { return "solution_" + number() + "_test"; }
  std::string demo_program() const { return "demo_" + number(); }

  std::filesystem::path folder() const { return root / "lessons" / name; }
  std::filesystem::path solution_folder() const { return root / "solutions" / name; }
  std::filesystem::path chapter_file() const { return folder() / "README.md"; }
  std::filesystem::path hints_file() const { return folder() / "hints.md"; }
  std::filesystem::path interview_file() const { return folder() / "interview.md"; }
  std::filesystem::path test_folder() const { return root / "tests" / name; }
  std::filesystem::path checks_file() const { return test_folder() / "checks.cpp"; }
  std::filesystem::path golden_file() const { return test_folder() / "golden.json"; }
  std::filesystem::path mistakes_file() const { return test_folder() / "mistakes.json"; }
  std::filesystem::path answers_file() const { return test_folder() / "answers.json"; }
  std::filesystem::path recordings_file() const { return test_folder() / "recorded.json"; }
  std::filesystem::path operations_file() const { return test_folder() / "operations.json"; }
  std::filesystem::path adapter_file() const { return test_folder() / "adapter.cpp"; }  ///< of a blank class only
  std::filesystem::path stub_folder() const { return test_folder() / "stub"; }

  /// The pristine stub that one of the learner's files began as.
  std::filesystem::path stub_of(const std::string& file) const;

  /// The files that the learner edits, in order, as the learner sees them ("lessons/00_warm_up/linear.cpp").
  std::vector<std::string> stub_files() const;

  /// The ids of the tasks in one of these files, as its stub names them.
  std::vector<std::string> tasks_in(const std::string& file) const;

  /// How many checks the lesson has.
  /// @throws std::runtime_error naming the file of the checks when it cannot be read.
  int count_checks() const;

  /// The file that a suite of checks judges: the stub whose name in CamelCase begins the suite's name or is begun by
  /// it, or the lesson's only stub, or the one with a task that a section with such checks names, or else the lesson's
  /// folder.
  std::string judged_file(const std::string& suite) const;

  /// The task of each check, "Suite.Check": the one that the section of checks.cpp names in which it stands. Checks in
  /// other sections are left out.
  std::map<std::string, std::string> tasks_of_checks() const;

  /// The chapter's first heading, without the number.
  std::string subject() const;

  /// With it: "01 · Self-attention: the formula, once".
  std::string heading() const { return number() + " · " + subject(); }

  /// @throws std::runtime_error naming the file when it cannot be read or is not as it should be.
  std::vector<Task> tasks() const;
  std::vector<Mistake> mistakes() const;

  /// None when there is no such file. Their ids begin with "answer.".
  /// @throws std::runtime_error naming the file when it is not as it should be.
  std::vector<Answer> answers() const;

  /// Of all mistakes and answers.
  std::vector<Edit> edits() const;

  /// What `./learn train --break` calls a mistake of this lesson: "24.row_sum_forgotten". Empty where it does not show what
  /// the mistake does: in other lessons, in a file that its model does not use, or in programs/train_break/no_effect.txt.
  std::string break_name(const Mistake& mistake) const;

  /// The bullets of the chapter's "What you will be able to do", each as one line.
  /// @throws std::runtime_error naming the file when it cannot be read.
  std::vector<std::string> goals() const;

  /// @throws std::runtime_error naming the file when it cannot be read.
  Study study() const;

  /// What interview.md says of each question, by its text; none when it says nothing of questions.
  /// @throws std::runtime_error naming the file when it cannot be read or is not as it should be.
  std::map<std::string, Question> remarks() const;

  /// The questions of the chapter's interview corner; none when it has no such section.
  /// @throws std::runtime_error naming the file when it cannot be read, a question is not closed, or a remark is not as it should be.
  std::vector<Question> questions() const;

  /// @throws std::runtime_error naming the file when it cannot be read, or does not begin with its minutes.
  InterviewBrief interview() const;
};

/// @param file in the lesson's folder of tests: .../tests/NN_name/checks.cpp
Lesson lesson_of(const std::filesystem::path& file);

/// All lessons of a course, by number.
std::vector<Lesson> find_lessons(const std::filesystem::path& root);

/// A lesson by "1", "01", "self_attention_v1" or "01_self_attention_v1".
/// @throws std::invalid_argument naming what was asked for and which lessons there are.
Lesson find_lesson(const std::filesystem::path& root, const std::string& wanted);

/// "SplitHeads" for "split_heads".
std::string camel_case(const std::string& snake);

/// A JSON file.
/// @throws std::runtime_error naming the file when it cannot be read or is no JSON.
nlohmann::json read_json(const std::filesystem::path& file);

/// The whole of a text file.
/// @throws std::runtime_error naming the file.
std::string read_file(const std::filesystem::path& file);

}  // namespace attn::lesson
