#pragma once

#include <cstdint>
#include <filesystem>
#include <new>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

/// JSON that may come from anybody: it is refused in a sentence before it can take much time, memory or stack.
namespace attn::given {

using Json = nlohmann::json;

/// The largest tokenizers have 28 MB, 1.8 million values, and 8 levels.
inline constexpr std::size_t largest_json = 40'000'000;
inline constexpr std::size_t most_json_values = 2'500'000;
inline constexpr std::size_t deepest_json = 64;

/// @param name of the text: "header"
/// @throws std::invalid_argument "header is not a JSON object", or that it is too large, too deep, or has too many values.
Json parse_object(const std::string& name, std::string_view text);

/// @throws std::invalid_argument naming the file, when it cannot be read, or as parse_object.
Json read_object(const std::filesystem::path& file);

/// Reads what a file says: calls `read`, and puts "file <file>: " before what it throws.
template <typename Read>
auto read_fields(const std::filesystem::path& file, const Read& read) {
  const std::string name = "file " + file.string() + ": ";
  try {
    return read();
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument(name + error.what());
  } catch (const std::bad_alloc&) {
    throw std::invalid_argument(name + "there is not enough memory to read it");
  }
}

/// Whether a folder has a file of this name. One that cannot be looked at, such as a link to itself, counts: who opens it says
/// why it cannot be read.
bool is_there(const std::filesystem::path& file);

/// A value as an error message shows it: at most 60 characters, all of them printable.
std::string shown(const Json& value);

/// A text likewise, without quotes.
std::string shown_text(std::string_view text);

/// A field that is there and is not null.
bool has(const Json& object, const std::string& field);

/// Typed fields. Empty: not there, or null.
///
/// @throws std::invalid_argument naming the field, its value and the type expected, or the limit.
std::optional<std::size_t> find_size(const Json& object, const std::string& field, std::size_t most = SIZE_MAX);
std::optional<double> find_number(const Json& object, const std::string& field);
std::optional<bool> find_bool(const Json& object, const std::string& field);
std::optional<std::string> find_text(const Json& object, const std::string& field);

}  // namespace attn::given
