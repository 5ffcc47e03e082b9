// Solutions with their mistakes to choose from: the right bodies, and every mistake in the function that it is made in.
#include "gate/mutants.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "lesson/lesson.hpp"
#include "scratch.hpp"

namespace attn::gate {
namespace {

using lesson::Lesson;
using ::testing::HasSubstr;
using ::testing::Not;
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
                             const std::string& more = "", const std::string& file = "layer.cpp") {
    return R"({"id": ")" + id + R"(", "says": ")" + id + R"(", "file": ")" + file + R"(", "find": ")" + find +
           R"(", "replace": ")" + replace + "\"" + more + "}";
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
switch (::mistake_to_make()) {
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

TEST_F(Mutants, HaveTheMistakesOfEveryFunctionInOneList) {
  const auto text =
      all_of(solution, mistake("no_bias", " + bias_;", ";") + "," + mistake("two", "weight_ = 1", "weight_ = 2"));
  EXPECT_THAT(text, HasSubstr("{\"two\", \"no_bias\"}"));
  EXPECT_THAT(text,
              HasSubstr("both start at zero\nswitch (::mistake_to_make()) {\ncase 0: {  // two\n  weight_ = 2;\n"));
  EXPECT_THAT(text, HasSubstr("case 1: {  // no_bias\n"));
}

TEST_F(Mutants, FindTheFunctionsOfAClass) {
  const std::string header = "class Layer {\n public:\n  int forward(int x) const {\n    return 2 * x;\n  }\n};\n";
  const auto text = all_of(header, mistake("thrice", "2 * x", "3 * x", "", "layer.hpp"), "layer.hpp");
  EXPECT_THAT(
      text,
      HasSubstr(
          "  int forward(int x) const {\nswitch (::mistake_to_make()) {\ncase 0: {  // thrice\n    return 3 * x;\n"));
}

TEST_F(Mutants, LeaveOutWhatIsAloneOrInAnotherFile) {
  const auto text = all_of(solution, mistake("small", "bias_(size)", "bias_(1)", ", \"alone\": true") + "," +
                                         mistake("other", "nowhere", "x", "", "other.cpp") + "," +
                                         mistake("no_bias", " + bias_;", ";"));
  EXPECT_THAT(text, HasSubstr("{\"no_bias\"}"));
  EXPECT_THAT(text, Not(HasSubstr("bias_(1)")));
}

TEST_F(Mutants, RefuseAnEditThatIsNotWithinOneBody) {
  for (const char* find :
       {"bias_(size)", "  weight_ = 1;\\n}\\n", "  return weight_ * x + bias_;\\n}", "#include", "attn {"}) {
    EXPECT_THAT([&] { all_of(solution, mistake("astray", find, "")); },
                ThrowsMessage<std::runtime_error>(HasSubstr("mistake astray of 01_layer: its \"find\" is not within")))
        << find;
  }
  EXPECT_THAT([&] { all_of(solution, mistake("astray", "bias_(size)", "")); },
              ThrowsMessage<std::runtime_error>(HasSubstr("write \"alone\": true into tests/01_layer/mistakes.json")));
}

TEST_F(Mutants, RefuseAListThatIsNoFunction) {
  const std::string list = "const int sizes[] = {\n  1,\n};\n\n" + solution;
  EXPECT_THAT([&] { all_of(list, mistake("astray", "  1,", "")); },
              ThrowsMessage<std::runtime_error>(HasSubstr("not within the body of one function")));
  EXPECT_THAT(all_of(list, mistake("no_bias", " + bias_;", ";")), HasSubstr("return weight_ * x;"));
}

TEST_F(Mutants, RefuseAnEditThatOccursTwiceOrNever) {
  EXPECT_THAT([&] { all_of(solution, mistake("twice", "return", "")); },
              ThrowsMessage<std::runtime_error>(HasSubstr("occurs 2 times in solutions/01_layer/layer.cpp")));
  EXPECT_THAT([&] { all_of(solution, mistake("never", "no such text", "")); },
              ThrowsMessage<std::runtime_error>(HasSubstr("occurs 0 times")));
}

}  // namespace
}  // namespace attn::gate
