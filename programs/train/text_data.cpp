#include "train/text_data.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <unordered_map>
#include <utility>

#include "attn/byte_symbols.hpp"
#include "attn/characters.hpp"
#include "attn/memory_map.hpp"
#include "attn/merge_by_rank.hpp"
#include "lesson/text.hpp"

namespace attn::training {

namespace {

// What tokenizer.json calls ByteLevel with use_regex: given/tokenizer_files.cpp reads it so.
constexpr const char* gpt2_pattern = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

TokenizerData byte_tokenizer() {
  TokenizerData data;
  data.tokens = byte_symbols();
  data.splitting.patterns.emplace_back(gpt2_pattern);
  return data;
}

void add_merge(TokenizerData& data, const PiecePair& pair) {
  data.merges.push_back(pair);
  data.tokens.push_back(pair.first + pair.second);
}

/// Where a pair occurs.
struct Places {
  arma::uword count = 0;        // each word as often as it occurs
  std::set<std::size_t> words;  // those that have it, or had it
};
using Pairs = std::map<PiecePair, Places>;

/// The place of its first occurrence: the word, and where in it.
std::pair<std::size_t, std::size_t> first_place(const Pairs::value_type& pair, const std::vector<CountedWord>& words) {
  for (const std::size_t word : pair.second.words) {
    const std::vector<std::string>& pieces = words[word].pieces;
    for (std::size_t i = 1; i < pieces.size(); ++i) {
      if (pieces[i - 1] == pair.first.first && pieces[i] == pair.first.second) return {word, i};
    }
  }
  return {words.size(), 0};
}

/// The most frequent one; of equals, the one that is met first.
Pairs::const_iterator best_of(const Pairs& pairs, const std::vector<CountedWord>& words) {
  auto best = pairs.end();
  for (auto pair = pairs.begin(); pair != pairs.end(); ++pair) {
    if (pair->second.count == 0) continue;
    if (best == pairs.end() || pair->second.count > best->second.count ||
        (pair->second.count == best->second.count && first_place(*pair, words) < first_place(*best, words))) {
      best = pair;
    }
  }
  return best;
}

constexpr std::size_t most_bytes = 50'000'000;

bool continues_character(char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80; }

std::string read_text(const std::string& path) {
  const MemoryMap file(path);
  const std::string_view text = file.bytes();
  if (text.empty()) throw std::invalid_argument(path + " is empty: expected a text");
  if (text.size() > most_bytes) {
    throw std::invalid_argument(path + " has " + std::to_string(text.size()) + " bytes, expected at most " +
                                std::to_string(most_bytes) + ": take a part of it, such as head -c 10000000 gives");
  }
  return std::string(text);
}

void require_utf8(const std::string& path, const std::string& text) {
  const std::string place = first_invalid_byte(text);
  if (place.empty()) return;
  throw std::invalid_argument(path + " is not UTF-8 in " + place +
                              ": save it as UTF-8; iconv -f latin1 -t utf8 converts a text in Latin-1");
}

std::set<std::string> different_characters(const std::string& text) {
  std::set<std::string> different;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t size = length_from_first_byte(text[at]);
    different.insert(text.substr(at, size));
    at += size;
  }
  return different;
}

/// The pairs of symbols that stand side by side where a merge unites two pieces.
std::set<PiecePair> uniting_symbols(const std::vector<PiecePair>& merges) {
  std::set<PiecePair> uniting;
  for (const auto& [left, right] : merges) {
    std::size_t last = left.size() - 1;
    while (continues_character(left[last])) --last;
    uniting.insert({left.substr(last), right.substr(0, length_from_first_byte(right[0]))});
  }
  return uniting;
}

/// A word's symbols in parts across whose ends no merge reaches: of a text without spaces, which is one long word,
/// merge_by_rank would take time that grows with its square.
std::vector<std::vector<std::string>> separate_parts(const std::string& word, const std::set<PiecePair>& uniting) {
  std::vector<std::vector<std::string>> parts;
  for (const std::string& symbol : to_symbols(word)) {
    if (parts.empty() || uniting.count({parts.back().back(), symbol}) == 0) parts.emplace_back();
    parts.back().push_back(symbol);
  }
  return parts;
}

/// Of each part there is one window, at least.
void require_length(const Recipe& recipe, const std::string& part, std::size_t tokens) {
  if (tokens > recipe.context + 1) return;
  throw std::invalid_argument(recipe.text + " is too short: " + part + " has " + std::to_string(tokens) +
                              (tokens == 1 ? " token" : " tokens") + ", expected at least " +
                              std::to_string(recipe.context + 2) + ", two more than the context of " +
                              std::to_string(recipe.context) + ": take a longer text, or a smaller --context");
}

}  // namespace

TokenizerData character_tokenizer(const std::string& text) {
  TokenizerData data = byte_tokenizer();
  std::set<PiecePair> known;
  for (const std::string& character : different_characters(text)) {
    const std::vector<std::string> pieces = to_symbols(character);
    std::string left = pieces[0];  // begins with a first byte of a character: no merge goes from one to the next
    for (std::size_t i = 1; i < pieces.size(); ++i) {
      if (known.emplace(left, pieces[i]).second) add_merge(data, {left, pieces[i]});
      left += pieces[i];
    }
  }
  return data;
}

TokenizerData learned_tokenizer(const std::string& text, arma::uword V) {
  TokenizerData data = byte_tokenizer();
  std::unordered_map<std::string, std::size_t> places;
  std::vector<CountedWord> words;  // in the order of the text
  for (const std::string& word : TextSplitter(data.splitting)(text)) {
    const auto [place, is_new] = places.emplace(word, words.size());
    if (is_new) {
      words.push_back({to_symbols(word), 1});
    } else {
      ++words[place->second].count;
    }
  }
  for (const PiecePair& pair : learned_merges(std::move(words), V - data.tokens.size())) add_merge(data, pair);
  return data;
}

std::vector<arma::uword> ids_of(const std::string& text, const TokenizerData& tokenizer) {
  MergeRanks ranks;
  for (std::size_t rank = 0; rank < tokenizer.merges.size(); ++rank) ranks.emplace(tokenizer.merges[rank], rank);
  std::unordered_map<std::string, arma::uword> id_of;
  for (std::size_t id = 0; id < tokenizer.tokens.size(); ++id) id_of.emplace(tokenizer.tokens[id], id);
  const std::set<PiecePair> uniting = uniting_symbols(tokenizer.merges);
  std::unordered_map<std::string, std::vector<arma::uword>> known;
  std::vector<arma::uword> ids;
  for (const std::string& word : TextSplitter(tokenizer.splitting)(text)) {
    const auto [found, is_new] = known.emplace(word, std::vector<arma::uword>());
    if (is_new) {
      for (const auto& part : separate_parts(word, uniting)) {
        for (const std::string& piece : merge_by_rank(part, ranks)) found->second.push_back(id_of.at(piece));
      }
    }
    ids.insert(ids.end(), found->second.begin(), found->second.end());
  }
  return ids;
}

std::string tokenizer_json(const TokenizerData& tokenizer) {
  using Json = nlohmann::json;
  const Json level = {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", true}};
  Json vocab = Json::object();
  for (std::size_t id = 0; id < tokenizer.tokens.size(); ++id) vocab[tokenizer.tokens[id]] = id;
  Json merges = Json::array();
  for (const PiecePair& pair : tokenizer.merges) merges.push_back(pair.first + " " + pair.second);
  const Json model = {{"type", "BPE"},
                      {"dropout", nullptr},
                      {"unk_token", nullptr},
                      {"continuing_subword_prefix", nullptr},
                      {"end_of_word_suffix", nullptr},
                      {"fuse_unk", false},
                      {"byte_fallback", false},
                      {"vocab", vocab},
                      {"merges", merges}};
  return Json{{"version", "1.0"},
              {"truncation", nullptr},
              {"padding", nullptr},
              {"added_tokens", Json::array()},
              {"normalizer", nullptr},
              {"pre_tokenizer", level},
              {"post_processor", nullptr},
              {"decoder", level},
              {"model", model}}
             .dump() +
         "\n";
}

std::vector<PiecePair> learned_merges(std::vector<CountedWord> words, arma::uword count) {
  Pairs pairs;
  const auto visit_places = [&](std::size_t w, const auto& visit) {
    const std::vector<std::string>& pieces = words[w].pieces;
    for (std::size_t i = 1; i < pieces.size(); ++i) visit(pairs[{pieces[i - 1], pieces[i]}]);
  };
  const auto add_pairs_of = [&](std::size_t w) {
    visit_places(w, [&](Places& places) {
      places.count += words[w].count;
      places.words.insert(w);
    });
  };
  for (std::size_t w = 0; w < words.size(); ++w) add_pairs_of(w);
  std::vector<PiecePair> merges;
  while (merges.size() < count) {
    const auto best = best_of(pairs, words);
    if (best == pairs.end()) break;
    merges.push_back(best->first);
    const std::set<std::size_t> changed = best->second.words;
    for (const std::size_t w : changed) {
      visit_places(w, [&](Places& places) { places.count -= words[w].count; });
      words[w] = merge_pair({words[w]}, merges.back()).front();
      add_pairs_of(w);
    }
    pairs.erase(merges.back());
  }
  return merges;
}

TextData read_text_data(Recipe& recipe) {
  const std::string text = read_text(recipe.text);
  require_utf8(recipe.text, text);
  TextData data;
  data.characters = count_characters(text);
  data.different = different_characters(text).size();
  if (data.different == 1) {
    throw std::invalid_argument(recipe.text + " has one character only, " + std::to_string(data.characters) +
                                " times, and there is nothing to learn: expected at least two different ones");
  }
  constexpr std::size_t most_different = 20'000;  // a library of Chinese novels has fewer
  if (data.different > most_different) {
    throw std::invalid_argument(recipe.text + " has " + std::to_string(data.different) +
                                " different characters, expected at most " + std::to_string(most_different) +
                                ": is it a text?");
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
  recipe.ids_hash = Hash().add(data.training_ids.data(), data.training_ids.size() * sizeof(arma::uword)).text();
  recipe.vocab_size = data.tokenizer.tokens.size();
  return data;
}

TextData read_same_text(const Recipe& recipe) {
  const std::string name = harmless(recipe.text);  // the recipe may come from anybody
  std::error_code unreadable;
  if (!std::filesystem::is_regular_file(recipe.text, unreadable)) {
    throw std::invalid_argument("the text " + name + " is not there any more: put it back to go on");
  }
  const std::string text = read_text(recipe.text);
  if (Hash().add(text).text() != recipe.text_hash) {
    throw std::invalid_argument("the text " + name +
                                " has changed since the training began: put the old one back, or begin anew with "
                                "--text and another --save");
  }
  Recipe same = recipe;
  TextData data = read_text_data(same);
  if (same.ids_hash != recipe.ids_hash || same.vocab_size != recipe.vocab_size) {
    throw std::invalid_argument("the text " + name +
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
    const std::size_t size = length_from_first_byte(text[at]);
    if (size == 0 || !is_character(text.substr(at, size))) {
      return "line " + std::to_string(line) + ", at byte " + std::to_string(at - begin + 1) + " of it";
    }
    if (text[at] == '\n') {
      ++line;
      begin = at + 1;
    }
    at += size;
  }
  return "";
}

}  // namespace attn::training
