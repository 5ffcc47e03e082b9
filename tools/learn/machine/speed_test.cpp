#include "learn/machine/speed_test.hpp"

#include <unistd.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "learn/machine/build.hpp"

namespace attn::learn {

namespace fs = std::filesystem;
using lesson::Lesson;
using lesson::read_file;

SpeedTest::SpeedTest(Lesson lesson)
    : lesson_(std::move(lesson)),
      folder_(build_folder(lesson_.root)),
      output_(folder_ / (lesson_.program() + "-" + std::to_string(getpid()) + ".speed")) {
  begin();
}

void SpeedTest::begin() {
  stage_ = Stage::building;
  start("building", build_command(lesson_.root, usual_preset, lesson_.solution_program()), lesson_.root, output_);
}

SpeedTest::~SpeedTest() {
  Job::stop();
  std::error_code ignored;
  fs::remove(output_, ignored);
}

void SpeedTest::next(const judge::Process& ended) {
  if (ended.exit_code() != 0) return;
  const auto measure = [this](const std::string& program, Stage stage) {
    stage_ = stage;
    start("measuring", {(folder_ / program).string(), "--speed"}, lesson_.root, output_, judge::ProcessLimits{});
  };
  if (stage_ == Stage::building) return measure(lesson_.program(), Stage::learner);
  const auto measured = nlohmann::json::parse(read_file(output_), nullptr, false);
  if (!measured.contains("milliseconds")) return;
  const double milliseconds = measured["milliseconds"];
  if (stage_ == Stage::learner) {
    learner_ms_ = milliseconds;
    return measure(lesson_.solution_program(), Stage::reference);
  }
  std::ostringstream line;
  line.precision(3);
  line << measured.value("what", "") << ": you " << learner_ms_ << " ms, the reference " << milliseconds
       << " ms (both built without optimisation)";
  line_ = labelled("speed   ", line.str());
}

}  // namespace attn::learn
