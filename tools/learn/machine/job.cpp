#include "learn/machine/job.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <fstream>

#include "learn/machine/build.hpp"

namespace attn::learn {

namespace fs = std::filesystem;

namespace {

/// Where in a build Ninja is, by the end of its output: ", step 3 of 14".
std::string last_step(const fs::path& log) {
  std::ifstream in(log, std::ios::ate);
  const auto size = static_cast<std::streamoff>(in.tellg());
  in.seekg(std::max<std::streamoff>(0, size - 4000));
  std::string last;
  for (std::string row; std::getline(in, row);) {
    if (const std::string step = step_in(row); !step.empty()) last = ", " + step;
  }
  return last;
}

const std::string waits_for = "waiting, as another ./learn builds ";

volatile std::sig_atomic_t last_signal = 0;
void note_signal(int signal) { last_signal = signal; }

/// While it lives, a signal is only remembered. (Whoever starts us may want SIGTSTP ignored.)
class SignalCaught {
 public:
  explicit SignalCaught(int signal) : signal_(signal) {
    last_signal = 0;
    struct sigaction action {};
    action.sa_handler = note_signal;
    sigaction(signal, &action, &before_);
    if (signal == SIGTSTP && before_.sa_handler == SIG_IGN) sigaction(signal, &before_, nullptr);
  }
  ~SignalCaught() { sigaction(signal_, &before_, nullptr); }
  SignalCaught(const SignalCaught&) = delete;
  SignalCaught& operator=(const SignalCaught&) = delete;

 private:
  int signal_;
  struct sigaction before_ {};
};

/// Stops this program as Ctrl-Z does; returns when it is continued.
void stop_until_continued() {
  struct sigaction ours {};
  struct sigaction usual {};
  usual.sa_handler = SIG_DFL;
  sigaction(SIGTSTP, &usual, &ours);
  raise(SIGTSTP);
  sigaction(SIGTSTP, &ours, nullptr);
}

}  // namespace

bool Job::advance() {
  while (process_ && process_->ended()) {
    const auto ended = std::move(process_);
    next(*ended);
  }
  return !process_;
}

std::string Job::doing() const {
  if (what_ != "building" || !process_) return what_;
  if (const std::string step = last_step(output_); !step.empty()) return what_ + step;
  const std::string other = built_by_another(output_.parent_path(), process_->group());
  return other.empty() ? what_ : waits_for + other;
}

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

void Job::wait(const std::function<void(const std::string&)>& report) {
  using std::chrono::milliseconds;
  using std::chrono::steady_clock;
  constexpr milliseconds tick{200};
  constexpr milliseconds first_report{3000};
  constexpr milliseconds report_again{10000};
  const SignalCaught interrupts(SIGINT);
  const SignalCaught stops(SIGTSTP);
  auto next_report = steady_clock::now() + first_report;
  std::string reported;
  while (!advance()) {
    pollfd waiting{wake_fd(), POLLIN, 0};
    poll(&waiting, 1, static_cast<int>(tick.count()));
    if (last_signal == SIGINT) stop();
    if (last_signal == SIGTSTP) {
      last_signal = 0;
      pause();
      stop_until_continued();
      resume();
    }
    if (!report || steady_clock::now() < next_report) continue;
    next_report = steady_clock::now() + report_again;
    const std::string news = doing();
    if (news == reported && news.rfind(waits_for, 0) == 0) continue;  // said once
    report(news + " ...");
    reported = news;
  }
}

}  // namespace attn::learn
