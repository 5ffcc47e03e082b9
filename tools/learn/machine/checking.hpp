#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "judge/process.hpp"
#include "learn/commands/curriculum.hpp"
#include "learn/machine/build.hpp"
#include "learn/memory/state.hpp"
#include "lesson/lesson.hpp"

/// Building a learner's lesson, checking it, and what came of it.
namespace attn::learn {

/// What became of a lesson.
struct Verdict {
  enum class Kind {
    passed,
    failed,
    not_compiled,
    not_judged,  ///< the build or the program of checks is broken
    stopped,     ///< by Ctrl-C
  };
  struct Check {
    std::string name;   ///< "Suite.Check"
    std::string state;  ///< passed, failed, not_written, ended, stopped, not_run
    std::string text;   ///< what its failure says; empty when it passed
    std::string hint;   ///< the task or the lesson whose hints help
  };

  Kind kind = Kind::not_judged;
  std::string text;      ///< what to show: the compiler's words or the report of the checks
  std::string warnings;  ///< the compiler's, where it compiled
  std::vector<Check> checks;
  std::vector<std::string> mistakes;  ///< ids in the catalogue that were named

  int passed() const;
  int total() const { return static_cast<int>(checks.size()); }
  const Check* first_failing() const;

  /// A word for it: "passed", "failed", "does not compile", "could not be judged", "stopped".
  std::string word() const;
};

/// Something that takes a few programs one after the other, while the tool listens to the keyboard.
class Job {
 public:
  virtual ~Job() = default;

  /// For poll(): readable when there may be news.
  int wake_fd() const { return process_ ? process_->wake_fd() : -1; }

  /// Goes on as far as it can without waiting. True when it is finished.
  bool advance();

  /// What it is at, for somebody who waits: "building, step 3 of 14".
  std::string doing() const;

  /// Stops what runs, until resume() begins it anew: time that passes in between must not count against it.
  void pause();
  void resume();

  /// Stops it; it is finished then.
  virtual void stop() { process_.reset(); }

  /// Waits until it is finished. Ctrl-C stops the job and not the tool; Ctrl-Z pauses it. When it takes long, `tell`
  /// hears now and then what it is at.
  void wait(const std::function<void(const std::string&)>& tell);

 protected:
  void start(const std::string& what, const std::vector<std::string>& command, const std::filesystem::path& root,
             const std::filesystem::path& output, const std::optional<judge::ProcessLimits>& limits = {});

  /// Starts the first program.
  virtual void begin() = 0;

  /// The program is done; starts the next one or none.
  virtual void next(const judge::Process& ended) = 0;

 private:
  std::string what_;
  std::filesystem::path output_;
  std::unique_ptr<judge::Process> process_;
  bool paused_ = false;
};

/// Builds a lesson with what the learner wrote, and checks it.
class Judgement : public Job {
 public:
  /// @param preset of CMakePresets.json: how it is built
  explicit Judgement(lesson::Lesson lesson, std::string preset = "dev");
  ~Judgement() override;
  Judgement(const Judgement&) = delete;
  Judgement& operator=(const Judgement&) = delete;
  const Verdict& verdict() const { return verdict_; }
  void stop() override;

 private:
  void begin() override;
  void next(const judge::Process& ended) override;
  void build();
  void check();
  void finish(const judge::Process& checks);
  std::string why_no_report(const judge::Process& checks) const;

  lesson::Lesson lesson_;
  std::string preset_;
  std::string target_;
  std::filesystem::path folder_;
  std::filesystem::path own_;  ///< how this tool's files begin: another one may judge the same lesson beside us
  std::filesystem::path log_;
  std::filesystem::path report_;
  std::filesystem::path printed_;
  BuildSteps steps_;
  Verdict verdict_;
};

/// Measures the learner's code on a fixed size, and the reference beside it.
class SpeedTest : public Job {
 public:
  explicit SpeedTest(lesson::Lesson lesson);
  ~SpeedTest() override;

  /// One line; empty when nothing could be measured.
  const std::string& line() const { return line_; }

 private:
  enum class Stage { building, learner, reference };
  void begin() override;
  void next(const judge::Process& ended) override;

  lesson::Lesson lesson_;
  std::filesystem::path folder_;
  std::filesystem::path output_;
  Stage stage_ = Stage::building;
  double learner_ms_ = 0;
  std::string line_;
};

/// Notes a verdict down: how often judged, passed or not, which mistakes were named; and on a first pass, what there
/// will be to repeat.
void record(Store& store, const lesson::Lesson& lesson, const Verdict& verdict);

/// Notes down that hints of this level were read.
void note_hint(Store& store, const lesson::Lesson& lesson, int level);

/// A verdict in one line, beside where the lesson stood before: "✓ 01 self_attention_v1: 43 of 43 checks".
std::string summary(const lesson::Lesson& lesson, const Verdict& verdict, Standing before);

}  // namespace attn::learn
