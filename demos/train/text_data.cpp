#include "text_data.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <stdexcept>

#include "attn/characters.hpp"
#include "byte_tokenizer.hpp"
#include "hash.hpp"

namespace attn::training {

namespace {

constexpr std::uintmax_t most_bytes = 50'000'000;

bool continues_character(char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80; }

std::string read_text(const std::string& path) {
  const auto size = std::filesystem::file_size(path);
  if (size > most_bytes) {
    throw std::invalid_argument(path + " has " + std::to_string(size) + " bytes, expected at most " +
                                std::to_string(most_bytes) + ": take a part of it, such as head -c 10000000 gives");
  }
  std::ifstream file(path, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (!file || text.empty()) throw std::invalid_argument(path + " cannot be read, or is empty: expected a text");
  return text;
}

void require_utf8(const std::string& path, const std::string& text) {
  const std::string place = first_invalid_byte(text);
  if (place.empty()) return;
  throw std::invalid_argument(path + " is not UTF-8 in " + place +
                              ": save it as UTF-8; iconv -f latin1 -t utf8 converts a text in Latin-1");
}

arma::uword count_different(const std::string& text) {
  std::set<std::string> different;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = length_from_first_byte(text[at]);
    different.insert(text.substr(at, length));
    at += length;
  }
  return different.size();
}

/// Of each part there is one window, at least.
void require_length(const Recipe& recipe, const std::string& part, std::size_t tokens) {
  if (tokens > recipe.context + 1) return;
  throw std::invalid_argument(recipe.text + " is too short: " + part + " has " + std::to_string(tokens) +
                              (tokens == 1 ? " token" : " tokens") + ", expected at least " +
                              std::to_string(recipe.context + 2) + ", two more than the context of " +
                              std::to_string(recipe.context) + ": take a longer text, or a smaller --context");
}

std::string hash_of(const std::vector<arma::uword>& ids) {
  return Hash().add(ids.data(), ids.size() * sizeof(arma::uword)).text();
}

}  // namespace

TextData read_text_data(Recipe& recipe) {
  const std::string text = read_text(recipe.text);
  require_utf8(recipe.text, text);
  TextData data;
  data.characters = count_characters(text);
  data.different = count_different(text);
  if (data.different == 1) {
    throw std::invalid_argument(recipe.text + " has one character only, " + std::to_string(data.characters) +
                                " times, and there is nothing to learn: expected at least two different ones");
  }
  std::size_t cut = text.size() / 10 * 9 + text.size() % 10 * 9 / 10;
  while (cut > 0 && continues_character(text[cut])) --cut;
  data.training = text.substr(0, cut);
  data.held_out = text.substr(cut);
  data.tokenizer =
      recipe.tokens == "bpe" ? learned_tokenizer(data.training, recipe.vocab_size) : character_tokenizer(data.training);
  data.training_ids = ids_of(data.training, data.tokenizer);
  require_length(recipe, "the part to learn from", data.training_ids.size());
  require_length(recipe, "the last tenth, which is held out,", ids_of(data.held_out, data.tokenizer).size());
  recipe.text_hash = Hash().add(text).text();
  recipe.ids_hash = hash_of(data.training_ids);
  recipe.vocab_size = data.tokenizer.tokens.size();
  return data;
}

TextData read_same_text(const Recipe& recipe) {
  if (!std::filesystem::is_regular_file(recipe.text)) {
    throw std::invalid_argument("the text " + recipe.text + " is not there any more: put it back to go on");
  }
  const std::string text = read_text(recipe.text);
  if (Hash().add(text).text() != recipe.text_hash) {
    throw std::invalid_argument("the text " + recipe.text +
                                " has changed since the training began: put the old one back, or begin anew with "
                                "--text and another --save");
  }
  Recipe same = recipe;
  TextData data = read_text_data(same);
  if (same.ids_hash != recipe.ids_hash || same.vocab_size != recipe.vocab_size) {
    throw std::invalid_argument("the text " + recipe.text +
                                " is now cut into other tokens than when the training began: go on with the parts "
                                "that it began with, or with --reference");
  }
  return data;
}

std::string first_characters(const std::string& text, arma::uword count) {
  std::size_t end = 0;
  for (; count > 0 && end < text.size(); --count) end += length_from_first_byte(text[end]);
  return text.substr(0, end);
}

arma::uword count_characters(const std::string& text) {
  return static_cast<arma::uword>(
      std::count_if(text.begin(), text.end(), [](char byte) { return !continues_character(byte); }));
}

std::string first_invalid_byte(const std::string& text) {
  std::size_t line = 1, begin = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = length_from_first_byte(text[at]);
    if (length == 0 || !is_character(text.substr(at, length))) {
      return "line " + std::to_string(line) + ", at byte " + std::to_string(at - begin + 1) + " of it";
    }
    if (text[at] == '\n') {
      ++line;
      begin = at + 1;
    }
    at += length;
  }
  return "";
}

}  // namespace attn::training
