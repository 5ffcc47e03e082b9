#include "interrupt.hpp"

#include <unistd.h>

#include <csignal>
#include <ctime>

namespace attn {

namespace {

volatile std::sig_atomic_t interrupted = 0;
volatile std::sig_atomic_t interrupted_at = 0;  // in seconds

void note_interrupt(int signal) {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  const auto seconds = static_cast<std::sig_atomic_t>(now.tv_sec);
  if (interrupted != 0 && seconds > interrupted_at + 1) _exit(128 + signal);
  if (interrupted == 0) interrupted_at = seconds;
  interrupted = signal;
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

}  // namespace

void catch_interrupts() { note(SIGINT); }

void catch_termination() {
  note(SIGTERM);
  note(SIGHUP);
}

bool was_interrupted() { return interrupted != 0; }

int exit_code_of_interrupt() { return 128 + static_cast<int>(interrupted); }

}  // namespace attn
