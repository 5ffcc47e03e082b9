#include "run/trace.hpp"

#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <map>
#include <set>
#include <sstream>

#include "run/process.hpp"
#include "run/sanitizer.hpp"

namespace attn::judge {

namespace {

/// Where this program is in memory.
struct Program {
  std::size_t base = 0;  ///< what is added to the addresses in its file
  std::size_t begin = 0;
  std::size_t end = 0;
};
Program program;

Trace* crash_trace = nullptr;
Trace throw_trace;
bool keeps_throws = false;

/// The first that is listed is the program itself.
int find_program(dl_phdr_info* info, std::size_t /*size*/, void* found) {
  Program& here = *static_cast<Program*>(found);
  here.base = info->dlpi_addr;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& part = info->dlpi_phdr[i];
    if (part.p_type != PT_LOAD || (part.p_flags & PF_X) == 0) continue;
    here.begin = here.base + part.p_vaddr;
    here.end = here.begin + part.p_memsz;
  }
  return 1;
}

/// The instruction that a signal interrupted; null where that is not known.
const void* interrupted_by_signal(const void* context) {
  [[maybe_unused]] const auto& registers = static_cast<const ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
  return reinterpret_cast<const void*>(registers.gregs[REG_RIP]);
#elif defined(__aarch64__)
  return reinterpret_cast<const void*>(registers.pc);
#else
  return nullptr;
#endif
}

void on_signal(int signal, siginfo_t* /*info*/, void* context) {
  const int error = errno;
  if (crash_trace->empty()) crash_trace->take(interrupted_by_signal(context));
  errno = error;
  if (signal == trace_signal) return;
  std::signal(signal, SIG_DFL);
  std::raise(signal);  // its usual effect, once this returns
}

// ------------------------------------------------------------------------------------- lines of the learner's files

using Frame = std::size_t;

/// "/home/me/course/lessons/01_x/y.cpp:31 (discriminator 2)" as a place in one of the learner's files; none for others.
Place learners_place(const std::string& row, const lesson::Lesson& lesson) {
  const std::string folder = lesson.work_folder + "/" + lesson.name + "/";
  const auto begin = row.find("/" + folder);
  const auto colon = row.rfind(':');
  if (begin == std::string::npos || colon == std::string::npos || colon < begin) return {};
  return {row.substr(begin + 1, colon - begin - 1), std::atoi(row.c_str() + colon + 1)};
}

/// Which of these frames are in the learner's files, and where. Empty without addr2line or debug information.
std::map<Frame, Place> learners_places(const std::set<Frame>& frames, const lesson::Lesson& lesson) {
  std::string input;
  for (const Frame frame : frames) {
    char text[32];
    std::snprintf(text, sizeof text, "%#zx\n", frame);
    input += text;
  }
  std::map<Frame, Place> places;
  std::istringstream answer(
      ask({"addr2line", "-a", "-i", "-e", "/proc/" + std::to_string(getpid()) + "/exe"}, lesson.root, input, 5).output);
  Frame frame = 0;
  for (std::string row; std::getline(answer, row);) {
    if (row.rfind("0x", 0) == 0) {
      frame = std::strtoull(row.c_str(), nullptr, 16);
    } else if (const Place place = learners_place(row, lesson); place.line > 0) {
      places.emplace(frame, place);  // the innermost, where a call was inlined
    }
  }
  return places;
}

}  // namespace

const int trace_signal = SIGPROF;

void Trace::take(const void* interrupted) {
  void* calls[most_];
  const int found = backtrace(calls, most_);
  int count = 0;
  for (int i = 0; i < found; ++i) {
    const auto address = reinterpret_cast<std::size_t>(calls[i]);
    if (address < program.begin || address >= program.end) continue;  // of a library
    frames_[count++] = address - program.base - (calls[i] == interrupted ? 0 : 1);
  }
  count_ = count;
}

std::vector<std::size_t> Trace::frames() const { return {std::begin(frames_), std::begin(frames_) + count_}; }

const Trace& last_throw() { return throw_trace; }
void forget_throws() { throw_trace.clear(); }

void keep_traces(Trace& crash) {
  if (has_sanitizer) return;
  dl_iterate_phdr(find_program, &program);
  void* call = nullptr;
  backtrace(&call, 1);  // the first call loads a library
  crash_trace = &crash;
  keeps_throws = true;

  static char memory[1 << 16];  // for a stack that is full
  stack_t stack{};
  stack.ss_sp = memory;
  stack.ss_size = sizeof memory;
  sigaltstack(&stack, nullptr);
  struct sigaction action {};
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGXFSZ, trace_signal})
    sigaction(signal, &action, nullptr);
}

void find_calls(std::vector<CheckResult>& checks, const lesson::Lesson& lesson) {
  std::set<Frame> frames;
  for (const auto& check : checks) {
    if (const Failure* shown = check.shown()) frames.insert(shown->frames.begin(), shown->frames.end());
  }
  const auto places = frames.empty() ? std::map<Frame, Place>{} : learners_places(frames, lesson);
  for (auto& check : checks) {
    const auto calls = check.shown() == nullptr ? std::vector<Frame>{} : check.shown()->frames;
    for (auto& failure : check.failures) failure.frames.clear();
    const auto found = std::find_if(calls.begin(), calls.end(), [&](Frame frame) { return places.count(frame) != 0; });
    if (found != calls.end()) check.place = places.at(*found);
  }
}

}  // namespace attn::judge

#ifndef ATTN_ADDRESS_SANITIZER
using Throw = void (*)(void* exception, void* type, void (*destroy)(void*));

extern "C" [[noreturn]] void __cxa_throw(void* exception, void* type, void (*destroy)(void*));

/// Every `throw` of the program and of its libraries calls this in place of the original, which goes on.
extern "C" [[noreturn]] void __cxa_throw(void* exception, void* type, void (*destroy)(void*)) {
  static const auto original = reinterpret_cast<Throw>(dlsym(RTLD_NEXT, "__cxa_throw"));
  if (attn::judge::keeps_throws) attn::judge::throw_trace.take();
  original(exception, type, destroy);
  __builtin_unreachable();
}
#endif
