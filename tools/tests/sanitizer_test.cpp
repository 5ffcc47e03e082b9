// What a sanitizer prints, in a few lines: what was wrong, and where in the learner's file.
#include "run/sanitizer.hpp"

#include <gtest/gtest.h>

#include <string>

namespace attn::judge {
namespace {

const std::string ruler(65, '=');

TEST(Sanitizer, NamesTheAccessAndTheLineInTheLearnersFile) {
  std::string printed =
      "before\n" + ruler +
      "\n==7==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x60e0 at pc 0x55 bp 0x7f sp 0x7f\n"
      "READ of size 8 at 0x60e0 thread T0\n"
      "    #0 0x55 in arma::arrayops::copy /usr/include/armadillo_bits/arrayops_meat.hpp:30\n"
      "    #1 0x55 in attn::softmax(arma::Mat<double> const&) /home/me/a:b/lessons/00_warm_up/softmax.cpp:31\n"
      "    #2 0x55 in main /home/me/tests/00_warm_up/checks.cpp:9\n";
  EXPECT_EQ(take_sanitizer_report(printed),
            "AddressSanitizer: heap-buffer-overflow, READ of size 8\nat lessons/00_warm_up/softmax.cpp:31");
  EXPECT_EQ(printed, "before\n") << "what the check printed itself is all that is left";
}

TEST(Sanitizer, LeavesOutTheColumnThatClangAdds) {
  std::string printed =
      "==7==ERROR: AddressSanitizer: SEGV on unknown address 0x0 (pc 0x55 bp 0x7f sp 0x7f T0)\n"
      "    #0 0x55 in attn::f() /c/.learn/interview/05_interview/attention.hpp:12:34\n";
  EXPECT_EQ(take_sanitizer_report(printed),
            "AddressSanitizer: SEGV\nat .learn/interview/05_interview/attention.hpp:12");
}

TEST(Sanitizer, NamesUndefinedBehaviour) {
  std::string printed =
      "a\n/home/me/lessons/06_heads/heads.cpp:20:7: runtime error: index 5 out of bounds for type 'int [3]'\n";
  EXPECT_EQ(take_sanitizer_report(printed),
            "UndefinedBehaviorSanitizer: index 5 out of bounds for type 'int [3]'\nat lessons/06_heads/heads.cpp:20");
  EXPECT_EQ(printed, "a\n");
}

TEST(Sanitizer, SaysNothingOfAPlaceThatIsNotKnown) {
  std::string printed =
      "==7==ERROR: AddressSanitizer: stack-overflow on address 0x7f (pc 0x55)\n    #0 0x55 (lesson_01+0x5)\n";
  EXPECT_EQ(take_sanitizer_report(printed), "AddressSanitizer: stack-overflow");
}

TEST(Sanitizer, TakesNothingFromOtherOutput) {
  for (const std::string text : {"", "\n", "an ERROR of mine\n", "lessons/01/x.cpp:12\n"}) {
    std::string printed = text;
    EXPECT_EQ(take_sanitizer_report(printed), "");
    EXPECT_EQ(printed, text);
  }
}

}  // namespace
}  // namespace attn::judge
