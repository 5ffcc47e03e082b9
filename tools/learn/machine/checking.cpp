#include "learn/machine/checking.hpp"

#include <unistd.h>

#include <csignal>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "learn/coach/coach.hpp"
#include "learn/machine/build.hpp"
#include "learn/memory/answers.hpp"
#include "lesson/text.hpp"
#include "verdict/report.hpp"
#include "verdict/words.hpp"

namespace attn::learn {

namespace fs = std::filesystem;
using lesson::Lesson;
using lesson::read_file;

namespace {

std::string without_end(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

std::string file_or_nothing(const fs::path& file) {
  std::error_code missing;
  return fs::is_regular_file(file, missing) ? read_file(file) : "";
}

LearnersFiles learners_files(const Lesson& lesson) {
  const auto row_of = [root = lesson.root](const std::string& file, int line) {
    const auto rows = lines_of(file_or_nothing(root / file));
    const auto index = static_cast<std::size_t>(line - 1);
    return index < rows.size() ? rows[index] : "";
  };
  return {lesson.work_folder + "/" + lesson.name, row_of};
}

}  // namespace

Judgement::Judgement(Lesson lesson, bool sanitized)
    : lesson_(std::move(lesson)),
      sanitized_(sanitized),
      target_(sanitized ? "sanitized_" + lesson_.number() : lesson_.program()),
      folder_(build_folder(lesson_.root)),
      steps_(lesson_.root, usual_preset, target_) {
  for (const char* extension : {".log", ".json", ".txt", ".speed"}) remove_leftovers(folder_, target_ + "-", extension);
  verdict_.lines = as_lines(unusable_files(lesson_));
  if (verdict_.lines.empty()) build();
}

Judgement::~Judgement() {
  Job::stop();
  std::error_code ignored;
  for (const char* extension : {".log", ".json", ".txt"}) fs::remove(file(extension), ignored);
}

/// One of this tool's files: another one may judge the same lesson beside us.
fs::path Judgement::file(const std::string& extension) const {
  return folder_ / (target_ + "-" + std::to_string(getpid()) + extension);
}

void Judgement::begin() {
  verdict_ = {};
  steps_ = BuildSteps(lesson_.root, usual_preset, target_);
  build();
}

void Judgement::build() {
  start(steps_.configures() ? "setting up" : "building", steps_.command(), lesson_.root, file(".log"));
}

void Judgement::check() {
  std::error_code ignored;
  fs::remove(file(".json"), ignored);
  judge::ProcessLimits limits;
  if (sanitized_) limits.memory_bytes = std::numeric_limits<std::size_t>::max();  // AddressSanitizer's shadow
  start("checking",
        {(folder_ / target_).string(), "--report=" + file(".json").string(), "--work-folder=" + lesson_.work_folder},
        lesson_.root, file(".txt"), limits);
}

void Judgement::next(const judge::Process& ended) {
  if (steps_.ok()) return finish(ended);
  const std::string output = read_file(file(".log"));
  steps_.ended(ended.exit_code(), output);
  if (!steps_.command().empty()) return build();
  const auto from_here = [&](const std::string& text) {
    return replaced(without_end(text), lesson_.root.string() + "/", "");  // as learners know them
  };
  const std::string printed = from_here(without_build_noise(output));
  if (steps_.ok()) {
    verdict_.warnings = warnings_folded(printed, learners_files(lesson_));
    return check();
  }
  if (!steps_.broken()) verdict_.lines = errors_explained(printed, learners_files(lesson_));
  if (verdict_.lines.empty()) verdict_.lines = output_lines(from_here(steps_.complaint(output)));
  if (steps_.broken()) return;
  verdict_.kind = Verdict::Kind::not_compiled;
  append(verdict_.lines, {"", lesson_.title() + " does not compile yet: begin with the first error above"});
}

Line Judgement::not_judged(const std::string& why) const {
  return Line("✗ " + lesson_.title() + " could not be judged: " + why, Role::failed);
}

/// What the program of checks left instead of a report. Its supervisor runs none of the learner's code, so that it does
/// not end by itself.
Lines Judgement::why_no_report(const judge::Process& checks) const {
  const int code = checks.exit_code();
  const bool from_outside = code == 128 + SIGKILL || code == 128 + SIGTERM;
  const std::string number = code > 128 ? "signal " + std::to_string(code - 128) : "exit code " + std::to_string(code);
  const std::string why = checks.overran() ? "did not end"
                          : from_outside   ? "were killed (" + number + ")"
                                           : "gave no report (" + number +
                                               "): does your file replace a function of the library, such as malloc?";
  Lines lines = as_lines(lines_of(without_end(file_or_nothing(file(".txt")))));
  if (!lines.empty()) lines.emplace_back();
  lines.push_back(not_judged("its checks " + why));
  return lines;
}

void Judgement::finish(const judge::Process& checks) {
  if (!fs::is_regular_file(file(".json"))) {
    verdict_.lines = why_no_report(checks);
    return;
  }
  const auto report = lesson::read_json(file(".json")).get<judge::Report>();
  verdict_.kind = Verdict::Kind::failed;
  if (!report.problem.empty()) {
    verdict_.lines = as_lines(lines_of("✗ " + lesson_.title() + ": " + without_end(report.problem)));
    verdict_.lines.front().spans.front().role = Role::failed;
    return;
  }
  verdict_.lines = judge::lines_about(report, lesson_);
  verdict_.report = report;
  if (const auto gone = missing_files(lesson_); !gone.empty()) {
    verdict_.kind = Verdict::Kind::not_judged;
    append(verdict_.lines, {"", not_judged(joined(gone, ", ") + (gone.size() == 1 ? " was" : " were") +
                                           " there when the check began, and not when it ended: does your code remove "
                                           "or rename files?")});
    return append(verdict_.lines, as_lines(unusable_files(lesson_)));
  }
  if (checks.exit_code() != 0 || verdict_.passed() != verdict_.total()) return;
  if (verdict_.total() == lesson_.count_checks()) {
    verdict_.kind = Verdict::Kind::passed;
    return;
  }
  verdict_.kind = Verdict::Kind::not_judged;
  append(verdict_.lines, {"", not_judged(std::to_string(verdict_.total()) + " of its " +
                                         std::to_string(lesson_.count_checks()) + " checks ran")});
}

void Judgement::stop() {
  Job::stop();
  verdict_ = {};
  verdict_.kind = Verdict::Kind::stopped;
  verdict_.lines = {lesson_.title() + ": stopped before there was a verdict; Enter or the next save checks again"};
}

// ------------------------------------------------------------------------------------------------------- speed

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
