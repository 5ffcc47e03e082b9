#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace attn::given {

using Json = nlohmann::json;

/// @throws std::invalid_argument naming the file, when it cannot be read or is not a JSON object.
Json read_object(const std::filesystem::path& file);

/// A field that is there and is not null.
bool has(const Json& object, const std::string& field);

/// Typed fields. Empty: not there, or null.
///
/// @throws std::invalid_argument naming the field, its value and the type expected.
std::optional<std::size_t> find_size(const Json& object, const std::string& field);
std::optional<double> find_number(const Json& object, const std::string& field);
std::optional<bool> find_bool(const Json& object, const std::string& field);
std::optional<std::string> find_text(const Json& object, const std::string& field);

}  // namespace attn::given
