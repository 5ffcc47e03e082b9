#include "attn/memory_map.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>

namespace attn {

namespace {

[[noreturn]] void refuse(const std::filesystem::path& file, const std::string& why) {
  throw std::invalid_argument("file " + file.string() + " cannot be read: " + why);
}

}  // namespace

MemoryMap::MemoryMap(const std::filesystem::path& file) {
  const int descriptor = open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // a pipe would wait for its writer
  if (descriptor < 0) refuse(file, std::strerror(errno));
  struct stat status = {};
  const bool is_file = fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
  const auto size = static_cast<std::size_t>(is_file ? status.st_size : 0);
  void* start = size == 0 ? nullptr : mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
  const std::string why = start == MAP_FAILED ? std::strerror(errno) : "";
  close(descriptor);
  if (!is_file) refuse(file, "it is not a regular file");
  if (start == MAP_FAILED) refuse(file, why);
  bytes_ = std::string_view(static_cast<const char*>(start), size);
}

MemoryMap::~MemoryMap() {
  if (!bytes_.empty()) munmap(const_cast<char*>(bytes_.data()), bytes_.size());
}

MemoryMap::MemoryMap(MemoryMap&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

}  // namespace attn
