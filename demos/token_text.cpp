#include "token_text.hpp"

#include <algorithm>

#include "lesson/text.hpp"
#include "lesson/utf8.hpp"

namespace attn::generating {

namespace {

/// How many bytes of a text are whole characters, or cannot become one.
std::size_t whole_characters(const std::string& text) {
  for (std::size_t back = 1; back <= std::min<std::size_t>(3, text.size()); ++back) {
    const auto byte = static_cast<unsigned char>(text[text.size() - back]);
    if (byte < 0x80) break;
    if (byte < 0xC0) continue;  // within a character
    const std::size_t length = byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : byte < 0xF8 ? 4 : 1;
    return back < length ? text.size() - back : text.size();
  }
  return text.size();
}

}  // namespace

std::string CharacterStream::take(const std::string& bytes) {
  pending_ += bytes;
  const std::size_t whole = whole_characters(pending_);
  const std::string text = pending_.substr(0, whole);
  pending_.erase(0, whole);
  return shown(text);
}

std::string CharacterStream::finish() {
  const std::string text = shown(pending_);
  pending_.clear();
  return text;
}

std::string CharacterStream::shown(const std::string& text) const {
  std::string clean;
  for (const auto& character : utf8::characters(text)) {
    const bool fits = character.printable() || character.code == U'\n' || character.code == U'\t';
    clean += fits ? std::string(character.bytes) : "\xEF\xBF\xBD";
  }
  return ascii_ ? in_ascii(clean) : clean;
}

std::string bytes_of(const ByteLevelBPE& tokenizer, arma::uword id) {
  const TokenizerData& data = tokenizer.data();
  const bool is_special = std::any_of(data.specials.begin(), data.specials.end(),
                                      [id](const SpecialToken& special) { return special.id == id; });
  const bool is_token = is_special || (id < data.tokens.size() && !data.tokens[id].empty());
  return is_token ? tokenizer.decode({id}) : "";
}

std::vector<std::string> labels_of(const ByteLevelBPE& tokenizer, const std::vector<arma::uword>& ids) {
  std::vector<std::string> labels;
  for (const arma::uword id : ids) {
    std::string text = bytes_of(tokenizer, id);
    if (text.size() > 1 && text.front() == ' ') text.erase(0, 1);
    for (auto at = text.find('\n'); at != std::string::npos; at = text.find('\n')) text.replace(at, 1, "\\n");
    labels.push_back(text);
  }
  return labels;
}

}  // namespace attn::generating
