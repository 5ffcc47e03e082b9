#include "attn/byte_level_bpe.hpp"

#include <stdexcept>
#include <utility>

namespace attn {

std::vector<TextPart> cut_at_specials(const std::string& text, const std::vector<SpecialToken>& specials) {
  std::vector<TextPart> parts;
  std::string between;
  const auto finish = [&] {
    if (!between.empty()) parts.push_back({between, false});
    between.clear();
  };
  for (std::size_t at = 0; at < text.size();) {
    const SpecialToken* longest = nullptr;
    for (const SpecialToken& special : specials) {
      const bool is_here = !special.text.empty() && text.compare(at, special.text.size(), special.text) == 0;
      if (is_here && (longest == nullptr || special.text.size() > longest->text.size())) longest = &special;
    }
    if (longest == nullptr) {
      between += text[at++];
      continue;
    }
    finish();
    parts.push_back({longest->text, true});
    at += longest->text.size();
  }
  finish();
  return parts;
}

ByteLevelBPE::ByteLevelBPE(TokenizerData data) : data_(std::move(data)), splitter_(data_.splitting) {
  for (std::size_t rank = 0; rank < data_.merges.size(); ++rank) ranks_.emplace(data_.merges[rank], rank);
  for (std::size_t id = 0; id < data_.tokens.size(); ++id) {
    if (!data_.tokens[id].empty()) ids_.emplace(data_.tokens[id], id);
  }
}

std::vector<arma::uword> ByteLevelBPE::encode(const std::string& text, Specials specials) const {
  std::vector<arma::uword> ids;
  const auto add = [&](const std::string& piece) {
    const auto found = ids_.find(piece);
    if (found == ids_.end()) throw std::invalid_argument("token " + piece + " is not in the vocabulary");
    ids.push_back(found->second);
  };
  const bool recognized = specials == Specials::recognized;
  for (const TextPart& part : cut_at_specials(text, recognized ? data_.specials : std::vector<SpecialToken>())) {
    if (part.is_special) {
      for (const SpecialToken& special : data_.specials) {
        if (special.text == part.text) ids.push_back(special.id);
      }
      continue;
    }
    for (const std::string& word : splitter_(part.text)) {
      const std::vector<std::string> symbols = to_symbols(word);
      std::string whole;
      for (const std::string& symbol : symbols) whole += symbol;
      if (data_.ignore_merges && ids_.count(whole) != 0) {
        add(whole);
      } else {
        for (const std::string& piece : merge_by_rank(symbols, ranks_)) add(piece);
      }
    }
  }
  return ids;
}

std::string ByteLevelBPE::decode(const std::vector<arma::uword>& ids) const {
  std::string text;
  for (const arma::uword id : ids) {
    const SpecialToken* special = nullptr;
    for (const SpecialToken& candidate : data_.specials) {
      if (candidate.id == id) special = &candidate;
    }
    if (special == nullptr && (id >= data_.tokens.size() || data_.tokens[id].empty())) {
      throw std::invalid_argument("id is " + std::to_string(id) + ", which no token has");
    }
    text += special == nullptr ? from_symbols(data_.tokens[id]) : special->text;
  }
  return text;
}

}  // namespace attn
