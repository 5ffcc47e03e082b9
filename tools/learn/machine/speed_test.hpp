#pragma once

#include <filesystem>
#include <string>

#include "learn/machine/job.hpp"
#include "lesson/lesson.hpp"
#include "lesson/line.hpp"

namespace attn::learn {

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
