// What a learner reads instead of a compiler's output: each sentence is printed for code that g++ and clang++ really refuse.
#include "learn/coach/coach.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <armadillo>
#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include "learn/coach/linking.hpp"
#include "learn/coach/meaning.hpp"
#include "learn/coach/sentences.hpp"
#include "learn/machine/machine.hpp"
#include "lesson/lesson.hpp"
#include "lesson/text.hpp"
#include "run/process.hpp"
#include "scratch.hpp"

namespace attn::learn {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
namespace fs = std::filesystem;

const std::string folder = "lessons/01_x";

/// A compiler's output for code that nobody compiled: its lines are not asked for.
std::string explained(const std::string& output) {
  return text_of(errors_explained(output, {folder, [](const std::string&, int) { return ""; }}));
}

std::string folded(const std::string& output) {
  return text_of(warnings_folded(output, {folder, [](const std::string&, int) { return ""; }}));
}

// ------------------------------------------------------------------------------------- the table, with real compilers

/// A mistake of tools/tests/coach/snippets.txt, and what is to be said about it.
struct Snippet {
  std::string name;
  std::vector<std::string> code;
  std::vector<std::string> sentences;  ///< how the note or the warning begins; several where compilers differ

  /// Whether an error belongs to a line: it is marked "// here", or "at end" for the line after the snippet.
  bool is_marked(int line, int lines_before) const {
    const int row = line - lines_before - 1;
    if (row == static_cast<int>(code.size())) return has("at end");
    return row >= 0 && row < static_cast<int>(code.size()) &&
           code[static_cast<std::size_t>(row)].find("// here") != std::string::npos;
  }

  bool has(const std::string& mark) const {
    return std::any_of(code.begin(), code.end(), [&](const auto& row) { return row.find(mark) != std::string::npos; });
  }
};

/// A sentence is about all snippets before it, back to the sentence before. A snippet of several lines begins with a name;
/// one line is its own name.
std::vector<Snippet> read_snippets() {
  std::vector<Snippet> snippets;
  std::size_t first = 0;
  bool is_named = false;
  for (const auto& row : lines_of(lesson::read_file(fs::path(ATTN_ROOT) / "tools/tests/coach/snippets.txt"))) {
    if (begins_with(row, "-- ")) {
      for (auto i = first; i < snippets.size(); ++i) snippets[i].sentences.push_back(row.substr(3));
      is_named = false;
      continue;
    }
    const bool is_name = begins_with(row, "== ");
    if (is_name || !is_named) {
      if (!snippets.empty() && !snippets.back().sentences.empty()) first = snippets.size();
      snippets.push_back({is_name ? row.substr(3) : row, {}, {}});
    }
    if (!is_name) snippets.back().code.push_back(row);
    is_named = is_named || is_name;
  }
  return snippets;
}

/// A compiler with the flags of a learner's file, and the precompiled header.
class Compiler {
 public:
  explicit Compiler(const std::string& name) : name_(name), is_clang_(name == "clang++") {
    std::vector<std::string> command = flags();
    command.insert(command.end(), {"-I" + root_ + "/cmake/pch", "-x", "c++-header", root_ + "/cmake/pch/pch.hpp", "-o",
                                   (scratch_.path() / (is_clang_ ? "pch" : "pch.hpp.gch")).string()});
    if (is_clang_) command.emplace_back("-fpch-instantiate-templates");
    EXPECT_EQ(judge::run(command, scratch_.path(), scratch_.path() / "log"), 0) << output();
  }

  /// What it prints about a file of the learner's.
  std::string refuse(const std::string& code) const {
    put(scratch_.path() / folder / "x.cpp", code);
    std::vector<std::string> command = flags();
    const std::string header = (scratch_.path() / (is_clang_ ? "pch" : "pch.hpp")).string();
    command.insert(command.end(),
                   {is_clang_ ? "-include-pch" : "-include", header, "-fsyntax-only", folder + "/x.cpp"});
    judge::run(command, scratch_.path(), scratch_.path() / "log");
    return output();
  }

  LearnersFiles files() const {
    return {folder, [this](const std::string& file, int line) {
              const auto rows = lines_of(lesson::read_file(scratch_.path() / file));
              return rows.at(static_cast<std::size_t>(line - 1));
            }};
  }

 private:
  std::vector<std::string> flags() const {
    return {name_,
            "-std=c++17",
            "-O0",
            "-DARMA_DONT_USE_WRAPPER",
            "-I" + root_ + "/include",
            "-isystem",
            ATTN_ARMADILLO,
            "-Wall",
            "-Wextra",
            "-Wpedantic",
            "-Wshadow",
            "-Wno-unused-parameter",
            "-Werror=return-type"};
  }
  std::string output() const { return lesson::read_file(scratch_.path() / "log"); }

  const std::string root_ = ATTN_ROOT;
  std::string name_;
  bool is_clang_;
  Scratch scratch_;
};

const std::string beginning =
    "#include \"attn/linear.hpp\"\n"
    "#include \"attn/shape.hpp\"\n"
    "#include \"attn/softmax.hpp\"\n"
    "namespace attn {\n";

/// Where a text speaks of a file: "lessons/01_x/x.cpp:7" gives 7.
std::vector<int> lines_named_in(const std::string& text) {
  const std::string place = folder + "/x.cpp:";
  std::vector<int> lines;
  for (auto at = text.find(place); at != std::string::npos; at = text.find(place, at + 1)) {
    lines.push_back(std::atoi(text.c_str() + at + place.size()));
  }
  return lines;
}

/// Whether a text has one of a snippet's sentences, as a note or behind a warning's place, and names its line.
bool explains(const std::string& text, const Snippet& snippet) {
  const auto lines = lines_named_in(text);
  const bool names_line = std::any_of(lines.begin(), lines.end(), [&](int line) { return snippet.is_marked(line, 4); });
  return names_line && std::any_of(snippet.sentences.begin(), snippet.sentences.end(), [&](const auto& sentence) {
           return text.find("\n  note    " + sentence) != std::string::npos ||
                  (text.find(" from the compiler\n") != std::string::npos &&
                   text.find("  " + sentence) != std::string::npos);
         });
}

constexpr bool new_armadillo = ARMA_VERSION_MAJOR > 11;

/// Compiles the snippets and compares what is said. Returns the sentences of the table that were used.
std::set<std::string> sentences_used(const std::string& name) {
  const Compiler compiler(name);
  std::set<std::string> used;
  for (const auto& snippet : read_snippets()) {
    std::string code = beginning;
    for (const auto& row : snippet.code) code += row + "\n";
    if (snippet.has("clang++ alone") && name != "clang++") continue;
    if (snippet.has("Armadillo 11 alone") && new_armadillo) continue;
    const std::string output = compiler.refuse(code + "}\n");
    std::string text = text_of(errors_explained(output, compiler.files()));
    if (text.empty()) text = text_of(warnings_folded(output, compiler.files()));
    std::string meanings;
    for (const auto& diagnostic : diagnostics_in(output, compiler.files())) {
      const auto* row = explanation_of(diagnostic).row;
      if (row != nullptr) used.insert(row->sentence);
      meanings += "meaning: " + meaning_of(diagnostic) + "\n";
    }
    EXPECT_TRUE(explains(text, snippet)) << snippet.name << "\n" << text << meanings;
    EXPECT_LE(lines_named_in(text).size(), 3U) << snippet.name << "\n" << text;
    EXPECT_LE(lines_of(text).size(), 18U) << snippet.name << "\n" << text;
  }
  return used;
}

/// @param others what this compiler never says of the snippets
void expect_all_sentences_but(const std::vector<std::string>& others, const std::set<std::string>& used) {
  for (const auto* row : all_advice()) {
    const bool never = std::any_of(others.begin(), others.end(), [&](const auto& beginning_of_sentence) {
      return std::string(row->sentence).rfind(beginning_of_sentence, 0) == 0;
    });
    const bool old = new_armadillo && std::string(row->sentence).rfind("reshape, resize and set_size change", 0) == 0;
    EXPECT_TRUE(never || old || used.count(row->sentence) > 0) << "no snippet for: " << row->meaning;
  }
}

/// Of the compiler that CXX names: g++ where it names none, and .ci/run asks for both.
TEST(Coach, ExplainsEachMistakeInATrueSentence) {
  const char* compiler = std::getenv("CXX");
  if (compiler != nullptr && std::string(compiler).find("clang") != std::string::npos) {
    expect_all_sentences_but({"A $1 needs its arguments", "The number of arguments differs"},
                             sentences_used("clang++"));
  } else {
    expect_all_sentences_but({"It has no value yet", "$1 needs its arguments"}, sentences_used("g++"));
  }
}

// ------------------------------------------------------------------------------------------- folding, recorded outputs

const std::string undeclared =
    "lessons/01_x/x.cpp: In function 'int attn::f()':\n"
    "lessons/01_x/x.cpp:7:10: error: 'scale' was not declared in this scope; did you mean 'scalb'?\n"
    "    7 |   return scale;\n"
    "      |          ^~~~~\n"
    "      |          scalb\n";

TEST(ErrorsExplained, ShowPlaceMessageLineAndSentence) {
  EXPECT_EQ(explained("lessons/01_x/x.cpp:7:10: error: 'np' was not declared in this scope; did you mean 'rp'?\n"
                      "    7 |   return np;\n"
                      "      |          ^~\n"
                      "      |          rp\n"),
            "lessons/01_x/x.cpp:7:10: error: 'np' was not declared in this scope\n"
            "    7 |   return np;\n"
            "      |          ^~\n"
            "  note    There is no np in C++: Armadillo's functions are in arma::, such as arma::exp(A).\n");
}

TEST(ErrorsExplained, NameFilesFromTheCoursesFolder) {
  EXPECT_THAT(explained("../../lessons/01_x/x.cpp:7:10: error: no\n"),
              ::testing::StartsWith("lessons/01_x/x.cpp:7:10: "));
}

TEST(ErrorsExplained, KeepTheCompilersSuggestionWhereTheTableKnowsNoBetter) {
  EXPECT_THAT(explained(undeclared), HasSubstr("did you mean 'scalb'?\n    7 |   return scale;\n"));
}

TEST(ErrorsExplained, ShowClangsLinesAsGccs) {
  EXPECT_THAT(explained("lessons/01_x/x.cpp:7:12: error: use of undeclared identifier 'len'\n"
                        "    return len(x);\n"
                        "           ^\n"
                        "1 error generated.\n"),
              HasSubstr("\n    7 |     return len(x);\n      |            ^\n  note    C++ has no len()"));
}

TEST(ErrorsExplained, ShowTheLearnersLineForAnErrorInALibrary) {
  const std::string of_gcc =
      "In file included from /usr/include/armadillo:653,\n"
      "                 from lessons/01_x/x.cpp:2:\n"
      "/usr/include/bones.hpp: In instantiation of 'void g(T) [with T = int]':\n"
      "/usr/include/meat.hpp:9:4:   required from 'void h(T) [with T = int]'\n"
      "lessons/01_x/x.cpp:12:5:   required from here\n"
      "/usr/include/bones.hpp:20:8: error: no type named 'result' in 'struct T'\n"
      "   20 |   typename T::result r;\n"
      "      |        ^~~~~~\n";
  const std::string of_clang =
      "In file included from lessons/01_x/x.cpp:2:\n"
      "/usr/include/bones.hpp:20:8: error: no type named 'result' in 'T'\n"
      "  typename T::result r;\n"
      "       ^~~~~~\n"
      "/usr/include/meat.hpp:9:4: note: in instantiation of function template specialization 'g<int>' requested here\n"
      "  g(t);\n"
      "  ^\n"
      "lessons/01_x/x.cpp:12:5: note: in instantiation of function template specialization 'h<int>' requested here\n"
      "    h(3);\n"
      "    ^\n";
  const auto line = [](const std::string&, int number) { return number == 12 ? "    h(3);" : ""; };
  for (const auto& output : {of_gcc, of_clang}) {
    EXPECT_EQ(text_of(errors_explained(output, {folder, line})),
              "lessons/01_x/x.cpp:12:5: error: no type named 'result' in 'T'\n"
              "   12 |     h(3);\n"
              "      |     ^\n");
  }
}

TEST(ErrorsExplained, FoldWhatALibrarySaysAboutALineThatHasAnError) {
  const std::string candidate =
      "/usr/include/ops.hpp: In substitution of 'template<class T> T operator*(T)':\n"
      "lessons/01_x/x.cpp:7:12:   required from here\n"
      "/usr/include/ops.hpp:28:1: error: no type named 'result'\n";
  EXPECT_EQ(explained(undeclared + candidate + candidate), explained(undeclared));
}

TEST(ErrorsExplained, ShowThreeAndCountTheOthers) {
  std::string output;
  for (int line = 1; line <= 5; ++line) output += "lessons/01_x/x.cpp:" + std::to_string(line) + ":1: error: no\n";
  EXPECT_THAT(explained(output), AllOf(HasSubstr("x.cpp:3:1: error"), Not(HasSubstr("x.cpp:4:1")),
                                       HasSubstr("\n2 more errors, which may follow")));
}

TEST(ErrorsExplained, ShowOneForEachLine) {
  const std::string second = "lessons/01_x/x.cpp:7:20: error: expected ';' before 'x'\n";
  EXPECT_THAT(explained(undeclared + second), AllOf(Not(HasSubstr("expected")), HasSubstr("1 more error, which")));
}

TEST(ErrorsExplained, LeaveOutANameWhoseDeclarationWasNotUnderstood) {
  const std::string output =
      "lessons/01_x/x.cpp:7:3: error: 'cube' was not declared in this scope\n"
      "    7 |   cube Y;\n"
      "lessons/01_x/x.cpp:8:10: error: 'Y' was not declared in this scope\n"
      "    8 |   return Y;\n";
  EXPECT_THAT(explained(output), AllOf(HasSubstr("write arma::cube"), Not(HasSubstr("'Y'"))));
}

TEST(ErrorsExplained, ShowWhatIsElsewhereWhenNoErrorIsTheLearners) {
  const std::string adapter =
      "tests/01_x/adapter.cpp:5:1: error: static assertion failed: X needs a public field:  Linear query_proj;\n"
      "    5 | ATTN_REQUIRE_INTERVIEW_CLASS(\n";
  EXPECT_THAT(explained(adapter), AllOf(HasSubstr("needs a public field"), Not(HasSubstr("ATTN_REQUIRE"))));
  EXPECT_THAT(explained(adapter + undeclared), Not(HasSubstr("needs a public field")));
}

TEST(ErrorsExplained, AreNothingForOutputThatHasNone) {
  EXPECT_EQ(explained(""), "");
  EXPECT_EQ(explained("sh: 1: c++: not found\n"), "");
  EXPECT_EQ(explained("lessons/01_x/x.cpp:7:10: warning: unused variable 'x'\n"), "");
}

TEST(WarningsFolded, ShowALineForEachKind) {
  const std::string sign =
      ":10: warning: comparison of integer expressions of different signedness: 'int' and "
      "'arma::uword' {aka 'long long unsigned int'} [-Wsign-compare]\n"
      "    7 |   for (int i = 0; i < A.n_rows; ++i) {\n";
  EXPECT_EQ(folded("lessons/01_x/x.cpp:7" + sign + "lessons/01_x/x.cpp:8" + sign + "lessons/01_x/x.cpp:9" + sign +
                   "lessons/01_x/x.cpp:12:3: warning: unused variable 'x' [-Wunused-variable]\n"),
            "4 warnings from the compiler\n"
            "  lessons/01_x/x.cpp:7  Sizes are arma::uword: count with arma::uword i = 0, not int. (and 2 more of this "
            "kind)\n"
            "  lessons/01_x/x.cpp:12  unused variable 'x'\n");
}

TEST(WarningsFolded, ShowFourKinds) {
  std::string output;
  for (const char* name : {"a", "b", "c", "d", "e"}) {
    output += "lessons/01_x/x.cpp:7:1: warning: unused variable '" + std::string(name) + "'\n";
  }
  EXPECT_THAT(lines_of(folded(output)), SizeIs(6));
  EXPECT_THAT(folded(output), HasSubstr("and 1 more of other kinds"));
}

TEST(WarningsFolded, AreNothingForOtherFiles) {
  EXPECT_EQ(folded("/usr/include/x.hpp:7:1: warning: unused variable 'a'\n"), "");
}

TEST(ShortTypes, AreTheOnesThatTheCourseUses) {
  EXPECT_EQ(with_short_types("‘const arma::mat’ {aka ‘const class arma::Mat<double>’} has no member named ‘T’"),
            "'const arma::mat' has no member named 'T'");
  EXPECT_EQ(with_short_types("no member named 'T' in 'arma::Cube<double>'"), "no member named 'T' in 'arma::cube'");
}

// ------------------------------------------------------------------------------------------------------------- linking

TEST(AdviceOnLinking, NamesWhatIsDefinedTwice) {
  const std::string helper = "attn::softmax_rows(arma::Mat<double> const&)";
  const std::string advice = helper + " is defined twice, by you and by the course: give yours another name, or put it";
  EXPECT_THAT(advice_on_linking("ld.lld: error: duplicate symbol: " + helper + "\n>>> defined at x.cpp"),
              HasSubstr(advice));
  EXPECT_THAT(advice_on_linking("/usr/bin/ld.gold: error: x.o: multiple definition of '" + helper + "'\n"),
              HasSubstr(advice));
  EXPECT_THAT(advice_on_linking("/usr/bin/ld: x.o: in function `f':\nx.cpp:(.text+0x0): multiple definition of `" +
                                helper + "'; y.o:y.cpp:(.text+0x0): first defined here"),
              HasSubstr(advice));
}

TEST(AdviceOnLinking, KnowsASecondMain) {
  EXPECT_THAT(advice_on_linking("ld.lld: error: duplicate symbol: main\n"), HasSubstr("your file has a main()"));
}

TEST(AdviceOnLinking, NamesWhatIsDefinedNowhere) {
  for (const char* row :
       {"ld.lld: error: undefined symbol: attn::f(int)\n", "x.cpp: undefined reference to `attn::f(int)'\n",
        "x.cpp:7: error: undefined reference to 'attn::f(int)'\n"}) {
    EXPECT_THAT(advice_on_linking(row), HasSubstr("attn::f(int) is used but defined nowhere")) << row;
  }
}

TEST(AdviceOnLinking, IsSilentAboutOtherErrors) {
  EXPECT_EQ(advice_on_linking("x.cpp:3:1: error: redefinition of 'int f()'\n"), "");
}

TEST(LinkErrors, AreShownOnceForEachNameWithoutThePlaces) {
  const std::string output =
      "ld.lld: error: undefined symbol: attn::f(int)\n"
      ">>> referenced by checks.cpp:12\n"
      "ld.lld: error: undefined symbol: attn::f(int)\n"
      "collect2: error: ld returned 1 exit status\n";
  EXPECT_THAT(lines_of(explained(output)), SizeIs(2));
  EXPECT_THAT(explained(output), HasSubstr("\n  note    attn::f(int) is used but defined nowhere"));
}

// ------------------------------------------------------------------------------------------------- output as it is

TEST(OutputLines, HaveTheRolesOfACompilersWords) {
  const std::string output =
      "In file included from lessons/01_x/x.cpp:1:\n"
      "lessons/01_x/x.cpp:22:43: error: no member 't'\n"
      "   22 |   Q.t()\n"
      "      |     ^~~~\n"
      "lessons/01_x/x.cpp:23:1: warning: unused\n"
      "lessons/01_x/x.cpp:24: undefined reference to `f()'\n"
      "it says: error: a word\n";
  const Lines lines = output_lines(output);
  EXPECT_EQ(text_of(lines), output);
  const auto role_of = [&](std::size_t line, std::size_t span) { return lines[line].spans.at(span).role; };
  EXPECT_EQ(role_of(0, 0), Role::label);
  EXPECT_EQ(lines[1].spans[0].text, "lessons/01_x/x.cpp:22:43");
  EXPECT_EQ(role_of(1, 0), Role::important);
  EXPECT_EQ(role_of(1, 2), Role::error);
  EXPECT_EQ(role_of(1, 4), Role::important);
  EXPECT_EQ(lines[1].place.value().text(), "lessons/01_x/x.cpp:22");
  EXPECT_EQ(role_of(2, 0), Role::label);
  EXPECT_EQ(role_of(2, 1), Role::plain);
  EXPECT_EQ(role_of(3, 1), Role::caret);
  EXPECT_EQ(role_of(4, 2), Role::warning);
  EXPECT_EQ(lines[5].place.value().text(), "lessons/01_x/x.cpp:24");
  EXPECT_EQ(role_of(6, 0), Role::plain);
}

}  // namespace
}  // namespace attn::learn
