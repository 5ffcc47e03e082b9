#include "json_file.hpp"

#include <fstream>
#include <stdexcept>

namespace attn::given {

namespace {

/// A field's value, and null for one that is not there.
Json value_of(const Json& object, const std::string& field) {
  const auto found = object.find(field);
  return found == object.end() ? Json() : *found;
}

[[noreturn]] void refuse(const std::string& field, const Json& value, const std::string& expected) {
  throw std::invalid_argument(field + " is " + value.dump(-1, ' ', false, Json::error_handler_t::replace) +
                              ", expected " + expected);
}

}  // namespace

Json read_object(const std::filesystem::path& file) {
  std::ifstream stream(file);
  if (!stream) throw std::invalid_argument("file " + file.string() + " cannot be read");
  Json object = Json::parse(stream, nullptr, false);
  if (!object.is_object()) throw std::invalid_argument("file " + file.string() + " is not a JSON object");
  return object;
}

bool has(const Json& object, const std::string& field) { return !value_of(object, field).is_null(); }

std::optional<std::size_t> find_size(const Json& object, const std::string& field) {
  const Json value = value_of(object, field);
  if (value.is_null()) return {};
  if (!value.is_number_unsigned()) refuse(field, value, "an integer of at least 0");
  return value.get<std::size_t>();
}

std::optional<double> find_number(const Json& object, const std::string& field) {
  const Json value = value_of(object, field);
  if (value.is_null()) return {};
  if (!value.is_number()) refuse(field, value, "a number");
  return value.get<double>();
}

std::optional<bool> find_bool(const Json& object, const std::string& field) {
  const Json value = value_of(object, field);
  if (value.is_null()) return {};
  if (!value.is_boolean()) refuse(field, value, "true or false");
  return value.get<bool>();
}

std::optional<std::string> find_text(const Json& object, const std::string& field) {
  const Json value = value_of(object, field);
  if (value.is_null()) return {};
  if (!value.is_string()) refuse(field, value, "a text");
  return value.get<std::string>();
}

}  // namespace attn::given
