#pragma once

#include <filesystem>
#include <string_view>

namespace attn {

/// A file that is read as if it were in memory. Given: no lesson asks for it.
///
/// The operating system loads a page (4 kB) when it is first read, and may drop it again at any time: opening a file of
/// 15 GB takes no time, and programs that map the same file share its pages.
class MemoryMap {
 public:
  /// @throws std::invalid_argument naming the file, when it cannot be read.
  explicit MemoryMap(const std::filesystem::path& file);
  ~MemoryMap();
  MemoryMap(MemoryMap&& other) noexcept;
  MemoryMap(const MemoryMap&) = delete;
  MemoryMap& operator=(const MemoryMap&) = delete;
  MemoryMap& operator=(MemoryMap&&) = delete;

  /// All bytes of the file, as long as this object exists.
  std::string_view bytes() const { return bytes_; }

 private:
  std::string_view bytes_;
};

}  // namespace attn
