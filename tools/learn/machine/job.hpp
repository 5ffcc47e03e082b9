#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "run/process.hpp"

namespace attn::learn {

/// Something that takes a few programs one after the other, while the tool listens to the keyboard.
class Job {
 public:
  virtual ~Job() = default;

  /// For poll(): readable when there may be news.
  int wake_fd() const { return process_ ? process_->wake_fd() : -1; }

  /// Goes on as far as it can without waiting. True when it is finished.
  bool advance();

  /// What it is doing, for those who wait: "building, step 3 of 14"; "waiting, as another ./learn builds generate".
  std::string doing() const;

  /// Stops what runs, until resume() starts it again: time that passes in between must not count against it.
  void pause();
  void resume();

  /// Stops it; it is finished then.
  virtual void stop() { process_.reset(); }

  /// Waits until it is finished. Ctrl-C stops the job and not the tool; Ctrl-Z pauses it.
  /// @param report called every ten seconds with what it is doing, when it takes long; once with what it waits for
  void wait(const std::function<void(const std::string&)>& report);

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

}  // namespace attn::learn
