#include "learn/process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <iostream>
#include <stdexcept>

namespace attn::learn {

namespace {

[[noreturn]] void fail(const char* call) { throw std::runtime_error(std::string(call) + ": " + std::strerror(errno)); }

/// The arguments as exec wants them; they are only valid as long as the strings.
std::vector<char*> argv_of(const std::vector<std::string>& arguments) {
  std::vector<char*> argv;
  for (const auto& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  return argv;
}

int exit_code_of(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/// All that can be read until the other end is closed, or until the time is over.
/// @return whether the end came in time
bool read_until(std::chrono::steady_clock::time_point end, int fd, std::string& text) {
  std::array<char, 4096> buffer{};
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now()).count();
    pollfd readable{fd, POLLIN, 0};
    const int ready = left <= 0 ? 0 : poll(&readable, 1, static_cast<int>(left));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return false;
    const ssize_t size = read(fd, buffer.data(), buffer.size());
    if (size <= 0) return true;
    text.append(buffer.data(), static_cast<std::size_t>(size));
  }
}

}  // namespace

int run(const std::vector<std::string>& arguments, const std::filesystem::path& directory,
        const std::optional<std::filesystem::path>& output) {
  std::vector<char*> argv = argv_of(arguments);
  std::cout.flush();
  const pid_t child = fork();
  if (child < 0) fail("fork");
  if (child == 0) {
    if (output) {
      const int file = open(output->c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
      if (file < 0) _exit(126);
      dup2(file, STDOUT_FILENO);
      dup2(file, STDERR_FILENO);
      close(file);
    }
    if (chdir(directory.c_str()) != 0) _exit(126);
    execvp(argv[0], argv.data());
    _exit(127);
  }
  return exit_code_of(child);
}

Answer ask(const std::vector<std::string>& arguments, const std::filesystem::path& directory, const std::string& input,
           int seconds) {
  std::vector<char*> argv = argv_of(arguments);
  int in[2];
  int out[2];
  if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0) fail("pipe");
  if (write(in[1], input.data(), input.size()) < 0) fail("write");  // it fits into the pipe
  close(in[1]);
  const pid_t child = fork();
  if (child < 0) fail("fork");
  if (child == 0) {
    setpgid(0, 0);  // so that what it starts can be killed with it
    dup2(in[0], STDIN_FILENO);
    dup2(out[1], STDOUT_FILENO);
    dup2(open("/dev/null", O_WRONLY), STDERR_FILENO);
    if (chdir(directory.c_str()) != 0) _exit(126);
    execvp(argv[0], argv.data());
    _exit(127);
  }
  setpgid(child, child);
  close(in[0]);
  close(out[1]);
  Answer answer{};
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  if (!read_until(end, out[0], answer.output)) kill(-child, SIGKILL);
  close(out[0]);
  answer.exit_code = exit_code_of(child);
  return answer;
}

}  // namespace attn::learn
