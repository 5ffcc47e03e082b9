// What is written from the lessons, and the sentences where that cannot be done.
#include "gate/derived.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "lesson/lesson.hpp"
#include "scratch.hpp"

namespace attn::gate {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

/// A course of two lessons, each with a stub and two questions.
class DerivedFiles : public ::testing::Test {
 protected:
  DerivedFiles() {
    write("README.md", "# Course\n<!-- gate: groups begin -->\n<!-- gate: groups end -->\n");
    write("docs/curriculum.md",
          "# All\n<!-- group 07: Few | `f` -->\n<!-- group 08: Many | more -->\n\n<!-- gate: curriculum begin "
          "-->\n<!-- gate: curriculum end -->\n\nmore\n");
    write("docs/interview.md", "Intro.\n\n<!-- gate: questions begin -->\n\n## Size\n\n<!-- gate: questions end -->\n");
    for (const std::string name : {"07_one", "08_two"}) {
      write("lessons/" + name + "/stub.cpp", "// TODO(" + name + ")\n");
      write_chapter(name, study + "<!-- curriculum: `f` | its heart -->\n<!-- topics: Speed, and time; Size -->\n");
    }
  }

  void write(const fs::path& file, const std::string& text) const { put(root / file, text); }
  void write_chapter(const std::string& name, const std::string& notes) const {
    write("lessons/" + name + "/README.md",
          "# 07 · Title\n" + notes +
              "\n## Interview corner\n\n<details><summary>How fast?</summary>\n\nVery, see "
              "[08](../08_two/README.md).\n\n</details>\n\n"
              "<details><summary>How large?</summary>\n\nSo.\n\n</details>\n");
  }
  /// A chapter with a topic and its questions, of which the first so many are asked often; "1.2" is the third of topic 1.
  void write_questions(const std::string& name, const std::string& topic, int often, int all) const {
    std::string topics;
    std::string corner = "\n## Interview corner\n\n";
    std::string remarks = "# 15 minutes\n\n## What a senior interviewer expects\n";
    for (int i = 0; i < all; ++i) {
      const std::string question = topic + "." + std::to_string(i);
      topics += (i == 0 ? "" : "; ") + topic;
      corner += "<details><summary>" + question + "</summary>\n\nSo.\n\n</details>\n";
      if (i < often) remarks += "\n### " + question + "\n\nOften asked.\n";
    }
    write(
        "lessons/" + name + "/README.md",
        "# 07 · Title\n" + study + "<!-- curriculum: `f` | its heart -->\n<!-- topics: " + topics + " -->\n" + corner);
    write("lessons/" + name + "/interview.md", remarks);
  }
  /// The section "By minutes", once it is written.
  std::string by_minutes() const {
    write_derived(root);
    const std::string page = read("docs/interview.md");
    const auto begin = page.find("## By minutes\n");
    return page.substr(begin, page.find("\n## ", begin) - begin);
  }
  std::string read(const fs::path& file) const { return lesson::read_file(root / file); }

  const std::string study = "<!-- study: 75 minutes | often asked -->\n";
  const Scratch scratch;
  const fs::path root = scratch.path();
};

TEST_F(DerivedFiles, AreWrittenOnceAndThenFresh) {
  EXPECT_THAT(find_stale(root),
              ElementsAre(StartsWith("cmake/lesson_presets.json is not"), StartsWith("docs/curriculum.md is not"),
                          StartsWith("README.md is not"),
                          AllOf(StartsWith("docs/interview.md is not"), HasSubstr("./learn verify --write")),
                          StartsWith("tests/07_one/stub/stub.cpp"), StartsWith("tests/08_two/stub/stub.cpp")));
  EXPECT_EQ(write_derived(root).size(), 6U);
  EXPECT_THAT(find_stale(root), IsEmpty());
  EXPECT_THAT(write_derived(root), IsEmpty());
}

TEST_F(DerivedFiles, HoldTheCurriculumBetweenItsMarkers) {
  write_derived(root);
  EXPECT_THAT(read("README.md"),
              HasSubstr("\n| 07 | **Few** | `f` | 1.3 hours |\n| 08 | **Many** | more | 1.3 hours |\n"
                        "\nAbout 3 hours in all.\n"));
  EXPECT_EQ(read("docs/curriculum.md"),
            "# All\n<!-- group 07: Few | `f` -->\n<!-- group 08: Many | more -->\n\n<!-- gate: curriculum begin "
            "-->\n\n| lesson | you write | the heart of it | minutes |\n"
            "|---|---|---|---|\n| [07 · Title](../lessons/07_one/README.md) | `f` | its heart | 75 |\n"
            "| [08 · Title](../lessons/08_two/README.md) | `f` | its heart | 75 |\n\n"
            "To read, write and debug: 2.5 hours in all.\n\n<!-- gate: curriculum end -->\n\nmore\n");
}

TEST_F(DerivedFiles, HoldTheQuestionsByMinutesAndByTopicWithNewTopicsLast) {
  write("lessons/08_two/interview.md",
        "# 15 minutes\n\n## What a senior interviewer expects\n\n### How large?\n\nOften asked. In\nbytes.\n");
  write_derived(root);
  const std::string page = read("docs/interview.md");
  EXPECT_THAT(page, StartsWith("Intro.\n\n<!-- gate: questions begin -->\n\n## By minutes\n\n"));
  EXPECT_THAT(page,
              EndsWith("\n### 15 minutes: 4 questions\n\n"
                       "- [How large?](../lessons/08_two/README.md#interview-corner)\n"
                       "- [How fast?](../lessons/07_one/README.md#interview-corner)\n"
                       "- [How large?](../lessons/07_one/README.md#interview-corner)\n"
                       "- [How fast?](../lessons/08_two/README.md#interview-corner)\n"
                       "\n## Size\n\n"
                       "- [How large?](../lessons/08_two/README.md#interview-corner) (lesson 08, often asked)\n"
                       "- [How large?](../lessons/07_one/README.md#interview-corner) (lesson 07, sometimes asked)\n"
                       "\n## Speed, and time\n\n"
                       "- [How fast?](../lessons/07_one/README.md#interview-corner) (lesson 07, sometimes asked)\n"
                       "- [How fast?](../lessons/08_two/README.md#interview-corner) (lesson 08, sometimes asked)\n"
                       "\n<!-- gate: questions end -->\n"));
}

/// The questions in a section, in their order: "0.0 1.0".
std::string linked_in(const std::string& section) {
  std::string names;
  for (auto at = section.find("- ["); at != std::string::npos; at = section.find("- [", at + 1)) {
    names += (names.empty() ? "" : " ") + section.substr(at + 3, section.find(']', at) - at - 3);
  }
  return names;
}

TEST_F(DerivedFiles, TakeWhatIsAskedOftenFromOneTopicAfterTheOther) {
  write_questions("07_one", "0", 3, 6);
  write_questions("08_two", "1", 2, 6);
  write_questions("09_three", "2", 0, 20);
  const std::string section = by_minutes();
  EXPECT_THAT(linked_in(section), StartsWith("0.0 1.0 0.1 1.1 0.2 2.0 2.1 1.2 2.2 0.3 1.3 2.3 0.4"));
  EXPECT_THAT(section, HasSubstr("#interview-corner)\n\n### 30 minutes: add 6 questions\n\n- [2.1]"));
  EXPECT_THAT(section, AllOf(HasSubstr("### 15 minutes: 6 questions\n"), HasSubstr("### An hour: add 12 questions\n"),
                             HasSubstr("### Two hours: add 8 questions\n")));
}

TEST_F(DerivedFiles, EndTheQuestionsByMinutesWithTheLastQuestion) {
  write_questions("07_one", "0", 3, 6);
  write_questions("08_two", "1", 2, 6);
  EXPECT_THAT(by_minutes(), AllOf(HasSubstr("### 30 minutes: add 6 questions\n"), Not(HasSubstr("hour"))));
}

TEST_F(DerivedFiles, BeginWithTheQuestionsThatThePagePutsFirst) {
  write_questions("07_one", "0", 3, 6);
  write_questions("08_two", "1", 2, 6);
  const std::string page = read("docs/interview.md");
  write("docs/interview.md", "<!-- first: 1.1 -->\n<!-- first: 0.5 -->\n" + page);
  EXPECT_THAT(linked_in(by_minutes()), StartsWith("1.1 0.5 0.0 1.0 0.1 0.2 1.2 0.3"));
  write("docs/interview.md", "<!-- first: 1.6 -->\n" + page);
  EXPECT_THAT(find_stale(root), ElementsAre("docs/interview.md puts a question first that no chapter asks: 1.6"));
}

TEST_F(DerivedFiles, HoldAPresetOfEachKindForEveryLesson) {
  write_derived(root);
  for (
      const char* preset :
      {R"({"name": "lesson-07", "configurePreset": "dev", "targets": ["lesson_07"]},)",
       R"({"name": "lesson-08", "inherits": "dev", "displayName": "08 two", "filter": {"include": {"name": "^lesson\\.08_"}}})",
       R"({"name": "lesson-08", "steps": [{"type": "configure", "name": "dev"}, {"type": "build", "name": "lesson-08"}, )"}) {
    EXPECT_THAT(read("cmake/lesson_presets.json"), HasSubstr(preset));
  }
}

TEST_F(DerivedFiles, LeaveAStubsCopyAsItIs) {
  write("tests/07_one/stub/stub.cpp", "the stub\n");
  write("lessons/07_one/stub.cpp", "somebody's answer\n");
  write_derived(root);
  EXPECT_EQ(read("tests/07_one/stub/stub.cpp"), "the stub\n");
}

TEST_F(DerivedFiles, NameTheLineThatAChapterLacks) {
  const std::string lines[] = {study, "<!-- curriculum: `f` | its heart -->\n", "<!-- topics: Size; Size -->\n"};
  for (const auto& missing : lines) {
    std::string notes;
    for (const auto& line : lines) notes += &line == &missing ? "" : line;
    write_chapter("08_two", notes);
    EXPECT_THAT(find_stale(root), ElementsAre(StartsWith("lessons/08_two/README.md needs a line like " +
                                                         missing.substr(0, missing.find(':') + 2))));
  }
}

TEST_F(DerivedFiles, NameTheChapterWhoseQuestionsHaveNotATopicEach) {
  write_chapter("08_two", study + "<!-- curriculum: `f` | its heart -->\n<!-- topics: Size -->\n");
  EXPECT_THAT(find_stale(root), ElementsAre(AllOf(StartsWith("lessons/08_two/README.md has 2 questions"),
                                                  HasSubstr("and 1 topic in its line <!-- topics: ... -->"))));
}

TEST_F(DerivedFiles, NameThePageThatLacksItsMarkers) {
  write("docs/curriculum.md", "<!-- gate: curriculum end -->\n<!-- gate: curriculum begin -->\n");
  EXPECT_THAT(find_stale(root),
              ElementsAre(StartsWith("docs/curriculum.md needs two lines, <!-- gate: curriculum begin -->")));
}

TEST(DerivedFilesOfTheCourse, AreFresh) { EXPECT_THAT(find_stale(ATTN_ROOT), IsEmpty()); }

}  // namespace
}  // namespace attn::gate
