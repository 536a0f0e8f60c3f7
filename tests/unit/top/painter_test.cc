#include "top/terminal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autodist::top {
namespace {

using testing::HasSubstr;
using testing::Not;

Frame Picture(const std::string& text, const Style& style = kInk) {
  Frame frame(20, 2);
  frame.Put(1, 2, 20, text, style);
  return frame;
}

TEST(PainterTest, TheFirstFrameIsComplete) {
  Painter painter(Colours::kAll);
  EXPECT_EQ(painter.Draw(Picture("abc")), "\x1b[?2026h\x1b[0m\x1b[2J\x1b[2;3Habc\x1b[?2026l");
}

TEST(PainterTest, OnlyChangesAreWritten) {
  Painter painter(Colours::kAll);
  painter.Draw(Picture("abc"));
  EXPECT_EQ(painter.Draw(Picture("abc")), "");
  EXPECT_EQ(painter.Draw(Picture("axc")), "\x1b[?2026h\x1b[2;4Hx\x1b[?2026l");
  EXPECT_EQ(painter.Draw(Picture("a")), "\x1b[?2026h\x1b[2;4H  \x1b[?2026l");
  painter.Forget();
  EXPECT_THAT(painter.Draw(Picture("a")), HasSubstr("\x1b[2J"));
}

TEST(PainterTest, AFewUnchangedCellsInBetweenAreRewritten) {
  Painter painter(Colours::kAll);
  painter.Draw(Picture("abcdefghijklmno"));
  EXPECT_EQ(painter.Draw(Picture("Abcdefghijklmno")), "\x1b[?2026h\x1b[2;3HA\x1b[?2026l");
  EXPECT_EQ(painter.Draw(Picture("xbcXefghijklmnO")),
            "\x1b[?2026h\x1b[2;3HxbcX\x1b[2;17HO\x1b[?2026l");
}

TEST(PainterTest, WideCharactersTakeTwoCells) {
  Painter painter(Colours::kAll);
  painter.Draw(Picture("日本x"));
  EXPECT_EQ(painter.Draw(Picture("日本y")), "\x1b[?2026h\x1b[2;7Hy\x1b[?2026l");
  EXPECT_EQ(painter.Draw(Picture("日ab")), "\x1b[?2026h\x1b[2;5Hab \x1b[?2026l");
}

TEST(PainterTest, UsesTheTerminalsColours) {
  const Style cell{.fore = 255, .back = 24, .bold = true};
  EXPECT_THAT(Painter(Colours::kAll).Draw(Picture("a", cell)),
              HasSubstr("\x1b[0;1;38;5;255;48;5;24ma"));
  EXPECT_THAT(Painter(Colours::kNamed).Draw(Picture("a", cell)), HasSubstr("\x1b[0;1ma"));
  const Style slow{.fore = kBlack, .back = kYellow};
  EXPECT_THAT(Painter(Colours::kNamed).Draw(Picture("a", slow)), HasSubstr("\x1b[0;30;43ma"));
  EXPECT_THAT(Painter(Colours::kNone).Draw(Picture("a", slow)), HasSubstr("\x1b[0;7ma"));
}

TEST(PainterTest, CapabilitiesOfTerminals) {
  EXPECT_EQ(ColoursOf("xterm-256color", nullptr, nullptr), Colours::kAll);
  EXPECT_EQ(ColoursOf("linux", nullptr, nullptr), Colours::kNamed);
  EXPECT_EQ(ColoursOf("xterm", "truecolor", nullptr), Colours::kAll);
  EXPECT_EQ(ColoursOf("vt220", nullptr, nullptr), Colours::kNone);
  EXPECT_EQ(ColoursOf("xterm-256color", "truecolor", "1"), Colours::kNone);
  EXPECT_EQ(ColoursOf("xterm-256color", nullptr, ""), Colours::kAll);
}

TEST(FrameTest, ControlSequencesAreRemoved) {
  Frame frame(40, 1);
  frame.Put(0, 0, 40, "a\x1b[2J\r\n\t\x07\xff\xe2\x80\xae", kInk);
  EXPECT_EQ(frame.Text(), "a\\x1b[2J\\r\\n\\t\\x07\\xff\\u202e\n");
}

TEST(FrameTest, IsClippedAtItsEdges) {
  Frame frame(5, 1);
  EXPECT_EQ(frame.Put(0, 3, 99, "日本", kInk), 5);
  EXPECT_EQ(frame.Put(0, 4, 99, "日", kInk), 4);
  EXPECT_EQ(frame.Put(7, 0, 99, "x", kInk), 0);
  EXPECT_EQ(WidthOf("日a\u0301b"), 4);
}

}  // namespace
}  // namespace autodist::top
