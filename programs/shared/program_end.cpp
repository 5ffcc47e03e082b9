#include "shared/program_end.hpp"

#include <sys/time.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <ctime>
#include <iostream>

namespace attn {

namespace {

volatile std::sig_atomic_t interrupted = 0;
volatile std::sig_atomic_t interrupted_at = 0;  // in seconds
bool ends_shortly = false;

void note_interrupt(int signal) {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  const auto seconds = static_cast<std::sig_atomic_t>(now.tv_sec);
  if (interrupted != 0 && seconds > interrupted_at + 1) _exit(128 + signal);
  if (interrupted == 0) {
    interrupted_at = seconds;
    const itimerval half_a_second = {{}, {0, 500'000}};
    if (ends_shortly) setitimer(ITIMER_REAL, &half_a_second, nullptr);
  }
  interrupted = signal;
}

void end_interrupted(int /*signal*/) {
  constexpr char text[] = "\n\n(interrupted)\n";
  [[maybe_unused]] const auto written = write(STDOUT_FILENO, text, sizeof text - 1);
  _exit(exit_interrupted);
}

void note(int signal) {
  struct sigaction action {};
  sigaction(signal, nullptr, &action);
  if (action.sa_handler == SIG_IGN && signal == SIGHUP) return;
  action = {};
  action.sa_handler = note_interrupt;
  action.sa_flags = SA_RESTART;
  sigaction(signal, &action, nullptr);
}

const char* printed = "";

void report(int signal) {
  [[maybe_unused]] const auto written = write(STDERR_FILENO, printed, std::strlen(printed));
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

}  // namespace

void catch_interrupts() { note(SIGINT); }

void catch_interrupts_shortly() {
  ends_shortly = true;
  std::signal(SIGALRM, end_interrupted);
  catch_interrupts();
}

void catch_termination() {
  note(SIGTERM);
  note(SIGHUP);
}

void let_large_writes_fail() { std::signal(SIGXFSZ, SIG_IGN); }

bool was_interrupted() { return interrupted != 0; }

int exit_code_of_interrupt() { return 128 + static_cast<int>(interrupted); }

int exit_code_when_printed(int code) {
  if (std::cout.flush()) return code;
  std::cerr << "What was printed could not be written to its end: is the disk full, or the file too large?\n";
  return 2;
}

void report_crashes(const char* text) {
  printed = text;
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGABRT}) std::signal(signal, report);
}

int report_not_written(const NotWritten& error) {
  std::cerr << error.what()
            << "\nThe demonstration runs what you write. Until then, this shows it with the reference:\n"
            << "  ./learn demo " << error.task.substr(0, 2) << " --reference\n";
  return 1;
}

int run_demonstration(const std::string& number, const std::function<void()>& show) {
  catch_interrupts_shortly();
  try {
    show();
    return exit_code_when_printed(was_interrupted() ? exit_interrupted : 0);
  } catch (const NotWritten& error) {
    return report_not_written(error);
  } catch (const std::exception& error) {
    std::cerr << "\nWhat you wrote threw an error: " << error.what() << "\n./learn check " << number
              << " finds out why.\n";
    return 1;
  }
}

}  // namespace attn
