// What a run of checks comes to: tasks, names of mistakes, JSON and words.
#include "verdict/report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "scratch.hpp"
#include "verdict/naming.hpp"
#include "verdict/words.hpp"

namespace attn::judge {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::ThrowsMessage;

const double no_number = std::numeric_limits<double>::quiet_NaN();
const Fingerprint wanted{{4, 3, 1}, {0.5, 0.25}};
const Fingerprint doubled{{4, 3, 1}, {0.75, 0.5}};
const Fingerprint halved{{4, 3, 1}, {0.25, 0.125}};
const Fingerprint unknown{{4, 3, 1}, {0.1, 0.9}};
const Fingerprint few_numbers{{2, 2, 1}, {0.75, 0.5}};
const Fingerprint all_zeros{{4, 3, 1}, {0, 0}};

/// A comparison that got this.
Failure got(const Fingerprint& print, int number = 0) {
  Failure failure;
  failure.kind = Failure::Kind::value;
  failure.shape = ShapeFact{{2, 2}, {2, 2}, {"L", "E"}};
  failure.worst = WorstElement{{0, 0}, 1, 2, 1, 4};
  failure.comparison = Comparison{number, wanted, print, 1e-10};
  return failure;
}

Failure stated(const std::string& label, const std::string& text, const std::vector<std::string>& likely = {}) {
  Failure failure;
  failure.statements.push_back({label, text});
  failure.likely = likely;
  return failure;
}

CheckResult passed(const std::string& suite, const std::string& name) {
  CheckResult result;
  result.suite = suite;
  result.name = name;
  return result;
}

CheckResult failed(const std::string& suite, const std::string& name, const Failure& failure) {
  CheckResult result = passed(suite, name);
  result.state = CheckResult::State::failed;
  result.failures = {failure};
  return result;
}

/// A lesson with two tasks in one file, in a folder of its own, and what two mistakes give.
class ReportTest : public ::testing::Test {
 protected:
  ReportTest() {
    const std::string stub = "// TODO(42.1): add\n// TODO(42.2): merge\n";
    put(lesson.folder() / "sums.cpp", stub);
    put(lesson.stub_of("sums.cpp"), stub);
    put(lesson.hints_file(), "## 42.1 add_one\n\n### Level 1\nWhat?\n\n## 42.2 merge_all\n\n### Level 1\nHow?\n");
    put(lesson.checks_file(),
        "// ------------ merging, 42.2\n\nTEST(Sums, EqualsPyTorch) {\n}\n// ------------ bad input\n"
        "TEST(Sums, Rejects) {\n}\n");
    put(lesson.mistakes_file(),
        R"({"mistakes": [)"
        R"({"id": "doubled", "says": "the sum was doubled", "file": "", "find": "", "replace": ""},)"
        R"({"id": "halved", "says": "the sum was halved", "file": "", "find": "", "replace": ""}]})");
  }

  /// Writes down that the mistakes gave this at the first comparison of a check.
  void record(const std::string& check, const std::vector<std::pair<std::string, Fingerprint>>& results) {
    for (const auto& [id, print] : results) record(check, got(print), id);
  }

  /// Writes down how a check failed with a mistake, and with other random numbers `again`.
  void record(const std::string& check, const Failure& failure, const std::string& id,
              const std::optional<Failure>& again = {}) {
    const auto dot = check.find('.');
    Report run, second;
    run.checks = {failed(check.substr(0, dot), check.substr(dot + 1), failure)};
    second.checks = {failed(check.substr(0, dot), check.substr(dot + 1), again.value_or(failure))};
    recordings_.add(id, run, second);
    put(lesson.recordings_file(), recordings_.text());
  }

  Report report(const std::vector<CheckResult>& results) const { return make_report(results, lesson); }
  std::string of(const std::vector<CheckResult>& results) const {
    return text_of(lines_about(report(results), lesson));
  }

  Scratch folder;
  const lesson::Lesson lesson{folder.path(), "42_sums"};

 private:
  Recordings recordings_;
};

// ------------------------------------------------------------------------------------------------- where, and auto

TEST_F(ReportTest, SaysWhereTheFunctionOfTheTaskBegins) {
  put(lesson.folder() / "sums.cpp", "int add_one(int x) {\n  return x;\n}\n\nint merge_all(int x) { return x; }\n");
  EXPECT_THAT(of({failed("Sums", "EqualsPyTorch", got(unknown))}),
              ::testing::HasSubstr("where   merge_all, from lessons/42_sums/sums.cpp:5\n"));
  EXPECT_THAT(of({failed("Sums", "Rejects", got(unknown))}),
              ::testing::HasSubstr("where   lessons/42_sums/sums.cpp\n"));
}

TEST_F(ReportTest, PutsAutoFirstAmongTheNotesAndRemarksOnItWhenAllPassed) {
  put(lesson.folder() / "sums.cpp",
      "arma::mat f(const arma::mat& A) {\n  auto e = arma::exp(A * 2).t();\n  return e;\n}\n");
  CheckResult check = failed("Sums", "EqualsPyTorch", got(unknown));
  check.failures.front().notes = {"another note"};
  const std::string sentence = "line 2: auto keeps an unfinished Armadillo expression, whose parts may be gone";
  EXPECT_THAT(report({check}).checks.front().failures.front().notes,
              ::testing::ElementsAre(::testing::StartsWith(sentence), "another note"));
  EXPECT_THAT(of({passed("Sums", "EqualsPyTorch")}),
              ::testing::HasSubstr("checks passed\n  note    lessons/42_sums/sums.cpp, " + sentence));
}

// ------------------------------------------------------------------------------------------------------- tasks

TEST_F(ReportTest, KnowsTheTaskOfACheckByItsSectionItsNameOrItsExpression) {
  auto by_expression = failed("Sums", "WorksByHand", got(unknown));
  by_expression.failures.front().expression = "add_one(x)";
  const auto checks = report({failed("Sums", "EqualsPyTorch", got(unknown)), by_expression,
                              failed("MergeAll", "Works", got(unknown)), failed("Sums", "Rejects", got(unknown))})
                          .checks;
  EXPECT_EQ(checks[0].task, "42.2");
  EXPECT_EQ(checks[1].task, "42.1");
  EXPECT_EQ(checks[2].task, "42.2");
  EXPECT_EQ(checks[3].task, "42") << "a section without a task, and no name of one";
}

// ----------------------------------------------------------------------------------------------------- mistakes

TEST_F(ReportTest, NamesTheMistakeThatGaveTheSame) {
  record("AddOne.EqualsPyTorch", {{"doubled", doubled}, {"halved", halved}});
  EXPECT_THAT(report({failed("AddOne", "EqualsPyTorch", got(doubled))}).named(), ElementsAre("doubled"));
  EXPECT_THAT(of({failed("AddOne", "EqualsPyTorch", got(halved))}), HasSubstr("likely  the sum was halved"));
  EXPECT_THAT(report({failed("AddOne", "EqualsPyTorch", got(unknown))}).named(), IsEmpty());
}

TEST_F(ReportTest, NamesNothingWhereOtherNumbersWentIn) {
  record("AddOne.EqualsPyTorch", {{"doubled", doubled}});
  auto other = got(doubled);
  other.comparison->expected = unknown;
  EXPECT_THAT(report({failed("AddOne", "EqualsPyTorch", other)}).named(), IsEmpty());
}

TEST_F(ReportTest, NamesTheMistakeThatExplainsMoreWhereTwoGiveTheSame) {
  record("AddOne.WorksByHand", {{"doubled", doubled}, {"halved", doubled}});
  record("AddOne.EqualsPyTorch", {{"halved", halved}});
  const auto by_hand = failed("AddOne", "WorksByHand", got(doubled));
  EXPECT_THAT(report({by_hand, failed("AddOne", "EqualsPyTorch", got(halved))}).named(), ElementsAre("halved"));
  EXPECT_THAT(report({by_hand, passed("AddOne", "EqualsPyTorch")}).named(), ElementsAre("doubled"));
  EXPECT_THAT(report({by_hand}).named(), ElementsAre("doubled", "halved"));
}

TEST_F(ReportTest, NamesNoMistakeThatALargerCaseContradicts) {
  record("AddOne.WorksByHand", {{"doubled", doubled}});
  record("AddOne.EqualsPyTorch", {{"doubled", doubled}});
  const auto by_hand = failed("AddOne", "WorksByHand", got(doubled));
  EXPECT_THAT(report({by_hand, failed("AddOne", "EqualsPyTorch", got(unknown))}).named(), IsEmpty());
  EXPECT_THAT(report({by_hand, failed("MergeAll", "EqualsPyTorch", got(unknown))}).named(), ElementsAre("doubled"));
}

TEST_F(ReportTest, NamesByFewNumbersOrNaNOrZerosOnlyWhatExplainsAllFailures) {
  auto nans = got(doubled);
  nans.worst->got = no_number;
  for (const auto& weak : {got(few_numbers), got(all_zeros), nans}) {
    for (const char* check : {"WorksByHand", "WorksAgain"}) {
      record("AddOne." + std::string(check), {{"doubled", weak.comparison->got}});
    }
    record("AddOne.EqualsPyTorch", {{"halved", halved}});
    const auto by_hand = failed("AddOne", "WorksByHand", weak);
    const auto again = failed("AddOne", "WorksAgain", weak);
    EXPECT_THAT(report({by_hand, again}).named(), ElementsAre("doubled"));
    EXPECT_THAT(report({by_hand, again, failed("AddOne", "EqualsPyTorch", got(unknown))}).named(), IsEmpty());
  }
}

TEST_F(ReportTest, NamesNoMistakeThatWouldFailWhereThisPasses) {
  for (const char* check : {"WorksByHand", "EqualsPyTorch", "WorksAgain"}) {
    record("AddOne." + std::string(check), {{"doubled", doubled}});
  }
  const auto by_hand = failed("AddOne", "WorksByHand", got(doubled));
  EXPECT_THAT(report({by_hand, passed("AddOne", "EqualsPyTorch")}).named(), ElementsAre("doubled"));
  EXPECT_THAT(report({by_hand, passed("AddOne", "EqualsPyTorch"), passed("AddOne", "WorksAgain")}).named(), IsEmpty());
}

TEST_F(ReportTest, NamesTheMistakeThatNearlyAllComparisonsAgreeWith) {
  std::vector<CheckResult> results;
  for (const char* check : {"A", "B", "C", "D", "E", "F", "G", "H", "PassesOnANaN"}) {
    record("AddOne." + std::string(check), {{"doubled", doubled}});
    results.push_back(failed("AddOne", check, got(doubled)));
  }
  results.back() = failed("AddOne", "PassesOnANaN", got(unknown));
  EXPECT_THAT(report(results).named(), ElementsAre("doubled"));
  results.erase(results.begin());
  EXPECT_THAT(report(results).named(), IsEmpty());
}

TEST_F(ReportTest, NamesNoMistakeWithWhichAClaimAboutNumbersWouldHold) {
  record("AddOne.EqualsPyTorch", {{"doubled", doubled}});
  const auto pytorch = failed("AddOne", "EqualsPyTorch", got(doubled));
  const auto claim = failed("AddOne", "SumsToOne", stated("value", "a row sums to 2"));
  EXPECT_THAT(report({pytorch, failed("AddOne", "Rejects", stated("threw", "nothing"))}).named(),
              ElementsAre("doubled"));
  EXPECT_THAT(report({pytorch, claim}).named(), IsEmpty());
  record("AddOne.SumsToOne", stated("value", "a row sums to 3"), "doubled");
  EXPECT_THAT(report({pytorch, claim}).named(), ElementsAre("doubled"));
}

TEST_F(ReportTest, KnowsOfResultsThatRandomNumbersDecideOnlyThatTheCheckFails) {
  record("AddOne.WorksByHand", {{"doubled", doubled}});
  record("AddOne.EqualsPyTorch", {{"halved", halved}});
  const auto by_hand = failed("AddOne", "WorksByHand", got(doubled));
  const auto pytorch = failed("AddOne", "EqualsPyTorch", got(unknown));
  EXPECT_THAT(report({by_hand, pytorch}).named(), IsEmpty());
  record("AddOne.EqualsPyTorch", got(doubled), "doubled", got(few_numbers));
  EXPECT_THAT(report({by_hand, pytorch}).named(), ElementsAre("doubled"));
  EXPECT_THAT(report({by_hand, failed("AddOne", "EqualsPyTorch", got(doubled))}).checks.back().failures.front().likely,
              IsEmpty());
}

TEST_F(ReportTest, ReadsBackWhatIsRecorded) {
  const Fingerprint small{{4, 3, 1}, {-2e-9, 4.123456789}};
  record("AddOne.EqualsPyTorch", {{"halved", few_numbers}, {"doubled", small}, {"tripled", small}});
  const auto recordings = Recordings::read(lesson.recordings_file());
  EXPECT_THAT(recordings.mistakes(), ElementsAre("doubled", "halved", "tripled"));
  const auto& place = recordings.checks().at("AddOne.EqualsPyTorch").at(0);
  EXPECT_TRUE(place.expected.equals(Digest(wanted), 0));
  EXPECT_TRUE(place.got.at("halved").equals(Digest(few_numbers), 0));
  for (const char* id : {"doubled", "tripled"}) EXPECT_TRUE(place.got.at(id).equals(Digest(small), 0));
}

TEST_F(ReportTest, NamesTheOperationThatExplainsAllThatFails) {
  const auto by_hand = failed("AddOne", "WorksByHand", got(doubled));
  const auto pytorch = failed("AddOne", "EqualsPyTorch", got(halved));
  const auto threw = failed("AddOne", "Rejects", stated("threw", "nothing"));
  Report run;
  run.checks = {by_hand, pytorch, threw};
  Recordings operations;
  operations.add_operation("`1` is not added to `x`", run, run);
  put(lesson.operations_file(), operations.text());
  const auto named = [&](const std::vector<CheckResult>& checks) { return report(checks).named(); };

  EXPECT_THAT(named({by_hand, pytorch, threw}), ElementsAre("`1` is not added to `x`"));
  EXPECT_THAT(of({by_hand, pytorch, threw}), HasSubstr("likely  `1` is not added to `x`\n"));
  EXPECT_THAT(named({by_hand, pytorch, threw, failed("MergeAll", "EqualsPyTorch", got(unknown))}), SizeIs(1));
  auto unwritten = failed("AddOne", "Rejects", stated("todo", "TODO(42.1)"));
  unwritten.state = CheckResult::State::not_written;
  EXPECT_THAT(named({by_hand, pytorch, unwritten}), SizeIs(1));

  EXPECT_THAT(named({by_hand, pytorch, passed("AddOne", "Rejects")}), IsEmpty());
  EXPECT_THAT(named({by_hand, failed("AddOne", "EqualsPyTorch", got(unknown)), threw}), IsEmpty());
  const auto again = failed("AddOne", "WorksAgain", got(unknown)), too = failed("AddOne", "WorksToo", got(unknown));
  EXPECT_THAT(named({by_hand, pytorch, threw, again}), SizeIs(1)) << "a second mistake";
  EXPECT_THAT(named({by_hand, pytorch, threw, again, too}), IsEmpty());
  record("AddOne.WorksByHand", {{"doubled", doubled}});
  EXPECT_THAT(named({by_hand, pytorch, threw}), ElementsAre("doubled")) << "the catalogue comes first";
}

TEST_F(ReportTest, NamesNoOperationByFewNumbersOrZerosOrWhereTwoGiveTheSame) {
  const auto names_with = [&](const Failure& failure, const std::vector<std::string>& sentences) {
    Report run;
    run.checks = {failed("AddOne", "EqualsPyTorch", failure)};
    Recordings operations;
    for (const auto& sentence : sentences) operations.add_operation(sentence, run, run);
    put(lesson.operations_file(), operations.text());
    return report(run.checks).named();
  };
  EXPECT_THAT(names_with(got(doubled), {"one"}), ElementsAre("one"));
  EXPECT_THAT(names_with(got(doubled), {"one", "two"}), IsEmpty());
  EXPECT_THAT(names_with(got(few_numbers), {"one"}), IsEmpty());
  EXPECT_THAT(names_with(got(all_zeros), {"one"}), IsEmpty());
  auto threw = stated("threw", "incompatible matrix dimensions: 4x3 and 3x4");
  threw.kind = Failure::Kind::exception;
  EXPECT_THAT(names_with(threw, {"one"}), IsEmpty()) << "many mistakes throw the same";
}

TEST_F(ReportTest, NamesAnOperationByZerosOnlyWhereItExplainsAllThatFails) {
  const auto zeros = [](const std::string& name) { return failed("AddOne", name, got(all_zeros)); };
  Report run;
  run.checks = {zeros("WorksByHand"), zeros("EqualsPyTorch")};
  Recordings operations;
  operations.add_operation("it is all 0", run, run);
  put(lesson.operations_file(), operations.text());
  EXPECT_THAT(report(run.checks).named(), ElementsAre("it is all 0"));
  EXPECT_THAT(report({run.checks[0], run.checks[1], failed("AddOne", "Works", got(unknown))}).named(), IsEmpty());
}

TEST_F(ReportTest, NamesNoOperationByWordsWhereMostChecksThrow) {
  const auto threw = [](const std::string& name) {
    auto failure = stated("threw", "index out of bounds");
    failure.kind = Failure::Kind::exception;
    return failed("AddOne", name, failure);
  };
  Report run;
  run.checks = {failed("AddOne", "Rejects", stated("threw", "nothing")), threw("WorksByHand"), threw("EqualsPyTorch")};
  Recordings operations;
  operations.add_operation("one too far", run, run);
  put(lesson.operations_file(), operations.text());
  EXPECT_THAT(report(run.checks).named(), IsEmpty());
}

TEST_F(ReportTest, NamesNoOperationByResultsWithoutNumbers) {
  const auto named_for = [&](const std::vector<std::size_t>& shape) {
    Failure failure;
    failure.kind = Failure::Kind::shape;
    failure.shape = ShapeFact{shape, {2, 2}, {"L", "E"}};
    Report run;
    run.checks = {failed("AddOne", "WorksByHand", failure), failed("AddOne", "EqualsPyTorch", failure)};
    Recordings operations;
    operations.add_operation("the sum is moved away", run, run);
    put(lesson.operations_file(), operations.text());
    return report(run.checks).named();
  };
  EXPECT_THAT(named_for({2, 3}), ElementsAre("the sum is moved away"));
  EXPECT_THAT(named_for({0, 0}), IsEmpty()) << "so does whatever else was moved from";
}

TEST_F(ReportTest, NamesTheFileOfRecordingsThatCannotBeRead) {
  const auto with = [](const std::string& comparison) {
    return R"({"mistakes": ["00doubled"], "checks": {"AddOne.WorksByHand": [)" + comparison + "]}}";
  };
  const std::vector<std::string> damaged = {
      "{",
      "{}",
      R"({"mistakes": ["0"], "checks": {}})",
      R"({"mistakes": ["00doubled", "09halved"], "checks": {}})",
      with(R"([0, "12345", ""])"),
      with(R"([0, "12345é", ""])"),
      with(R"([0, "123456", "12345601"])"),
      with(R"([0, "123456", "123456."])"),
      with(R"([0, "123456", "12345"])"),
      with(R"([0, "123456", 3])"),
      with(R"([0, "123456"])"),
      with(R"(["0"])"),
  };
  for (const auto& text : damaged) {
    put(lesson.recordings_file(), text);
    EXPECT_THAT([&] { Recordings::read(lesson.recordings_file()); },
                ThrowsMessage<std::runtime_error>(HasSubstr("tests/42_sums/recorded.json")))
        << text;
  }
  put(lesson.recordings_file(), with(R"([0, "123456", "12345600"])"));
  EXPECT_THAT(Recordings::read(lesson.recordings_file()).checks(), SizeIs(1));
}

TEST_F(ReportTest, BorrowsTheNameThatAnotherCheckOfTheTaskFound) {
  record("AddOne.EqualsPyTorch", {{"doubled", doubled}});
  const auto knows = failed("AddOne", "EqualsPyTorch", got(doubled));
  std::vector<Failure> failures = {got(unknown)};
  for (const auto kind : {Failure::Kind::exception, Failure::Kind::shape, Failure::Kind::ended}) {
    failures.push_back(stated("threw", "something"));
    failures.back().kind = kind;
  }
  for (const auto& failure : failures) {
    EXPECT_THAT(of({failed("AddOne", "KeepsTheShape", failure), knows}),
                HasSubstr("likely  the sum was doubled (shown by AddOne.EqualsPyTorch)"));
  }
  EXPECT_THAT(of({failed("AddOne", "RejectsNothing", stated("threw", "nothing")), knows}),
              HasSubstr("also likely\n  42.1    the sum was doubled (shown by AddOne.EqualsPyTorch)"))
      << "what a claim says is about something else";
}

TEST_F(ReportTest, NamesAMistakeOfAnotherTaskWithItsTask) {
  record("MergeAll.EqualsPyTorch", {{"doubled", doubled}});
  const std::string text =
      of({failed("AddOne", "WorksByHand", got(unknown)), failed("MergeAll", "EqualsPyTorch", got(doubled))});
  EXPECT_THAT(text, Not(HasSubstr("  likely")));
  EXPECT_THAT(text, HasSubstr("also likely\n  42.2    the sum was doubled (shown by MergeAll.EqualsPyTorch)"));
}

TEST_F(ReportTest, BorrowsNoNameThatIsAboutNaNOrMemory) {
  const auto first = failed("AddOne", "WorksByHand", got(unknown));
  auto nan_found = got(unknown);
  nan_found.worst->got = no_number;
  nan_found.likely = {"doubled"};
  EXPECT_THAT(of({first, failed("AddOne", "EqualsPyTorch", nan_found)}), Not(HasSubstr("  likely")));
  const auto memory = stated("memory", "8 KB", {"doubled"});
  EXPECT_THAT(of({first, failed("AddOne", "TakesLittle", memory)}), Not(HasSubstr("  likely")));
}

TEST_F(ReportTest, NamesTwoMistakesWhereTwoChecksEachNameOne) {
  auto first = got(unknown);
  first.likely = {"halved"};
  auto second = got(unknown);
  second.likely = {"doubled"};
  const std::string text = of({failed("AddOne", "WorksByHand", first), failed("AddOne", "EqualsPyTorch", second)});
  EXPECT_THAT(text, HasSubstr("  likely  the sum was halved\n"));
  EXPECT_THAT(text, HasSubstr("also likely\n  42.1    the sum was doubled (shown by AddOne.EqualsPyTorch)"));
}

TEST_F(ReportTest, CountsChecksThatFailForTheSameReason) {
  auto threw = stated("threw", "incompatible matrix dimensions: 4x3 and 3x4");
  threw.kind = Failure::Kind::exception;
  const std::string text = of({failed("AddOne", "One", threw), failed("AddOne", "Two", threw),
                               failed("AddOne", "Three", got(unknown)), failed("AddOne", "Four", threw)});
  EXPECT_THAT(text, HasSubstr("  ✗ AddOne.Two and 1 more: threw"));
  EXPECT_THAT(text, HasSubstr("  ✗ AddOne.Three: the numbers differ\n"));
}

TEST_F(ReportTest, SaysOfARejectionWhatWasWanted) {
  auto threw = stated("threw", "std::invalid_argument: no");
  threw.statements.push_back({"wanted", "std::invalid_argument with a message that names \"X\""});
  EXPECT_THAT(of({failed("AddOne", "One", got(unknown)), failed("AddOne", "Rejects", threw)}),
              HasSubstr("  ✗ AddOne.Rejects: threw   std::invalid_argument: no, wanted std::invalid_argument with"));
}

TEST_F(ReportTest, ReportsAMistakeOnceHoweverManyChecksItFails) {
  auto named = got(unknown);
  named.likely = {"doubled"};
  const std::string text = of({failed("AddOne", "One", named), failed("AddOne", "Two", named),
                               failed("MergeAll", "EqualsPyTorch", named), failed("AddOne", "Three", got(unknown))});
  EXPECT_THAT(text, HasSubstr("  likely  the sum was doubled\n"
                              "          2 more checks fail for this reason, 1 of 42.2, which may be right\n"));
  EXPECT_EQ(text.find("doubled"), text.rfind("doubled"));
  EXPECT_THAT(text, Not(HasSubstr("AddOne.Two")));
  EXPECT_THAT(text, HasSubstr("also failing\n  ✗ AddOne.Three: the numbers differ\n\n"));
}

TEST_F(ReportTest, SaysThatAnotherTaskShowsTheMistakeFirst) {
  auto named = got(unknown);
  named.likely = {"doubled"};
  auto first = failed("AddOne", "One", named);
  first.failures.front().expression = "add_one(x)";
  const Report both = report({first, failed("MergeAll", "EqualsPyTorch", named)});
  ASSERT_EQ(both.checks[0].task, "42.1");
  EXPECT_THAT(text_of(lines_about(both.checks[1], both, lesson)),
              HasSubstr("the sum was doubled\n          fix it in 42.1 first (AddOne.One): 42.2 may be right\n"));
  EXPECT_THAT(text_of(lines_about(both.checks[0], both, lesson)), Not(HasSubstr("first (")));
}

TEST_F(ReportTest, BeginsWithWhatIsWrongWhereAndWhatHelps) {
  auto failure = got(unknown);
  failure.excerpt = Excerpt{0, 0, {{{1, 2, true}}}, true};
  failure.expression = "add_one(x)";
  failure.likely = {"doubled"};
  failure.notes = {"a note"};
  const auto named = failed("AddOne", "WorksByHand", failure);
  EXPECT_THAT(of({named}), ::testing::StartsWith("✗ 42 sums · AddOne.WorksByHand\n"
                                                 "  likely  the sum was doubled\n"
                                                 "  note    a note\n"
                                                 "  where   lessons/42_sums/sums.cpp\n"
                                                 "  hint    ./learn hint 42.1\n"
                                                 "  call    add_one(x)\n"
                                                 "  shape   2 x 2 (L x E)   ok   (1 of 4 differs)\n"
                                                 "  got     1*  want  2\n"));
  failure.expression = "layer.weight";
  EXPECT_THAT(of({failed("AddOne", "WorksByHand", failure)}), HasSubstr("\n  result  layer.weight\n"));
  failure.likely.clear();
  failure.notes.clear();
  failure.likeness = "all values are 1";
  EXPECT_THAT(of({failed("AddOne", "WorksByHand", failure)}),
              HasSubstr("WorksByHand\n  note    all values are 1\n  where   "));
  auto shape = stated("", "");
  shape.statements.clear();
  shape.kind = Failure::Kind::shape;
  shape.shape = ShapeFact{{2, 3}, {3, 2}, {"L", "E"}};
  EXPECT_THAT(of({failed("AddOne", "WorksByHand", shape)}),
              HasSubstr("WorksByHand\n  shape   got 2 x 3, want 3 x 2 (L x E)\n          you returned E x L"));
  auto threw = stated("threw", "Mat::init(): requested size is not compatible with column vector layout");
  threw.kind = Failure::Kind::exception;
  EXPECT_THAT(of({failed("AddOne", "WorksByHand", threw)}), HasSubstr("WorksByHand\n  threw   Mat::init(): "));
}

TEST_F(ReportTest, CallsATodoNoFailure) {
  auto check = failed("AddOne", "WorksByHand", stated("todo", "TODO(42.1) is not written yet"));
  check.state = CheckResult::State::not_written;
  check.failures.front().kind = Failure::Kind::not_written;
  check.failures.front().task = "42.1";
  const auto lines = lines_about(report({check, check}), lesson);
  EXPECT_EQ(lines.front().text(), "42 sums · to do: 42.1");
  EXPECT_EQ(lines.front().spans.front().role, Role::important);
  EXPECT_THAT(text_of(lines), ::testing::AllOf(Not(HasSubstr("✗")), HasSubstr("  hint    ./learn hint 42.1\n")));
  for (const auto& line : lines) {
    for (const auto& span : line.spans) EXPECT_NE(span.role, Role::failed) << line.text();
  }
}

TEST_F(ReportTest, SaysWhatTheNumbersLookLikeUnlessItKnowsTheMistake) {
  auto failure = got(unknown);
  failure.likeness = "all values are NaN";
  EXPECT_THAT(of({failed("AddOne", "WorksByHand", failure)}), HasSubstr("note    all values are NaN"));
  failure.likely = {"doubled"};
  EXPECT_THAT(of({failed("AddOne", "WorksByHand", failure)}), Not(HasSubstr("all values are NaN")));
}

TEST_F(ReportTest, ShowsSmallResultsBesideTheExpectedOnes) {
  auto failure = got(unknown);
  failure.excerpt =
      Excerpt{0, 0, {{{0.5, 0.5, false}, {-2, 0.25, true}}, {{no_number, 1, true}, {1e7, 1e7, false}}}, true};
  EXPECT_THAT(of({failed("AddOne", "WorksByHand", failure)}), HasSubstr("  got     0.5      -2*  want  0.5   0.25\n"
                                                                        "          NaN*  1e+07           1  1e+07\n"));
  failure.excerpt->row = 7;
  failure.excerpt->whole = false;
  EXPECT_THAT(of({failed("AddOne", "WorksByHand", failure)}), HasSubstr("  part    rows 7 to 8, columns 0 to 1\n"));
}

// -------------------------------------------------------------------------------------------------------- words

TEST_F(ReportTest, ExplainsWhatArmadilloSaysOfAMatrixWhereAColumnBelongs) {
  auto threw = stated("threw", "Mat::init(): requested size is not compatible with column vector layout");
  threw.kind = Failure::Kind::exception;
  EXPECT_THAT(of({failed("AddOne", "WorksByHand", threw)}), HasSubstr("do the fields stand in the struct's order?"));
}

TEST_F(ReportTest, LeavesOutNamesAndHintsInAnInterview) {
  auto failure = got(unknown);
  failure.likely = {"doubled"};
  const Report one = report({failed("AddOne", "WorksByHand", failure)});
  EXPECT_THAT(text_of(lines_about(one, lesson)), HasSubstr("likely"));
  lesson::Lesson in_interview = lesson;
  in_interview.work_folder = ".learn/interview";
  const std::string bare = text_of(lines_about(one, in_interview));
  EXPECT_THAT(bare, Not(HasSubstr("likely")));
  EXPECT_THAT(bare, Not(HasSubstr("./learn hint")));
  EXPECT_THAT(bare, HasSubstr("ok   (1 of 4 differs)\n  value   worst at row 0, col 0: got 1, want 2, off by 1\n"));
}

TEST_F(ReportTest, ShowsWhatAMistakeDoesToLearningWhereATrainingCanMakeIt) {
  lesson::Lesson backward = lesson;
  backward.name = "24_sums";
  put(backward.mistakes_file(),
      R"({"mistakes": [)"
      R"({"id": "unseen", "says": "nothing changes", "file": "sums.cpp", "find": "", "replace": ""},)"
      R"({"id": "elsewhere", "says": "x", "file": "fused_qkv_backward.cpp", "find": "", "replace": ""},)"
      R"({"id": "doubled", "says": "the sum was doubled", "file": "sums.cpp", "find": "", "replace": ""}]})");
  put(backward.root / "programs/train_break/no_effect.txt", "24.unseen\n");
  auto failure = got(unknown);
  const auto shown = [&](const std::vector<std::string>& likely) {
    failure.likely = likely;
    Report one;
    one.checks = {failed("AddOne", "WorksByHand", failure), failed("AddOne", "Adds", failure)};
    return text_of(lines_about(one, backward));
  };
  const std::string line = "  effect  ./learn train --break 24.doubled shows what it does to learning\n";
  const std::string text = shown({"doubled"});
  EXPECT_THAT(text, HasSubstr("./learn hint \n" + line));
  EXPECT_EQ(text.find(line), text.rfind(line));
  EXPECT_THAT(shown({"unseen", "doubled"}), HasSubstr(line));
  for (const std::string id : {"unseen", "elsewhere"}) EXPECT_THAT(shown({id}), Not(HasSubstr("--break"))) << id;
  EXPECT_THAT(shown({}), Not(HasSubstr("--break")));
  backward.work_folder = ".learn/interview";
  EXPECT_THAT(shown({"doubled"}), Not(HasSubstr("--break")));
  failure.likely = {"doubled"};
  EXPECT_EQ(break_name(report({failed("AddOne", "WorksByHand", failure)}), lesson), "") << "lesson 42";
}

// -------------------------------------------------------------------------------------------------------- roles

/// The first line that begins so, without its indent.
Line line_with(const Lines& lines, const std::string& beginning) {
  for (const auto& line : lines) {
    const std::string text = line.text();
    if (text.compare(std::min(text.find_first_not_of(' '), text.size()), beginning.size(), beginning) == 0) return line;
  }
  ADD_FAILURE() << "no line " << beginning << " in\n" << text_of(lines);
  return Line("none");
}

Role role_of(const Line& line) { return line.spans.front().role; }

TEST_F(ReportTest, HasTheMistakesNameAsItsLoudestLine) {
  auto failure = got(unknown);
  failure.notes = {"a hint"};
  const auto quiet = lines_about(report({failed("AddOne", "WorksByHand", failure)}), lesson);
  EXPECT_EQ(role_of(line_with(quiet, "note ")), Role::important);
  failure.likely = {"doubled"};
  const Report named = report({failed("AddOne", "WorksByHand", failure), failed("AddOne", "Adds", stated("value", "2")),
                               passed("AddOne", "Passes")});
  const auto lines = lines_about(named, lesson);
  EXPECT_EQ(role_of(lines.front()), Role::failed);
  EXPECT_EQ(role_of(line_with(lines, "shape ")), Role::label);
  EXPECT_EQ(line_with(lines, "shape ").spans.back().role, Role::plain);
  EXPECT_EQ(role_of(line_with(lines, "likely ")), Role::important);
  EXPECT_EQ(role_of(line_with(lines, "note ")), Role::label);
  EXPECT_EQ(role_of(line_with(lines, "also failing")), Role::aside);
  EXPECT_EQ(role_of(line_with(lines, "✗ AddOne.Adds")), Role::aside);
  EXPECT_EQ(line_with(lines, "hint ").spans.back().role, Role::hint);
  EXPECT_EQ(role_of(lines.back()), Role::plain);
  EXPECT_EQ(role_of(lines_about(report({passed("AddOne", "Passes")}), lesson).front()), Role::passed);
}

TEST_F(ReportTest, HasAPlaceForAnEditor) {
  Report one = report({failed("AddOne", "WorksByHand", stated("threw", "out of ideas"))});
  one.checks.front().place = {"lessons/42_sums/sums.cpp", 7};
  const auto where = line_with(lines_about(one, lesson), "where ");
  ASSERT_TRUE(where.place.has_value());
  EXPECT_EQ(where.place->text(), "lessons/42_sums/sums.cpp:7");
  EXPECT_EQ(where.text(), "  where   lessons/42_sums/sums.cpp:7") << "the line itself";
}

TEST_F(ReportTest, HasThePlaceOfATodo) {
  put(lesson.folder() / "sums.cpp", "\nattn::todo(\"42.1\");\n");
  auto check = failed("AddOne", "WorksByHand", stated("todo", "TODO(42.1) is not written yet"));
  check.state = CheckResult::State::not_written;
  check.failures.front().kind = Failure::Kind::not_written;
  check.failures.front().task = "42.1";
  const auto todo = line_with(lines_about(report({check}), lesson), "todo ");
  ASSERT_TRUE(todo.place.has_value());
  EXPECT_EQ(todo.place->text(), "lessons/42_sums/sums.cpp:2");
}

// --------------------------------------------------------------------------------------------------------- JSON

TEST_F(ReportTest, IsTheSameAfterItHasBeenAFile) {
  auto failure = got(doubled, 3);
  failure.expression = "add_one(x)";
  failure.worst->got = no_number;
  failure.worst->expected = -std::numeric_limits<double>::infinity();
  failure.likely = {"doubled"};
  failure.likeness = "all values are 0";
  failure.excerpt = Excerpt{1, 2, {{{no_number, 0, true}}}, false};
  failure.notes = {"a note with \"quotes\" and √"};
  failure.statements = {{"value", "as\x1f odd \x1e as it is"}};
  auto check = failed("AddOne", "WorksByHand", failure);
  check.function = "add_one";
  check.printed = "12\n";
  check.printed_bytes = 3;
  Report before = report({check, passed("AddOne", "Passes")});
  before.open_tasks = {{"42.1", {"lessons/42_sums/sums.cpp", 3}}};
  const nlohmann::json json = before;
  const auto after = nlohmann::json::parse(json.dump()).get<Report>();
  EXPECT_EQ(nlohmann::json(after), json);
  EXPECT_EQ(text_of(lines_about(after, lesson)), text_of(lines_about(before, lesson)));
  EXPECT_EQ(nlohmann::json(*decode("text " + encode(failure) + " more")), nlohmann::json(failure));
}

TEST(Decode, LeavesAsTextWhatIsNotEncoded) {
  for (const std::string text :
       {"\x1e not JSON \x1f", "\x1e{}\x1f", "\x1e[1]\x1f", "\x1e{\"kind\": \"odd\"}\x1f", "\x1e"}) {
    EXPECT_FALSE(decode("thrown: " + text).has_value()) << text;
  }
  Failure failure;
  failure.statements = {{"value", "as it is"}};
  EXPECT_EQ(nlohmann::json(*decode("\x1e not JSON \x1f" + encode(failure))), nlohmann::json(failure));
}

}  // namespace
}  // namespace attn::judge
