#include "interrupt.hpp"

#include <unistd.h>

#include <csignal>
#include <ctime>

namespace attn {

namespace {

volatile std::sig_atomic_t interrupted = 0;
volatile std::sig_atomic_t interrupted_at = 0;  // in seconds

void note_interrupt(int) {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  const auto seconds = static_cast<std::sig_atomic_t>(now.tv_sec);
  if (interrupted != 0 && seconds > interrupted_at + 1) _exit(exit_interrupted);
  if (interrupted == 0) interrupted_at = seconds;
  interrupted = 1;
}

}  // namespace

void catch_interrupts() {
  struct sigaction action {};
  action.sa_handler = note_interrupt;
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
}

bool was_interrupted() { return interrupted != 0; }

}  // namespace attn
