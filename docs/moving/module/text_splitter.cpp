// attn/text_splitter.hpp with the browser's own regular expressions: given/ has PCRE2. test.mjs compares the two.
#include "attn/text_splitter.hpp"

#include <emscripten.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "attn/characters.hpp"

// clang-format off
EM_JS(char*, split_in_browser, (const char* request), {
  try {
    const how = JSON.parse(UTF8ToString(request));
    let whole = how.text;
    if (how.nfc) whole = whole.normalize("NFC");
    if (how.space && whole && whole[0] !== " ") whole = " " + whole;
    let parts = whole ? [whole] : [];
    for (const pattern of how.patterns) {
      const form = new RegExp(pattern, "gu");
      parts = parts.flatMap((part) => {
        const finer = [];
        let done = 0;
        for (const match of part.matchAll(form)) {
          if (!match[0]) continue;
          if (match.index > done) finer.push(part.slice(done, match.index));
          finer.push(match[0]);
          done = match.index + match[0].length;
        }
        if (done < part.length) finer.push(part.slice(done));
        return finer;
      });
    }
    return allocateUTF8(JSON.stringify({ parts }));
  } catch (error) {
    return allocateUTF8(JSON.stringify({ error: error.message }));
  }
});
// clang-format on

namespace attn {

using Json = nlohmann::json;

namespace {

/// A pattern of PCRE2 with the same spaces: JavaScript's \s has U+FEFF, and lacks U+0085 and U+180E.
std::string in_javascript(const std::string& pattern) {
  const std::string spaces = R"(\t-\r \x85\xa0\u1680\u180e\u2000-\u200a\u2028\u2029\u202f\u205f\u3000)";
  std::string translated;
  bool in_class = false;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    std::string part(1, pattern[i]);
    if (part == "\\" && i + 1 < pattern.size()) part += pattern[++i];
    if (part == "[") in_class = true;
    if (part == "]") in_class = false;
    if (part == "\\s") part = in_class ? spaces : "[" + spaces + "]";
    if (part == "\\S" && !in_class) part = "[^" + spaces + "]";
    translated += part;
  }
  return translated;
}

}  // namespace

struct TextSplitter::Patterns {
  nlohmann::json all;
};

TextSplitter::TextSplitter(TextSplitting splitting) : splitting_(std::move(splitting)) {
  Json patterns = Json::array();
  for (const std::string& pattern : splitting_.patterns) patterns.push_back(in_javascript(pattern));
  patterns_ = std::make_shared<Patterns>(
      Patterns{{{"patterns", patterns}, {"space", splitting_.add_prefix_space}, {"nfc", splitting_.nfc}}});
}

std::vector<std::string> TextSplitter::operator()(const std::string& text) const {
  split_characters(text);  // throws unless it is UTF-8
  Json request = patterns_->all;
  request["text"] = text;
  char* answer = split_in_browser(request.dump(-1, ' ', true).c_str());  // ASCII: U+FEFF at its beginning would be lost
  const Json parts = Json::parse(answer);
  std::free(answer);
  if (parts.contains("error")) {
    throw std::invalid_argument("text cannot be cut by a pattern: " + parts.at("error").get<std::string>());
  }
  return parts.at("parts").get<std::vector<std::string>>();
}

}  // namespace attn
