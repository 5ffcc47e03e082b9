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
using ::testing::AllOf;
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

TEST_F(Mutants, HaveAStatementForEachMistakeAndTheOthersOnce) {
  const auto text =
      all_of(solution, mistake("no_bias", " + bias_;", ";") + "," + mistake("added", "weight_ * x", "weight_ + x"));
  EXPECT_THAT(text, HasSubstr("{\"no_bias\", \"added\"}"));
  EXPECT_THAT(text, HasSubstr(R"(
int Layer::forward(int x) {
const int mistake_made = ::mistake_in(5);

  if (x < 0) {
    return 0;
  }
switch (mistake_made) {
case 0: {  // no_bias

  return weight_ * x;
} break;
case 1: {  // added

  return weight_ + x + bias_;
} break;
default: {
  return weight_ * x + bias_;
}
}

}

}  // namespace attn
)"));
}

/// How the edits of a body are chosen: the text between its braces, without empty lines.
TEST_F(Mutants, ShareWhatIsTheSameInABody) {
  const struct {
    std::string body, find, replace, expected;
  } cases[] = {
      {"const int a = 1; f(a);", "= 1", "= 2", "const int a =\nmistake_made == 0 ? int(2\n) :  // it\nint(1\n); f(a);"},
      {"mat A(2, 3); f(A);", "2, 3", "3, 2", "mat A =\nmistake_made == 0 ? mat(3, 2\n) :  // it\nmat(2, 3\n); f(A);"},
      {"f(); g(); h();", " g();", "",
       "f();\nswitch (mistake_made) {\ncase 0: {  // it\n} break;\ndefault: { g();\n}\n}\n h();"},
      {"f(); h();", " h", " g(); h", "f();\nswitch (mistake_made) {\ncase 0: {  // it\n g();\n} break;\n}\n h();"},
      {"f(); g(); h();", "f(); g();", "e();",
       "switch (mistake_made) {\ncase 0: {  // it\ne();\n} break;\ndefault: {f();\n}\n}\n"
       "switch (mistake_made) {\ncase 0: {  // it\n} break;\ndefault: { g();\n}\n}\n h();"},
      {"for (;;) { f(); g(); }", "g", "h",
       "for (;;) { f();\nswitch (mistake_made) {\ncase 0: {  // it\n h();\n} break;\ndefault: { g();\n}\n}\n }"},
      {"for (;;) n[{1, 2}] += 3; g();", "3", "4",
       "switch (mistake_made) {\ncase 0: {  // it\nfor (;;) n[{1, 2}] += 4;\n} break;\n"
       "default: {for (;;) n[{1, 2}] += 3;\n}\n}\n g();"},
      // What follows uses a name that is declared otherwise: it is there twice.
      {"f(); const auto a = 1; g(a);", "= 1", "= 2.5",
       "f();\nswitch (mistake_made) {\ncase 0: {  // it\n const auto a = 2.5; g(a);\n} break;\n"
       "default: { const auto a = 1; g(a);\n}\n}\n"},
      {"const int a = 1; g(a);", "1", "1, b = 2",
       "switch (mistake_made) {\ncase 0: {  // it\nconst int a = 1, b = 2; g(a);\n} break;\n"
       "default: {const int a = 1; g(a);\n}\n}\n"},
      // A break would leave the switch: the loop is there twice.
      {"for (;;) { if (f()) break; }", "f()", "g()",
       "switch (mistake_made) {\ncase 0: {  // it\nfor (;;) { if (g()) break; }\n} break;\n"
       "default: {for (;;) { if (f()) break; }\n}\n}\n"},
      {"if (f()) { g(); } else { h(); } i();", "h", "g",
       "switch (mistake_made) {\ncase 0: {  // it\nif (f()) { g(); } else { g(); }\n} break;\n"
       "default: {if (f()) { g(); } else { h(); }\n}\n}\n i();"},
  };
  for (const auto& [body, find, replace, expected] : cases) {
    const auto text = all_of("void run() {" + body + "}\n", mistake("it", find, replace));
    const std::string begin = "::mistake_in(1);\n";
    std::string found = text.substr(text.find(begin) + begin.size());
    for (auto at = found.find("\n\n"); at != std::string::npos; at = found.find("\n\n")) found.erase(at, 1);
    if (found.front() == '\n') found.erase(0, 1);
    EXPECT_EQ(found, expected + "}\n") << body;
  }
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
  EXPECT_THAT(text, HasSubstr("case 0: {  // no_weight\n\n  return x;"));
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
  EXPECT_THAT(text, AllOf(HasSubstr("  if (x < 0) {\nswitch (mistake_made) {\ncase 0: {  // both\n\n    return 1;\n"),
                          HasSubstr("case 0: {  // both\n\n  return weight_ * x - bias_;\n")));
}

TEST_F(Mutants, LookForEachPlaceInTheSolutionItself) {
  const auto text = all_of(solution, mistake_in_places("swapped", {{"weight_ * x", "x + bias_"}, {"+ bias_", "- x"}}));
  EXPECT_THAT(text, HasSubstr("return x + bias_ - x;\n"));
}

}  // namespace
}  // namespace attn::gate
