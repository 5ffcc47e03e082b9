#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <armadillo>
#include <cerrno>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "attn/checkpoint.hpp"
#include "attn/float16.hpp"
#include "checks/draw.hpp"
#include "checks/golden.hpp"
#include "checks/matchers.hpp"
#include "checks/properties.hpp"
#include "checks/speed.hpp"
#include "lesson/lesson.hpp"

namespace attn::judge {
namespace {

using arma::uword;
using Strings = std::vector<std::string>;
using Ids = std::vector<uword>;

std::filesystem::path model_folder(const std::string& name) {
  return lesson::lesson_of(__FILE__).test_folder() / "models" / name;
}

/// ["Ġthe", "re"]
std::string text_of(const Strings& pieces) {
  std::string text;
  for (const std::string& piece : pieces) text += (text.empty() ? "" : ", ") + ("\"" + piece + "\"");
  return "[" + text + "]";
}
std::string text_of(const std::string& text) { return text; }

arma::mat as_row(const Ids& ids) {
  arma::mat row(1, ids.size());
  for (uword i = 0; i < ids.size(); ++i) row(0, i) = static_cast<double>(ids[i]);
  return row;
}

/// The bytes of a text as numbers, in one row: what a mistake is found by.
arma::mat bytes_of(const std::string& text) {
  arma::mat bytes(1, text.size());
  for (std::size_t i = 0; i < text.size(); ++i) bytes(0, i) = static_cast<unsigned char>(text[i]);
  return bytes;
}

/// Texts are the expected ones. Their bytes are compared as numbers are, for their mistakes.
MATCHER_P(ReadsAs, wanted, "reads as expected") {
  if (result_listener->IsInterested()) repeat_comparison();
  const std::string got = text_of(arg), want = text_of(wanted);
  const std::string difference = diagnose(as_cube(bytes_of(got)), {as_cube(bytes_of(want)), {"1", "bytes"}});
  if (difference.empty()) return true;
  Failure failure;
  failure.statements = {{"value", "got " + got}, {"", "want " + want}};
  failure.comparison = decode(difference)->comparison;
  return explain(encode(failure), result_listener);
}

auto AreIds(const Ids& ids) { return IsNear(as_row(ids), {"1", "tokens"}); }

// ---------------------------------------------------------------------------------------- floats of 16 bits, 23.1

arma::rowvec numbers_of(const arma::rowvec& bits, double (*from)(std::uint16_t)) {
  arma::rowvec numbers(bits.n_elem);
  for (uword i = 0; i < bits.n_elem; ++i) numbers(i) = from(static_cast<std::uint16_t>(bits(i)));
  return numbers;
}

TEST(Float16, ReadsTheNumbersOfTheChapter) {
  const arma::rowvec bits = {0x4248, 0xC049};
  EXPECT_THAT(arma::mat(arma::join_rows(numbers_of(bits, from_float16), numbers_of(bits, from_bfloat16))),
              IsNear(arma::mat{{3.140625, -2.142578125, 50, -3.140625}}, {"1", "numbers"}))
      << note("4248 and C049, as float16 and as bfloat16");
}

/// "inf", "-inf", "NaN", or the number with six digits.
Strings texts_of(double (*from)(std::uint16_t), const std::vector<std::uint16_t>& bits) {
  Strings texts;
  for (const std::uint16_t one : bits) {
    char text[32];
    std::snprintf(text, sizeof text, "%g", from(one));
    texts.emplace_back(std::isnan(from(one)) ? "NaN" : text);
  }
  return texts;
}

TEST(Float16, IsInfinityOrNaNAtTheLargestExponent) {
  EXPECT_THAT(texts_of(from_float16, {0x7C00, 0xFC00, 0x7E00, 0xFC01, 0x7BFF, 0x7F80}),
              ReadsAs(Strings{"inf", "-inf", "NaN", "NaN", "65504", "NaN"}))
      << note("the bits are 7C00, FC00, 7E00, FC01, 7BFF, 7F80, as a float16");
  EXPECT_THAT(texts_of(from_bfloat16, {0x7F80, 0xFF80, 0x7FC0, 0xFF81, 0x7F7F, 0x7C00}),
              ReadsAs(Strings{"inf", "-inf", "NaN", "NaN", "3.38953e+38", "2.65846e+36"}))
      << note("the bits are 7F80, FF80, 7FC0, FF81, 7F7F, 7C00, as a bfloat16");
}

TEST(Float16, KeepsTheSignOfZero) {
  EXPECT_HOLDS(std::signbit(from_float16(0x8000)) && std::signbit(from_bfloat16(0x8000)), "the bits 8000 are not -0")
      << likely_mistake("sign_lost");
  EXPECT_HOLDS(!std::signbit(from_float16(0)) && !std::signbit(from_bfloat16(0)), "the bits 0000 are -0");
}

TEST(Float16, EqualsPyTorch) {
  const GoldenCase golden = load_golden("small_floats");
  // Scaled to the smallest number of each type: subnormal numbers are compared, too.
  struct Type {
    std::string name;
    double (*from)(std::uint16_t);
    int scale;
  };
  for (const auto& [type, from, scale] : {Type{"float16", from_float16, 24}, Type{"bfloat16", from_bfloat16, 133}}) {
    const arma::rowvec bits = golden.rowvec(type + ".bits");
    EXPECT_THAT(numbers_of(bits, from), Matches(golden.expected(type))) << note(type);
    const arma::rowvec small = bits.tail(8);
    EXPECT_THAT(arma::mat(numbers_of(small, from) * std::ldexp(1, scale)),
                IsNear(arma::mat(arma::rowvec(golden.rowvec(type).tail(8)) * std::ldexp(1, scale)), {"1", "numbers"}))
        << note(type + ", the small numbers times 2^" + std::to_string(scale));
  }
}

TEST(Float16, GrowsWithItsBits) {
  for (std::uint16_t bits = 0; bits < 0x7C00; ++bits) {
    const std::uint16_t next = static_cast<std::uint16_t>(bits + 1);
    ASSERT_HOLDS(from_float16(bits) < from_float16(next),
                 "the float16 after " + std::to_string(bits) + " is not larger");
    ASSERT_HOLDS(from_bfloat16(bits) < from_bfloat16(next),
                 "the bfloat16 after " + std::to_string(bits) + " is not larger");
  }
}

// ------------------------------------------------------------------------------------------ the header of a file, 23.2

std::string little_endian(std::uint64_t number) {
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes += static_cast<char>(number >> (8 * i) & 0xFFU);
  return bytes;
}

std::string entry(const std::string& name, const std::string& shape, uword begin, uword end,
                  const std::string& dtype = "F32") {
  return "\"" + name + "\":{\"dtype\":\"" + dtype + "\",\"shape\":[" + shape + "],\"data_offsets\":[" +
         std::to_string(begin) + "," + std::to_string(end) + "]}";
}

/// A file with these entries, and so many bytes of numbers: 0, 1, 2, ...
std::string file_of(const Strings& entries, uword bytes) {
  std::string header = "{";
  for (const std::string& one : entries) header += (header == "{" ? "" : ",") + one;
  header += "}";
  std::string file = little_endian(header.size()) + header;
  for (uword i = 0; i < bytes; ++i) file += static_cast<char>(i);
  return file;
}

/// "a F32 2 x 3 at 104 to 128"
std::string text_of(const std::vector<TensorEntry>& tensors) {
  std::string text;
  for (const TensorEntry& tensor : tensors) {
    std::string shape;
    for (const uword size : tensor.shape) shape += (shape.empty() ? " " : " x ") + std::to_string(size);
    text += (text.empty() ? "" : ", ") + tensor.name + " " + tensor.dtype + shape + " at " +
            std::to_string(tensor.begin) + " to " + std::to_string(tensor.end);
  }
  return text;
}

const std::string two_tensors =  // b lies before a
    file_of({entry("a", "2,3", 10, 34), entry("b", "5", 0, 10, "BF16"), "\"__metadata__\":{\"format\":\"pt\"}"}, 34);

TEST(SafetensorsHeader, CountsFromTheStartOfTheFile) {
  const uword start = two_tensors.size() - 34;
  EXPECT_THAT(text_of(read_header(two_tensors)),
              ReadsAs("b BF16 5 at " + std::to_string(start) + " to " + std::to_string(start + 10) +
                      ", a F32 2 x 3 at " + std::to_string(start + 10) + " to " + std::to_string(start + 34)));
}

TEST(SafetensorsHeader, TakesEmptyTensorsAndSingleNumbers) {
  const std::string file =
      file_of({entry("c", "", 0, 4), entry("none", "4,0,3", 4, 4), entry("z", "1", 4, 6, "F16")}, 6);
  const std::string start = std::to_string(file.size() - 6), end = std::to_string(file.size() - 2);
  EXPECT_THAT(text_of(read_header(file)),
              ReadsAs("c F32 at " + start + " to " + end + ", none F32 4 x 0 x 3 at " + end + " to " + end +
                      ", z F16 1 at " + end + " to " + std::to_string(file.size())));
  const std::string sorted = file_of({entry("a", "1", 0, 4), entry("empty", "0", 0, 0)}, 4);
  const std::string first = std::to_string(sorted.size() - 4);
  EXPECT_THAT(text_of(read_header(sorted)), ReadsAs("empty F32 0 at " + first + " to " + first + ", a F32 1 at " +
                                                    first + " to " + std::to_string(sorted.size())))
      << note("a tensor without numbers comes before another one at the same place");
  EXPECT_THAT(text_of(read_header(file_of({}, 0))), ReadsAs(std::string())) << note("a file without tensors");
}

TEST(SafetensorsHeader, ReadsTheFileOfALibrary) {
  const MemoryMap map(model_folder("gpt2") / "model.safetensors");
  const std::vector<TensorEntry> tensors = read_header(map.bytes());
  ASSERT_HOLDS(tensors.size() == 28, "the file of models/gpt2 has 28 tensors, got " + std::to_string(tensors.size()));
  EXPECT_THAT(tensors.front().name, ReadsAs(std::string("wte.weight")));
  EXPECT_HOLDS(tensors.back().end == map.bytes().size(), "the last tensor does not end where the file ends");
}

void expect_refused(const std::string& argument, const Strings& words, const std::string& file,
                    const std::string& likely) {
  EXPECT_PRED_FORMAT1(RejectsOrNames(RejectsArgument(argument, words), likely), [&] { read_header(file); });
}

TEST(SafetensorsHeader, RejectsTensorsThatShareBytesOrLeaveSome) {
  const uword start = file_of({entry("a", "2", 0, 8), entry("b", "2", 4, 12)}, 0).size();
  expect_refused("b", {std::to_string(start + 4), std::to_string(start + 8)},
                 file_of({entry("a", "2", 0, 8), entry("b", "2", 4, 12)}, 12), likely_mistake("overlap_accepted"));
  expect_refused("b", {std::to_string(start + 9), std::to_string(start + 8)},
                 file_of({entry("a", "2", 0, 8), entry("b", "2", 9, 17)}, 17), likely_mistake("gap_accepted"));
  const uword first = file_of({entry("a", "2", 4, 12)}, 0).size();
  expect_refused("a", {std::to_string(first + 4), std::to_string(first)}, file_of({entry("a", "2", 4, 12)}, 12),
                 likely_mistake("first_gap_accepted"));
}

TEST(SafetensorsHeader, RejectsAFileOfAnotherLength) {
  const std::string size = std::to_string(two_tensors.size());
  expect_refused("file", {std::to_string(two_tensors.size() - 1), size}, two_tensors.substr(0, two_tensors.size() - 1),
                 likely_mistake("truncation_accepted"));
  expect_refused("file", {std::to_string(two_tensors.size() + 1), size}, two_tensors + "x",
                 likely_mistake("rest_accepted"));
  expect_refused("file", {"7", "8"}, two_tensors.substr(0, 7), likely_mistake("short_file_read"));
}

TEST(SafetensorsHeader, RejectsAHeaderThatIsTooLong) {
  const std::string threw = refusal([] { read_header(little_endian(27) + std::string(26, ' ')); });
  EXPECT_HOLDS(threw.find("27") != std::string::npos && threw.find("26") != std::string::npos,
               "a header of 27 bytes in a file that has 26 for it: expected an exception with both numbers, got " +
                   (threw.empty() ? "none" : threw))
      << (threw.empty() || threw.find("JSON") != std::string::npos ? likely_mistake("header_may_leave_the_file") : "");
  std::string huge = little_endian((std::uint64_t(1) << 32U) + 2) + "{}";
  expect_refused("header", {"4294967298"}, huge, likely_mistake("length_of_four_bytes"));
  expect_refused("header", {"18446744073709551615"}, little_endian(~std::uint64_t(0)) + "{}",
                 likely_mistake("header_may_leave_the_file"));
  // All there, as zeros that the system supplies when they are read: the length alone must refuse it.
  const uword size = 8 + 100'000'001;
  const std::unique_ptr<char, void (*)(void*)> file(static_cast<char*>(std::calloc(size, 1)), std::free);
  little_endian(100'000'001).copy(file.get(), 8);
  const auto read = [&] { read_header(std::string_view(file.get(), size)); };
  const std::string parsed = refusal(read);
  EXPECT_PRED_FORMAT1(RejectsArgument("header", {"100000001", "100000000"}), read)
      << (parsed.empty() || parsed.find("JSON") != std::string::npos ? likely_mistake("header_of_any_length") : "");
}

TEST(SafetensorsHeader, RejectsSizesThatDoNotFitTheShape) {
  expect_refused("a", {"20", "24", "2 x 3", "F32"}, file_of({entry("a", "2,3", 0, 20)}, 20),
                 likely_mistake("sizes_not_compared"));
  expect_refused("a", {"24", "12", "BF16"}, file_of({entry("a", "2,3", 0, 24, "BF16")}, 24),
                 likely_mistake("sizes_not_compared"));
  expect_refused("a", {}, file_of({entry("a", "4611686018427387905", 0, 4)}, 4), likely_mistake("product_wraps"));
  expect_refused("a", {}, file_of({entry("a", "4294967296,4294967296", 0, 0)}, 0), likely_mistake("product_wraps"));
  expect_refused("a", {"8", "4"}, file_of({entry("a", "1", 8, 4)}, 8), likely_mistake("sizes_not_compared"));
  // 0 - 8 bytes, as many as 2^61 - 1 numbers of 8 bytes need
  expect_refused("b", {"8", "0"}, file_of({entry("a", "2", 0, 8), entry("b", "2305843009213693951", 8, 0, "F64")}, 0),
                 likely_mistake("backwards_accepted"));
}

// -------------------------------------------------------------------------------------- a tensor as a matrix, 23.3

const Strings matrix_axes = {"rows", "columns"};

TEST(SafetensorsMatrix, ReadsRowByRow) {
  const std::string bytes("\0\0\x80\x3F\0\0\0\x40\0\0\x40\x40\0\0\x80\x40\0\0\xA0\x40\0\0\xC0\x40", 24);
  EXPECT_THAT(read_matrix(bytes, "F32", 2, 3), IsNear(arma::mat{{1, 2, 3}, {4, 5, 6}}, matrix_axes));
  EXPECT_THAT(read_matrix(bytes, "F32", 1, 6), IsNear(arma::mat{{1, 2, 3, 4, 5, 6}}, matrix_axes));
}

TEST(SafetensorsMatrix, ReadsSixteenBitsByTheirType) {
  const std::string bytes("\x48\x42\x49\xC0\x80\x3F\x00\x3C\x01\x00\x00\xBC", 12);
  EXPECT_THAT(read_matrix(bytes, "F16", 3, 2),
              IsNear(arma::mat{{3.140625, -2.142578125}, {1.875, 1}, {std::ldexp(1, -24), -1}}, matrix_axes));
  EXPECT_THAT(read_matrix(bytes, "BF16", 3, 2),
              IsNear(arma::mat{{50, -3.140625}, {1, 0.0078125}, {0, -0.0078125}}, matrix_axes));
}

TEST(SafetensorsMatrix, RejectsOtherTypesAndSizes) {
  EXPECT_PRED_FORMAT1(RejectsArgument("dtype", {"I64"}), [] { read_matrix(std::string(16, ' '), "I64", 1, 2); });
  EXPECT_PRED_FORMAT1(RejectsArgument("bytes", {"20", "24"}), [] { read_matrix(std::string(20, ' '), "F32", 2, 3); });
}

// -------------------------------------------------------------------------------------------- byte_symbols, 23.4

TEST(ByteSymbols, HasAVisibleCharacterForEveryByte) {
  const Strings symbols = byte_symbols();
  ASSERT_HOLDS(symbols.size() == 256, "expected 256 symbols, got " + std::to_string(symbols.size()));
  const std::string row = symbols[0x00] + symbols[0x0A] + symbols[0x20] + symbols[0x21] + symbols[0x41] +
                          symbols[0x7E] + symbols[0x7F] + symbols[0xA0] + symbols[0xA1] + symbols[0xAC] +
                          symbols[0xAD] + symbols[0xAE] + symbols[0xE9] + symbols[0xFF];
  EXPECT_THAT(row, ReadsAs(std::string("ĀĊĠ!A~ġł¡¬Ń®éÿ")))
      << note("the symbols of the bytes 00, 0A, 20, 21, 41, 7E, 7F, A0, A1, AC, AD, AE, E9, FF");
}

TEST(ByteSymbols, AreAllDifferent) {
  Strings symbols = byte_symbols();
  std::sort(symbols.begin(), symbols.end());
  EXPECT_HOLDS(std::unique(symbols.begin(), symbols.end()) == symbols.end(), "two bytes have the same symbol")
      << note("then no text could be had back");
}

TEST(ByteSymbols, StandForBytesAndNotForCharacters) {
  EXPECT_THAT(to_symbols(" é"), ReadsAs(Strings{"Ġ", "Ã", "©"}));
  EXPECT_THAT(to_symbols("a\n中"), ReadsAs(Strings{"a", "Ċ", "ä", "¸", "Ń"}));
  EXPECT_THAT(to_symbols(""), ReadsAs(Strings{}));
}

TEST(ByteSymbols, GiveTheBytesBack) {
  EXPECT_THAT(from_symbols("ĠÃ©"), ReadsAs(std::string(" é")));
  std::string all, symbols;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  for (const std::string& symbol : to_symbols(all)) symbols += symbol;
  EXPECT_HOLDS(from_symbols(symbols) == all, "the symbols of all 256 bytes do not give these bytes back");
}

TEST(ByteSymbols, RejectACharacterThatStandsForNoByte) {
  EXPECT_PRED_FORMAT1(RejectsArgument("symbols", {"中"}), [] { from_symbols("Ġ中"); });
  EXPECT_PRED_FORMAT1(RejectsArgument("symbols", {}), [] { from_symbols("a b"); });
}

// -------------------------------------------------------------------------------------------- merge_by_rank, 23.5

const MergeRanks of_there = {{{"t", "h"}, 0}, {{"h", "e"}, 1}, {{"r", "e"}, 2}, {{"th", "e"}, 3}, {{"the", "re"}, 4}};

Strings letters(const std::string& word) { return split_characters(word); }

TEST(MergeByRank, TakesTheLowestRankFirst) {
  EXPECT_THAT(merge_by_rank(letters("there"), of_there), ReadsAs(Strings{"there"}));
  EXPECT_THAT(merge_by_rank(letters("here"), of_there), ReadsAs(Strings{"he", "re"}));
  EXPECT_THAT(
      merge_by_rank({"a", "b", "c", "dd"}, {{{"b", "c"}, 0}, {{"c", "dd"}, 1}, {{"a", "b"}, 2}, {{"ab", "c"}, 3}}),
      ReadsAs(Strings{"a", "bc", "dd"}))
      << note("(b, c) has the lowest rank, so (a, b) and (c, dd) are gone");
  EXPECT_THAT(merge_by_rank(letters("abcd"), {{{"c", "d"}, 0}, {{"b", "c"}, 1}, {{"a", "b"}, 2}}),
              ReadsAs(Strings{"ab", "cd"}));
}

TEST(MergeByRank, LooksAtRanksAlone) {
  EXPECT_THAT(merge_by_rank({"x", "y", "zz"}, {{{"x", "y"}, 0}, {{"y", "zz"}, 1}}), ReadsAs(Strings{"xy", "zz"}));
  EXPECT_THAT(merge_by_rank({"x", "y", "zz"}, {{{"x", "y"}, 1}, {{"y", "zz"}, 0}}), ReadsAs(Strings{"x", "yzz"}));
  EXPECT_THAT(merge_by_rank({"xx", "y", "z"}, {{{"xx", "y"}, 0}, {{"y", "z"}, 1}}), ReadsAs(Strings{"xxy", "z"}));
  EXPECT_THAT(merge_by_rank({"xx", "y", "z"}, {{{"xx", "y"}, 1}, {{"y", "z"}, 0}}), ReadsAs(Strings{"xx", "yz"}));
}

TEST(MergeByRank, MergesEveryPlaceFromTheLeft) {
  EXPECT_THAT(merge_by_rank(letters("anananb"), {{{"a", "n"}, 0}}), ReadsAs(Strings{"an", "an", "an", "b"}));
  EXPECT_THAT(merge_by_rank(letters("aaaaa"), {{{"a", "a"}, 0}}), ReadsAs(Strings{"aa", "aa", "a"}));
  EXPECT_THAT(merge_by_rank(letters("aaaaa"), {{{"a", "a"}, 0}, {{"aa", "aa"}, 1}}), ReadsAs(Strings{"aaaa", "a"}));
}

TEST(MergeByRank, LeavesWhatHasNoRank) {
  EXPECT_THAT(merge_by_rank(letters("xyz"), of_there), ReadsAs(Strings{"x", "y", "z"}));
  EXPECT_THAT(merge_by_rank({"there"}, of_there), ReadsAs(Strings{"there"}));
  EXPECT_THAT(merge_by_rank({}, of_there), ReadsAs(Strings{}));
}

// ------------------------------------------------------------------------------------------ cut_at_specials, 23.6

/// <|end|> as [<|end|>], other text as it is, with | between.
std::string text_of(const std::vector<TextPart>& parts) {
  std::string text;
  for (const TextPart& part : parts) {
    text += (text.empty() ? "" : " / ") + (part.is_special ? "[" + part.text + "]" : part.text);
  }
  return text;
}

const std::vector<SpecialToken> specials = {{"<|im", 7}, {"<|im_end|>", 8}, {"<s>", 9}};

TEST(ByteLevelBpeSpecials, AreCutOutInTheirOrder) {
  const std::vector<SpecialToken> two = {{"<|im_end|>", 8}, {"<s>", 9}};
  EXPECT_THAT(text_of(cut_at_specials("a<s>b c<|im_end|><s>d", two)),
              ReadsAs(std::string("a / [<s>] / b c / [<|im_end|>] / [<s>] / d")));
  EXPECT_THAT(text_of(cut_at_specials("<s>", two)), ReadsAs(std::string("[<s>]")));
  EXPECT_THAT(text_of(cut_at_specials("", two)), ReadsAs(std::string()));
}

TEST(ByteLevelBpeSpecials, AreAsLongAsPossible) {
  const std::vector<SpecialToken> reversed(specials.rbegin(), specials.rend());
  EXPECT_THAT(text_of(cut_at_specials("<|im_end|><|im_", specials)) + " and " +
                  text_of(cut_at_specials("<|im_end|><|im_", reversed)),
              ReadsAs(std::string("[<|im_end|>] / [<|im] / _ and [<|im_end|>] / [<|im] / _")))
      << note("the special tokens are <|im, <|im_end|> and <s>; and the same in reverse order");
}

TEST(ByteLevelBpeSpecials, AreTakenFromLeftToRight) {
  EXPECT_THAT(text_of(cut_at_specials("abcdx", {{"bcd", 1}, {"ab", 2}})), ReadsAs(std::string("[ab] / cdx")))
      << note("the special tokens are bcd and ab");
}

TEST(ByteLevelBpeSpecials, AreOnlyWholeOnes) {
  EXPECT_THAT(text_of(cut_at_specials("<s <|im_end| s>", specials)), ReadsAs(std::string("<s  / [<|im] / _end| s>")));
  EXPECT_THAT(text_of(cut_at_specials("a<s>b", {})), ReadsAs(std::string("a<s>b")));
}

// ------------------------------------------------------------------------------------------------ ByteLevelBPE, 23.7

/// Tokens a, b, Ġ, Ġb, aĠb, ab, é's two bytes, and <s>.
TokenizerData small_tokenizer() {
  TokenizerData data;
  data.tokens = {"a", "b", "Ġ", "Ġb", "aĠb", "", "ab", "Ã", "©", "abb"};
  data.merges = {{"Ġ", "b"}, {"a", "Ġb"}, {"a", "b"}};
  data.specials = {{"<s>", 5}};
  data.splitting.patterns = {R"( ?\p{L}+|\s+)"};
  return data;
}

TEST(ByteLevelBpe, EncodesByHand) {
  const ByteLevelBPE tokenizer(small_tokenizer());
  EXPECT_THAT(as_row(tokenizer.encode("ab")), AreIds({6}));
  EXPECT_THAT(as_row(tokenizer.encode("a b")), AreIds({0, 3})) << note("no merge crosses from a word to the next");
  EXPECT_THAT(as_row(tokenizer.encode(" bab")), AreIds({3, 6}));
  EXPECT_THAT(as_row(tokenizer.encode("é")), AreIds({7, 8})) << note("é is the bytes C3 and A9");
  EXPECT_THAT(as_row(tokenizer.encode("a<s>b")), AreIds({0, 5, 1}));
  EXPECT_HOLDS(tokenizer.encode("").empty(), "an empty text has tokens");
}

TEST(ByteLevelBpe, TakesWholeWordsWhereMergesAreIgnored) {
  TokenizerData data = small_tokenizer();
  EXPECT_THAT(as_row(ByteLevelBPE(data).encode("abb ab")), AreIds({6, 1, 2, 6}));
  data.ignore_merges = true;
  EXPECT_THAT(as_row(ByteLevelBPE(data).encode("abb ab")), AreIds({9, 2, 6}));
}

TEST(ByteLevelBpe, DecodesToTheBytes) {
  const ByteLevelBPE tokenizer(small_tokenizer());
  EXPECT_THAT(tokenizer.decode({6, 3, 5, 4}), ReadsAs(std::string("ab b<s>a b")));
  EXPECT_THAT(tokenizer.decode({7}) + tokenizer.decode({8}), ReadsAs(std::string("é")))
      << note("token 7 is the first byte of é, token 8 the second");
  EXPECT_THAT(tokenizer.decode({}), ReadsAs(std::string()));
  TokenizerData data = small_tokenizer();
  data.specials[0].text = "< s｜>";
  EXPECT_THAT(ByteLevelBPE(data).decode({0, 5, 1}), ReadsAs(std::string("a< s｜>b")))
      << note("the text of a special token is no byte symbols");
}

TEST(ByteLevelBpe, TreatsSpecialTokensAsTextOnRequest) {
  const ByteLevelBPE tokenizer(read_tokenizer(model_folder("gpt2")));
  const std::string end = "<|endoftext|>";
  const Ids recognized = tokenizer.encode(end), as_text = tokenizer.encode(end, Specials::as_text);
  EXPECT_HOLDS(recognized.size() == 1, end + " became " + std::to_string(recognized.size()) + " tokens")
      << (recognized.size() > 2 ? likely_mistake("specials_not_recognized") : "");
  EXPECT_HOLDS(as_text.size() != 1, end + " became one token, though Specials::as_text was given")
      << likely_mistake("specials_always_recognized");
  EXPECT_THAT(tokenizer.decode(as_text), ReadsAs(end));

  TokenizerData data = small_tokenizer();
  data.specials[0].text = "bba";  // of letters: a word like any other
  data.ignore_merges = true;
  EXPECT_THAT(as_row(ByteLevelBPE(data).encode("bba", Specials::as_text)), AreIds({1, 1, 0}))
      << note("the special token bba, as text: where merges are ignored, too, only tokens of the vocabulary count");
}

/// The texts of golden.py: Knuth's generator draws from its alphabet.
class DrawnTexts {
 public:
  explicit DrawnTexts(const arma::rowvec& alphabet) : alphabet_(alphabet) {}

  std::string next() {
    std::string text;
    for (uword n = 1 + below(16); n > 0; --n)
      text += utf8(static_cast<std::uint32_t>(alphabet_(below(alphabet_.n_elem))));
    return text;
  }

 private:
  uword below(uword limit) {
    state_ = state_ * 6364136223846793005U + 1442695040888963407U;
    return (state_ >> 33U) % limit;
  }

  static std::string utf8(std::uint32_t c) {
    const auto tail = [c](unsigned shift) { return static_cast<char>(0x80U | (c >> shift & 0x3FU)); };
    if (c < 0x80) return {static_cast<char>(c)};
    if (c < 0x800) return {static_cast<char>(0xC0U | c >> 6U), tail(0)};
    if (c < 0x10000) return {static_cast<char>(0xE0U | c >> 12U), tail(6), tail(0)};
    return {static_cast<char>(0xF0U | c >> 18U), tail(12), tail(6), tail(0)};
  }

  arma::rowvec alphabet_;
  std::uint64_t state_ = 23;
};

TEST(ByteLevelBpe, EncodesTheTextOfTheChapter) {
  const ByteLevelBPE tokenizer(read_tokenizer(model_folder("gpt2")));
  EXPECT_THAT(arma::rowvec(as_row(tokenizer.encode("the other theé"))), Matches(load_golden("worked").expected("ids")));
}

TEST(ByteLevelBpe, EqualsASecondImplementation) {
  const GoldenCase golden = load_golden("texts");
  for (const std::string name : {"gpt2", "llama", "qwen3", "smollm"}) {
    const ByteLevelBPE tokenizer(read_tokenizer(model_folder(name)));
    const std::string special = tokenizer.data().specials.back().text;
    const std::string text = special + " It isn't 1234 there,\n\n  says theé中 zebra! " + special;
    EXPECT_THAT(arma::rowvec(as_row(tokenizer.encode(text))), Matches(golden.expected(name + ".ids")))
        << note("the tokenizer of models/" + name);
  }
}

TEST(ByteLevelBpe, EncodesRandomTextsAsASecondImplementation) {
  const GoldenCase golden = load_golden("texts");
  for (const std::string name : {"gpt2", "llama", "qwen3", "smollm"}) {
    const ByteLevelBPE tokenizer(read_tokenizer(model_folder(name)));
    DrawnTexts texts(golden.rowvec("alphabet"));
    const arma::rowvec hashes = golden.rowvec(name + ".hashes");  // of 100 texts each
    for (uword n = 0; n < hashes.n_elem; ++n) {
      std::uint64_t hash = 0;
      for (int i = 0; i < 100; ++i) {
        const std::string text = texts.next();
        const Ids ids = tokenizer.encode(text);
        for (const uword id : ids) hash = (31 * hash + id + 1) % (std::uint64_t(1) << 48U);
        hash = 31 * hash % (std::uint64_t(1) << 48U);
        if (name != "qwen3") {
          ASSERT_THAT(tokenizer.decode(ids), ReadsAs(text)) << note("decode of what encode gives is the text again");
        }
      }
      ASSERT_HOLDS(static_cast<double>(hash) == hashes(n), "the tokens of 100 random texts are other than expected")
          << note("the tokenizer of models/" + name + ", texts from number " + std::to_string(100 * n) + " on");
    }
  }
}

TEST(ByteLevelBpe, RejectsWhatItCannotCode) {
  const ByteLevelBPE tokenizer(small_tokenizer());
  EXPECT_PRED_FORMAT1(RejectsArgument("token", {"c"}), [&] { tokenizer.encode("abc"); });
  EXPECT_PRED_FORMAT1(RejectsArgument("id", {"10"}), [&] { tokenizer.decode({10}); });
  TokenizerData data = small_tokenizer();
  data.specials.clear();
  EXPECT_PRED_FORMAT1(RejectsArgument("id", {"5"}), [&] { ByteLevelBPE(data).decode({5}); });
}

// ------------------------------------------------------------------------------------------------ model_config, 23.8

ConfigFields fields_of(const std::string& model_type) {
  ConfigFields fields;
  fields.model_type = model_type;
  fields.vocab_size = 50;
  fields.hidden_size = 24;
  fields.num_hidden_layers = 3;
  fields.num_attention_heads = 6;
  if (model_type != "gpt2") fields.intermediate_size = 28;
  return fields;
}

/// V, N, F, E, H, G, D, window, P.
arma::mat sizes_of(const LanguageModelConfig& config) {
  const DecoderAttentionConfig& attention = config.attention;
  const uword D = attention.head_dim == 0 ? attention.embed_dim / attention.num_heads : attention.head_dim;
  return as_row({config.vocab_size, config.num_layers, config.hidden_dim, attention.embed_dim, attention.num_heads,
                 attention.num_kv_heads, D, attention.window, config.max_position});
}
auto HasSizes(const Ids& sizes) { return IsNear(as_row(sizes), {"1", "sizes"}); }
const std::string size_names = "the sizes are V, N, F, E, H, G, D, the window, P";

TEST(ModelConfig, HasTheDefaults) {
  EXPECT_THAT(sizes_of(model_config(fields_of("llama"))), HasSizes({50, 3, 28, 24, 6, 6, 4, 0, 0})) << note(size_names);
  EXPECT_THAT(sizes_of(model_config(fields_of("gpt2"))), HasSizes({50, 3, 96, 24, 6, 6, 4, 0, 1024}))
      << note(size_names);
  EXPECT_THAT(sizes_of(model_config(fields_of("qwen3"))), HasSizes({50, 3, 28, 24, 6, 6, 128, 0, 0}))
      << note(size_names);
}

TEST(ModelConfig, TakesEveryField) {
  ConfigFields fields = fields_of("mistral");
  fields.num_key_value_heads = 2;
  fields.head_dim = 10;
  fields.max_position_embeddings = 777;
  fields.sliding_window = 5;
  EXPECT_THAT(sizes_of(model_config(fields)), HasSizes({50, 3, 28, 24, 6, 2, 10, 5, 0})) << note(size_names);
  fields = fields_of("gpt2");
  fields.intermediate_size = 31;
  fields.max_position_embeddings = 77;
  EXPECT_THAT(sizes_of(model_config(fields)), HasSizes({50, 3, 31, 24, 6, 6, 4, 0, 77})) << note(size_names);
}

/// gpt2, tied, biases, QK-norm, half_split.
std::string switches_of(const LanguageModelConfig& config) {
  const auto word = [](bool on, const std::string& text) { return (on ? "" : "no ") + text; };
  return word(config.architecture == Architecture::gpt2, "gpt2") + ", " + word(config.tied_head, "tied head") + ", " +
         word(config.attention.bias, "biases") + ", " + word(config.attention.qk_norm, "QK-norm") + ", " +
         (config.attention.pairing == RopePairing::half_split ? "half_split" : "interleaved");
}

TEST(ModelConfig, KnowsTheFamilies) {
  EXPECT_THAT(switches_of(model_config(fields_of("gpt2"))),
              ReadsAs(std::string("gpt2, tied head, biases, no QK-norm, half_split")));
  EXPECT_THAT(switches_of(model_config(fields_of("llama"))),
              ReadsAs(std::string("no gpt2, no tied head, no biases, no QK-norm, half_split")));
  EXPECT_THAT(switches_of(model_config(fields_of("qwen2"))),
              ReadsAs(std::string("no gpt2, no tied head, biases, no QK-norm, half_split")));
  ConfigFields fields = fields_of("qwen2");
  fields.attention_bias = false;
  EXPECT_THAT(switches_of(model_config(fields)),
              ReadsAs(std::string("no gpt2, no tied head, biases, no QK-norm, half_split")))
      << note("qwen2 always has biases, whatever attention_bias says");
  fields = fields_of("gpt2");
  fields.tie_word_embeddings = false;
  EXPECT_THAT(switches_of(model_config(fields)),
              ReadsAs(std::string("gpt2, no tied head, biases, no QK-norm, half_split")));
  fields = fields_of("qwen3");
  fields.tie_word_embeddings = true;
  fields.attention_bias = true;
  EXPECT_THAT(switches_of(model_config(fields)),
              ReadsAs(std::string("no gpt2, tied head, biases, QK-norm, half_split")));
}

TEST(ModelConfig, HasTheRightEpsilon) {
  ConfigFields given_epsilon = fields_of("llama");
  given_epsilon.rms_norm_eps = 0.25;
  EXPECT_THAT(
      (arma::mat{{model_config(fields_of("gpt2")).norm_epsilon * 1e6,
                  model_config(fields_of("llama")).norm_epsilon * 1e6, model_config(given_epsilon).norm_epsilon}}),
      IsNear(arma::mat{{10, 1, 0.25}}, {"1", "numbers"}))
      << note("norm_epsilon of gpt2 and llama, by default and times 10^6; and one of 0.25");
}

TEST(ModelConfig, TurnsByThetaAndScaling) {
  ConfigFields fields = fields_of("llama");
  fields.head_dim = 8;
  EXPECT_THAT(arma::mat(model_config(fields).attention.rope_speeds), IsNear(arma::mat(rope_speeds(8)), {"1", "D/2"}));
  fields.rope_theta = 500;
  EXPECT_THAT(arma::mat(model_config(fields).attention.rope_speeds),
              IsNear(arma::mat(rope_speeds(8, 500)), {"1", "D/2"}));
  fields.rope_scaling.method = RopeScaling::Method::llama3;
  fields.rope_scaling.factor = 32;
  fields.rope_scaling.original_max_position_embeddings = 64;
  EXPECT_THAT(arma::mat(model_config(fields).attention.rope_speeds),
              IsNear(arma::mat(rope_speeds(8, 500, fields.rope_scaling)), {"1", "D/2"}));
}

TEST(ModelConfig, RejectsAMissingWidth) {
  ConfigFields fields = fields_of("llama");
  fields.intermediate_size.reset();
  EXPECT_PRED_FORMAT1(RejectsArgument("intermediate_size", {}), [&] { model_config(fields); });
}

// ------------------------------------------------------------------------------------------- load_gpt2, 23.9

/// The sizes of models/name, so that these checks do not need 23.8: V, N, F, E, H, G, D, and P of gpt2.
LanguageModelConfig config_of(const std::string& name) {
  LanguageModelConfig config;
  const auto set = [&config](const Ids& sizes, double epsilon, bool tied, double theta) {
    config.vocab_size = sizes[0];
    config.num_layers = sizes[1];
    config.hidden_dim = sizes[2];
    config.attention.embed_dim = sizes[3];
    config.attention.num_heads = sizes[4];
    config.attention.num_kv_heads = sizes[5];
    config.attention.head_dim = sizes[6];
    config.norm_epsilon = epsilon;
    config.tied_head = tied;
    if (theta > 0) config.attention.rope_speeds = rope_speeds(sizes[6], theta);
  };
  if (name == "gpt2") {
    set({297, 2, 48, 12, 3, 3, 4}, 1e-3, true, 0);
    config.architecture = Architecture::gpt2;
    config.max_position = 40;
  }
  if (name == "llama") {
    set({300, 2, 20, 16, 4, 2, 8}, 0.01, true, 0);
    RopeScaling scaling;
    scaling.method = RopeScaling::Method::llama3;
    scaling.factor = 32;
    scaling.original_max_position_embeddings = 64;
    config.attention.rope_speeds = rope_speeds(8, 500, scaling);
  }
  if (name == "qwen3") set({300, 2, 14, 10, 4, 2, 6}, 1e-3, false, 1000);
  if (name == "smollm") set({287, 12, 8, 6, 3, 1, 2}, 1e-5, true, 10000);
  if (name == "qwen2") set({20, 1, 10, 8, 2, 1, 4}, 1e-6, false, 10000);
  config.attention.qk_norm = name == "qwen3";
  config.attention.bias = name == "gpt2" || name == "qwen2";
  return config;
}

using Load = void (*)(LanguageModel&, TensorFiles&);

/// The logits of a loaded model, for the ids of its golden case. (L x V)
arma::mat logits_of(LanguageModel& model, const GoldenCase& golden) {
  const arma::umat ids = arma::conv_to<arma::umat>::from(arma::mat(golden.rowvec("ids").t()));  // (L x 1)
  return model.extend(ids).slice(0);
}

Expected to_nine_digits(const GoldenCase& golden) {
  Expected expected = golden.expected("logits");
  expected.tolerance = 1e-9;
  return expected;
}

void expect_equals_pytorch(const std::string& name, Load load) {
  const GoldenCase golden = load_golden(name);
  LanguageModel model(config_of(name));
  TensorFiles tensors(weight_files(model_folder(name)));
  for (DecoderBlock& block : model.blocks) block.attention.output_proj.bias.fill(1);  // what stays is seen
  load(model, tensors);
  EXPECT_THAT(logits_of(model, golden), Matches(to_nine_digits(golden))) << note("models/" + name);
}

void expect_uses_everything(const std::string& name, Load load) {
  LanguageModel model(config_of(name));
  TensorFiles tensors(weight_files(model_folder(name)));
  load(model, tensors);
  const Strings unused = tensors.unused();
  EXPECT_HOLDS(unused.empty(), "models/" + name + ": " + std::to_string(unused.size()) +
                                   " tensors were not read, first " + (unused.empty() ? "" : unused.front()));
}

TEST(LoadWeightsGpt2, EqualsPyTorch) { expect_equals_pytorch("gpt2", load_gpt2); }

TEST(LoadWeightsGpt2, ReadsEveryTensor) { expect_uses_everything("gpt2", load_gpt2); }

/// A file of the check's own, in memory: there need be no folder for temporary files.
class ScratchFile {
 public:
  explicit ScratchFile(const std::string& content) {
    if (file_ < 0) throw std::system_error(errno, std::generic_category(), "memfd_create");
    std::ofstream(path(), std::ios::binary) << content;
  }
  ~ScratchFile() { close(file_); }
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;

  std::filesystem::path path() const { return "/proc/self/fd/" + std::to_string(file_); }

 private:
  int file_ = memfd_create("weights", MFD_CLOEXEC);
};

/// The weights of models/gpt2, each name with a prefix.
std::string with_prefix(const std::string& prefix) {
  const MemoryMap map(model_folder("gpt2") / "model.safetensors");
  const std::string bytes(map.bytes());
  const std::size_t length = static_cast<unsigned char>(bytes[0]) + 256U * static_cast<unsigned char>(bytes[1]);
  std::string header;
  const std::string old = bytes.substr(8, length);
  for (std::size_t i = 0; i < old.size(); ++i) {  // a name comes after { or , and is not a field of a tensor
    const bool begins = old[i] == '"' && i > 0 && (old[i - 1] == '{' || old[i - 1] == ',');
    const bool is_name = begins && (old.compare(i + 1, 2, "h.") == 0 || old.compare(i + 1, 2, "wt") == 0 ||
                                    old.compare(i + 1, 2, "wp") == 0 || old.compare(i + 1, 2, "ln") == 0);
    header += old[i];
    if (is_name) header += prefix;
  }
  return little_endian(header.size()) + header + bytes.substr(8 + length);
}

TEST(LoadWeightsGpt2, TakesNamesWithAPrefix) {
  const ScratchFile file(with_prefix("transformer."));
  const GoldenCase golden = load_golden("gpt2");
  LanguageModel model(config_of("gpt2"));
  TensorFiles tensors({file.path()});
  const std::string threw = refusal([&] { load_gpt2(model, tensors); });
  ASSERT_HOLDS(threw.empty(), "the names begin with transformer., and load_gpt2 threw " + threw)
      << (threw.find("is not in the file") != std::string::npos ? likely_mistake("prefix_not_known") : "");
  EXPECT_THAT(logits_of(model, golden), Matches(to_nine_digits(golden)));
}

/// A file of models/gpt2 with one more tensor: lm_head.weight, ones in row 5 and zeros else. (297 x 12)
std::string with_head(const std::string& file) {
  std::uint64_t length = 0;
  for (int i = 7; i >= 0; --i) length = length << 8U | static_cast<unsigned char>(file[static_cast<std::size_t>(i)]);
  std::string header = file.substr(8, length);
  const std::string numbers = file.substr(8 + length), one("\0\0\x80\x3F", 4), zero(4, '\0');
  std::string head;
  for (int k = 0; k < 297 * 12; ++k) head += k / 12 == 5 ? one : zero;
  const std::string last = entry("lm_head.weight", "297,12", numbers.size(), numbers.size() + head.size());
  header.insert(header.rfind('}'), "," + last);
  return little_endian(header.size()) + header + numbers + head;
}

TEST(LoadWeightsGpt2, ReadsTheHeadWhereItIsNotTied) {
  const ScratchFile file(with_head(with_prefix("transformer.")));
  LanguageModelConfig config = config_of("gpt2");
  for (const bool tied : {false, true}) {
    config.tied_head = tied;
    LanguageModel model(config);
    TensorFiles tensors({file.path()});
    load_gpt2(model, tensors);
    arma::mat wanted(12, 297, arma::fill::zeros);
    wanted.col(5).ones();
    if (tied) {
      EXPECT_HOLDS(model.head.is_empty(), "the head is tied, and model.head is not empty");
    } else {
      EXPECT_THAT(model.head, IsNear(wanted, {"E", "V"}))
          << note("lm_head.weight has ones in row 5, and has no prefix");
    }
  }
}

/// load_llama throws, and names this tensor.
void expect_asks_for(const std::string& tensor, const LanguageModelConfig& config, const std::string& likely,
                     const std::function<bool(const LanguageModel&)>& shows) {
  LanguageModel model(config);
  TensorFiles tensors(weight_files(model_folder("smollm")));
  const std::string threw = refusal([&] { load_llama(model, tensors); });
  EXPECT_HOLDS(threw.find(tensor) != std::string::npos,
               "a model that has " + tensor + ", and a file that has not: expected an exception that names it, got " +
                   (threw.empty() ? "none" : threw))
      << (threw.empty() && shows(model) ? likely : "");
}

// ------------------------------------------------------------------------------------------- load_llama, 23.10

TEST(LoadWeightsLlama, EqualsPyTorchForLlama) { expect_equals_pytorch("llama", load_llama); }

TEST(LoadWeightsLlama, EqualsPyTorchForQwen3) { expect_equals_pytorch("qwen3", load_llama); }

TEST(LoadWeightsLlama, EqualsPyTorchForSmolLM) { expect_equals_pytorch("smollm", load_llama); }

TEST(LoadWeightsLlama, EqualsPyTorchForQwen2) { expect_equals_pytorch("qwen2", load_llama); }

TEST(LoadWeightsLlama, ReadsEveryTensor) {
  for (const std::string name : {"llama", "qwen3", "smollm", "qwen2"}) expect_uses_everything(name, load_llama);
}

TEST(LoadWeightsLlama, AsksForEveryTensorOfTheModel) {
  LanguageModelConfig config = config_of("smollm");
  config.tied_head = false;
  expect_asks_for("lm_head.weight", config, likely_mistake("head_of_the_embedding"), [](const LanguageModel& model) {
    return arma::approx_equal(model.head, model.token_embedding.weight.t(), "absdiff", 0);
  });
  config = config_of("smollm");
  config.attention.bias = true;
  expect_asks_for("model.layers.0.self_attn.q_proj.bias", config, likely_mistake("missing_bias_is_zero"),
                  [](const LanguageModel& model) { return model.blocks[0].attention.query_proj.bias.is_zero(); });
}

TEST(LoadWeightsLlama, RejectsAModelOfOtherSizes) {
  LanguageModelConfig config = config_of("smollm");
  config.num_layers = 13;
  LanguageModel model(config);
  TensorFiles tensors(weight_files(model_folder("smollm")));
  const std::string threw = refusal([&] { load_llama(model, tensors); });
  EXPECT_HOLDS(threw.find("model.layers.12.input_layernorm.weight") != std::string::npos,
               "a model with one block more than the file: expected an exception that names "
               "model.layers.12.input_layernorm.weight, got " +
                   (threw.empty() ? "none" : threw));
}

// ------------------------------------------------------------------------------------------- all of it together

TEST(LoadWeights, GiveAModelFromAFolder) {
  for (const std::string name : {"gpt2", "llama", "qwen3", "smollm"}) {
    const GoldenCase golden = load_golden(name);
    Checkpoint checkpoint = load_language_model(model_folder(name));
    EXPECT_THAT(logits_of(checkpoint.model, golden), Matches(to_nine_digits(golden))) << note("models/" + name);
  }
}

TEST(LoadWeights, ComeWithStopTokensAndABeginning) {
  const CheckpointFiles files = open_checkpoint(model_folder("llama"));
  EXPECT_THAT(as_row(files.stop_tokens), AreIds({298, 299})) << note("a list, of generation_config.json");
  EXPECT_THAT(as_row(open_checkpoint(model_folder("gpt2")).stop_tokens), AreIds({296})) << note("of config.json");
  EXPECT_THAT(as_row(prompt_ids(ByteLevelBPE(files.tokenizer), "")), AreIds({297})) << note("<|begin_of_text|>");
}

TEST(LoadWeights, CountTheMemory) {
  const uword parameters = number_of_parameters(load_language_model(model_folder("gpt2")).model.config());
  EXPECT_HOLDS(parameters == 7836, "expected 7836 parameters, got " + std::to_string(parameters));
}

// ---------------------------------------------------------------------------------------------------------- speed

ATTN_SPEED("encode, 2000 characters", [] {
  std::string text;
  while (text.size() < 2000) text += "It isn't there, then there were ten others; what is it? ";
  return [tokenizer = ByteLevelBPE(read_tokenizer(model_folder("gpt2"))), text] {
    return as_cube(as_row(tokenizer.encode(text)));
  };
});

}  // namespace
}  // namespace attn::judge
