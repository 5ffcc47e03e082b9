#include "json_file.hpp"

#include "attn/memory_map.hpp"

namespace attn::given {

namespace {

/// A field's value; nothing for one that is not there, or null.
const Json* value_of(const Json& object, const std::string& field) {
  const auto found = object.find(field);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

[[noreturn]] void refuse(const std::string& field, const Json& value, const std::string& expected) {
  throw std::invalid_argument(field + " is " + shown(value) + ", expected " + expected);
}

void require_at_most(const std::string& name, std::size_t count, std::size_t most, const std::string& what) {
  if (count <= most) return;
  throw std::invalid_argument(name + " is JSON " + what + ", expected at most " + std::to_string(most));
}

/// A value takes up to 60 times its text in memory, and what is nested is copied and written by recursion: both are counted
/// before the text is parsed.
void require_moderate(const std::string& name, std::string_view text) {
  require_at_most(name, text.size(), largest_json, "of " + std::to_string(text.size()) + " bytes");
  std::size_t depth = 0, values = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') quoted = !quoted;
    if (quoted) {
      if (c == '\\') ++i;
      continue;
    }
    if (c == '{' || c == '[') require_at_most(name, ++depth, deepest_json, "with too many levels of lists and objects");
    if ((c == '}' || c == ']') && depth > 0) --depth;
    if (c == ',' || c == ':' || c == '{' || c == '[') ++values;
    if (c == '\0') throw std::invalid_argument(name + " is not a JSON object: it has a zero byte");
  }
  require_at_most(name, values, most_json_values, "with " + std::to_string(values) + " values");
}

}  // namespace

Json parse_object(const std::string& name, std::string_view text) {
  require_moderate(name, text);
  Json object = Json::parse(text, nullptr, false);
  if (!object.is_object()) throw std::invalid_argument(name + " is not a JSON object");
  return object;
}

Json read_object(const std::filesystem::path& file) {
  const MemoryMap map(file);
  try {
    return parse_object("file " + file.string(), map.bytes());
  } catch (const std::bad_alloc&) {
    throw std::invalid_argument("file " + file.string() + ": there is not enough memory to read it");
  }
}

bool is_there(const std::filesystem::path& file) {
  std::error_code unreadable;
  return std::filesystem::status(file, unreadable).type() != std::filesystem::file_type::not_found;
}

std::string shown(const Json& value) {
  constexpr std::size_t most = 60;
  if (value.is_string() && value.get_ref<const std::string&>().size() > most) {
    return shown(value.get_ref<const std::string&>().substr(0, most));  // with its quotes it is still too long
  }
  std::string text = value.dump(-1, ' ', true, Json::error_handler_t::replace);
  if (text.size() > most) text.replace(most - 3, std::string::npos, "...");
  return text;
}

std::string shown_text(std::string_view text) {
  const std::string quoted = shown(text);
  return quoted.substr(1, quoted.size() - (quoted.back() == '"' ? 2 : 1));
}

bool has(const Json& object, const std::string& field) { return value_of(object, field) != nullptr; }

std::optional<std::size_t> find_size(const Json& object, const std::string& field, std::size_t most) {
  const Json* value = value_of(object, field);
  if (value == nullptr) return {};
  if (!value->is_number_unsigned()) refuse(field, *value, "an integer of at least 0");
  if (value->get<std::size_t>() > most) refuse(field, *value, "at most " + std::to_string(most));
  return value->get<std::size_t>();
}

std::optional<double> find_number(const Json& object, const std::string& field) {
  const Json* value = value_of(object, field);
  if (value == nullptr) return {};
  if (!value->is_number()) refuse(field, *value, "a number");
  return value->get<double>();
}

std::optional<bool> find_bool(const Json& object, const std::string& field) {
  const Json* value = value_of(object, field);
  if (value == nullptr) return {};
  if (!value->is_boolean()) refuse(field, *value, "true or false");
  return value->get<bool>();
}

std::optional<std::string> find_text(const Json& object, const std::string& field) {
  const Json* value = value_of(object, field);
  if (value == nullptr) return {};
  if (!value->is_string()) refuse(field, *value, "a text");
  return value->get<std::string>();
}

}  // namespace attn::given
