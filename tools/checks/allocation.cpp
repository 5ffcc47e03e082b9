#include "checks/allocation.hpp"

#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

// Of all threads: an answer may start some.
std::atomic<std::size_t> asked_for = 0;
std::atomic<std::size_t> largest_piece = 0;
std::atomic<std::ptrdiff_t> held = 0;  // below zero when memory from elsewhere was given back
std::atomic<std::ptrdiff_t> most_held = 0;

template <typename Number>
void raise(std::atomic<Number>& most, Number value) {
  for (Number before = most; before < value && !most.compare_exchange_weak(before, value);) {
  }
}

void count(std::size_t size) {
  asked_for += size;
  raise(largest_piece, size);
}

void* taken(void* memory) {
  const std::ptrdiff_t size = static_cast<std::ptrdiff_t>(malloc_usable_size(memory));
  raise(most_held, held += size);
  return memory;
}

void* given_back(void* memory) {
  held -= static_cast<std::ptrdiff_t>(malloc_usable_size(memory));
  return memory;
}

}  // namespace

// The linker option --wrap=malloc turns calls of malloc into calls of __wrap_malloc, and names the original
// __real_malloc; likewise for the others. _Znwm and _Znam are operator new and operator new[], with RKSt9nothrow_t
// those that do not throw; _ZdlPv and _ZdaPv are operator delete and operator delete[], with m those that know the
// size.
extern "C" {
void* __real_malloc(std::size_t size);
void* __real_calloc(std::size_t count, std::size_t size);
void* __real_realloc(void* memory, std::size_t size);
void* __real_aligned_alloc(std::size_t alignment, std::size_t size);
int __real_posix_memalign(void** memory, std::size_t alignment, std::size_t size);
void __real_free(void* memory);
void* __real__Znwm(std::size_t size);
void* __real__Znam(std::size_t size);
void* __real__ZnwmRKSt9nothrow_t(std::size_t size, const std::nothrow_t& tag);
void* __real__ZnamRKSt9nothrow_t(std::size_t size, const std::nothrow_t& tag);
void __real__ZdlPv(void* memory);
void __real__ZdaPv(void* memory);
void __real__ZdlPvm(void* memory, std::size_t size);
void __real__ZdaPvm(void* memory, std::size_t size);

void* __wrap_malloc(std::size_t size) {
  count(size);
  return taken(__real_malloc(size));
}
void* __wrap_calloc(std::size_t number, std::size_t size) {
  count(number * size);
  return taken(__real_calloc(number, size));
}
void* __wrap_realloc(void* memory, std::size_t size) {
  count(size);
  const std::ptrdiff_t before = static_cast<std::ptrdiff_t>(malloc_usable_size(memory));
  void* const moved = __real_realloc(memory, size);
  if (moved != nullptr || size == 0) held -= before;
  return taken(moved);
}
void* __wrap_aligned_alloc(std::size_t alignment, std::size_t size) {
  count(size);
  return taken(__real_aligned_alloc(alignment, size));
}
int __wrap_posix_memalign(void** memory, std::size_t alignment, std::size_t size) {
  count(size);
  const int error = __real_posix_memalign(memory, alignment, size);
  if (error == 0) taken(*memory);
  return error;
}
void __wrap_free(void* memory) { __real_free(given_back(memory)); }
void* __wrap__Znwm(std::size_t size) {
  count(size);
  return taken(__real__Znwm(size));
}
void* __wrap__Znam(std::size_t size) {
  count(size);
  return taken(__real__Znam(size));
}
void* __wrap__ZnwmRKSt9nothrow_t(std::size_t size, const std::nothrow_t& tag) {
  return taken(__real__ZnwmRKSt9nothrow_t(size, tag));
}
void* __wrap__ZnamRKSt9nothrow_t(std::size_t size, const std::nothrow_t& tag) {
  return taken(__real__ZnamRKSt9nothrow_t(size, tag));
}
void __wrap__ZdlPv(void* memory) { __real__ZdlPv(given_back(memory)); }
void __wrap__ZdaPv(void* memory) { __real__ZdaPv(given_back(memory)); }
void __wrap__ZdlPvm(void* memory, std::size_t size) { __real__ZdlPvm(given_back(memory), size); }
void __wrap__ZdaPvm(void* memory, std::size_t size) { __real__ZdaPvm(given_back(memory), size); }
}

namespace attn::judge {

std::size_t allocated_bytes(FunctionView<void()> code) {
  const std::size_t before = asked_for;
  code();
  return asked_for - before;
}

std::size_t largest_allocation(FunctionView<void()> code) {
  largest_piece = 0;
  code();
  return largest_piece;
}

std::size_t peak_bytes(FunctionView<void()> code) {
  const std::ptrdiff_t before = held;
  most_held = before;
  code();
  return static_cast<std::size_t>(most_held - before);
}

std::string bytes_text(std::size_t bytes) {
  return bytes < 10000 ? std::to_string(bytes) + " bytes" : std::to_string((bytes + 500) / 1000) + " KB";
}

}  // namespace attn::judge
