#include "attn/tokenizer_files.hpp"

#include <sstream>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "attn/memory_map.hpp"
#include "json_file.hpp"

namespace attn {

namespace {

namespace fs = std::filesystem;
using namespace given;

// encoder.py of openai/gpt-2. ByteLevel with use_regex has it, too.
const char* const gpt2_pattern = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

constexpr std::size_t most_tokens = 500'000, most_specials = 10'000, most_patterns = 32;

[[noreturn]] void refuse(const std::string& what) { throw std::invalid_argument(what); }

const Json& member(const Json& object, std::string_view field, bool expected, std::string_view type) {
  if (!expected) refuse(shown_text(field) + " is missing, or is not " + std::string(type));
  return object.at(field);
}
const Json& object_in(const Json& object, std::string_view field) {
  return member(object, field, object.contains(field) && object[field].is_object(), "an object");
}
const Json& list_in(const Json& object, std::string_view field) {
  return member(object, field, object.contains(field) && object[field].is_array(), "a list");
}

std::string type_of(const Json& object) { return find_text(object, "type").value_or(""); }

void set_token(std::vector<std::string>& tokens, const std::string& token, const Json& id) {
  if (!id.is_number_unsigned() || id.get<std::size_t>() >= most_tokens) {
    refuse("vocab has " + shown(id) + " for " + shown_text(token) + ", expected an integer below " +
           std::to_string(most_tokens));
  }
  const auto number = id.get<std::size_t>();
  if (number >= tokens.size()) tokens.resize(number + 1);
  tokens[number] = token;
}

std::vector<std::string> tokens_of(const Json& vocab) {
  std::vector<std::string> tokens;
  for (const auto& [token, id] : vocab.items()) set_token(tokens, token, id);
  return tokens;
}

PiecePair pair_of(const std::string& line) {
  const std::size_t space = line.find(' ');
  if (space == std::string::npos || space == 0 || space + 1 == line.size() ||
      line.find(' ', space + 1) != std::string::npos) {
    refuse("merges has " + shown(line) + ", expected two pieces with a space between them");
  }
  return {line.substr(0, space), line.substr(space + 1)};
}

/// "a b" in older files, ["a", "b"] in newer ones.
PiecePair pair_of(const Json& merge) {
  if (merge.is_string()) return pair_of(merge.get<std::string>());
  if (!merge.is_array() || merge.size() != 2 || !merge[0].is_string() || !merge[1].is_string()) {
    refuse("merges has " + shown(merge) + ", expected two pieces");
  }
  return {merge[0].get<std::string>(), merge[1].get<std::string>()};
}

void read_model(const Json& model, TokenizerData& data) {
  const std::string type = find_text(model, "type").value_or("BPE");
  if (type != "BPE") refuse("model.type is " + shown_text(type) + ", which is not supported; expected BPE");
  for (const char* field : {"byte_fallback", "fuse_unk"}) {
    if (find_bool(model, field).value_or(false)) {
      refuse("model." + std::string(field) + " is true, which is not supported; expected byte-level BPE");
    }
  }
  for (const char* field : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    if (!find_text(model, field).value_or("").empty()) {
      refuse("model." + std::string(field) + " is not empty, which is not supported");
    }
  }
  data.tokens = tokens_of(object_in(model, "vocab"));
  const Json& merges = list_in(model, "merges");
  if (merges.size() > most_tokens) {  // each makes a token
    refuse("merges has " + std::to_string(merges.size()) + " pairs, expected at most " + std::to_string(most_tokens));
  }
  for (const Json& merge : merges) data.merges.push_back(pair_of(merge));
  data.ignore_merges = find_bool(model, "ignore_merges").value_or(false);
}

void read_normalizer(const Json& normalizer, TokenizerData& data) {
  if (type_of(normalizer) == "Sequence") {
    for (const Json& part : list_in(normalizer, "normalizers")) read_normalizer(part, data);
  } else if (type_of(normalizer) == "NFC") {
    data.splitting.nfc = true;
  } else {
    refuse("normalizer is " + shown_text(type_of(normalizer)) + ", which is not supported; expected NFC or none");
  }
}

void read_split(const Json& split, TokenizerData& data) {
  const Json& pattern = object_in(split, "pattern");
  if (!has(pattern, "Regex")) refuse("pre_tokenizer: Split without Regex is not supported");
  if (find_text(split, "behavior").value_or("") != "Isolated" || find_bool(split, "invert").value_or(false)) {
    refuse("pre_tokenizer: Split is supported with behavior Isolated and invert false only");
  }
  data.splitting.patterns.push_back(*find_text(pattern, "Regex"));
}

/// @return whether there was a ByteLevel
bool read_pre_tokenizer(const Json& step, TokenizerData& data) {
  const std::string type = type_of(step);
  if (type == "Sequence") {
    bool byte_level = false;
    for (const Json& part : list_in(step, "pretokenizers")) byte_level = read_pre_tokenizer(part, data) || byte_level;
    return byte_level;
  }
  if (type == "ByteLevel") {
    const bool is_first = data.splitting.patterns.empty();
    data.splitting.add_prefix_space = find_bool(step, "add_prefix_space").value_or(true);
    if (data.splitting.add_prefix_space && !is_first) {
      refuse("pre_tokenizer: add_prefix_space after a Split is not supported");
    }
    if (find_bool(step, "use_regex").value_or(true)) data.splitting.patterns.emplace_back(gpt2_pattern);
    return true;
  }
  if (type == "Digits") {
    const bool each = find_bool(step, "individual_digits").value_or(false);
    data.splitting.patterns.emplace_back(each ? R"(\p{N})" : R"(\p{N}+)");
  } else if (type == "Split") {
    read_split(step, data);
  } else {
    refuse("pre_tokenizer is " + shown_text(type) + ", which is not supported; expected ByteLevel, Split or Digits");
  }
  return false;
}

void read_specials(const Json& added, TokenizerData& data) {
  if (added.size() > most_specials) {
    refuse("added_tokens has " + std::to_string(added.size()) + " tokens, expected at most " +
           std::to_string(most_specials));
  }
  for (const Json& token : added) {
    const auto id = find_size(token, "id");
    const auto content = find_text(token, "content");
    if (!id || !content || content->empty()) refuse("added_tokens has " + shown(token) + ", expected id and content");
    for (const char* field : {"lstrip", "rstrip", "single_word"}) {
      if (find_bool(token, field).value_or(false)) {
        refuse("added_tokens: " + std::string(field) + " of " + shown_text(*content) +
               " is true, which is not supported");
      }
    }
    if (*id < data.tokens.size()) data.tokens[*id].clear();
    data.specials.push_back({*content, *id});
  }
}

/// What TemplateProcessing puts before a text.
void read_post_processor(const Json& step, TokenizerData& data) {
  if (type_of(step) == "Sequence") {
    for (const Json& part : list_in(step, "processors")) read_post_processor(part, data);
    return;
  }
  if (type_of(step) != "TemplateProcessing") return;
  bool text_came = false;
  for (const Json& part : list_in(step, "single")) {
    text_came = text_came || part.contains("Sequence");
    if (!part.contains("SpecialToken")) continue;
    const std::string name = find_text(object_in(part, "SpecialToken"), "id").value_or("");
    if (text_came) refuse("post_processor puts " + shown_text(name) + " after a text, which is not supported");
    for (const Json& id : list_in(object_in(object_in(step, "special_tokens"), name), "ids")) {
      if (!id.is_number_unsigned()) refuse("post_processor has " + shown(id) + " as an id of " + shown_text(name));
      data.begin_tokens.push_back(id.get<arma::uword>());
    }
  }
}

TokenizerData read_tokenizer_json(const Json& file) {
  TokenizerData data;
  read_model(object_in(file, "model"), data);
  if (has(file, "normalizer")) read_normalizer(file["normalizer"], data);
  if (!read_pre_tokenizer(object_in(file, "pre_tokenizer"), data)) {
    refuse("pre_tokenizer has no ByteLevel, expected byte-level BPE");
  }
  if (data.splitting.patterns.size() > most_patterns) {
    refuse("pre_tokenizer has " + std::to_string(data.splitting.patterns.size()) + " patterns, expected at most " +
           std::to_string(most_patterns));
  }
  if (has(file, "added_tokens")) read_specials(list_in(file, "added_tokens"), data);
  if (has(file, "post_processor")) read_post_processor(file["post_processor"], data);
  return data;
}

/// GPT-2's own files: the first line of merges.txt is a version.
TokenizerData read_vocab(const Json& vocab) {
  TokenizerData data;
  data.tokens = tokens_of(vocab);
  data.splitting.patterns.emplace_back(gpt2_pattern);
  const auto end = vocab.find("<|endoftext|>");
  if (end != vocab.end()) {
    data.specials.push_back({"<|endoftext|>", end->get<arma::uword>()});
    data.tokens[data.specials[0].id].clear();
  }
  return data;
}

std::vector<PiecePair> read_merges(std::string_view text) {
  constexpr std::size_t most_bytes = 10'000'000;  // the largest tokenizers have half a million merges, in 5 MB
  if (text.size() > most_bytes) {
    refuse("it has " + std::to_string(text.size()) + " bytes, expected at most " + std::to_string(most_bytes));
  }
  std::vector<PiecePair> merges;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (!line.empty() && line.rfind("#version", 0) != 0) merges.push_back(pair_of(line));
  }
  return merges;
}

}  // namespace

TokenizerData read_tokenizer(const fs::path& folder) {
  const fs::path file = folder / "tokenizer.json", vocab = folder / "vocab.json", merges = folder / "merges.txt";
  const bool in_one = is_there(file);
  if (!in_one && (!is_there(vocab) || !is_there(merges))) {
    refuse("folder " + folder.string() + " has neither tokenizer.json nor vocab.json and merges.txt");
  }
  const fs::path config = folder / "config.json";
  if (!in_one && is_there(config) && find_text(read_object(config), "model_type").value_or("gpt2") != "gpt2") {
    refuse("folder " + folder.string() + " has no tokenizer.json: vocab.json and merges.txt do not hold the pattern");
  }
  const Json json = read_object(in_one ? file : vocab);
  if (in_one) return read_fields(file, [&] { return read_tokenizer_json(json); });
  TokenizerData data = read_fields(vocab, [&] { return read_vocab(json); });
  data.merges = read_fields(merges, [&] { return read_merges(MemoryMap(merges).bytes()); });
  return data;
}

}  // namespace attn
