#include "run/process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <iostream>
#include <stdexcept>

namespace attn::judge {

namespace {

[[noreturn]] void fail(const char* call) { throw std::runtime_error(std::string(call) + ": " + std::strerror(errno)); }

/// Starts a program, which first does what `prepare` says.
template <typename Prepare>
pid_t start(const std::vector<std::string>& arguments, const std::filesystem::path& directory, const Prepare& prepare) {
  std::vector<char*> argv;
  for (const auto& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  std::cout.flush();
  const pid_t child = fork();
  if (child < 0) fail("fork");
  if (child > 0) return child;
  prepare();
  if (chdir(directory.c_str()) != 0) _exit(126);
  execvp(argv[0], argv.data());
  _exit(127);
}

void send_output_to(const std::filesystem::path& file) {
  const int fd = open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (fd < 0) _exit(126);
  dup2(fd, STDOUT_FILENO);
  dup2(fd, STDERR_FILENO);
  close(fd);
}

int code_of(int status) { return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status); }

int wait_for(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return code_of(status);
}

}  // namespace

void set_limit(int resource, std::size_t value) {
  rlimit limit{};
  getrlimit(static_cast<__rlimit_resource>(resource), &limit);
  limit.rlim_cur = std::min<rlim_t>(value, limit.rlim_max);
  setrlimit(static_cast<__rlimit_resource>(resource), &limit);
}

Process::Process(const std::vector<std::string>& arguments, const std::filesystem::path& directory,
                 const std::filesystem::path& output, const std::optional<ProcessLimits>& limits) {
  int ends[2];  // the child and all that it starts hold one end: when they are gone, ours becomes readable
  if (pipe2(ends, O_CLOEXEC) != 0) fail("pipe");
  const pid_t parent = getpid();
  pid_ = start(arguments, directory, [&] {
    setpgid(0, 0);
    std::signal(SIGTERM, SIG_DFL);     // whoever started the tool may ignore it
    prctl(PR_SET_PDEATHSIG, SIGTERM);  // kill -9 on the tool leaves nothing behind
    if (getppid() != parent) _exit(1);
    fcntl(ends[1], F_SETFD, 0);
    const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    dup2(nothing, STDIN_FILENO);
    send_output_to(output);
    if (!limits) return;
    set_limit(RLIMIT_CORE, 0);
    set_limit(RLIMIT_CPU, static_cast<std::size_t>(limits->processor.count()));
    set_limit(RLIMIT_AS, limits->memory_bytes);
    set_limit(RLIMIT_FSIZE, limits->written_bytes);
  });
  setpgid(pid_, pid_);  // whoever is first
  close(ends[1]);
  wake_fd_ = ends[0];
  if (limits) end_ = std::chrono::steady_clock::now() + limits->wall;
}

Process::~Process() {
  stop();
  close(wake_fd_);
}

bool Process::ended() {
  int status = 0;
  const pid_t changed = gone_ ? 0 : waitpid(pid_, &status, WNOHANG | WUNTRACED);
  if (changed == pid_ && WIFSTOPPED(status)) {
    kill(pid_, SIGCONT);
  } else if (changed == pid_) {
    gone_ = true;
    exit_code_ = code_of(status);
    kill(-pid_, SIGKILL);  // what it may have left behind
  }
  if (!gone_ && end_ && std::chrono::steady_clock::now() > *end_) {
    end_.reset();
    overran_ = true;
    stop();
  }
  return gone_;
}

void Process::stop() {
  if (gone_) return;
  kill(-pid_, SIGTERM);
  constexpr int longest_ms = 1000;
  for (int waited = 0; waited < longest_ms && !ended(); waited += 10) poll(nullptr, 0, 10);
  kill(-pid_, SIGKILL);
  int status = 0;
  if (gone_ || waitpid(pid_, &status, 0) != pid_) return;
  gone_ = true;
  exit_code_ = code_of(status);
}

int run(const std::vector<std::string>& arguments, const std::filesystem::path& directory,
        const std::optional<std::filesystem::path>& output) {
  return wait_for(start(arguments, directory, [&] {
    if (output) send_output_to(*output);
  }));
}

Answer ask(const std::vector<std::string>& arguments, const std::filesystem::path& directory, const std::string& input,
           int seconds) {
  const int in = memfd_create("question", MFD_CLOEXEC);
  const int out = memfd_create("answer", MFD_CLOEXEC);
  if (in < 0 || out < 0 || pwrite(in, input.data(), input.size(), 0) < 0) fail("memfd_create");
  const pid_t child = start(arguments, directory, [&] {
    setpgid(0, 0);  // so that what it starts can be killed with it
    dup2(in, STDIN_FILENO);
    dup2(out, STDOUT_FILENO);
    dup2(open("/dev/null", O_WRONLY), STDERR_FILENO);
  });
  setpgid(child, child);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  int status = 0;
  pid_t gone = 0;
  while ((gone = waitpid(child, &status, WNOHANG)) == 0 && std::chrono::steady_clock::now() < end) poll(nullptr, 0, 1);
  kill(-child, SIGKILL);  // and what it may have left behind
  Answer answer{gone == child ? code_of(status) : wait_for(child), ""};
  answer.output.resize(static_cast<std::size_t>(lseek(out, 0, SEEK_END)));
  if (pread(out, answer.output.data(), answer.output.size(), 0) < 0) fail("pread");
  close(in);
  close(out);
  return answer;
}

}  // namespace attn::judge
