#define PCRE2_CODE_UNIT_WIDTH 8
#include "attn/text_splitter.hpp"

#include <pcre2.h>
#include <utf8proc.h>

#include <cstdlib>
#include <stdexcept>
#include <utility>

#include "attn/characters.hpp"
#include "json_file.hpp"

namespace attn {

namespace {

struct FreeCode {
  void operator()(pcre2_code* code) const { pcre2_code_free(code); }
};
using Code = std::unique_ptr<pcre2_code, FreeCode>;

struct FreeMatch {
  void operator()(pcre2_match_data* match) const { pcre2_match_data_free(match); }
};

PCRE2_SPTR units(const std::string& text) { return reinterpret_cast<PCRE2_SPTR>(text.data()); }

/// What PCRE2 says of an error, such as "match limit exceeded".
std::string reason(int error) {
  std::string message(256, '\0');
  pcre2_get_error_message(error, reinterpret_cast<PCRE2_UCHAR*>(message.data()), message.size());
  return message.c_str();
}

Code compile(const std::string& pattern) {
  int error = 0;
  PCRE2_SIZE at = 0;
  Code code(pcre2_compile(units(pattern), pattern.size(), PCRE2_UTF | PCRE2_UCP, &error, &at, nullptr));
  if (code) {
    pcre2_jit_compile(code.get(), PCRE2_JIT_COMPLETE);  // faster, where it can; matching works without it
    return code;
  }
  throw std::invalid_argument("pattern " + given::shown(pattern) + " is not a regular expression at byte " +
                              std::to_string(at) + ": " + reason(error));
}

/// The matches of a pattern in a text, and what is between them, appended to parts.
void split_at(const Code& code, const std::string& text, std::vector<std::string>& parts) {
  const std::unique_ptr<pcre2_match_data, FreeMatch> match(pcre2_match_data_create_from_pattern(code.get(), nullptr));
  std::size_t done = 0;
  for (std::size_t at = 0; at < text.size();) {
    const int found = pcre2_match(code.get(), units(text), text.size(), at, PCRE2_NO_UTF_CHECK, match.get(), nullptr);
    if (found == PCRE2_ERROR_NOMATCH) break;
    if (found < 0) throw std::invalid_argument("text cannot be cut by a pattern: " + reason(found));
    const std::size_t begin = pcre2_get_ovector_pointer(match.get())[0];
    const std::size_t end = pcre2_get_ovector_pointer(match.get())[1];
    if (end == begin) {  // nothing matched: look again after the next character
      at = begin + (begin < text.size() ? length_from_first_byte(text[begin]) : 1);
      continue;
    }
    if (begin > done) parts.push_back(text.substr(done, begin - done));
    parts.push_back(text.substr(begin, end - begin));
    at = done = end;
  }
  if (done < text.size()) parts.push_back(text.substr(done));
}

std::string composed(const std::string& text) {
  utf8proc_uint8_t* result = nullptr;
  const auto options = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE);
  const utf8proc_ssize_t length = utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                               static_cast<utf8proc_ssize_t>(text.size()), &result, options);
  if (length < 0) throw std::invalid_argument(std::string("text cannot be composed: ") + utf8proc_errmsg(length));
  std::string nfc(reinterpret_cast<const char*>(result), static_cast<std::size_t>(length));
  std::free(result);
  return nfc;
}

}  // namespace

struct TextSplitter::Patterns {
  std::vector<Code> codes;
};

TextSplitter::TextSplitter(TextSplitting splitting) : splitting_(std::move(splitting)) {
  auto patterns = std::make_shared<Patterns>();
  for (const std::string& pattern : splitting_.patterns) patterns->codes.push_back(compile(pattern));
  patterns_ = std::move(patterns);
}

std::vector<std::string> TextSplitter::operator()(const std::string& text) const {
  split_characters(text);  // throws unless it is UTF-8
  std::vector<std::string> parts;
  if (!text.empty()) parts.push_back(splitting_.nfc ? composed(text) : text);
  if (splitting_.add_prefix_space && !parts.empty() && parts[0][0] != ' ') parts[0].insert(0, " ");
  for (const Code& code : patterns_->codes) {
    std::vector<std::string> finer;
    for (const std::string& part : parts) split_at(code, part, finer);
    parts = std::move(finer);
  }
  return parts;
}

}  // namespace attn
