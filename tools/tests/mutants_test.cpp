// Solutions with their mistakes to choose from: the right bodies, and every mistake in the function that it is made in.
#include "gate/mutants.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "lesson/lesson.hpp"
#include "scratch.hpp"

namespace attn::gate {
namespace {

using lesson::Lesson;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

const std::string solution = R"(#include "shape.hpp"

namespace attn {

Layer::Layer(int size)
    : weight_(size),
      bias_(size) {  // both start at zero
  weight_ = 1;
}

int Layer::forward(int x) {
  if (x < 0) {
    return 0;
  }
  return weight_ * x + bias_;
}

}  // namespace attn
)";

class Mutants : public ::testing::Test {
 protected:
  std::string all_of(const std::string& text, const std::string& mistakes, const std::string& file = "layer.cpp") {
    put(lesson_.solution_folder() / file, text);
    put(lesson_.mistakes_file(), "{\"mistakes\": [" + mistakes + "]}");
    return mutate_all(lesson_, file);
  }

  static std::string mistake(const std::string& id, const std::string& find, const std::string& replace,
                             const std::string& file = "layer.cpp") {
    return R"({"id": ")" + id + R"(", "says": ")" + id + R"(", "file": ")" + file + R"(", "find": ")" + find +
           R"(", "replace": ")" + replace + "\"}";
  }

  /// A mistake that changes several places, each {find, replace}.
  static std::string mistake_in_places(const std::string& id,
                                       const std::vector<std::pair<std::string, std::string>>& edits) {
    std::string list;
    for (const auto& [find, replace] : edits) {
      list += (list.empty() ? "" : ",") + (R"({"find": ")" + find + R"(", "replace": ")" + replace + "\"}");
    }
    return R"({"id": ")" + id + R"(", "says": ")" + id + R"(", "file": "layer.cpp", "edits": [)" + list + "]}";
  }

  Scratch scratch_;
  Lesson lesson_{scratch_.path(), "01_layer"};
};

TEST_F(Mutants, HaveABodyForEachMistakeAndTheRightOne) {
  const auto text =
      all_of(solution, mistake("no_bias", " + bias_;", ";") + "," + mistake("added", "weight_ * x", "weight_ + x"));
  EXPECT_THAT(text, HasSubstr("{\"no_bias\", \"added\"}"));
  EXPECT_THAT(text, HasSubstr(R"(
int Layer::forward(int x) {
switch (::mistake_in(5)) {
case 0: {  // no_bias

  if (x < 0) {
    return 0;
  }
  return weight_ * x;

} break;
case 1: {  // added

  if (x < 0) {
    return 0;
  }
  return weight_ + x + bias_;

} break;
default: {
  if (x < 0) {
    return 0;
  }
  return weight_ * x + bias_;

}
}
}

}  // namespace attn
)"));
}

TEST_F(Mutants, AskInEachMemberThatIsInitialisedOtherwise) {
  const auto text = all_of(solution, mistake("large", "weight_(size)", "weight_(2 * size, true)") + "," +
                                         mistake("both", "weight_(size),\\n      bias_(size)", "weight_(1), bias_(1)"));
  EXPECT_THAT(text, HasSubstr("weight_(::mistake_in(1) == 0 ? decltype(this->weight_)(2 * size, true)"));
  EXPECT_THAT(text, HasSubstr("? decltype(this->bias_)(1)"));
}

TEST_F(Mutants, MayChangeSeveralFunctions) {
  const auto text = all_of(solution, mistake("no_weight", "weight_ = 1;\\n}\\n\\nint Layer::forward(int x) {",
                                             "\\n}\\n\\nint Layer::forward(int x) {\\n  return x;"));
  EXPECT_THAT(regions_of(lesson_).at("no_weight"), ElementsAre(3, 5));
  EXPECT_THAT(text, HasSubstr("case 0: {  // no_weight\n\n  return x;\n"));
}

TEST_F(Mutants, MayChangeOneExpressionElsewhere) {
  const std::string header = "struct Layer {\n  explicit Layer(double rate = 0.1);\n};\n";
  EXPECT_THAT(all_of(header, mistake("half", "rate = 0.1", "rate = 0.5", "layer.hpp"), "layer.hpp"),
              HasSubstr("explicit Layer(double rate = (::mistake_in(0) == 0 ? 0.5 : 0.1));"));
}

TEST_F(Mutants, MayIncludeMore) {
  const auto text = all_of(solution, mistake("more", R"(#include \"shape.hpp\")", R"(#include \"more.hpp\")") + "," +
                                         mistake("no_bias", " + bias_;", ";"));
  EXPECT_THAT(text, HasSubstr("#include \"more.hpp\"\n#include \"shape.hpp\"\n"));
}

TEST_F(Mutants, FindTheFunctionsOfAClass) {
  const std::string header =
      "class Layer {\n public:\n  explicit Layer(int n) : n_([&] { return n; }()) {\n    n_ += 1;\n  }\n"
      "  int forward(int x, Mask mask = {}) const {\n    return 2 * x;\n  }\n};\n";
  const auto text = all_of(
      header, mistake("thrice", "2 * x", "3 * x", "layer.hpp") + "," + mistake("two", "+= 1", "+= 2", "layer.hpp"),
      "layer.hpp");
  EXPECT_THAT(text, HasSubstr("case 0: {  // thrice\n\n    return 3 * x;\n"));
  EXPECT_THAT(text, HasSubstr("case 1: {  // two\n\n    n_ += 2;\n"));
}

TEST_F(Mutants, LeaveOutWhatIsInAnotherFile) {
  const auto text =
      all_of(solution, mistake("other", "nowhere", "x", "other.cpp") + "," + mistake("no_bias", " + bias_;", ";"));
  EXPECT_THAT(text, HasSubstr("{\"no_bias\"}"));
}

TEST_F(Mutants, CountRegionsThroughAllFiles) {
  put(lesson_.solution_folder() / "attention.cpp", "int f() {\n  return 1;\n}\n");
  all_of(solution, mistake("no_bias", " + bias_;", ";"));
  EXPECT_THAT(regions_of(lesson_).at("no_bias"), ElementsAre(8)) << "after three of attention.cpp";
}

TEST_F(Mutants, RefuseEditsThatCannotBeMade) {
  const std::pair<std::string, std::string> refused[] = {
      {mistake("astray", "int Layer::forward", "void f() {}\\n\\nint Layer::forward"),
       "mistake astray of 01_layer: it adds or removes a function"},
      {mistake("astray", "weight_(size),", ""), "mistake astray initialises other members"},
      {mistake("twice", "return", ""), "occurs 2 times, expected exactly once (solutions/01_layer/layer.cpp)"},
      {mistake("never", "no such text", ""), "occurs 0 times"},
      {mistake_in_places("cross", {{"* x + bias_", ""}, {"weight_ * x", ""}}),
       "mistake cross of 01_layer: two of its edits overlap at \"* x + bias_\""},
      {mistake_in_places("same", {{"return 0", "a"}, {"return 0", "b"}}), "overlap"},
      {mistake_in_places("twice", {{"return 0", ""}, {"return", ""}}), "\"return\" occurs 2 times"},
  };
  for (const auto& refusal : refused) {
    EXPECT_THAT([&] { all_of(solution, refusal.first); }, ThrowsMessage<std::runtime_error>(HasSubstr(refusal.second)));
  }
}

TEST_F(Mutants, MayChangeSeveralPlacesGivenInAnyOrder) {
  const auto text = all_of(solution, mistake_in_places("both", {{" + bias_", " - bias_"}, {"return 0", "return 1"}}));
  EXPECT_THAT(text, HasSubstr("case 0: {  // both\n\n  if (x < 0) {\n    return 1;\n  }\n"
                              "  return weight_ * x - bias_;\n"));
}

TEST_F(Mutants, LookForEachPlaceInTheSolutionItself) {
  const auto text = all_of(solution, mistake_in_places("swapped", {{"weight_ * x", "x + bias_"}, {"+ bias_", "- x"}}));
  EXPECT_THAT(text, HasSubstr("return x + bias_ - x;\n"));
}

}  // namespace
}  // namespace attn::gate
