#pragma once

#include <memory>
#include <string>
#include <vector>

/// The step before byte-pair encoding: a text is cut into words. Given: no lesson asks for it.
namespace attn {

/// How a tokenizer cuts a text.
struct TextSplitting {
  std::vector<std::string> patterns;  ///< regular expressions, applied one after the other
  bool add_prefix_space = false;      ///< puts a space before a part that does not begin with one
  bool nfc = false;                   ///< composes characters first: "e" and U+0301 become "é" (Unicode's form C)
};

/// Cuts a text where the patterns match. Every match is a part, and so is what is between two matches; the next pattern cuts
/// these parts further. Nothing is lost: the parts in a row are the text again (after nfc and add_prefix_space).
///
/// The patterns know Unicode's classes, such as \p{L} for letters, and look-ahead: PCRE2, with UTF and UCP. One character
/// differs from other libraries: here U+180E, a Mongolian separator, is a space.
class TextSplitter {
 public:
  /// @throws std::invalid_argument naming pattern, when it is not a regular expression.
  explicit TextSplitter(TextSplitting splitting);

  /// @throws std::invalid_argument naming text, when it is not UTF-8.
  std::vector<std::string> operator()(const std::string& text) const;

 private:
  struct Patterns;
  TextSplitting splitting_;
  std::shared_ptr<const Patterns> patterns_;  // compiled; shared by copies
};

}  // namespace attn
