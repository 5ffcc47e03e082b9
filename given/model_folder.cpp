#include "attn/model_folder.hpp"

#include <set>
#include <stdexcept>
#include <string>

#include "json_file.hpp"

namespace attn {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t most_files = 1'000;

}  // namespace

std::vector<fs::path> weight_files(const fs::path& folder) {
  std::error_code unreadable;
  if (!fs::is_directory(folder, unreadable))
    throw std::invalid_argument("folder " + folder.string() + " does not exist");
  const fs::path single = folder / "model.safetensors", index = folder / "model.safetensors.index.json";
  if (given::is_there(single)) return {single};
  if (!given::is_there(index)) {
    throw std::invalid_argument("folder " + folder.string() +
                                " has neither model.safetensors nor model.safetensors.index.json");
  }
  const given::Json files = given::read_object(index);
  const auto map = files.find("weight_map");
  if (map == files.end() || !map->is_object()) {
    throw std::invalid_argument("file " + index.string() + " has no object weight_map");
  }
  std::set<std::string> names;
  for (const given::Json& name : *map) {
    if (!name.is_string() || fs::path(name.get<std::string>()).filename() != name.get<std::string>()) {
      throw std::invalid_argument("file " + index.string() + ": weight_map has " + given::shown(name) +
                                  ", expected the name of a file of the same folder");
    }
    names.insert(name.get<std::string>());
    if (names.size() > most_files) {
      throw std::invalid_argument("file " + index.string() + ": weight_map has more than " +
                                  std::to_string(most_files) + " different files, expected at most that many");
    }
  }
  std::vector<fs::path> paths;
  for (const std::string& name : names) {
    paths.push_back(folder / name);
    std::error_code too_long;
    if (!fs::exists(paths.back(), too_long)) {
      throw std::invalid_argument("file " + (folder / given::shown_text(name)).string() + " is missing: one of the " +
                                  std::to_string(names.size()) + " files that " + index.filename().string() + " lists");
    }
  }
  return paths;
}

std::vector<arma::uword> read_stop_tokens(const fs::path& folder) {
  for (const char* name : {"generation_config.json", "config.json"}) {
    if (!given::is_there(folder / name)) continue;
    const given::Json config = given::read_object(folder / name);
    if (!given::has(config, "eos_token_id")) continue;
    const given::Json field = config["eos_token_id"];
    std::vector<arma::uword> ids;
    for (const given::Json& id : field.is_array() ? field : given::Json::array({field})) {
      if (!id.is_number_unsigned()) {
        throw std::invalid_argument("file " + (folder / name).string() + ": eos_token_id is " + given::shown(field) +
                                    ", expected a number or a list of numbers");
      }
      ids.push_back(id.get<arma::uword>());
    }
    return ids;
  }
  return {};
}

}  // namespace attn
