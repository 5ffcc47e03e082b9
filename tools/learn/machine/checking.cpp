#include "learn/machine/checking.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "learn/machine/build.hpp"
#include "learn/memory/answers.hpp"

namespace attn::learn {

namespace fs = std::filesystem;
using lesson::Lesson;
using lesson::read_file;

namespace {

const std::string usual_preset = "dev";

/// Where in a build Ninja is, from its last "[3/14]": " step 3 of 14".
std::string step_in(const fs::path& log) {
  std::ifstream in(log, std::ios::ate);
  const auto size = static_cast<std::streamoff>(in.tellg());
  in.seekg(std::max<std::streamoff>(0, size - 4000));
  std::string step;
  for (std::string row; std::getline(in, row);) {
    const auto slash = row.find('/');
    const auto end = row.find("] ");
    if (row.rfind("[", 0) != 0 || end == std::string::npos || slash > end) continue;
    if (row.find_first_not_of("[0123456789/") != end) continue;
    step = ", step " + row.substr(1, slash - 1) + " of " + row.substr(slash + 1, end - slash - 1);
  }
  return step;
}

/// Every place of a part replaced.
std::string replaced(const std::string& part, const std::string& with, const std::string& text) {
  std::string result;
  std::size_t done = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, done)) {
    result.append(text, done, at - done).append(with);
    done = at + part.size();
  }
  return result.append(text, done);
}

std::string without_end(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

/// In an interview nobody names the mistake before it is over.
std::string without_names(const std::string& report) {
  std::istringstream in(report);
  std::string kept;
  for (std::string row; std::getline(in, row);) {
    if (row.rfind("  likely ", 0) != 0) kept += row + "\n";
  }
  return without_end(kept);
}

volatile std::sig_atomic_t noted = 0;
void note(int signal) { noted = signal; }

/// A signal is noted, and nothing more, as long as this lives. (Whoever starts us may want SIGTSTP ignored.)
class SignalNoted {
 public:
  explicit SignalNoted(int signal) : signal_(signal) {
    noted = 0;
    struct sigaction action {};
    action.sa_handler = note;
    sigaction(signal, &action, &before_);
    if (signal == SIGTSTP && before_.sa_handler == SIG_IGN) sigaction(signal, &before_, nullptr);
  }
  ~SignalNoted() { sigaction(signal_, &before_, nullptr); }
  SignalNoted(const SignalNoted&) = delete;
  SignalNoted& operator=(const SignalNoted&) = delete;

 private:
  int signal_;
  struct sigaction before_ {};
};

/// Stops this program as Ctrl-Z does; returns when it is continued.
void stop_until_continued() {
  struct sigaction noting {};
  struct sigaction usual {};
  usual.sa_handler = SIG_DFL;
  sigaction(SIGTSTP, &usual, &noting);
  raise(SIGTSTP);
  sigaction(SIGTSTP, &noting, nullptr);
}

std::string file_or_nothing(const fs::path& file) {
  std::error_code missing;
  return fs::is_regular_file(file, missing) ? read_file(file) : "";
}

}  // namespace

// ------------------------------------------------------------------------------------------------------ verdict

int Verdict::passed() const {
  return static_cast<int>(
      std::count_if(checks.begin(), checks.end(), [](const auto& check) { return check.state == "passed"; }));
}

const Verdict::Check* Verdict::first_failing() const {
  const auto found =
      std::find_if(checks.begin(), checks.end(), [](const auto& check) { return check.state != "passed"; });
  return found == checks.end() ? nullptr : &*found;
}

std::string Verdict::word() const {
  switch (kind) {
    case Kind::passed: return "passed";
    case Kind::failed: return "failed";
    case Kind::not_compiled: return "does not compile";
    case Kind::stopped: return "stopped";
    case Kind::not_judged: break;
  }
  return "could not be judged";
}

// ---------------------------------------------------------------------------------------------------------- jobs

bool Job::advance() {
  while (process_ && process_->ended()) {
    const auto ended = std::move(process_);
    next(*ended);
  }
  return !process_;
}

std::string Job::doing() const { return what_ + (what_ == "building" ? step_in(output_) : ""); }

void Job::start(const std::string& what, const std::vector<std::string>& command, const fs::path& root,
                const fs::path& output, const std::optional<judge::ProcessLimits>& limits) {
  what_ = what;
  output_ = output;
  process_ = std::make_unique<judge::Process>(command, root, output, limits);
}

void Job::pause() {
  paused_ = process_ != nullptr;
  process_.reset();
}

void Job::resume() {
  if (paused_) begin();
  paused_ = false;
}

void Job::wait(const std::function<void(const std::string&)>& tell) {
  using std::chrono::milliseconds;
  using std::chrono::steady_clock;
  constexpr milliseconds look_again{200};
  constexpr milliseconds first_told{3000};
  constexpr milliseconds told_again{10000};
  const SignalNoted interrupts(SIGINT);
  const SignalNoted stops(SIGTSTP);
  auto next_told = steady_clock::now() + first_told;
  while (!advance()) {
    pollfd waiting{wake_fd(), POLLIN, 0};
    poll(&waiting, 1, static_cast<int>(look_again.count()));
    if (noted == SIGINT) stop();
    if (noted == SIGTSTP) {
      noted = 0;
      pause();
      stop_until_continued();
      resume();
    }
    if (!tell || steady_clock::now() < next_told) continue;
    next_told = steady_clock::now() + told_again;
    tell(doing() + " ...");
  }
}

Judgement::Judgement(Lesson lesson, std::string preset)
    : lesson_(std::move(lesson)),
      preset_(std::move(preset)),
      target_(lesson_.program()),
      folder_(lesson_.root / "build" / preset_),
      own_(folder_ / (target_ + "-" + std::to_string(getpid()))),
      log_(own_.string() + ".log"),
      report_(own_.string() + ".json"),
      printed_(own_.string() + ".txt"),
      steps_(lesson_.root, preset_, target_) {
  remove_leftovers(folder_, target_ + "-");
  for (const auto& sentence : unusable_files(lesson_)) verdict_.text += sentence + "\n";
  if (verdict_.text.empty()) build();
}

Judgement::~Judgement() {
  Job::stop();
  std::error_code ignored;
  for (const auto& file : {log_, report_, printed_}) fs::remove(file, ignored);
}

void Judgement::begin() {
  verdict_ = {};
  steps_ = BuildSteps(lesson_.root, preset_, target_);
  build();
}

void Judgement::build() {
  start(steps_.configures() ? "setting up" : "building", steps_.command(), lesson_.root, log_);
}

void Judgement::check() {
  std::error_code ignored;
  fs::remove(report_, ignored);
  judge::ProcessLimits limits;
  if (preset_ != usual_preset)
    limits.memory_bytes = std::numeric_limits<std::size_t>::max();  // AddressSanitizer's shadow
  start("checking",
        {(folder_ / target_).string(), "--report=" + report_.string(), "--work-folder=" + lesson_.work_folder},
        lesson_.root, printed_, limits);
}

void Judgement::next(const judge::Process& ended) {
  if (steps_.ok()) return finish(ended);
  const std::string output = read_file(log_);
  steps_.ended(ended.exit_code(), output);
  if (!steps_.command().empty()) return build();
  const auto from_here = [&](const std::string& text) {
    return replaced(lesson_.root.string() + "/", "", without_end(text));  // as learners know them
  };
  if (steps_.ok()) {
    verdict_.warnings = from_here(without_build_noise(output));
    return check();
  }
  verdict_.text = from_here(steps_.complaint(output));
  if (steps_.broken()) return;
  verdict_.kind = Verdict::Kind::not_compiled;
  const std::string advice = advice_on_linking(verdict_.text);
  verdict_.text += "\n\n" + lesson_.title() +
                   " does not compile yet: " + (advice.empty() ? "begin with the first error above" : advice);
}

void Judgement::finish(const judge::Process& checks) {
  const std::string usual = "lessons/" + lesson_.name + "/";  // what the adapter of a blank class calls it
  const std::string here = lesson_.work_folder + "/" + lesson_.name + "/";
  const std::string printed = replaced(usual, here, without_end(file_or_nothing(printed_)));
  const int code = checks.exit_code();
  verdict_.text = here == usual ? printed : without_names(printed);
  if (!fs::is_regular_file(report_)) {  // the supervisor runs none of the learner's code: it does not end by itself
    const bool from_outside = code == 128 + SIGKILL || code == 128 + SIGTERM;
    const std::string number =
        code > 128 ? "signal " + std::to_string(code - 128) : "exit code " + std::to_string(code);
    verdict_.text += (printed.empty() ? "✗ " : "\n\n✗ ") + lesson_.title() + " could not be judged: its checks ";
    verdict_.text += checks.overran() ? "did not end"
                     : from_outside   ? "were killed (" + number + ")"
                                      : "gave no report (" + number +
                                          "): does your file replace a function of the library, such as malloc?";
    return;
  }
  const auto json = lesson::read_json(report_);
  verdict_.kind = Verdict::Kind::failed;
  if (json.contains("problem")) {
    verdict_.text = "✗ " + lesson_.title() + ": " + without_end(json.at("problem"));
    return;
  }
  for (const auto& check : json.at("checks")) {
    verdict_.checks.push_back({check.at("name"), check.at("state"), check.at("text"), check.at("hint")});
  }
  const bool all_passed = code == 0 && verdict_.passed() == verdict_.total();
  if (all_passed && verdict_.total() == lesson_.count_checks()) verdict_.kind = Verdict::Kind::passed;
  if (all_passed && verdict_.kind != Verdict::Kind::passed) {
    verdict_.kind = Verdict::Kind::not_judged;
    verdict_.text += "\n\n✗ " + lesson_.title() + " could not be judged: " + std::to_string(verdict_.total()) +
                     " of its " + std::to_string(lesson_.count_checks()) + " checks ran";
  }
  for (const auto& mistake : lesson_.mistakes()) {
    if (printed.find(mistake.says) != std::string::npos) verdict_.mistakes.push_back(mistake.id);
  }
}

void Judgement::stop() {
  Job::stop();
  verdict_ = {};
  verdict_.kind = Verdict::Kind::stopped;
  verdict_.text = lesson_.title() + ": stopped before there was a verdict; Enter or the next save checks once more";
}

// --------------------------------------------------------------------------------------------------------- speed

SpeedTest::SpeedTest(Lesson lesson)
    : lesson_(std::move(lesson)),
      folder_(lesson_.root / "build" / usual_preset),
      output_(folder_ / ("lesson_" + lesson_.number() + "-" + std::to_string(getpid()) + ".speed")) {
  begin();
}

void SpeedTest::begin() {
  stage_ = Stage::building;
  start("building", build_command(lesson_.root, usual_preset, "solution_" + lesson_.number() + "_test"), lesson_.root,
        output_);
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
  if (stage_ == Stage::building) return measure("lesson_" + lesson_.number(), Stage::learner);
  const auto measured = nlohmann::json::parse(read_file(output_), nullptr, false);
  if (!measured.contains("milliseconds")) return;
  const double milliseconds = measured["milliseconds"];
  if (stage_ == Stage::learner) {
    learner_ms_ = milliseconds;
    return measure("solution_" + lesson_.number() + "_test", Stage::reference);
  }
  std::ostringstream line;
  line.precision(3);
  line << "speed   " << measured.value("what", "") << ": you " << learner_ms_ << " ms, the reference " << milliseconds
       << " ms (both built without optimisation)";
  line_ = line.str();
}

// -------------------------------------------------------------------------------------------------------- record

void record(Store& store, const Lesson& lesson, const Verdict& verdict) {
  if (verdict.kind == Verdict::Kind::stopped || verdict.kind == Verdict::Kind::not_judged) return;
  const std::string text = fingerprint(lesson);
  const auto questions = lesson.questions();
  store.update(
      [&](State& state) {
        LessonRecord& record = state.lessons[lesson.name];
        state.current = lesson.name;
        if (verdict.kind == Verdict::Kind::not_compiled) return;  // says nothing about what is in the files
        ++record.checks;
        record.passing = verdict.kind == Verdict::Kind::passed;
        for (const auto& id : verdict.mistakes) {  // once, however often the text is judged before it is mended
          const auto& known = record.named;
          if (std::find(known.begin(), known.end(), id) == known.end()) ++record.mistakes[id];
        }
        record.named = verdict.mistakes;
        if (!record.passing) return;
        record.passed_text = text;
        if (!record.first_passed.empty()) return;
        record.first_passed = now_text();
        Card card;
        card.due = today() + 1;
        state.cards.try_emplace(lesson.name, card);
        for (const auto& question : questions) state.cards.try_emplace(lesson.name + ": " + question.text, card);
      },
      true);
}

void note_hint(Store& store, const Lesson& lesson, int level) {
  const auto known = store.state().lessons.find(lesson.name);
  if (known != store.state().lessons.end() && known->second.hint_level >= level) return;
  store.update([&](State& state) {
    int& highest = state.lessons[lesson.name].hint_level;
    highest = std::max(highest, level);
  });
}

std::string summary(const Lesson& lesson, const Verdict& verdict, Standing before) {
  const bool passed = verdict.kind == Verdict::Kind::passed;
  std::string line = (passed ? "✓ " : "✗ ") + lesson.title() + ": ";
  if (verdict.total() > 0) {
    line += std::to_string(verdict.passed()) + " of " + std::to_string(verdict.total()) + " checks";
  } else {
    line += verdict.word();
  }
  if (before == Standing::untouched && !passed) line = "  " + lesson.title() + ": not begun";
  if (!passed && (counts_as_passed(before) || before == Standing::no_longer))
    line += "; it passed once, and does no longer";
  return line;
}

}  // namespace attn::learn
