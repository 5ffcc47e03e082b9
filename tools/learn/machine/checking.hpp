#pragma once

#include <filesystem>
#include <string>

#include "learn/machine/build.hpp"
#include "learn/machine/job.hpp"
#include "learn/machine/verdict.hpp"
#include "lesson/lesson.hpp"

namespace attn::learn {

/// Builds a lesson with what the learner wrote, and checks it.
class Judgement : public Job {
 public:
  /// @param sanitized with AddressSanitizer and UndefinedBehaviorSanitizer in the learner's files
  explicit Judgement(lesson::Lesson lesson, bool sanitized = false);
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
  std::filesystem::path file(const std::string& extension) const;
  Line not_judged(const std::string& why) const;
  Lines why_no_report(const judge::Process& checks) const;

  lesson::Lesson lesson_;
  bool sanitized_;
  std::string target_;
  std::filesystem::path folder_;
  BuildSteps steps_;
  Verdict verdict_;
};

/// Measures the learner's code on a fixed size, and the reference beside it.
class SpeedTest : public Job {
 public:
  explicit SpeedTest(lesson::Lesson lesson);
  ~SpeedTest() override;

  /// Empty when nothing could be measured.
  const Line& line() const { return line_; }

 private:
  enum class Stage { building, learner, reference };
  void begin() override;
  void next(const judge::Process& ended) override;

  lesson::Lesson lesson_;
  std::filesystem::path folder_;
  std::filesystem::path output_;
  Stage stage_ = Stage::building;
  double learner_ms_ = 0;
  Line line_;
};

}  // namespace attn::learn
