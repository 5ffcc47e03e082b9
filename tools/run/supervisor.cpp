#include "run/supervisor.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <armadillo>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "attn/todo.hpp"
#include "checks/diagnosis.hpp"
#include "run/edits.hpp"
#include "run/process.hpp"
#include "run/sanitizer.hpp"
#include "run/trace.hpp"
#include "verdict/words.hpp"

#ifdef ATTN_ADDRESS_SANITIZER
/// The sanitizer reserves terabytes of address space, so it has to limit allocations itself. Leaks are not looked for:
/// a check that ends the program would report what the program still holds, and change its exit code.
extern "C" const char* __asan_default_options();
extern "C" const char* __asan_default_options() {
  return "max_allocation_size_mb=2048:allocator_may_return_null=1:detect_leaks=0";
}
#endif

namespace attn::judge {

namespace {

using nlohmann::json;
using State = CheckResult::State;

constexpr std::size_t shown_bytes = 2000;
constexpr std::size_t sanitizer_bytes = 100000;  ///< its report is longer, and comes last
constexpr std::size_t message_bytes = 32000;

// ---------------------------------------------------------------------------------------------- in the child

/// What a child has to do. Constant-initialised: static objects are constructed after it has been filled in.
struct Assignment {
  int events;
  std::size_t printed_bytes;
  const char* filter;
  Trace* crash;
};
const Assignment* assignment = nullptr;

/// A text without its middle when it is longer than anyone will read.
std::string shortened(const std::string& text) {
  if (text.size() <= message_bytes) return text;
  return text.substr(0, message_bytes / 2) + "\n...\n" + text.substr(text.size() - message_bytes / 2);
}

/// The expression that a failed EXPECT_THAT looked at, as one line; of a lambda the body; empty for other assertions.
std::string judged_expression(const std::string& message) {
  const std::string opening = "Value of: ";
  const auto end = message.find('\n');
  if (message.rfind(opening, 0) != 0 || message.compare(end, 11, "\nExpected: ") != 0) return {};
  const std::string expression = message.substr(opening.size(), end - opening.size());
  if (expression.front() != '[') return expression;
  const auto body = expression.find("{ ");
  const auto body_end = expression.rfind("; }");
  if (body == std::string::npos || body_end == std::string::npos) return {};
  return expression.substr(body + 2, body_end - body - 2);
}

/// What was thrown in a check, and is being handled by GoogleTest.
Failure thrown_failure() {
  Failure failure;
  failure.kind = Failure::Kind::exception;
  failure.frames = last_throw().frames();
  try {
    std::rethrow_exception(std::current_exception());
  } catch (const NotWritten& unwritten) {
    failure.frames.clear();
    failure.kind = Failure::Kind::not_written;
    failure.task = unwritten.task;
    failure.statements.push_back({"todo", unwritten.what()});
  } catch (const std::exception& error) {
    failure.statements.push_back({"threw", shortened(error.what())});
  } catch (...) {
    failure.statements.push_back({"threw", "something that is not a std::exception"});
  }
  return failure;
}

/// GoogleTest names no place for what was thrown. A message without facts is an assertion of its own.
Failure failure_of(const ::testing::TestPartResult& part) {
  if (part.file_name() == nullptr && std::current_exception()) return thrown_failure();
  const std::string message = part.message();
  Failure failure = decode(message).value_or(Failure{});
  failure.expression = shortened(judged_expression(message));
  const bool says_nothing = !failure.shape && !failure.worst && failure.statements.empty();
  if (says_nothing) failure.statements.push_back({"check", shortened(message.substr(0, message.find('\x1e')))});
  const auto threw = [](const Statement& said) { return said.label == "threw" && said.text != "nothing"; };
  const auto& said = failure.statements;
  if (std::any_of(said.begin(), said.end(), threw)) failure.frames = last_throw().frames();
  return failure;
}

/// Every check begins with the same random numbers, so that what a mistake gives can be recorded. ATTN_SEED chooses
/// others.
arma::arma_rng::seed_type seed_of_checks() {
  const char* seed = std::getenv("ATTN_SEED");
  return seed == nullptr ? 1 : static_cast<arma::arma_rng::seed_type>(std::strtoul(seed, nullptr, 10));
}

/// Reports every step to the parent: one JSON object per line.
class EventSender : public ::testing::EmptyTestEventListener {
 public:
  EventSender(int fd, std::size_t printed_bytes) : fd_(fd), printed_bytes_(printed_bytes), process_(getpid()) {}

  void OnTestIterationStart(const ::testing::UnitTest& unit_test, int /*iteration*/) override {
    json checks = json::array();
    std::string source;
    for (int s = 0; s < unit_test.total_test_suite_count(); ++s) {
      const auto* suite = unit_test.GetTestSuite(s);
      for (int t = 0; t < suite->total_test_count(); ++t) {
        const auto* check = suite->GetTestInfo(t);
        if (!check->should_run()) continue;
        checks.push_back({suite->name(), check->name()});
        source = check->file();
      }
    }
    send({{"event", "plan"}, {"source", source}, {"checks", checks}});
  }

  void OnTestStart(const ::testing::TestInfo&) override {
    begin_comparisons();
    forget_throws();
    std::fill(std::begin(mistake_region_reached), std::end(mistake_region_reached), false);
    arma::arma_rng::set_seed(seed_);
    set_limit(RLIMIT_FSIZE, printed() + printed_bytes_);
    send({{"event", "start"}, {"printed", printed()}});
  }

  void OnTestPartResult(const ::testing::TestPartResult& part) override {
    if (!part.failed()) return;
    send({{"event", "failure"}, {"failure", failure_of(part)}});
  }

  void OnTestEnd(const ::testing::TestInfo& check) override {
    const auto& result = *check.result();
    const std::string measured = result.test_property_count() == 0 ? "0" : result.GetTestProperty(0).value();
    send({{"event", "end"},
          {"passed", result.Passed()},
          {"printed", printed()},
          {"milliseconds", std::stod(measured)},
          {"reached", reached_regions()}});
  }

 private:
  /// Bytes printed so far. The child says it itself: by the time the parent could look, the next check may be printing.
  static std::size_t printed() {
    std::cout.flush();
    std::fflush(nullptr);
    const off_t bytes = lseek(STDOUT_FILENO, 0, SEEK_CUR);
    return bytes < 0 ? 0 : static_cast<std::size_t>(bytes);  // it may have been closed
  }

  void send(const json& event) const {
    if (getpid() != process_) _exit(1);  // a copy, made by a fork() in the learner's code, that goes on with the checks
    const std::string text = event.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
    for (std::size_t sent = 0; sent < text.size();) {
      const ssize_t n = write(fd_, text.data() + sent, text.size() - sent);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) _exit(1);
      sent += static_cast<std::size_t>(n);
    }
  }

  int fd_;
  std::size_t printed_bytes_;
  pid_t process_;
  arma::arma_rng::seed_type seed_ = seed_of_checks();
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

/// Makes this process one that can do no harm: without a terminal, with limits, and dead when the parent is.
void confine(int output, pid_t parent, const Limits& limits) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
  setsid();
  const int nothing = memfd_create("stdin", 0);
  dup2(nothing, STDIN_FILENO);
  dup2(output, STDOUT_FILENO);
  dup2(output, STDERR_FILENO);
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  set_limit(RLIMIT_FSIZE, limits.printed_bytes);
  limit_memory(limits.memory_bytes);
}

// --------------------------------------------------------------------------------------------- in the parent

volatile std::sig_atomic_t received_signal = 0;
void note_signal(int signal) { received_signal = signal; }

/// Lets the signals that end or suspend this process be noted, or have their usual effect again: its child is first. One
/// that is ignored (nohup) stays so.
void handle_signals(void (*handler)(int)) {
  for (const int signal : {SIGHUP, SIGINT, SIGTERM, SIGTSTP}) {
    struct sigaction action {};
    sigaction(signal, nullptr, &action);
    if (action.sa_handler == SIG_IGN) continue;
    action.sa_handler = handler;
    action.sa_flags = 0;  // poll() returns
    sigaction(signal, &action, nullptr);
  }
}

struct ProcessStatus {
  char state = '?';  ///< R runs or could run, S sleeps, ...
  pid_t parent = 0;
};

ProcessStatus status_of(const std::string& process) {
  std::string text;
  std::ifstream in("/proc/" + process + "/stat");
  std::getline(in, text, '\0');
  ProcessStatus status;
  const auto name_end = text.rfind(')');  // a name may hold anything
  if (name_end != std::string::npos) std::sscanf(text.c_str() + name_end + 1, " %c %d", &status.state, &status.parent);
  return status;
}

bool has_children() {
  siginfo_t info{};
  return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

/// Kills this process's children until there are none. Those that a dead child leaves behind become ours: see
/// PR_SET_CHILD_SUBREAPER.
void kill_children() {
  for (int tries = 0; tries < 1000; ++tries) {
    pid_t gone = 0;
    while ((gone = waitpid(-1, nullptr, WNOHANG)) > 0) {
    }
    if (gone < 0) return;
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
      const std::string name = entry.path().filename();
      const pid_t process = std::atoi(name.c_str());
      if (process > 0 && status_of(name).parent == getpid()) kill(process, SIGKILL);
    }
    poll(nullptr, 0, 1);
  }
}

class Child {
 public:
  Child() = default;

  ~Child() {
    if (pid_ > 0) stop();
    if (events_ >= 0) close(events_);
    if (output_ >= 0) close(output_);
    if (crash_ != nullptr && pid_ > 0) munmap(crash_, sizeof *crash_);  // the child needs it until its end
  }

  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  /// @return false in the child
  bool start(const Limits& limits, const std::string& filter) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error(std::string("pipe: ") + std::strerror(errno));
    const int output = memfd_create("printed by the checks", MFD_CLOEXEC);
    std::cout.flush();
    std::fflush(nullptr);
    void* const shared = mmap(nullptr, sizeof(Trace), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) throw std::runtime_error(std::string("mmap: ") + std::strerror(errno));
    crash_ = new (shared) Trace;
    const pid_t parent = getpid();
    const pid_t child = fork();
    if (child < 0) throw std::runtime_error(std::string("fork: ") + std::strerror(errno));
    if (child == 0) {
      handle_signals(SIG_DFL);
      confine(output, parent, limits);
      assignment = new Assignment{ends[1], limits.printed_bytes, (new std::string(filter))->c_str(), crash_};
      return false;
    }
    close(ends[1]);
    events_ = ends[0];
    output_ = output;
    pid_ = child;
    return true;
  }

  /// The lines that the child sent, after up to `milliseconds` where there is none yet.
  std::vector<std::string> lines(int milliseconds) {
    constexpr std::size_t most_bytes = 1 << 20;
    pollfd waiting{events_, POLLIN, 0};
    int wait = events_ < 0 ? std::min(milliseconds, 1) : milliseconds;  // one that has closed them is about to end
    for (; received_.size() < most_bytes && poll(&waiting, 1, wait) > 0; wait = 0) {
      char bytes[65536];
      const ssize_t n = read(events_, bytes, sizeof bytes);
      if (n > 0) received_.append(bytes, static_cast<std::size_t>(n));
      if (n > 0) continue;
      close(events_);
      events_ = waiting.fd = -1;
    }
    std::vector<std::string> lines;
    for (auto end = received_.find('\n'); end != std::string::npos; end = received_.find('\n')) {
      lines.push_back(received_.substr(0, end));
      received_.erase(0, end + 1);
    }
    if (received_.size() >= most_bytes) lines.push_back(received_);  // no check sends such a line
    return lines;
  }

  /// True once the child is gone. What it sent before may still have to be read.
  bool ended() {
    int status = 0;
    if (!status_ && waitpid(pid_, &status, WNOHANG) == pid_) status_ = status;
    return status_.has_value();
  }

  int status() const { return *status_; }

  void suspend() const {
    kill(pid_, SIGSTOP);
    raise(SIGSTOP);
    kill(pid_, SIGCONT);
  }

  /// Lets the child take its stack, if it can: a busy machine has 0.2 s for it.
  void ask_where() {
    if (has_sanitizer || ended()) return;
    kill(pid_, trace_signal);
    for (int tries = 0; tries < 200 && crash_->empty() && !ended(); ++tries) poll(nullptr, 0, 1);
  }

  /// Where it crashed, or was when asked.
  std::vector<std::size_t> where() const { return crash_->frames(); }

  /// Ends the child and what it started.
  void stop() {
    if (!ended()) {
      kill(pid_, SIGKILL);
      int status = 0;
      waitpid(pid_, &status, 0);
      status_ = status;
    }
    if (kill_all_) kill_children();
  }

  /// Processor time used so far, all threads together.
  double cpu_seconds() const {
    clockid_t clock{};
    timespec time{};
    if (clock_getcpuclockid(pid_, &clock) != 0 || clock_gettime(clock, &time) != 0) return 0;
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  }

  /// Whether its main thread runs, or would if there were a processor.
  bool runs() const { return status_of(std::to_string(pid_)).state == 'R'; }

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
  bool kill_all_ = !has_children();  // else some are not ours to kill: the shell's that was replaced by this program
  pid_t pid_ = 0;
  int events_ = -1;
  int output_ = -1;
  Trace* crash_ = nullptr;  ///< shared with the child
  std::string received_;
  std::optional<int> status_;
};

std::string seconds_text(double seconds) { return number_text(seconds, 3); }

bool flooded(int status) { return WIFSIGNALED(status) && WTERMSIG(status) == SIGXFSZ; }

/// How the program ended: "crashed: segmentation fault (...)".
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

/// The same of a program that never came to a check: "crashed before its first check (segmentation fault)".
std::string early_end_text(int status) {
  if (WIFEXITED(status)) return "ended before its first check (exit code " + std::to_string(WEXITSTATUS(status)) + ")";
  if (flooded(status)) return "printed without end before its first check";
  return std::string("crashed before its first check (") + strsignal(WTERMSIG(status)) + ")";
}

/// Whether todo() ended the check.
bool meets_todo(const CheckResult& result) {
  return std::any_of(result.failures.begin(), result.failures.end(),
                     [](const Failure& failure) { return failure.kind == Failure::Kind::not_written; });
}

/// What is reported of a check that ended the program, or had to be stopped.
Failure ended_failure(const std::string& why) {
  Failure failure;
  failure.kind = Failure::Kind::ended;
  failure.statements.push_back({"ended", why});
  return failure;
}

class Supervisor {
 public:
  explicit Supervisor(std::string filter) : filter_(std::move(filter)) {}

  std::optional<Outcome> run() {
    do {
      if (!run_child_to_its_end()) return {};
    } while (next_ < results().size());
    return std::move(outcome_);
  }

 private:
  using Clock = std::chrono::steady_clock;

  enum class Overrun { none, computing, waiting, in_all };

  std::vector<CheckResult>& results() { return outcome_.results; }

  /// Watches one child from the check `next_` on, until it has done all, died, or had to be stopped.
  /// @return false in the child
  bool run_child_to_its_end() {
    Child child;
    if (!child.start(limits_, remaining())) return false;
    begin_counting(child);
    running_ = false;
    while (true) {
      obey_signals(child);
      const bool gone = child.ended();  // before reading: then all that it sent is there
      try {
        for (const auto& line : child.lines(gone ? 0 : 20)) {
          handle_event(json::parse(line), child);
          if (planned_ && next_ == results().size()) return true;  // what the program does after them does not matter
        }
      } catch (const std::exception&) {
        give_up(child, State::ended,
                "what the checks report cannot be read: something else was written to their file descriptor");
        return true;
      }
      if (gone) break;
      if (const Overrun overrun = count(child); overrun != Overrun::none) {
        stop(child, overrun);
        return true;
      }
    }
    const int status = child.status();
    if (!planned_) {
      end_early(child, early_end_text(status));
    } else if (running_) {
      give_up(child, flooded(status) ? State::stopped : State::ended, end_text(status, limits_));
    } else {
      give_up(child, State::ended, "before this check began, " + end_text(status, limits_));
    }
    return true;
  }

  void handle_event(const json& event, const Child& child) {
    const std::string kind = event.at("event");
    if (kind == "plan" && !planned_) {
      for (const auto& check : event.at("checks")) {
        results().emplace_back();
        results().back().suite = check.at(0);
        results().back().name = check.at(1);
      }
      outcome_.source = event.at("source");
      planned_ = true;
    } else if (kind == "start") {
      running_ = true;
      begin_counting(child);
      printed_at_start_ = event.at("printed");
    } else if (kind == "failure") {
      results().at(next_).failures.push_back(event.at("failure").get<Failure>());
    } else if (kind == "end") {
      CheckResult& result = results().at(next_);
      if (!event.at("passed")) result.state = meets_todo(result) ? State::not_written : State::failed;
      result.milliseconds = event.at("milliseconds");
      result.reached = event.at("reached").get<std::set<int>>();
      finish(child, event.at("printed"));
      begin_counting(child);
    }
  }

  void begin_counting(const Child& child) {
    looked_ = Clock::now();
    cpu_at_start_ = cpu_seen_ = child.cpu_seconds();
    waited_ = 0;
  }

  /// Adds the time since the last look. The time of a process that is ready to run is not spent on waiting: a busy
  /// machine makes it wait. Nor is the time while this process was stopped, or the machine suspended.
  Overrun count(const Child& child) {
    const auto now = Clock::now();
    const double passed = std::min(0.1, std::chrono::duration<double>(now - looked_).count());
    if (passed < 0.01) return Overrun::none;
    looked_ = now;
    const double cpu = child.cpu_seconds();
    const double computed = std::min(passed, cpu - cpu_seen_);
    const bool waits = computed < passed / 10 && !child.runs();
    cpu_seen_ = cpu;
    waited_ += waits ? passed : 0;
    in_all_ += waits ? passed : computed;
    if (cpu - cpu_at_start_ > limits_.cpu_seconds) return Overrun::computing;
    if (waited_ > limits_.waiting_seconds) return Overrun::waiting;
    return in_all_ > limits_.total_seconds ? Overrun::in_all : Overrun::none;
  }

  void stop(Child& child, Overrun overrun) {
    if (running_) child.ask_where();
    child.stop();
    if (!planned_) {
      const std::string what = overrun == Overrun::waiting
                                   ? "waited for " + seconds_text(limits_.waiting_seconds) + " s"
                                   : "computed for " + seconds_text(limits_.cpu_seconds) + " s";
      return end_early(child, what + " before its first check");
    }
    std::string why = overrun == Overrun::computing
                          ? "stopped after " + seconds_text(limits_.cpu_seconds) +
                                " s of computing: a loop that never ends? (an arma::uword that counts down never gets "
                                "below 0)"
                      : overrun == Overrun::waiting
                          ? "stopped after " + seconds_text(limits_.waiting_seconds) + " s: it waits for something"
                          : "stopped: all checks together took more than " + seconds_text(limits_.total_seconds) + " s";
    if (!running_) why += ", before this check began (does something go on that an earlier one started?)";
    give_up(child, State::stopped, why);
    if (++overruns_ == 1) {
      limits_.cpu_seconds *= limits_.repeat_factor;
      limits_.waiting_seconds *= limits_.repeat_factor;
    }
    if (overrun != Overrun::in_all && overruns_ < limits_.overruns) return;
    for (; next_ < results().size(); ++next_) results()[next_].state = State::not_run;
  }

  void end_early(const Child& child, const std::string& why) {
    outcome_.problem = why + ": is something global or static set up in your file?";
    outcome_.printed = child.read_printed(0, shown_bytes);
  }

  void give_up(const Child& child, State state, const std::string& why) {
    if (!planned_) return end_early(child, why);
    CheckResult& result = results().at(next_);
    result.state = state;
    result.failures = {ended_failure(why)};
    result.failures.front().frames = child.where();
    if (!running_) printed_at_start_ = child.printed();
    std::string printed = child.read_printed(printed_at_start_, sanitizer_bytes);
    finish(child, child.printed());
    const std::string found = state == State::ended ? take_sanitizer_report(printed) : "";
    if (found.empty()) return;
    result.failures = {ended_failure(found)};
    result.printed = printed.substr(0, shown_bytes);
    result.printed_bytes = printed.size();
  }

  void finish(const Child& child, std::size_t printed) {
    CheckResult& result = results().at(next_);
    result.printed_bytes = printed - std::min(printed, printed_at_start_);
    result.printed = child.read_printed(printed_at_start_, std::min(result.printed_bytes, shown_bytes));
    running_ = false;
    ++next_;
  }

  /// The filter for GoogleTest that selects the checks from `next_` on; empty for those that the command line selects.
  std::string remaining() {
    if (!planned_) return filter_;
    std::string filter;
    for (std::size_t i = next_; i < results().size(); ++i) filter += results()[i].full_name() + ":";
    return filter;
  }

  static void obey_signals(Child& child) {
    const int signal = received_signal;
    received_signal = 0;
    if (signal == SIGTSTP) return child.suspend();
    if (signal == 0) return;
    child.stop();
    _exit(128 + signal);
  }

  Limits limits_;
  std::string filter_;  ///< of the first child; empty: what the command line says
  Outcome outcome_;
  std::size_t next_ = 0;  ///< the check that runs, or runs next
  bool planned_ = false;
  bool running_ = false;
  int overruns_ = 0;
  Clock::time_point looked_;
  double cpu_at_start_ = 0;
  double cpu_seen_ = 0;
  double waited_ = 0;
  double in_all_ = 0;
  std::size_t printed_at_start_ = 0;
};

}  // namespace

std::optional<Outcome> supervise(const std::string& filter) {
  signal(SIGCHLD, SIG_DFL);  // ignored, it would keep back how a child ended
  handle_signals(note_signal);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  set_limit(RLIMIT_CORE, 0);
  return Supervisor(filter).run();
}

bool is_supervised() { return assignment != nullptr; }

void run_assigned_checks() {
  keep_traces(*assignment->crash);
  if (*assignment->filter != '\0') GTEST_FLAG_SET(filter, assignment->filter);
  GTEST_FLAG_SET(repeat, 1);  // the parent expects each check once, in its order
  GTEST_FLAG_SET(shuffle, false);
  GTEST_FLAG_SET(fail_fast, false);
  auto& listeners = ::testing::UnitTest::GetInstance()->listeners();
  delete listeners.Release(listeners.default_result_printer());
  listeners.Append(new EventSender(assignment->events, assignment->printed_bytes));
  const int failed = RUN_ALL_TESTS();
  std::fflush(nullptr);
  _exit(failed);
}

}  // namespace attn::judge
