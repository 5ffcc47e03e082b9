#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <armadillo>
#include <cmath>
#include <cstdio>
#include <set>
#include <string>
#include <vector>

#include "attn/embedding.hpp"
#include "attn/sentence_attention.hpp"
#include "attn/text.hpp"
#include "attn/vocabulary.hpp"
#include "judge/draw.hpp"
#include "judge/golden.hpp"
#include "judge/matchers.hpp"
#include "judge/oracles.hpp"
#include "judge/properties.hpp"
#include "judge/speed.hpp"

namespace attn::judge {
namespace {

using Tokens = std::vector<std::string>;

// ------------------------------------------------------------------------------------------------------- text

/// UTF-8 from a number, by the table in RFC 3629: what code_point takes apart.
std::string utf8(char32_t c) {
  const auto byte = [](char32_t value) { return static_cast<char>(static_cast<unsigned char>(value)); };
  if (c < 0x80) return {byte(c)};
  if (c < 0x800) return {byte(0xC0 + c / 64), byte(0x80 + c % 64)};
  if (c < 0x10000) return {byte(0xE0 + c / 4096), byte(0x80 + c / 64 % 64), byte(0x80 + c % 64)};
  return {byte(0xF0 + c / 262144), byte(0x80 + c / 4096 % 64), byte(0x80 + c / 64 % 64), byte(0x80 + c % 64)};
}

std::string hex(unsigned number) {
  char text[16];
  std::snprintf(text, sizeof text, "%02X", number);
  return text;
}

/// "E5 96 9C"
std::string bytes_text(const std::string& bytes) {
  std::string text;
  for (const char c : bytes) text += (text.empty() ? "" : " ") + hex(static_cast<unsigned char>(c));
  return text;
}

/// ["this", "is"]; a token that may not be valid UTF-8 is shown by its bytes too.
std::string tokens_text(const Tokens& tokens) {
  std::string text;
  for (const std::string& token : tokens) {
    const bool plain = std::all_of(token.begin(), token.end(), [](char c) { return c >= ' ' && c <= '~'; });
    text += (text.empty() ? "" : ", ") + (plain ? "\"" + token + "\"" : token + " <" + bytes_text(token) + ">");
  }
  return "[" + text + "]";
}

/// Tokens that a mistake gives, and the line that names it.
struct WrongTokens {
  Tokens tokens;
  std::string likely;
};

MATCHER_P2(AreTokens, wanted, wrong, "are the wanted tokens") {
  const Tokens& got = arg;
  if (got == wanted) return true;
  std::string text = line("value", "got " + tokens_text(got)) + line("", "want " + tokens_text(wanted));
  for (const WrongTokens& one : wrong) {
    if (one.tokens == got) text += one.likely;
  }
  return explain(text, result_listener);
}

auto Are(Tokens wanted, std::vector<WrongTokens> wrong = {}) { return AreTokens(std::move(wanted), std::move(wrong)); }

void expect_code_point(const std::string& character, char32_t wanted) {
  const char32_t got = code_point(character);
  if (got == wanted) return;
  char32_t bits_kept = 0;
  char32_t whole_bytes = 0;
  for (std::size_t i = 0; i < character.size(); ++i) {
    const auto byte = static_cast<unsigned char>(character[i]);
    bits_kept = (bits_kept << 6) | (i == 0 ? byte : byte & 0x3FU);
    whole_bytes = (whole_bytes << 8) | byte;
  }
  ADD_FAILURE() << claim("code_point of the bytes " + bytes_text(character) + ": got 0x" +
                         hex(static_cast<unsigned>(got)) + ", want 0x" + hex(wanted))
                << (got == bits_kept ? likely_mistake("length_bits_kept") : "")
                << (got == whole_bytes ? likely_mistake("whole_bytes") : "");
}

TEST(Text, NumbersACharacterWorkedByHand) { expect_code_point("\xE5\x96\x9C", 0x559C); }

TEST(Text, NumbersCharactersOfOneToFourBytes) {
  expect_code_point("x", U'x');
  expect_code_point("é", U'é');
  expect_code_point("€", U'€');
  expect_code_point("喜", U'喜');
  expect_code_point("😀", U'😀');
}

TEST(Text, NumbersTheFirstAndLastCharacterOfEachLength) {
  for (const char32_t c :
       {0x0U, 0x7FU, 0x80U, 0x7FFU, 0x800U, 0xD7FFU, 0xE000U, 0xFFFFU, 0x10000U, 0x3FFFFU, 0x40000U, 0x10FFFFU}) {
    expect_code_point(utf8(c), c);
  }
}

TEST(Text, NumbersEveryCharacter) {
  for (char32_t c = 0; c < 0x110000 && !HasFailure(); c += c < 0x900 ? 1 : 61) {
    if (c < 0xD800 || c > 0xDFFF) expect_code_point(utf8(c), c);
  }
}

TEST(Text, CutsIntoCharacters) {
  EXPECT_THAT(split_characters("喜x"),
              Are({"喜", "x"}, {{{"\xE5", "\x96", "\x9C", "x"}, likely_mistake("bytes_for_characters")}}));
  EXPECT_THAT(split_characters("aé€😀 z"), Are({"a", "é", "€", "😀", " ", "z"}));
}

TEST(Text, HasNoCharactersInAnEmptyText) { EXPECT_THAT(split_characters(""), Are({})); }

TEST(Text, KeepsAZeroByte) { EXPECT_THAT(split_characters(std::string("a\0b", 3)), Are({"a", {'\0'}, "b"})); }

TEST(Text, CutsTheFirstAndLastCharacterOfEachLength) {
  Tokens wanted;
  std::string text;
  for (const char32_t c : {0x1U, 0x7FU, 0x80U, 0x7FFU, 0x800U, 0xD7FFU, 0xE000U, 0xFEFFU, 0xFFFEU, 0xFFFFU, 0x10000U,
                           0x1FFFFU, 0x10FFFFU}) {
    wanted.push_back(utf8(c));
    text += wanted.back();
  }
  EXPECT_THAT(split_characters(text), Are(wanted)) << note("all of these are UTF-8");
}

TEST(Text, CutsEveryCharacter) {
  Tokens wanted;
  for (char32_t c = 0; c < 0x110000; c += c < 0x900 ? 1 : 61) {
    if (c >= 0xD800 && c <= 0xDFFF) continue;
    wanted.push_back(utf8(c));
  }
  std::string text;
  for (const std::string& character : wanted) text += character;
  const Tokens got = split_characters(text);
  const auto differs = std::mismatch(got.begin(), got.end(), wanted.begin(), wanted.end());
  ASSERT_HOLDS(got == wanted, "a text of " + std::to_string(wanted.size()) + " characters of all lengths gives " +
                                  std::to_string(got.size()))
      << (differs.second == wanted.end() ? ""
                                         : note("the first that differs has the bytes " + bytes_text(*differs.second)));
}

/// Whether split_characters takes the bytes for one single character.
bool is_one_character(const std::string& bytes) {
  try {
    return split_characters(bytes) == Tokens{bytes};
  } catch (const std::invalid_argument&) {
    return false;
  }
}

/// Whether whole characters are found, with their numbers: only then can a mistake be named for one that is not.
bool knows_characters() { return is_one_character("喜") && code_point("喜") == U'喜'; }

/// Bytes that are not a character, alone and after 13 good bytes. `likely` is named when they are accepted.
void expect_not_utf8(const std::string& bytes, const std::string& likely) {
  for (const std::string& before : {std::string(), std::string("this is 喜 x")}) {
    const std::string text = before + bytes;
    const std::string at = std::to_string(before.size());
    Tokens got;
    bool accepted = true;
    try {
      got = split_characters(text);
    } catch (const std::invalid_argument&) {
      accepted = false;
    }
    EXPECT_PRED_FORMAT1(RejectsArgument("text", {at}), [&] { split_characters(text); })
        << note("the bytes " + bytes_text(bytes) + " are not UTF-8; the number to name is " + at +
                ", the byte where they begin")
        << (accepted && knows_characters() ? likely : "");
  }
}

TEST(Text, RejectsAByteThatBeginsNoCharacter) {
  for (const char* bytes : {"\x96", "\x9C", "\x80", "\xBF"}) {
    expect_not_utf8(bytes, likely_mistake("stray_byte_accepted"));
  }
  for (const char* bytes : {"\xFF", "\xFE", "\xF8\x88\x80\x80\x80"}) {
    expect_not_utf8(bytes, note("no character begins with a byte of F5 or above"));
  }
}

TEST(Text, RejectsACharacterCutShort) {
  for (const char* bytes : {"\xE5", "\xE5\x96", "\xC3", "\xF0\x9F\x98"}) {
    expect_not_utf8(bytes, likely_mistake("cut_short_accepted"));
  }
}

TEST(Text, RejectsACharacterInterruptedByAnother) {
  for (const char* bytes : {"\xE5xy", "\xE5\x96x", "\xC3\xC3", "\xE5\xE5\x96\x9C", "\xF0\x9F\x98\xE5\x96\x9C"}) {
    expect_not_utf8(bytes, likely_mistake("continuation_unchecked"));
  }
}

TEST(Text, RejectsACharacterWrittenLongerThanNeeded) {
  for (const char* bytes : {"\xC1\xA1", "\xE0\x81\xA1", "\xE0\x9F\xBF", "\xF0\x80\x81\xA1", "\xF0\x8F\xBF\xBF"}) {
    expect_not_utf8(bytes, likely_mistake("overlong_accepted"));
  }
  expect_not_utf8(std::string("\xC0\x80"), likely_mistake("overlong_accepted"));
}

TEST(Text, RejectsASurrogate) {
  for (const char* bytes : {"\xED\xA0\x80", "\xED\xAF\xBF", "\xED\xB0\x80", "\xED\xBF\xBF"}) {
    expect_not_utf8(bytes, likely_mistake("surrogate_accepted"));
  }
}

TEST(Text, RejectsNumbersAboveTheLast) {
  for (const char* bytes : {"\xF4\x90\x80\x80", "\xF4\xBF\xBF\xBF", "\xF5\x80\x80\x80", "\xF7\xBF\xBF\xBF"}) {
    expect_not_utf8(bytes, likely_mistake("above_the_last_accepted"));
  }
}

TEST(Text, KnowsEveryCharacterOfTwoBytesAndNoOther) {
  std::set<std::string> characters;
  for (char32_t c = 0x80; c < 0x800; ++c) characters.insert(utf8(c));
  for (unsigned first = 0x70; first < 0x100; ++first) {
    for (const unsigned second :
         {0x00U, 0x01U, 0x3FU, 0x40U, 0x7FU, 0x80U, 0x81U, 0x9FU, 0xA0U, 0xBEU, 0xBFU, 0xC0U, 0xFFU}) {
      const std::string bytes = {static_cast<char>(first), static_cast<char>(second)};
      ASSERT_HOLDS(
          is_one_character(bytes) == (characters.count(bytes) != 0),
          "the bytes " + bytes_text(bytes) + (characters.count(bytes) != 0 ? " were rejected" : " were accepted"))
          << note(characters.count(bytes) != 0 ? "they are one character" : "they are not UTF-8");
    }
  }
}

TEST(Text, KnowsWhatMayFollowEveryFirstByte) {
  std::set<std::string> characters;
  for (char32_t c = 0x800; c < 0x110000; c += 64) {  // the last byte is always 80
    if (c < 0xD800 || c > 0xDFFF) characters.insert(utf8(c));
  }
  for (unsigned first = 0xE0; first < 0x100; ++first) {
    for (unsigned second = 0x78; second < 0xC8; ++second) {
      std::string bytes = {static_cast<char>(first), static_cast<char>(second), '\x80'};
      if (first >= 0xF0) bytes += '\x80';
      ASSERT_HOLDS(
          is_one_character(bytes) == (characters.count(bytes) != 0),
          "the bytes " + bytes_text(bytes) + (characters.count(bytes) != 0 ? " were rejected" : " were accepted"))
          << note(characters.count(bytes) != 0 ? "they are one character" : "they are not UTF-8");
    }
  }
}

// --------------------------------------------------------------------------------------------- tokenize, 10.2

TEST(Text, CutsASentenceAtItsSpaces) {
  EXPECT_THAT(tokenize("this is an example sentence"), Are({"this", "is", "an", "example", "sentence"}));
}

TEST(Text, LowerCasesLetters) {
  EXPECT_THAT(
      tokenize("This IS Zebra AZaz"),
      Are({"this", "is", "zebra", "azaz"}, {{{"This", "IS", "Zebra", "AZaz"}, likely_mistake("letters_left_large")}}));
  EXPECT_THAT(tokenize("a1 [@] {`} X_9"), Are({"a1", "[@]", "{`}", "x_9"}));
}

TEST(Text, LowerCasesNoOtherCharacter) {
  // Adding 0x20 to the byte C3 gives E3: what is left is not UTF-8.
  EXPECT_THAT(tokenize("École ÀÉ"), Are({"École", "ÀÉ"}, {{{"\xE3\x89"
                                                            "cole",
                                                            "\xE3\x80\xE3\x89"},
                                                           likely_mistake("other_bytes_lowered")}}))
      << note("only A to Z are lower-cased");
  EXPECT_THAT(tokenize("喜欢 Ж"), Are({"喜欢", "Ж"})) << note("only A to Z are lower-cased");
}

TEST(Text, KeepsASingleWordWhole) {
  EXPECT_THAT(tokenize("sentence"),
              Are({"sentence"}, {{{"s", "e", "n", "t", "e", "n", "c", "e"}, likely_mistake("word_cut_into_letters")}}));
  EXPECT_THAT(tokenize("Überraschung"), Are({"Überraschung"})) << note("letters in a row are one word");
  EXPECT_THAT(tokenize("안녕하세요"), Are({"안녕하세요"})) << note("Korean has spaces: is_written_without_spaces");
}

TEST(Text, CutsChineseWithoutSpacesIntoCharacters) {
  EXPECT_THAT(tokenize("我喜欢玩游戏"),
              Are({"我", "喜", "欢", "玩", "游", "戏"},
                  {{{"我喜欢玩游戏"}, knows_characters() ? likely_mistake("chinese_uncut") : ""}}));
}

TEST(Text, LetsSpacesDecideInChineseToo) {
  EXPECT_THAT(
      tokenize("我 喜欢 玩 游戏"),
      Are({"我", "喜欢", "玩", "游戏"}, {{{"我", "喜", "欢", "玩", "游", "戏"}, likely_mistake("spaces_ignored")}}));
  EXPECT_THAT(tokenize("我用 GPT"), Are({"我用", "gpt"})) << note("there is a space inside: it alone decides");
}

TEST(Text, KeepsLettersTogetherAmongCharacters) {
  EXPECT_THAT(tokenize("我用GPT"), Are({"我", "用", "gpt"}));
  EXPECT_THAT(tokenize("GPT我x用"), Are({"gpt", "我", "x", "用"}));
}

TEST(Text, KeepsPunctuation) {
  EXPECT_THAT(tokenize("我喜欢。"), Are({"我", "喜", "欢", "。"}));
  EXPECT_THAT(tokenize("Is this it? Yes!"), Are({"is", "this", "it?", "yes!"}));
}

TEST(Text, TreatsTheWideSpaceAsASpace) {
  EXPECT_THAT(tokenize("我\u3000喜欢"),
              Are({"我", "喜欢"}, {{{"我", "\u3000", "喜", "欢"}, likely_mistake("wide_space_unknown")}}));
}

TEST(Text, TreatsTabsAndLineEndsAsSpaces) {
  EXPECT_THAT(tokenize("this\tis\nan\r\nexample"), Are({"this", "is", "an", "example"}));
}

TEST(Text, IgnoresSpacesAroundAndTwice) {
  const std::string likely = tokenize("我喜欢").size() == 3 ? likely_mistake("outer_spaces_count") : "";
  EXPECT_THAT(tokenize("  this   is \t it  "), Are({"this", "is", "it"})) << note("there is no empty token");
  EXPECT_THAT(tokenize(" 我喜欢"), Are({"我", "喜", "欢"}, {{{"我喜欢"}, likely}}))
      << note("a space before the first word separates nothing");
  EXPECT_THAT(tokenize("我喜欢\u3000\n"), Are({"我", "喜", "欢"}, {{{"我喜欢"}, likely}}))
      << note("a space after the last word separates nothing");
}

TEST(Text, HasNoTokensInAnEmptySentence) {
  EXPECT_THAT(tokenize(""), Are({}));
  EXPECT_THAT(tokenize("  \u3000\t"), Are({}));
}

TEST(Text, RejectsASentenceThatIsNotUtf8) {
  EXPECT_PRED_FORMAT1(RejectsArgument("text", {"11"}), [] { tokenize("this is it \xE5\x96"); });
  EXPECT_PRED_FORMAT1(RejectsArgument("text", {"11"}), [] { tokenize("this is it \xFF x"); });
}

// ---------------------------------------------------------------------------------------- the vocabulary, 10.3

const Tokens words = {"this", "is", "an", "example", "sentence", "我", "喜欢", "玩", "游戏"};

void expect_id(const Vocabulary& vocabulary, const std::string& word, arma::uword wanted, const std::string& about) {
  const arma::uword got = vocabulary.id(word);
  EXPECT_HOLDS(got == wanted, "id(\"" + word + "\") is " + std::to_string(got) + ", want " + std::to_string(wanted))
      << about;
}

/// Whether the plainest vocabulary is right: only then can a mistake be named for another one.
bool numbers_from_one() {
  const Vocabulary vocabulary(Tokens{"it", "is"});
  return vocabulary.id("it") == 1 && vocabulary.id("is") == 2;
}

TEST(Vocabulary, NumbersItsWordsFromOne) {
  const Vocabulary vocabulary(words);
  const std::string about = vocabulary.id("this") == 0 ? likely_mistake("numbers_from_zero") : "";
  for (arma::uword i = 0; i < words.size(); ++i) expect_id(vocabulary, words[i], i + 1, about);
}

TEST(Vocabulary, CountsItsWordsAndTheUnknown) {
  const Vocabulary vocabulary(words);
  EXPECT_HOLDS(vocabulary.size() == 10, "nine words: size() is " + std::to_string(vocabulary.size()) + ", want 10");
}

TEST(Vocabulary, GivesZeroForAnUnknownWord) {
  const Vocabulary vocabulary(words);
  for (const char* word : {"unknown", "sentences", "喜", "", "?"}) {
    try {
      expect_id(vocabulary, word, 0, "");
    } catch (const NotWritten&) {
      throw;
    } catch (const std::exception& error) {
      ADD_FAILURE() << line("threw", type_name(error) + ": " + error.what()) << likely_mistake("unknown_throws");
    }
  }
  expect_id(vocabulary, "game", 0, note("asking for an unknown word twice must not make it known"));
  expect_id(vocabulary, "game", 0, note("asking for an unknown word twice must not make it known"));
}

TEST(Vocabulary, GivesTheWordOfANumber) {
  const Vocabulary vocabulary(words);
  for (arma::uword i = 0; i < words.size(); ++i) {
    const std::string got = vocabulary.word(i + 1);
    EXPECT_HOLDS(got == words[i], "word(" + std::to_string(i + 1) + ") is \"" + got + "\", want \"" + words[i] + "\"");
  }
  EXPECT_HOLDS(vocabulary.word(0) == "?", "word(0) is not \"?\"");
}

TEST(Vocabulary, IgnoresTheCaseOfLetters) {
  const Vocabulary vocabulary(Tokens{"This", "IS", "École"});
  const std::string about = numbers_from_one() ? likely_mistake("vocabulary_keeps_case") : "";
  expect_id(vocabulary, "this", 1, about);
  expect_id(vocabulary, "THIS", 1, about);
  expect_id(vocabulary, "is", 2, about);
  EXPECT_HOLDS(vocabulary.word(2) == "is", "word(2) is not \"is\"") << about;
  const std::string ends = Vocabulary(Tokens{"ABYZ"}).word(1);
  EXPECT_HOLDS(ends == "abyz", "\"ABYZ\" was stored as \"" + ends + "\"")
      << (ends.find("by") != std::string::npos ? likely_mistake("vocabulary_skips_a_or_z") : "");
  expect_id(vocabulary, "École", 3, note("only A to Z are lower-cased"));
  expect_id(vocabulary, "école", 0, note("only A to Z are lower-cased"));
  expect_id(Vocabulary(Tokens{"This", "this", "IS"}), "is", 2, note("This and this are one word, and have one number"));
}

TEST(Vocabulary, GivesARepeatedWordOneNumber) {
  const Vocabulary vocabulary(Tokens{"is", "this", "is", "this", "it"});
  const std::string about = numbers_from_one() ? likely_mistake("repeated_word_counts") : "";
  expect_id(vocabulary, "it", 3, about);
  expect_id(vocabulary, "is", 1, about);
  expect_id(vocabulary, "this", 2, about);
  EXPECT_HOLDS(vocabulary.size() == 4,
               "three different words: size() is " + std::to_string(vocabulary.size()) + ", want 4")
      << about;
  EXPECT_HOLDS(vocabulary.word(3) == "it", "word(3) is not \"it\"") << about;
}

TEST(Vocabulary, TreatsAQuestionMarkAsAnyOtherWord) {
  const Vocabulary vocabulary(Tokens{"is", "?"});
  expect_id(vocabulary, "?", 2, note("\"?\" is what word(0) shows, but no word is stored for 0"));
}

TEST(Vocabulary, MayBeEmpty) {
  const Vocabulary vocabulary(Tokens{});
  expect_id(vocabulary, "this", 0, "");
}

TEST(Vocabulary, KeepsTwoVocabulariesApart) {
  const Vocabulary first(Tokens{"this", "is"});
  const Vocabulary second(Tokens{"is", "it"});
  expect_id(first, "it", 0, note("another vocabulary holds that word"));
  expect_id(second, "is", 1, note("another vocabulary gives it another number"));
  expect_id(first, "is", 2, "");
}

TEST(Vocabulary, RejectsAnEmptyWord) {
  EXPECT_PRED_FORMAT1(RejectsArgument("words", {}), [] { Vocabulary(Tokens{"this", ""}); });
}

TEST(Vocabulary, RejectsAnUnknownNumber) {
  const Vocabulary vocabulary(words);
  EXPECT_PRED_FORMAT1(RejectsArgument("id", {"10"}), [&] { vocabulary.word(10); });
  EXPECT_PRED_FORMAT1(RejectsArgument("id", {"77", "10"}), [&] { vocabulary.word(77); });
}

// ----------------------------------------------------------------------------------------------- encode, 10.4

arma::mat as_mat(const arma::umat& ids) { return arma::conv_to<arma::mat>::from(ids); }
arma::mat as_row(const arma::uvec& lengths) { return arma::conv_to<arma::mat>::from(lengths).t(); }

const Tokens sentences = {"This is an example sentence", "我 喜欢 玩 游戏", "我喜欢玩游戏", "", "an UNKNOWN sentence"};

TEST(VocabularyEncode, GivesAColumnForEverySentence) {
  const EncodedBatch batch = encode(sentences, Vocabulary(words), 4);
  EXPECT_THAT(as_mat(batch.ids), HasShape({{"L", 4}, {"B", 5}}));
  EXPECT_THAT(as_row(batch.lengths), HasShape({{"1", 1}, {"B", 5}}));
}

TEST(VocabularyEncode, GivesTheNumbersOfTheWords) {
  const GoldenCase golden = load_golden("encode");
  const EncodedBatch batch = encode(sentences, Vocabulary(words), 4);
  EXPECT_THAT(as_mat(batch.ids), Matches(golden.expected("ids")))
      << note("the sentences have 5, 4, 6, 0 and 3 words; max_length is 4");
}

TEST(VocabularyEncode, CountsTheWordsOfEachSentence) {
  const GoldenCase golden = load_golden("encode");
  const EncodedBatch batch = encode(sentences, Vocabulary(words), 4);
  EXPECT_THAT(as_row(batch.lengths), Matches(golden.expected("lengths")))
      << note("the sentences have 5, 4, 6, 0 and 3 words; max_length is 4");
}

TEST(VocabularyEncode, GivesTheNumbersWorkedByHand) {
  const GoldenCase golden = load_golden("by_hand");
  const EncodedBatch batch = encode({"我 爱 玩", "玩"}, Vocabulary(Tokens{"我", "玩"}), 3);
  EXPECT_THAT(as_mat(batch.ids), Matches(golden.expected("ids")));
  EXPECT_THAT(as_row(batch.lengths), Matches(golden.expected("lengths")));
}

TEST(VocabularyEncode, CutsOnlyWhatIsTooLong) {
  for (const arma::uword max_length : {1U, 2U, 3U, 4U, 5U, 6U, 70U}) {
    const EncodedBatch batch = encode({"this is an example sentence", "is"}, Vocabulary(words), max_length);
    arma::mat ids(max_length, 2, arma::fill::zeros);
    const arma::uword length = std::min<arma::uword>(5, max_length);
    for (arma::uword i = 0; i < length; ++i) ids(i, 0) = static_cast<double>(i + 1);
    ids(0, 1) = 2;
    const std::string about = note("five words and one word; max_length is " + std::to_string(max_length));
    EXPECT_THAT(as_mat(batch.ids), IsNear(ids, {"L", "B"})) << about;
    EXPECT_THAT(as_row(batch.lengths), IsNear(arma::mat{{static_cast<double>(length), 1}}, {"1", "B"})) << about;
  }
}

TEST(VocabularyEncode, CountsAnUnknownWordAsAWord) {
  const EncodedBatch batch = encode({"one two", "is three"}, Vocabulary(words), 3);
  EXPECT_THAT(as_mat(batch.ids), IsNear(arma::mat{{0, 2}, {0, 0}, {0, 0}}, {"L", "B"}));
  EXPECT_THAT(as_row(batch.lengths), IsNear(arma::mat{{2, 2}}, {"1", "B"}))
      << note("an unknown word has the number of padding, but is a word");
}

TEST(VocabularyEncode, ReadsOneSentenceAlone) {
  const EncodedBatch batch = encode({"玩游戏 is"}, Vocabulary(words), 3);
  EXPECT_THAT(as_mat(batch.ids), IsNear(arma::mat(arma::vec{0, 2, 0}), {"L", "B"}));
  EXPECT_THAT(as_row(batch.lengths), IsNear(arma::mat(1, 1, arma::fill::value(2.0)), {"1", "B"}));
}

TEST(VocabularyEncode, StartsAfresh) {
  const std::string about = note("the same sentence was encoded before, with another vocabulary or max_length");
  encode({"this is it"}, Vocabulary(words), 3);
  const EncodedBatch other = encode({"this is it", "it"}, Vocabulary(Tokens{"it", "is", "so"}), 3);
  EXPECT_THAT(as_mat(other.ids), IsNear(arma::mat{{0, 1}, {2, 0}, {1, 0}}, {"L", "B"})) << about;
  const EncodedBatch shorter = encode({"this is it", "it"}, Vocabulary(Tokens{"it", "is", "so"}), 2);
  EXPECT_THAT(as_mat(shorter.ids), IsNear(arma::mat{{0, 1}, {2, 0}}, {"L", "B"})) << about;
  EXPECT_THAT(as_row(shorter.lengths), IsNear(arma::mat{{2, 1}}, {"1", "B"})) << about;
}

TEST(VocabularyEncode, RejectsBadInput) {
  const Vocabulary vocabulary(words);
  EXPECT_PRED_FORMAT1(RejectsArgument("sentences", {}), [&] { encode({}, vocabulary, 4); });
  EXPECT_PRED_FORMAT1(RejectsArgument("max_length", {"0"}), [&] { encode(sentences, vocabulary, 0); });
  EXPECT_PRED_FORMAT1(RejectsArgument("text", {"5"}), [&] { encode({"this", "it is\xFF"}, vocabulary, 4); });
  EXPECT_PRED_FORMAT1(RejectsArgument("text", {"11"}), [&] { encode({"this is it \xFF"}, vocabulary, 1); });
}

// -------------------------------------------------------------------------------------------- the embedding, 10.5

arma::umat ids_of(const GoldenCase& golden) { return arma::conv_to<arma::umat>::from(golden.mat("ids")); }

Embedding embedding_from(const GoldenCase& golden) {
  const arma::mat weight = golden.mat("embedding");
  Embedding embedding(weight.n_rows, weight.n_cols);
  embedding.weight = weight;
  return embedding;
}

TEST(Embedding, HasARowForEveryNumber) {
  EXPECT_THAT(Embedding(6, 4).weight, HasShape({{"num_embeddings", 6}, {"E", 4}}));
}

TEST(Embedding, DrawsFromTheStandardNormalDistribution) {
  const Embedding embedding(70, 50);
  const arma::vec weight = arma::vectorise(embedding.weight);
  EXPECT_HOLDS(
      std::abs(arma::mean(weight)) < 0.1 && std::abs(arma::stddev(weight) - 1) < 0.1 && arma::abs(weight).max() > 2.5,
      "mean " + std::to_string(arma::mean(weight)) + ", standard deviation " + std::to_string(arma::stddev(weight)) +
          ", want about 0 and 1")
      << likely_mistake("not_normal");
  EXPECT_HOLDS(arma::abs(embedding.weight.row(0)).max() > 0, "row 0 is zeros") << note("row 0 is drawn as any other");
}

TEST(Embedding, LeavesSeedingToTheCaller) {
  expect_leaves_seeding_to_the_caller("the constructor", [] { return Embedding(6, 4).weight; });
}

TEST(Embedding, GivesAnLByEByBCube) {
  const Embedding embedding(7, 4);
  EXPECT_THAT(embedding(arma::umat(5, 3, arma::fill::zeros)), HasShape({{"L", 5}, {"E", 4}, {"B", 3}}));
}

TEST(Embedding, GivesTheRowsWorkedByHand) {
  const GoldenCase golden = load_golden("by_hand");
  const Embedding embedding = embedding_from(golden);
  EXPECT_THAT(embedding(ids_of(golden)), Matches(golden.expected("X")));
}

TEST(Embedding, EqualsPyTorch) {
  const GoldenCase golden = load_golden("embedding");
  const Embedding embedding = embedding_from(golden);
  EXPECT_THAT(embedding(ids_of(golden)), Matches(golden.expected("X")));
  EXPECT_THAT(embedding.weight, IsNear(golden.mat("embedding"), {"num", "E"})) << note("a look-up changes nothing");
}

TEST(Embedding, EqualsPyTorchWithASquareWeight) {
  const GoldenCase golden = load_golden("square_embedding");
  EXPECT_THAT(embedding_from(golden)(ids_of(golden)), Matches(golden.expected("X")));
}

TEST(Embedding, LooksUpEveryRow) {
  for (const arma::SizeCube size : {arma::SizeCube(1, 3, 2), arma::SizeCube(70, 2, 3), arma::SizeCube(4, 6, 1)}) {
    const Embedding embedding(9, size.n_cols);
    arma::umat ids(size.n_rows, size.n_slices);
    for (arma::uword i = 0; i < ids.n_elem; ++i) ids(i) = (5 * i + 8) % 9;
    arma::cube X(size);
    for (arma::uword b = 0; b < size.n_slices; ++b)
      for (arma::uword e = 0; e < size.n_cols; ++e)
        for (arma::uword i = 0; i < size.n_rows; ++i) X(i, e, b) = embedding.weight(ids(i, b), e);
    EXPECT_THAT(embedding(ids), IsNear(X, {"L", "E", "B"}));
  }
}

TEST(Embedding, RejectsSizesOfZero) {
  EXPECT_PRED_FORMAT1(RejectsArgument("num_embeddings", {"0"}), [] { Embedding(0, 4); });
  EXPECT_PRED_FORMAT1(RejectsArgument("embed_dim", {"0"}), [] { Embedding(6, 0); });
}

TEST(Embedding, RejectsNumbersWithoutARow) {
  const Embedding embedding(6, 4);
  EXPECT_PRED_FORMAT1(RejectsArgument("ids", {"6"}), [&] { embedding(arma::umat{{1, 6}, {2, 0}}); });
  EXPECT_PRED_FORMAT1(RejectsArgument("ids", {"77", "6"}), [&] { embedding(arma::umat{{1, 5}, {77, 0}, {3, 3}}); });
  EXPECT_PRED_FORMAT1(RejectsArgument("ids", {"0"}), [&] { embedding(arma::umat()); });
  EXPECT_PRED_FORMAT1(RejectsArgument("ids", {"0"}), [&] { embedding(arma::umat(0, 3)); });
  EXPECT_PRED_FORMAT1(RejectsArgument("ids", {"0"}), [&] { embedding(arma::umat(5, 0)); });
}

// ----------------------------------------------------------------------------------------------- attend, 10.6

MultiHeadAttention layer_from(const GoldenCase& golden, arma::uword num_heads) {
  return with_projections(MultiHeadAttention(golden.mat("embedding").n_cols, num_heads, 0), golden);
}

EncodedBatch batch_from(const GoldenCase& golden) {
  return {ids_of(golden), arma::conv_to<arma::uvec>::from(golden.rowvec("lengths").t())};
}

/// Rows of padding mean nothing: they become zeros before anything is compared.
arma::cube words_only(arma::cube x, const arma::uvec& lengths) {
  if (x.is_empty() || x.n_slices % lengths.n_elem != 0) return x;
  for (arma::uword n = 0; n < x.n_slices; ++n) {
    const arma::uword length = lengths(n * lengths.n_elem / x.n_slices);
    if (length < x.n_rows) x.slice(n).rows(length, x.n_rows - 1).zeros();
  }
  return x;
}

TEST(SentenceAttention, KeepsTheShapeOfItsInput) {
  const GoldenCase golden = load_golden("batch");
  MultiHeadAttention attention = layer_from(golden, 2);
  EXPECT_THAT(attend(batch_from(golden), embedding_from(golden), attention), HasShape({{"L", 5}, {"E", 4}, {"B", 3}}));
  EXPECT_THAT(attention.attention_weights(), HasShape({{"L", 5}, {"L", 5}, {"H·B", 6}}));
}

TEST(SentenceAttention, GivesTheTwoSentencesWorkedByHand) {
  const GoldenCase golden = load_golden("by_hand");
  MultiHeadAttention attention = layer_from(golden, 1);
  const EncodedBatch batch = batch_from(golden);
  const arma::cube output = attend(batch, embedding_from(golden), attention);
  EXPECT_THAT(words_only(attention.attention_weights(), batch.lengths), Matches(golden.expected("weights")));
  EXPECT_THAT(words_only(output, batch.lengths), Matches(golden.expected("output")));
}

TEST(SentenceAttention, GivesPaddingNoWeightAtAll) {
  const GoldenCase golden = load_golden("batch");
  MultiHeadAttention attention = layer_from(golden, 2);
  const EncodedBatch batch = batch_from(golden);
  attend(batch, embedding_from(golden), attention);
  const arma::cube& weights = attention.attention_weights();
  ASSERT_THAT(weights, HasShape({{"L", 5}, {"L", 5}, {"H·B", 6}}));
  const double to_padding = arma::abs(weights.slice(2).submat(0, 3, 2, 4)).max();    // words of sentence 1
  const double from_padding = arma::abs(weights.slice(2).submat(3, 0, 4, 4)).max();  // its padding
  EXPECT_HOLDS(to_padding == 0,
               "a word gives its padding the weight " + std::to_string(to_padding) + ", want exactly 0")
      << (from_padding == 0 ? likely_mistake("queries_blocked") : likely_mistake("padding_attended"));
}

TEST(SentenceAttention, GivesEveryWordWeightsThatSumToOne) {
  const GoldenCase golden = load_golden("batch");
  MultiHeadAttention attention = layer_from(golden, 2);
  attend(batch_from(golden), embedding_from(golden), attention);
  ASSERT_THAT(attention.attention_weights(), HasShape({{"L", 5}, {"L", 5}, {"H·B", 6}}));
  EXPECT_THAT(arma::cube(attention.attention_weights().slices(0, 1)), RowsSumToOne());
  EXPECT_THAT(arma::cube(attention.attention_weights().subcube(0, 0, 2, 2, 2, 3)), RowsSumToOne());
}

TEST(SentenceAttention, AttendsToUnknownWords) {
  const GoldenCase golden = load_golden("batch");
  MultiHeadAttention attention = layer_from(golden, 2);
  attend(batch_from(golden), embedding_from(golden), attention);
  ASSERT_THAT(attention.attention_weights(), HasShape({{"L", 5}, {"L", 5}, {"H·B", 6}}));
  const arma::mat first = attention.attention_weights().slice(0);                      // word 2 is unknown
  const arma::mat second = attention.attention_weights().slice(2).submat(0, 0, 2, 2);  // words 1 and 2 are
  const bool others = first.col(0).min() > 0 && first.col(1).min() > 0 && first.col(4).min() > 0;
  EXPECT_HOLDS(first.col(2).min() > 0 && second.min() > 0, "a word is blocked: some word gives it no weight")
      << (others && second.col(0).min() > 0 ? likely_mistake("mask_from_ids") : "");
}

TEST(SentenceAttention, EqualsPyTorch) {
  const GoldenCase golden = load_golden("batch");
  MultiHeadAttention attention = layer_from(golden, 2);
  const EncodedBatch batch = batch_from(golden);
  const arma::cube output = attend(batch, embedding_from(golden), attention);
  EXPECT_THAT(words_only(output, batch.lengths), Matches(golden.expected("output")));
}

TEST(SentenceAttention, KeepsTheWeightsThatPyTorchHas) {
  const GoldenCase golden = load_golden("batch");
  MultiHeadAttention attention = layer_from(golden, 2);
  const EncodedBatch batch = batch_from(golden);
  attend(batch, embedding_from(golden), attention);
  EXPECT_THAT(words_only(attention.attention_weights(), batch.lengths), Matches(golden.expected("weights")));
}

TEST(SentenceAttention, LetsAnEmptySentenceAttendToNoWord) {
  const GoldenCase golden = load_golden("batch");
  MultiHeadAttention attention = layer_from(golden, 2);
  const arma::cube output = attend(batch_from(golden), embedding_from(golden), attention);
  ASSERT_THAT(output, HasShape({{"L", 5}, {"E", 4}, {"B", 3}}));
  EXPECT_THAT(arma::cube(attention.attention_weights().slices(4, 5)), IsNear(zeros(5, 5, 2)))
      << note("sentence 2 has no words: all its weights are 0");
  EXPECT_THAT(arma::mat(output.slice(2)), IsNear(arma::mat(arma::repmat(attention.output_proj.bias, 5, 1)), {"L", "E"}))
      << note("sentence 2 has no words: what comes out is the bias of output_proj");
}

TEST(SentenceAttention, IgnoresPadding) {
  const Vocabulary vocabulary(words);
  const Embedding embedding(vocabulary.size(), 6);
  MultiHeadAttention attention(6, 2, 0);
  const Tokens two = {"this is an example sentence", "我喜欢游戏"};
  const arma::cube wanted = attend(encode(two, vocabulary, 5), embedding, attention);
  for (const arma::uword max_length : {7U, 12U}) {
    const arma::cube output = attend(encode(two, vocabulary, max_length), embedding, attention);
    ASSERT_THAT(output, HasShape({{"L", max_length}, {"E", 6}, {"B", 2}}));
    EXPECT_THAT(arma::cube(output.rows(0, 4)), IsNear(wanted, {"L", "E", "B"}))
        << note("two sentences of five words, padded to " + std::to_string(max_length) +
                "; expected: what they give "
                "without padding");
  }
}

TEST(SentenceAttention, KeepsTheBatchApart) {
  const Vocabulary vocabulary(words);
  const Embedding embedding(vocabulary.size(), 6);
  MultiHeadAttention attention(6, 3, 0);
  const EncodedBatch batch = encode(sentences, vocabulary, 7);
  const arma::cube together = words_only(attend(batch, embedding, attention), batch.lengths);
  for (arma::uword b = 0; b < sentences.size(); ++b) {
    const EncodedBatch one = encode({sentences[b]}, vocabulary, 7);
    EXPECT_THAT(words_only(attend(one, embedding, attention), one.lengths),
                IsNear(arma::cube(together.slices(b, b)), {"L", "E", "B"}))
        << note("this is sentence " + std::to_string(b) + ", alone; in the batch it gives what is wanted");
  }
}

TEST(SentenceAttention, EqualsTheDefinitionForOtherSizes) {
  struct Sizes {
    arma::uword L, E, H;
    arma::uvec lengths;
  };
  for (const Sizes& sizes : {Sizes{3, 4, 2, {2, 3, 1, 0}}, Sizes{1, 6, 3, {1, 0}}, Sizes{70, 4, 2, {64, 70, 1}},
                             Sizes{4, 6, 6, {3}}, Sizes{2, 3, 1, {1, 2, 1}}}) {
    const arma::uword B = sizes.lengths.n_elem;
    const Embedding embedding(5, sizes.E);
    MultiHeadAttention attention(sizes.E, sizes.H, 0);
    EncodedBatch batch{arma::umat(sizes.L, B, arma::fill::zeros), sizes.lengths};
    Mask mask(sizes.L, sizes.L, B, arma::fill::zeros);
    arma::cube X(sizes.L, sizes.E, B);
    for (arma::uword b = 0; b < B; ++b) {
      for (arma::uword i = 0; i < sizes.L; ++i) {
        if (i < sizes.lengths(b)) batch.ids(i, b) = (3 * i + b) % 5;
        if (i < sizes.lengths(b)) mask.slice(b).col(i).ones();
        X.slice(b).row(i) = embedding.weight.row(batch.ids(i, b));
      }
    }
    const Attended wanted = naive_multi_head(projections_of(attention), sizes.H, X, X, X, mask);
    EXPECT_THAT(words_only(attend(batch, embedding, attention), batch.lengths),
                IsNear(words_only(wanted.output, batch.lengths), {"L", "E", "B"}));
    EXPECT_THAT(words_only(attention.attention_weights(), batch.lengths),
                IsNear(words_only(wanted.weights, batch.lengths), {"L", "L", "H·B"}));
  }
}

TEST(SentenceAttention, FollowsPermutedTokens) {
  const Vocabulary vocabulary(words);
  const Embedding embedding(vocabulary.size(), 4);
  MultiHeadAttention attention(4, 2, 0);
  const arma::cube output = attend(encode({"this is an example", "is"}, vocabulary, 5), embedding, attention);
  const arma::cube permuted = attend(encode({"example this an is", "is"}, vocabulary, 5), embedding, attention);
  ASSERT_THAT(output, HasShape({{"L", 5}, {"E", 4}, {"B", 2}}));
  EXPECT_THAT(arma::mat(permuted.slice(0).rows(0, 3)),
              IsNear(arma::mat(arma::mat(output.slice(0)).rows(arma::uvec{3, 0, 2, 1})), {"L", "E"}))
      << note("attention knows no order: the same words in another order give the same rows, in that order");
}

TEST(SentenceAttention, StartsAfresh) {
  const GoldenCase golden = load_golden("batch");
  MultiHeadAttention attention = layer_from(golden, 2);
  const Embedding embedding = embedding_from(golden);
  const EncodedBatch batch = batch_from(golden);
  const std::string about = note("attend was called before with another batch; nothing of that call may be left");
  attend({arma::umat{{1, 2, 3}, {4, 5, 6}}, arma::uvec{2, 1, 2}}, embedding, attention);
  EXPECT_THAT(words_only(attend(batch, embedding, attention), batch.lengths), Matches(golden.expected("output")))
      << about;
  const EncodedBatch longer = {batch.ids, arma::uvec{5, 5, 5}};  // the same numbers, other lengths
  attend(longer, embedding, attention);
  EXPECT_HOLDS(attention.attention_weights().slice(2).col(4).min() > 0, "the last of five words gets no weight")
      << about;
}

TEST(SentenceAttention, LeavesItsArguments) {
  const GoldenCase golden = load_golden("batch");
  MultiHeadAttention attention = layer_from(golden, 2);
  const Projections before = projections_of(attention);
  const Embedding embedding = embedding_from(golden);
  const EncodedBatch batch = batch_from(golden);
  expect_leaves_its_arguments(
      "attend", {{"embedding.weight", embedding.weight}, {"batch.ids", batch.ids}, {"batch.lengths", batch.lengths}},
      [&] { attend(batch, embedding, attention); });
  expect_unchanged(before, projections_of(attention), "attend");
}

TEST(SentenceAttention, LeavesTheGeneratorAlone) {
  const GoldenCase golden = load_golden("batch");
  MultiHeadAttention attention = layer_from(golden, 2);
  attention.dropout.eval();
  const Embedding embedding = embedding_from(golden);
  expect_leaves_the_generator_alone("attend", [&] { attend(batch_from(golden), embedding, attention); });
}

TEST(SentenceAttention, LeavesDropoutToTheCaller) {
  const GoldenCase golden = load_golden("batch");
  MultiHeadAttention attention(4, 2, 0.5);
  attention.dropout.inject(Mask(5, 5, 6, arma::fill::zeros));
  const arma::cube output = attend(batch_from(golden), embedding_from(golden), attention);
  EXPECT_HOLDS(attention.dropout.training() && attention.attention_weights().is_zero(),
               "the layer was training, and dropped every weight; attend undid that")
      << note("train() and eval() are for the caller to call");
}

TEST(SentenceAttention, EqualsTheArticlesSingleHeadFromASentence) {
  const GoldenCase golden = load_golden("article_single_head");
  const Vocabulary vocabulary(Tokens{"我", "喜欢", "玩", "游戏"});
  const EncodedBatch batch = encode({"我 喜欢 玩 游戏", "我喜欢玩游戏"}, vocabulary, 6);
  MultiHeadAttention attention = layer_from(golden, 1);
  const arma::cube output = attend(batch, embedding_from(golden), attention);
  ASSERT_THAT(output, HasShape({{"L", 6}, {"E", 8}, {"B", 2}}));
  EXPECT_THAT(arma::mat(output.slice(0).rows(0, 3)), Matches(golden.expected("with_spaces")));
  EXPECT_THAT(arma::mat(output.slice(1)), Matches(golden.expected("without_spaces")));
}

TEST(SentenceAttention, EqualsTheArticlesTokenisedSentenceWithItsPaddingBlocked) {
  const GoldenCase golden = load_golden("article_tokenised");
  const Vocabulary vocabulary(Tokens{"this", "is", "an", "example", "sentence"});
  const EncodedBatch batch = encode({"This is an example sentence", "This sentence is wonderful"}, vocabulary, 10);
  ASSERT_THAT(as_mat(batch.ids), Matches(golden.expected("ids")));
  MultiHeadAttention attention = layer_from(golden, 8);
  const arma::cube output = attend(batch, embedding_from(golden), attention);
  EXPECT_THAT(words_only(output, batch.lengths), Matches(golden.expected("output")));
  EXPECT_THAT(weights_of_sentence(attention.attention_weights(), batch, 0, 8),
              Matches(golden.expected("first_weights")));
}

TEST(SentenceAttention, RejectsLengthsThatDoNotFit) {
  const Embedding embedding(6, 4);
  MultiHeadAttention attention(4, 2, 0);
  const arma::umat ids(5, 3, arma::fill::ones);
  EXPECT_PRED_FORMAT1(RejectsArgument("lengths", {"2", "3"}), [&] {
    attend({ids, arma::uvec{5, 5}}, embedding, attention);
  });
  EXPECT_PRED_FORMAT1(RejectsArgument("lengths", {"4", "3"}), [&] {
    attend({ids, arma::uvec{5, 4, 3, 2}}, embedding, attention);
  });
  EXPECT_PRED_FORMAT1(RejectsArgument("lengths", {"1", "3"}), [&] {
    attend({ids, arma::uvec{5}}, embedding, attention);
  });
  EXPECT_PRED_FORMAT1(RejectsArgument("lengths", {"0", "3"}), [&] {
    attend({ids, arma::uvec()}, embedding, attention);
  });
  EXPECT_PRED_FORMAT1(RejectsArgument("lengths", {"6", "5"}), [&] {
    attend({ids, arma::uvec{5, 6, 1}}, embedding, attention);
  });
  EXPECT_PRED_FORMAT1(RejectsArgument("ids", {"7", "6"}), [&] {
    attend({arma::umat{{1, 7}, {2, 3}, {0, 1}}, arma::uvec{3, 2}}, embedding, attention);
  });
}

// ------------------------------------------------------------------------------------ weights_of_sentence, 10.7

TEST(SentenceAttention, CutsOutTheWeightsOfEachSentence) {
  const GoldenCase golden = load_golden("batch");
  const EncodedBatch batch = batch_from(golden);
  const arma::cube weights = golden.cube("all_weights");
  EXPECT_THAT(weights_of_sentence(weights, batch, 0, 2), HasShape({{"length", 5}, {"length", 5}, {"H", 2}}));
  EXPECT_THAT(weights_of_sentence(weights, batch, 1, 2), Matches(golden.expected("sentence_1")));
}

TEST(SentenceAttention, FindsTheSlicesOfEachSentence) {
  // weights(i, j, n) shows where it is: i, j, sentence and head as the digits of a number
  EncodedBatch batch{arma::umat(5, 4, arma::fill::zeros), arma::uvec{2, 5, 1, 3}};
  arma::cube weights(5, 5, 12);
  for (arma::uword b = 0; b < 4; ++b)
    for (arma::uword h = 0; h < 3; ++h)
      for (arma::uword j = 0; j < 5; ++j)
        for (arma::uword i = 0; i < 5; ++i) {
          weights(i, j, 3 * b + h) = static_cast<double>(1000 * i + 100 * j + 10 * b + h);
        }
  for (arma::uword b = 0; b < 4; ++b) {
    const arma::uword length = batch.lengths(b);
    arma::cube wanted(length, length, 3);
    for (arma::uword h = 0; h < 3; ++h)
      for (arma::uword j = 0; j < length; ++j)
        for (arma::uword i = 0; i < length; ++i) {
          wanted(i, j, h) = static_cast<double>(1000 * i + 100 * j + 10 * b + h);
        }
    EXPECT_THAT(weights_of_sentence(weights, batch, b, 3), IsNear(wanted, {"length", "length", "H"}))
        << note("a number here shows its row, column, sentence and head, one digit each");
  }
}

TEST(SentenceAttention, GivesAnEmptySentenceNoWeights) {
  const GoldenCase golden = load_golden("batch");
  const arma::cube none = weights_of_sentence(golden.cube("all_weights"), batch_from(golden), 2, 2);
  EXPECT_THAT(none, HasShape({{"length", 0}, {"length", 0}, {"H", 2}}));
}

TEST(SentenceAttention, GivesWeightsThatSumToOneForEverySentence) {
  const Vocabulary vocabulary(words);
  const Embedding embedding(vocabulary.size(), 6);
  MultiHeadAttention attention(6, 3, 0);
  const EncodedBatch batch = encode(sentences, vocabulary, 7);
  attend(batch, embedding, attention);
  for (const arma::uword b : {0U, 1U, 2U, 4U}) {
    const arma::cube own = weights_of_sentence(attention.attention_weights(), batch, b, 3);
    EXPECT_THAT(own, RowsSumToOne()) << note("this is sentence " + std::to_string(b));
  }
}

TEST(SentenceAttention, RejectsWeightsThatDoNotFit) {
  const EncodedBatch batch{arma::umat(5, 3, arma::fill::zeros), arma::uvec{5, 3, 0}};
  const auto rejects = [&](arma::uword rows, arma::uword cols, arma::uword slices, const std::string& was) {
    const arma::cube weights(rows, cols, slices, arma::fill::zeros);
    EXPECT_PRED_FORMAT1(RejectsArgument("weights", {was}), [&] { weights_of_sentence(weights, batch, 1, 2); });
  };
  rejects(5, 5, 3, "5 x 5 x 3");
  rejects(5, 5, 2, "5 x 5 x 2");
  rejects(5, 5, 12, "5 x 5 x 12");
  rejects(4, 5, 6, "4 x 5 x 6");
  rejects(5, 4, 6, "5 x 4 x 6");
  rejects(7, 7, 6, "7 x 7 x 6");
  rejects(0, 0, 0, "0 x 0 x 0");
}

TEST(SentenceAttention, RejectsASentenceThatDoesNotExist) {
  const EncodedBatch batch{arma::umat(5, 3, arma::fill::zeros), arma::uvec{5, 3, 0}};
  const arma::cube weights(5, 5, 6, arma::fill::zeros);
  EXPECT_PRED_FORMAT1(RejectsArgument("sentence", {"3"}), [&] { weights_of_sentence(weights, batch, 3, 2); });
  EXPECT_PRED_FORMAT1(RejectsArgument("sentence", {"77", "3"}), [&] { weights_of_sentence(weights, batch, 77, 2); });
  EXPECT_PRED_FORMAT1(RejectsArgument("num_heads", {"0"}), [&] { weights_of_sentence(weights, batch, 1, 0); });
}

TEST(SentenceAttention, RejectsASentenceThatIsLongerThanTheBatch) {
  const EncodedBatch batch{arma::umat(5, 3, arma::fill::zeros), arma::uvec{5, 7, 0}};
  const arma::cube weights(5, 5, 6, arma::fill::zeros);
  EXPECT_PRED_FORMAT1(RejectsArgument("lengths", {"7", "5"}), [&] { weights_of_sentence(weights, batch, 1, 2); });
}

// ---------------------------------------------------------------------------------------------------------- speed

ATTN_SPEED("attend, 2 sentences of 32 and 24 words, E = 64, H = 4", [] {
  const EncodedBatch batch{arma::randi<arma::umat>(32, 2, arma::distr_param(0, 999)), {32, 24}};
  MultiHeadAttention attention(64, 4);
  attention.dropout.eval();
  return [batch, embedding = Embedding(1000, 64), attention]() mutable { return attend(batch, embedding, attention); };
});

}  // namespace
}  // namespace attn::judge
