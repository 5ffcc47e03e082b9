#include "learn/machine/build.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <sstream>

#include "learn/machine/job.hpp"
#include "lesson/lesson.hpp"
#include "run/process.hpp"
#include "system/files.hpp"

namespace attn::learn {

namespace fs = std::filesystem;

namespace {

/// Takes what is not a file from where files belong: a folder with a program's name, a pipe that would be the lock.
void clear_the_way_in(const fs::path& folder, const std::string& target) {
  for (const std::string& name :
       {std::string("CMakeCache.txt"), std::string("build.ninja"), std::string("learn.lock"), target}) {
    clear_the_way(folder / name);
  }
}

/// Whether CMake's cache is there and not damaged: without it Ninja would configure again, but not by the preset.
bool is_configured(const fs::path& folder) {
  const fs::path cache = folder / "CMakeCache.txt";
  return fs::exists(cache) && lesson::read_file(cache).find("\nCMAKE_HOME_DIRECTORY:INTERNAL=") != std::string::npos;
}

}  // namespace

fs::path build_folder(const fs::path& root, const std::string& preset) { return root / "build" / preset; }

/// One at a time in each folder: a second tool waits for the first. Without what would change the lines of Ninja and of the
/// compiler that are looked for in its output: they may be translated otherwise.
std::vector<std::string> build_command(const fs::path& root, const std::string& preset, const std::string& target) {
  const std::string folder = build_folder(root, preset).string();
  return {"env",   "-u",        "CLICOLOR_FORCE",       "-u",    "NINJA_STATUS", "LC_ALL=C.UTF-8",
          "flock", "--no-fork", folder + "/learn.lock", "ninja", "-C",           folder,
          target};
}

BuildSteps::BuildSteps(fs::path root, std::string preset, std::string target)
    : root_(std::move(root)), preset_(std::move(preset)), target_(std::move(target)) {
  const fs::path folder = build_folder(root_, preset_);
  fs::create_directories(folder);
  clear_the_way_in(folder, target_);
  step_ = fs::exists(folder / "build.ninja") && is_configured(folder) ? Step::build : Step::configure;
}

std::vector<std::string> BuildSteps::command() const {
  if (step_ == Step::configure) return {"cmake", "--preset", preset_};
  if (step_ == Step::build) return build_command(root_, preset_, target_);
  return {};
}

void BuildSteps::ended(int exit_code, const std::string& output) {
  const bool well = exit_code == 0;
  if (step_ == Step::build) {
    broken_ = !well && output.find("ninja: error: ") != std::string::npos;
    step_ = well ? Step::built : broken_ && !configured_ ? Step::configure : Step::failed;
  } else if (well) {
    configured_ = true;
    step_ = Step::build;
  } else if (cache_removed_) {
    broken_ = true;
    step_ = Step::failed;
  } else {  // once more from the beginning; what was compiled stays
    cache_removed_ = true;
    fs::remove(build_folder(root_, preset_) / "CMakeCache.txt");
  }
}

std::string BuildSteps::complaint(const std::string& output) const {
  if (broken_) return output + "\nThe build is broken (above: why). This starts it again: rm -rf build/" + preset_;
  const std::string says = without_build_noise(output);
  return says.empty() ? output : says;
}

namespace {

/// All steps of a build.
class BuildJob : public Job {
 public:
  BuildJob(fs::path root, std::string preset, std::string target)
      : root_(std::move(root)),
        preset_(std::move(preset)),
        target_(std::move(target)),
        log_(build_folder(root_, preset_) / ("build-" + target_ + ".log")),
        steps_(root_, preset_, target_) {
    start_step();
  }

  Built result() const {
    if (stopped_) return {false, "", true};
    const std::string output = lesson::read_file(log_);
    return {steps_.ok(), steps_.ok() ? without_build_noise(output) : steps_.complaint(output)};
  }

  void stop() override {
    Job::stop();
    stopped_ = true;
  }

 private:
  void begin() override {
    steps_ = BuildSteps(root_, preset_, target_);
    start_step();
  }

  void next(const judge::Process& ended) override {
    steps_.ended(ended.exit_code(), lesson::read_file(log_));
    if (!steps_.command().empty()) start_step();
  }

  void start_step() { start(steps_.configures() ? "setting up" : "building", steps_.command(), root_, log_); }

  fs::path root_;
  std::string preset_;
  std::string target_;
  fs::path log_;
  BuildSteps steps_;
  bool stopped_ = false;
};

}  // namespace

Built build(const fs::path& root, const std::string& preset, const std::string& target,
            const std::function<void(const std::string&)>& report) {
  BuildJob job(root, preset, target);
  job.wait(report);
  return job.result();
}

std::string step_in(const std::string& line) {
  int step = 0;
  int steps = 0;
  int end = 0;
  const int read = std::sscanf(line.c_str(), "[%d/%d] %n", &step, &steps, &end);
  return read == 2 && end > 0 ? "step " + std::to_string(step) + " of " + std::to_string(steps) : "";
}

std::string in_percent(const std::string& doing) {
  int step = 0;
  int steps = 0;
  if (std::sscanf(doing.c_str(), "building, step %d of %d", &step, &steps) != 2 || steps <= 0) return doing;
  return "building, " + std::to_string(100 * step / steps) + " %";
}

std::string built_by_another(const fs::path& folder, pid_t ours) {
  struct stat lock {};
  if (stat((folder / "learn.lock").c_str(), &lock) != 0) return {};
  std::ifstream locks(
      "/proc/locks");  // "1: FLOCK  ADVISORY  WRITE 4711 08:01:123456 0 EOF"; who waits: "1: -> FLOCK ..."
  for (std::string row; std::getline(locks, row);) {
    int holder = 0;
    unsigned long file = 0;
    if (std::sscanf(row.c_str(), "%*d: FLOCK %*s %*s %d %*x:%*x:%lu", &holder, &file) != 2) continue;
    if (file != lock.st_ino || getpgid(holder) == ours) continue;
    std::ifstream command("/proc/" + std::to_string(holder) + "/cmdline");  // it became ninja; the target is last
    std::string target = "something";
    for (std::string word; std::getline(command, word, '\0');) target = word;
    return target;
  }
  return {};
}

std::string without_build_noise(const std::string& output) {
  std::istringstream in(output);
  std::string kept;
  bool command_follows = false;
  for (std::string row; std::getline(in, row);) {
    if (row.rfind("ERROR: ld.so: object ", 0) == 0) continue;  // every program prints it when LD_PRELOAD is wrong
    const bool is_command = command_follows;
    command_follows = row.rfind("FAILED: ", 0) == 0;
    const bool is_of_cmake = row.rfind("-- ", 0) == 0;  // it configures again when the course was updated
    if (is_command || command_follows || !step_in(row).empty() || is_of_cmake || row.rfind("ninja: ", 0) == 0) continue;
    kept += row + "\n";
  }
  return kept;
}

}  // namespace attn::learn
