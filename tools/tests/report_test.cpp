// Which mistake the first failing check is said to show, and what is said of an exception.
#include "judge/report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "judge/diagnosis.hpp"
#include "scratch.hpp"

namespace attn::judge {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const std::string wrong_numbers = line("value", "worst at row 0, col 0: got 1, want 2, off by 1   (1 of 4 differs)");
const std::string nan_found = line("value", "NaN (not a number) at row 0, col 0   (1 of 4 is NaN)");
const std::string doubled = line("likely", "the sum was doubled");
const std::string borrowed = doubled + " (so says ";

CheckResult failed(const std::string& suite, const std::string& name, const std::string& diagnosis) {
  return {suite, name, CheckResult::State::failed, {diagnosis_mark + diagnosis}, "", 0};
}

/// A lesson with two tasks in one file, in a folder of its own.
class Report : public ::testing::Test {
 protected:
  Report() {
    const std::string stub = "// TODO(42.1): add\n// TODO(42.2): merge\n";
    put(lesson.folder() / "sums.cpp", stub);
    put(lesson.stub_of("sums.cpp"), stub);
    put(lesson.hints_file(), "## 42.1 add_one\n\n### Level 1\nWhat?\n\n## 42.2 merge_all\n\n### Level 1\nHow?\n");
  }

  std::string of(const std::vector<CheckResult>& results) const { return describe_all(results, lesson); }

  Scratch folder;
  const lesson::Lesson lesson{folder.path(), "42_sums"};
};

TEST_F(Report, NamesTheMistakeThatAnotherCheckOfTheTaskFound) {
  const auto first = failed("AddOne", "WorksByHand", wrong_numbers);
  EXPECT_THAT(of({first, failed("AddOne", "EqualsPyTorch", wrong_numbers + doubled)}),
              HasSubstr(borrowed + "AddOne.EqualsPyTorch)"));
  EXPECT_THAT(of({first, failed("Sums", "EqualsPyTorch", wrong_numbers + doubled)}),  // of no task in particular
              HasSubstr(borrowed + "Sums.EqualsPyTorch)"));
}

TEST_F(Report, NamesNoMistakeOfALaterTask) {
  EXPECT_THAT(of({failed("AddOne", "WorksByHand", wrong_numbers),
                  failed("MergeAll", "EqualsPyTorch", wrong_numbers + doubled)}),
              Not(HasSubstr("likely")));
}

TEST_F(Report, NamesNothingThatWasSaidOfNaNOrOfMemory) {
  const auto first = failed("AddOne", "WorksByHand", wrong_numbers);
  EXPECT_THAT(of({first, failed("AddOne", "EqualsPyTorch", nan_found + doubled)}), Not(HasSubstr("likely")));
  EXPECT_THAT(of({first, failed("AddOne", "TakesLittle", line("memory", "8 KB") + doubled)}), Not(HasSubstr("likely")));
}

TEST_F(Report, KeepsToWhatTheFirstCheckSaysItself) {
  const std::string halved = line("likely", "the sum was halved");
  const std::string text = of({failed("AddOne", "WorksByHand", wrong_numbers + halved),
                               failed("AddOne", "EqualsPyTorch", wrong_numbers + doubled)});
  EXPECT_THAT(text, HasSubstr(halved));
  EXPECT_THAT(text, Not(HasSubstr("so says")));
}

TEST_F(Report, SaysWhatAMatrixInThePlaceOfAColumnMeans) {
  const CheckResult threw = {"AddOne",
                             "WorksByHand",
                             CheckResult::State::failed,
                             {"C++ exception with description \"Mat::init(): requested size is not compatible with "
                              "column vector layout\" thrown in the test body."},
                             "",
                             0};
  EXPECT_THAT(of({threw}), HasSubstr("do the fields stand in the struct's order?"));
}

}  // namespace
}  // namespace attn::judge
