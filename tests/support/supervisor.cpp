#include "support/supervisor.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>

#include "attn/todo.hpp"
#include "support/sanitizer.hpp"

#if defined(__SANITIZE_ADDRESS__)
#define ATTN_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ATTN_ADDRESS_SANITIZER 1
#endif
#endif

#ifdef ATTN_ADDRESS_SANITIZER
/// The sanitizer reserves terabytes of address space, so it has to limit allocations itself.
extern "C" const char* __asan_default_options();
extern "C" const char* __asan_default_options() { return "max_allocation_size_mb=2048:allocator_may_return_null=1"; }
#endif

namespace attn::testing {

namespace {

using nlohmann::json;
using State = CheckResult::State;

constexpr std::size_t shown_bytes = 2000;
constexpr std::size_t sanitizer_bytes = 100000;  ///< its report is longer, and comes last

// ---------------------------------------------------------------------------------------------- in the child

void set_limit(int resource, std::size_t value) {
  rlimit limit{};
  getrlimit(static_cast<__rlimit_resource>(resource), &limit);
  limit.rlim_cur = std::min<rlim_t>(value, limit.rlim_max);
  setrlimit(static_cast<__rlimit_resource>(resource), &limit);
}

/// Reports every step to the parent: one JSON object a line.
class EventSender : public ::testing::EmptyTestEventListener {
 public:
  EventSender(int fd, std::size_t printed_bytes) : fd_(fd), printed_bytes_(printed_bytes) {}

  void OnTestIterationStart(const ::testing::UnitTest& unit_test, int /*iteration*/) override {
    json checks = json::array();
    for (int s = 0; s < unit_test.total_test_suite_count(); ++s) {
      const auto* suite = unit_test.GetTestSuite(s);
      for (int t = 0; t < suite->total_test_count(); ++t) {
        const auto* check = suite->GetTestInfo(t);
        if (check->should_run()) checks.push_back({suite->name(), check->name()});
      }
    }
    send({{"event", "plan"}, {"checks", checks}});
  }

  void OnTestStart(const ::testing::TestInfo&) override {
    set_limit(RLIMIT_FSIZE, printed() + printed_bytes_);
    send({{"event", "start"}, {"printed", printed()}});
  }

  void OnTestPartResult(const ::testing::TestPartResult& part) override {
    if (!part.failed()) return;
    send({{"event", "failure"}, {"message", part.message()}});
  }

  void OnTestEnd(const ::testing::TestInfo& check) override {
    send({{"event", "end"}, {"passed", check.result()->Passed()}, {"printed", printed()}});
  }

 private:
  /// Bytes printed so far. The child says it itself: by the time the parent could look, the next check may be printing.
  static std::size_t printed() {
    std::cout.flush();
    std::fflush(nullptr);
    return static_cast<std::size_t>(lseek(STDOUT_FILENO, 0, SEEK_CUR));
  }

  void send(const json& event) const {
    const std::string text = event.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
    for (std::size_t sent = 0; sent < text.size();) {
      const ssize_t n = write(fd_, text.data() + sent, text.size() - sent);
      if (n <= 0) _exit(1);
      sent += static_cast<std::size_t>(n);
    }
  }

  int fd_;
  std::size_t printed_bytes_;
};

/// Allows this process so many bytes of address space more than it has now.
void limit_memory(std::size_t bytes) {
#ifdef ATTN_ADDRESS_SANITIZER
  (void)bytes;  // see __asan_default_options
#else
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  set_limit(RLIMIT_AS, pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE)) + bytes);
#endif
}

[[noreturn]] void run_child(int events, int output, pid_t parent, const Limits& limits) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // Ctrl-C or kill on the parent leaves nothing behind
  if (getppid() != parent) _exit(1);
  const int nothing = memfd_create("stdin", 0);
  dup2(nothing, STDIN_FILENO);
  dup2(output, STDOUT_FILENO);
  dup2(output, STDERR_FILENO);
  std::setvbuf(stdout, nullptr, _IOLBF, 0);

  set_limit(RLIMIT_CORE, 0);
  limit_memory(limits.memory_bytes);

  auto& listeners = ::testing::UnitTest::GetInstance()->listeners();
  delete listeners.Release(listeners.default_result_printer());
  listeners.Append(new EventSender(events, limits.printed_bytes));
  const int failed = RUN_ALL_TESTS();
  std::fflush(nullptr);
  _exit(failed);
}

// --------------------------------------------------------------------------------------------- in the parent

class Child {
 public:
  explicit Child(const Limits& limits) {
    int ends[2];
    if (pipe(ends) != 0) throw std::runtime_error(std::string("pipe: ") + std::strerror(errno));
    output_ = memfd_create("printed by the checks", MFD_CLOEXEC);
    std::cout.flush();
    std::fflush(nullptr);
    const pid_t parent = getpid();
    pid_ = fork();
    if (pid_ < 0) throw std::runtime_error(std::string("fork: ") + std::strerror(errno));
    if (pid_ == 0) {
      close(ends[0]);
      run_child(ends[1], output_, parent, limits);
    }
    close(ends[1]);
    events_ = ends[0];
  }

  ~Child() {
    if (!status_) stop();
    close(events_);
    close(output_);
  }

  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  /// The next event, or nothing after `milliseconds` or at the end.
  std::optional<json> next_event(int milliseconds) {
    if (auto event = take_line()) return event;
    pollfd waiting{events_, POLLIN, 0};
    if (poll(&waiting, 1, milliseconds) <= 0) return {};
    char bytes[65536];
    const ssize_t n = read(events_, bytes, sizeof bytes);
    if (n > 0) received_.append(bytes, static_cast<std::size_t>(n));
    return take_line();
  }

  /// True once the child is gone. What it sent before may still have to be read.
  bool ended() {
    int status = 0;
    if (!status_ && waitpid(pid_, &status, WNOHANG) == pid_) status_ = status;
    return status_.has_value();
  }

  int status() const { return *status_; }

  void stop() {
    kill(pid_, SIGKILL);
    int status = 0;
    waitpid(pid_, &status, 0);
    status_ = status;
  }

  /// Processor time used so far, all threads together.
  double cpu_seconds() const {
    clockid_t clock{};
    timespec time{};
    if (clock_getcpuclockid(pid_, &clock) != 0 || clock_gettime(clock, &time) != 0) return 0;
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  }

  /// Bytes printed so far.
  std::size_t printed() const {
    struct stat info {};
    fstat(output_, &info);
    return static_cast<std::size_t>(info.st_size);
  }

  std::string read_printed(std::size_t from, std::size_t count) const {
    std::string text(count, '\0');
    const ssize_t n = pread(output_, text.data(), count, static_cast<off_t>(from));
    text.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
    return text;
  }

 private:
  std::optional<json> take_line() {
    const auto end = received_.find('\n');
    if (end == std::string::npos) return {};
    json event = json::parse(received_.substr(0, end));
    received_.erase(0, end + 1);
    return event;
  }

  pid_t pid_ = -1;
  int events_ = -1;
  int output_ = -1;
  std::string received_;
  std::optional<int> status_;
};

std::string seconds_text(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", seconds);
  return text;
}

std::string end_text(int status, const Limits& limits) {
  if (WIFEXITED(status)) {
    return "the program ended itself here, with exit code " + std::to_string(WEXITSTATUS(status));
  }
  const int signal = WTERMSIG(status);
  switch (signal) {
    case SIGXFSZ: return "stopped: it printed more than " + std::to_string(limits.printed_bytes >> 20) + " MiB";
    case SIGSEGV:
    case SIGBUS:
      return "crashed: segmentation fault (memory that is not yours: an index out of range, or a function that calls "
             "itself without end)";
    case SIGABRT: return "crashed: aborted (std::terminate, a failed assert, or damaged memory)";
    case SIGFPE: return "crashed: arithmetic error (an integer divided by zero?)";
    case SIGKILL: return "killed from outside (out of memory?)";
    default: return std::string("crashed: ") + strsignal(signal);
  }
}

/// Whether todo() ended the check: GoogleTest says so in a message about an exception.
bool meets_todo(const CheckResult& result) {
  return std::any_of(result.messages.begin(), result.messages.end(), [](const std::string& message) {
    return message.find("exception with description \"TODO(") != std::string::npos;
  });
}

class Supervisor {
 public:
  explicit Supervisor(const Limits& limits) : limits_(limits) {}

  std::vector<CheckResult> run() {
    do {
      run_child_to_its_end();
    } while (planned_ && next_ < results_.size());
    return std::move(results_);
  }

 private:
  /// Watches one child from the check `next_` on, until it has done all, died, or had to be stopped.
  void run_child_to_its_end() {
    if (planned_) select_remaining();
    Child child(limits_);
    running_ = false;
    bool gone = false;
    while (true) {
      if (const auto event = child.next_event(gone ? 0 : 20)) {
        handle(*event, child);
        continue;
      }
      if (gone) break;  // and all it had sent is read
      gone = child.ended();
      if (!gone && running_ && overrun(child)) {
        child.stop();
        give_up(child, State::stopped, overrun_text_);
        return;
      }
    }
    if (running_) {
      const bool flooded = WIFSIGNALED(child.status()) && WTERMSIG(child.status()) == SIGXFSZ;
      give_up(child, flooded ? State::stopped : State::ended, end_text(child.status(), limits_));
    } else if (!planned_ || next_ < results_.size()) {
      throw std::runtime_error("the program ended between two checks: " + end_text(child.status(), limits_));
    }
  }

  void handle(const json& event, const Child& child) {
    const std::string kind = event.at("event");
    if (kind == "plan" && !planned_) {
      for (const auto& check : event.at("checks")) results_.push_back({check.at(0), check.at(1), {}, {}, {}, 0});
      planned_ = true;
    } else if (kind == "start") {
      running_ = true;
      started_ = std::chrono::steady_clock::now();
      cpu_at_start_ = child.cpu_seconds();
      printed_at_start_ = event.at("printed");
    } else if (kind == "failure") {
      results_.at(next_).messages.push_back(event.at("message"));
    } else if (kind == "end") {
      CheckResult& result = results_.at(next_);
      if (!event.at("passed")) result.state = meets_todo(result) ? State::not_written : State::failed;
      finish(child, event.at("printed"));
    }
  }

  bool overrun(const Child& child) {
    const double cpu = child.cpu_seconds() - cpu_at_start_;
    const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - started_).count();
    // On a busy machine what computes gets little of the processor: it does not wait, it is made to.
    const double patience = cpu > wall / 20 ? 5 : 1;
    if (cpu <= limits_.cpu_seconds && wall <= patience * limits_.wall_seconds) return false;
    overrun_text_ =
        cpu > limits_.cpu_seconds
            ? "stopped after " + seconds_text(limits_.cpu_seconds) +
                  " s of computing: a loop that never ends? (an arma::uword that counts down never gets below 0)"
            : "stopped after " + seconds_text(wall) + " s: it waits for something";
    if (!overrun_before_) {
      limits_.cpu_seconds *= limits_.repeat_factor;
      limits_.wall_seconds *= limits_.repeat_factor;
      overrun_before_ = true;
    }
    return true;
  }

  void give_up(const Child& child, State state, const std::string& why) {
    CheckResult& result = results_.at(next_);
    result.state = state;
    result.messages = {why};
    std::string printed = child.read_printed(printed_at_start_, sanitizer_bytes);
    finish(child, child.printed());
    const std::string found = state == State::ended ? take_sanitizer_report(printed) : "";
    if (found.empty()) return;
    result.messages = {found};
    result.printed = printed.substr(0, shown_bytes);
    result.printed_bytes = printed.size();
  }

  void finish(const Child& child, std::size_t printed) {
    CheckResult& result = results_.at(next_);
    result.printed_bytes = printed - printed_at_start_;
    result.printed = child.read_printed(printed_at_start_, std::min(result.printed_bytes, shown_bytes));
    running_ = false;
    ++next_;
  }

  void select_remaining() const {
    std::string filter;
    for (std::size_t i = next_; i < results_.size(); ++i) filter += results_[i].full_name() + ":";
    GTEST_FLAG_SET(filter, filter);
  }

  Limits limits_;
  std::vector<CheckResult> results_;
  std::size_t next_ = 0;  ///< the check that runs, or runs next
  bool planned_ = false;
  bool running_ = false;
  bool overrun_before_ = false;
  std::string overrun_text_;
  std::chrono::steady_clock::time_point started_;
  double cpu_at_start_ = 0;
  std::size_t printed_at_start_ = 0;
};

}  // namespace

std::vector<CheckResult> run_supervised(const Limits& limits) { return Supervisor(limits).run(); }

}  // namespace attn::testing
