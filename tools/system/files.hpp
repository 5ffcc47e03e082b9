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
/// @throws std::invalid_argument when it exists already, or cannot: its name is too long
void require_new_file(const std::filesystem::path& path);

/// Writes a file that is not there yet.
/// @throws NotWritable when it exists already, or cannot be written. Nothing is left of it then.
void write_new_file(const std::filesystem::path& path, const std::string& text);

/// Replaces a file as a whole: written beside, synced, renamed. Its permissions stay, and a symbolic link is followed.
/// A file that is read-only is respected. What a killed program left half written beside it is removed.
/// @throws std::runtime_error naming the file.
void replace_file(const std::filesystem::path& file, const std::string& text);

/// The name that a file or a folder of ours has until it is whole: its own, `.being-written-` and our process id. People
/// do not give such names.
std::filesystem::path name_while_written(const std::filesystem::path& path);

/// Whether a program that was killed may have left this: a name as name_while_written() gives it, of a file or folder that
/// belongs to our user, and not a link.
bool is_left_over(const std::filesystem::path& path);

/// Removes the files `<before>PID<after>` that a killed program left in a folder: those of our user that were written over an
/// hour ago. Folders, links, and all other names stay.
void remove_leftovers(const std::filesystem::path& folder, const std::string& before, const std::string& after = "");

/// `path`, or the first of `path-2`, `path-3` and so on that nothing has yet.
std::filesystem::path free_name(const std::filesystem::path& path);

/// Makes room for a file of ours: what has its name and is not a file is removed; but a folder with something in it is
/// renamed to `<file>.moved-aside`.
/// @throws std::filesystem::filesystem_error
void clear_the_way(const std::filesystem::path& file);

/// Returns when a file's content, or the names in a folder, are on disk.
/// @throws std::runtime_error naming it.
void sync_to_disk(const std::filesystem::path& path);

}  // namespace attn
