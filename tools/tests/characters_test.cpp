// The characters of UTF-8 text that the lessons are given.
#include "attn/characters.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

namespace attn {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::ThrowsMessage;

/// UTF-8 from a number, by the table in RFC 3629: what code_point takes apart.
std::string utf8(char32_t c) {
  const auto byte = [](char32_t value) { return static_cast<char>(static_cast<unsigned char>(value)); };
  if (c < 0x80) return {byte(c)};
  if (c < 0x800) return {byte(0xC0 + c / 64), byte(0x80 + c % 64)};
  if (c < 0x10000) return {byte(0xE0 + c / 4096), byte(0x80 + c / 64 % 64), byte(0x80 + c % 64)};
  return {byte(0xF0 + c / 262144), byte(0x80 + c / 4096 % 64), byte(0x80 + c / 64 % 64), byte(0x80 + c % 64)};
}

bool is_surrogate(char32_t c) { return c >= 0xD800 && c <= 0xDFFF; }

/// Whether split_characters takes the bytes for one single character.
bool is_one_character(const std::string& bytes) {
  try {
    return split_characters(bytes) == std::vector<std::string>{bytes};
  } catch (const std::invalid_argument&) {
    return false;
  }
}

TEST(CodePoint, NumbersCharactersOfOneToFourBytes) {
  EXPECT_EQ(code_point("x"), U'x');
  EXPECT_EQ(code_point("é"), U'é');
  EXPECT_EQ(code_point("\xE5\x96\x9C"), char32_t(0x559C));
  EXPECT_EQ(code_point("😀"), U'😀');
}

TEST(SplitCharacters, CutsIntoCharacters) {
  EXPECT_THAT(split_characters("喜x"), ElementsAre("喜", "x"));
  EXPECT_THAT(split_characters("aé€😀 z"), ElementsAre("a", "é", "€", "😀", " ", "z"));
  EXPECT_THAT(split_characters(""), IsEmpty());
  EXPECT_THAT(split_characters(std::string("a\0b", 3)), ElementsAre("a", std::string(1, '\0'), "b"));
}

TEST(SplitCharacters, CutsEveryCharacterAndCodePointNumbersIt) {
  std::vector<std::string> wanted;
  std::string text;
  for (char32_t c = 0; c < 0x110000; c += c < 0x900 ? 1 : 61) {
    if (is_surrogate(c)) continue;
    wanted.push_back(utf8(c));
    text += wanted.back();
    ASSERT_EQ(code_point(wanted.back()), c);
  }
  EXPECT_TRUE(split_characters(text) == wanted);
}

TEST(SplitCharacters, RejectsWhatIsNotUtf8) {
  const std::map<std::string, std::vector<std::string>> wrong = {
      {"begins no character", {"\x96", "\x9C", "\x80", "\xBF", "\xFF", "\xFE", "\xF8\x88\x80\x80\x80"}},
      {"cut short", {"\xE5", "\xE5\x96", "\xC3", "\xF0\x9F\x98"}},
      {"interrupted", {"\xE5xy", "\xE5\x96x", "\xC3\xC3", "\xE5\xE5\x96\x9C", "\xF0\x9F\x98\xE5\x96\x9C"}},
      {"longer than needed",
       {"\xC0\x80", "\xC1\xA1", "\xE0\x81\xA1", "\xE0\x9F\xBF", "\xF0\x80\x81\xA1", "\xF0\x8F\xBF\xBF"}},
      {"a surrogate", {"\xED\xA0\x80", "\xED\xAF\xBF", "\xED\xB0\x80", "\xED\xBF\xBF"}},
      {"above the last one", {"\xF4\x90\x80\x80", "\xF4\xBF\xBF\xBF", "\xF5\x80\x80\x80", "\xF7\xBF\xBF\xBF"}}};
  for (const auto& [why, all] : wrong) {
    for (const std::string& bytes : all) {
      for (const std::string before : {"", "this is 喜 x"}) {
        EXPECT_THAT([&] { split_characters(before + bytes); },
                    ThrowsMessage<std::invalid_argument>(
                        HasSubstr("text is not UTF-8 at byte " + std::to_string(before.size()) + " of ")))
            << why << ": " << ::testing::PrintToString(bytes);
      }
    }
  }
}

TEST(SplitCharacters, KnowsEveryCharacterOfTwoBytesAndNoOther) {
  std::set<std::string> characters;
  for (char32_t c = 0x80; c < 0x800; ++c) characters.insert(utf8(c));
  for (unsigned first = 0x00; first < 0x100; ++first) {
    for (unsigned second = 0x00; second < 0x100; ++second) {
      const std::string bytes = {static_cast<char>(first), static_cast<char>(second)};
      ASSERT_EQ(is_one_character(bytes), characters.count(bytes) != 0) << first << " " << second;
    }
  }
}

TEST(SplitCharacters, KnowsWhatMayFollowEveryFirstByte) {
  std::set<std::string> characters;
  for (char32_t c = 0x800; c < 0x110000; c += 64) {  // the last byte is always 80
    if (!is_surrogate(c)) characters.insert(utf8(c));
  }
  for (unsigned first = 0xE0; first < 0x100; ++first) {
    for (unsigned second = 0x78; second < 0xC8; ++second) {
      std::string bytes = {static_cast<char>(first), static_cast<char>(second), '\x80'};
      if (first >= 0xF0) bytes += '\x80';
      ASSERT_EQ(is_one_character(bytes), characters.count(bytes) != 0) << first << " " << second;
    }
  }
}

TEST(IsSpace, KnowsTheWideSpace) {
  for (const char* space : {" ", "\t", "\n", "\r", "\u3000"}) EXPECT_TRUE(is_space(space));
  for (const char* other : {"x", "喜", "\u00A0", ""}) EXPECT_FALSE(is_space(other));
}

TEST(IsWrittenWithoutSpaces, IsTrueOfChineseAndKanaAlone) {
  for (const char* one : {"喜", "の", "。", "Ａ"}) EXPECT_TRUE(is_written_without_spaces(one)) << one;
  for (const char* other : {"x", "é", "Ж", "안", "😀"}) EXPECT_FALSE(is_written_without_spaces(other)) << other;
}

TEST(LowerAscii, ChangesOnlyAToZ) { EXPECT_EQ(lower_ascii("AZ[@`{ÉЖ喜az"), "az[@`{ÉЖ喜az"); }

}  // namespace
}  // namespace attn
