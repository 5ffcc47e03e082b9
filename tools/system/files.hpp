#pragma once

#include <filesystem>
#include <stdexcept>
#include <string>

/// Files that must not get lost.
namespace attn {

/// A new file could not be written.
struct NotWritable : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Asks before anything else is done: a program that works for minutes should not find out at its end.
/// @param path empty: no file is to be written
/// @throws std::invalid_argument when it exists already
void require_new_file(const std::filesystem::path& path);

/// Writes a file that is not there yet.
/// @throws NotWritable when it exists already, or cannot be written.
void write_new_file(const std::filesystem::path& path, const std::string& text);

/// Replaces a file as a whole: written beside, synced, renamed. Its permissions stay, and a symbolic link is followed.
/// A file that is read-only is respected. What a killed tool left half written beside it is removed.
/// @throws std::runtime_error naming the file.
void replace_file(const std::filesystem::path& file, const std::string& text);

/// Removes what a killed tool left in a folder: all whose name begins so, and that was written over an hour ago.
void remove_leftovers(const std::filesystem::path& folder, const std::string& beginning);

/// Returns when a file's content, or the names in a folder, are on disk.
/// @throws std::runtime_error naming it.
void sync_to_disk(const std::filesystem::path& path);

}  // namespace attn
