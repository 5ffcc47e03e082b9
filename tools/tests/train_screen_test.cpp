// What ./learn train draws in a terminal while it learns: the losses as a curve, which is drawn again in its place.
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>

#include "scratch.hpp"
#include "screen_robot.hpp"

namespace attn {
namespace {

using tests::ScreenRobot;

/// A training on a text that takes long.
class LiveCurve : public ::testing::Test {
 protected:
  ScreenRobot start(int rows, int columns, const std::string& steps) {
    std::string text;
    for (int i = 0; i < 200; ++i) text += "line " + std::to_string(i * i) + " of a text\n";
    put(scratch_.path() / "text", text);
    return ScreenRobot({ATTN_TRAIN, "--text", "text", "--width", "8", "--heads", "2", "--layers", "1", "--context", "8",
                        "--batch", "2", "--steps", steps},
                       {rows, columns, {{"OPENBLAS_NUM_THREADS", "1"}}, scratch_.path()});
  }

  static int count(const std::string& screen, const std::string& text) {
    int found = 0;
    for (auto at = screen.find(text); at != std::string::npos; at = screen.find(text, at + 1)) ++found;
    return found;
  }

 private:
  Scratch scratch_;
};

TEST_F(LiveCurve, IsDrawnAgainInItsPlace) {
  ScreenRobot terminal = start(30, 100, "1000000");
  ASSERT_SHOWS(terminal, "0.00 │");
  ASSERT_SHOWS(terminal, "tokens/s");
  for (int look = 0; look < 10; ++look) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    const std::string screen = terminal.screen();
    EXPECT_EQ(count(screen, "0.00 │"), 1) << terminal;
    EXPECT_EQ(count(screen, "tokens/s"), 1) << terminal;
    EXPECT_EQ(count(screen, "Its text"), 1) << terminal;
  }
  terminal.type(tests::key::ctrl_c);
  EXPECT_EQ(terminal.wait_for_exit(), 130) << terminal;
  EXPECT_SHOWS(terminal, "To go on: ./learn train --resume models/trained/text");
  EXPECT_EQ(count(terminal.screen(), "0.00 │"), 1) << terminal;
}

TEST_F(LiveCurve, MakesRoomForWhatTheModelWrites) {
  ScreenRobot terminal = start(60, 100, "2000");
  EXPECT_EQ(terminal.wait_for_exit(), 0) << terminal;
  const std::string screen = terminal.screen();
  for (const char* step : {"400", "800", "1200", "1600"}) {
    EXPECT_EQ(count(screen, "after step " + std::string(step) + " it writes:"), 1) << terminal;
  }
  EXPECT_EQ(count(screen, "0.00 │"), 1) << terminal;
  EXPECT_EQ(count(screen, "step 2000 of 2000, loss "), 1) << terminal;
}

TEST_F(LiveCurve, IsLeftOutWhereThereIsNoRoom) {
  for (const auto& [rows, columns] : {std::pair(10, 100), std::pair(30, 60)}) {
    ScreenRobot terminal = start(rows, columns, "1000000");
    ASSERT_SHOWS(terminal, "tokens/s");
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    EXPECT_EQ(count(terminal.screen(), "│"), 0) << terminal;
    EXPECT_EQ(count(terminal.screen(), "tokens/s"), 1) << terminal;
  }
}

}  // namespace
}  // namespace attn
