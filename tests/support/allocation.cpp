#include "support/allocation.hpp"

#include <cstdlib>

namespace {

thread_local std::size_t asked_for = 0;
thread_local std::size_t largest_piece = 0;

void count(std::size_t size) {
  asked_for += size;
  if (size > largest_piece) largest_piece = size;
}

}  // namespace

// The linker option --wrap=malloc turns calls of malloc into calls of __wrap_malloc, and names the original
// __real_malloc; likewise for the others. _Znwm and _Znam are operator new and operator new[].
extern "C" {
void* __real_malloc(std::size_t size);
void* __real_aligned_alloc(std::size_t alignment, std::size_t size);
int __real_posix_memalign(void** memory, std::size_t alignment, std::size_t size);
void* __real__Znwm(std::size_t size);
void* __real__Znam(std::size_t size);

void* __wrap_malloc(std::size_t size) {
  count(size);
  return __real_malloc(size);
}
void* __wrap_aligned_alloc(std::size_t alignment, std::size_t size) {
  count(size);
  return __real_aligned_alloc(alignment, size);
}
int __wrap_posix_memalign(void** memory, std::size_t alignment, std::size_t size) {
  count(size);
  return __real_posix_memalign(memory, alignment, size);
}
void* __wrap__Znwm(std::size_t size) {
  count(size);
  return __real__Znwm(size);
}
void* __wrap__Znam(std::size_t size) {
  count(size);
  return __real__Znam(size);
}
}

namespace attn::testing {

std::size_t allocated_bytes(const std::function<void()>& code) {
  const std::size_t before = asked_for;
  code();
  return asked_for - before;
}

std::size_t largest_allocation(const std::function<void()>& code) {
  largest_piece = 0;
  code();
  return largest_piece;
}

std::string bytes_text(std::size_t bytes) {
  return bytes < 10000 ? std::to_string(bytes) + " bytes" : std::to_string((bytes + 500) / 1000) + " KB";
}

}  // namespace attn::testing
