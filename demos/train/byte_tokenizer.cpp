#include "byte_tokenizer.hpp"

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <unordered_map>

#include "attn/byte_symbols.hpp"
#include "attn/characters.hpp"
#include "attn/merge_by_rank.hpp"
#include "learned_merges.hpp"

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

}  // namespace

TokenizerData character_tokenizer(const std::string& text) {
  std::set<std::string> characters;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = length_from_first_byte(text[at]);
    if (length > 1) characters.insert(text.substr(at, length));
    at += length;
  }
  TokenizerData data = byte_tokenizer();
  std::set<PiecePair> known;
  for (const std::string& character : characters) {
    const std::vector<std::string> symbols = to_symbols(character);
    std::string left = symbols[0];  // begins with a first byte of a character: no merge goes from one to the next
    for (std::size_t i = 1; i < symbols.size(); ++i) {
      if (known.emplace(left, symbols[i]).second) add_merge(data, {left, symbols[i]});
      left += symbols[i];
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
  std::unordered_map<std::string, std::vector<arma::uword>> known;
  std::vector<arma::uword> ids;
  for (const std::string& word : TextSplitter(tokenizer.splitting)(text)) {
    const auto [found, is_new] = known.emplace(word, std::vector<arma::uword>());
    if (is_new) {
      for (const std::string& piece : merge_by_rank(to_symbols(word), ranks)) found->second.push_back(id_of.at(piece));
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

}  // namespace attn::training
