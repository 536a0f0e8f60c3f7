#include "display/line_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autodist::display {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr Time kStart = Time{} + std::chrono::hours(1);

class LineReaderTest : public testing::Test {
 protected:
  // The lines available by then; bars begin with "bar: ".
  std::vector<std::string> Take(std::string_view bytes, bool keep_long = true) {
    reader_.Take(bytes, keep_long, kStart, Add());
    return std::exchange(lines_, {});
  }
  std::vector<std::string> Settle(int milliseconds) {
    reader_.Settle(kStart + std::chrono::milliseconds(milliseconds), Add());
    return std::exchange(lines_, {});
  }
  std::vector<std::string> End() {
    reader_.End(Add());
    return std::exchange(lines_, {});
  }
  LineReader::OnLine Add() {
    return [this](const Line& line) {
      lines_.push_back((line.bar ? "bar: " : "") + std::string(line.text));
      if (line.long_from) lines_.back() += " from " + std::to_string(*line.long_from);
    };
  }

  LineReader reader_;
  std::vector<std::string> lines_;
};

TEST_F(LineReaderTest, Lines) {
  EXPECT_THAT(Take("one\ntw"), ElementsAre("one"));
  EXPECT_THAT(Take("o\n\nthree"), ElementsAre("two", ""));
  EXPECT_THAT(reader_.Bars(), IsEmpty());
  EXPECT_THAT(End(), ElementsAre("three"));
  EXPECT_THAT(End(), IsEmpty());
  EXPECT_THAT(Take("more\n"), ElementsAre("more"));
}

TEST_F(LineReaderTest, LinesOfWindows) {
  EXPECT_THAT(Take("one\r\ntwo\r"), ElementsAre("one"));
  EXPECT_THAT(Take("\n\r\nthree\r\n"), ElementsAre("two", "", "three"));
}

// The rank has written to its other stream, between the bars or after.
TEST_F(LineReaderTest, AnEndedBarIsBeforeOutputOfTheOtherStream) {
  const auto end_above = [this] {
    reader_.EndAbove(Add());
    return std::exchange(lines_, {});
  };
  Take("\r 0%|\r100%|\n\r 0%|of the next");
  EXPECT_THAT(end_above(), ElementsAre("bar: 100%|"));
  EXPECT_THAT(reader_.Bars(), ElementsAre(" 0%|of the next"));
  EXPECT_THAT(end_above(), IsEmpty());
  Take("\r100%|\n");
  EXPECT_THAT(end_above(), ElementsAre("bar: 100%|"));
  Take("\router\n\rinner\x1b[A");  // drawn again
  EXPECT_THAT(end_above(), IsEmpty());
}

TEST_F(LineReaderTest, ABarIsItsLastState) {
  EXPECT_THAT(Take("begin\n\r  0%|"), ElementsAre("begin"));
  EXPECT_THAT(reader_.Bars(), ElementsAre("  0%|"));
  EXPECT_THAT(Take("\r 50%|##\r"), IsEmpty());
  EXPECT_THAT(reader_.Bars(), ElementsAre(" 50%|##"));
  EXPECT_THAT(Take("100%|####\n"), IsEmpty());
  EXPECT_THAT(Take("done\n"), ElementsAre("bar: 100%|####", "done"));
  EXPECT_FALSE(reader_.HasBars());
}

TEST_F(LineReaderTest, AnEndedBarIsALineAfterAMoment) {
  Take("\r100%|####\n");
  EXPECT_THAT(Settle(100), IsEmpty());
  EXPECT_THAT(Settle(400), ElementsAre("bar: 100%|####"));
  EXPECT_FALSE(reader_.HasBars());
}

TEST_F(LineReaderTest, AnActiveBarDoesNotEndByItself) {
  Take("\r 50%|##");
  EXPECT_THAT(Settle(60'000), IsEmpty());
  EXPECT_THAT(End(), ElementsAre("bar:  50%|##"));
}

TEST_F(LineReaderTest, OneBarAfterTheOther) {
  EXPECT_THAT(Take("\r100%| epoch 0\n"), IsEmpty());
  EXPECT_THAT(Take("\r  0%| epoch 1"), IsEmpty());
  EXPECT_THAT(Take("\r 10%| epoch 1"), ElementsAre("bar: 100%| epoch 0"));
  EXPECT_THAT(reader_.Bars(), ElementsAre(" 10%| epoch 1"));
}

// As tqdm draws nested bars.
TEST_F(LineReaderTest, BarsBelowEachOther) {
  Take("\router 0%");
  for (const char* inner : {"0%", "50%", "99%"}) {
    EXPECT_THAT(Take("\n\rinner " + std::string(inner) + "\x1b[A"), IsEmpty());
  }
  EXPECT_THAT(reader_.Bars(), ElementsAre("outer 0%", "inner 99%"));
  EXPECT_THAT(Take("\n\r         \r\x1b[A"), IsEmpty());
  EXPECT_THAT(Take("\router 50%"), IsEmpty());
  EXPECT_THAT(reader_.Bars(), ElementsAre("outer 50%"));
  EXPECT_THAT(Take("\n\rinner 0%\x1b[A\n\rinner 1%\x1b[A"), IsEmpty());
  EXPECT_THAT(reader_.Bars(), ElementsAre("outer 50%", "inner 1%"));
  EXPECT_THAT(End(), ElementsAre("bar: outer 50%", "bar: inner 1%"));
}

// As tqdm.write does.
TEST_F(LineReaderTest, ALineReplacesABar) {
  EXPECT_THAT(Take("\r 10%|#"), IsEmpty());
  EXPECT_THAT(Take("\r       \rsaved\n\r 10%|#"), ElementsAre("saved"));
  EXPECT_THAT(reader_.Bars(), ElementsAre(" 10%|#"));
}

TEST_F(LineReaderTest, ALineAboveBars) {
  Take("\router 0%\n\rinner 1%\x1b[A");
  EXPECT_THAT(Take("\n\r        \r\x1b[A\r        \rsaved\n\router 1%\n\rinner 2%\x1b[A"),
              ElementsAre("saved"));
  EXPECT_THAT(reader_.Bars(), ElementsAre("outer 1%", "inner 2%"));
}

// As rich and others do, with a first frame that looks like lines.
TEST_F(LineReaderTest, ARedrawnFrame) {
  EXPECT_THAT(Take("a 0\nb 0\n"), ElementsAre("a 0", "b 0"));
  EXPECT_THAT(Take("\x1b[2Aa 1\x1b[K\nb 1\x1b[K\n"), IsEmpty());
  EXPECT_THAT(reader_.Bars(), ElementsAre("a 1", "b 1"));
  EXPECT_THAT(Take("\x1b[2A\x1b[2Ka 2\n\x1b[2Kb 2\n"), IsEmpty());
  EXPECT_THAT(reader_.Bars(), ElementsAre("a 2", "b 2"));
  EXPECT_THAT(Take("\x1b[2A\x1b[Jc\n"), IsEmpty());
  EXPECT_THAT(reader_.Bars(), ElementsAre("c"));
  EXPECT_THAT(Take("done\n"), ElementsAre("bar: c", "done"));
}

TEST_F(LineReaderTest, ASpinner) {
  Take("solving -");
  Take("\b\\");
  Take("\b|");
  EXPECT_THAT(reader_.Bars(), ElementsAre("solving |"));
  EXPECT_THAT(Take("\bdone\nnext\n"), ElementsAre("bar: solving done", "next"));
}

TEST_F(LineReaderTest, ColoursStayAndTheCursorIsNotHidden) {
  EXPECT_THAT(Take("\x1b[?25l\x1b[32mgreen\x1b[0m\n"), ElementsAre("\x1b[32mgreen\x1b[0m"));
}

TEST_F(LineReaderTest, SequencesInPieces) {
  Take("\r 10%");
  for (const char byte : std::string("\r\x1b[2K 20%\n\rsub\x1b[1")) Take(std::string(1, byte));
  Take("A\r 30%");
  EXPECT_THAT(reader_.Bars(), ElementsAre(" 30%", "sub"));
}

TEST_F(LineReaderTest, AnInvalidSequence) {
  EXPECT_THAT(Take("\x1b[12\nnext\n"), ElementsAre("\x1b[12", "next"));
  const std::string long_one = "\x1b[" + std::string(100, '1');
  EXPECT_THAT(Take(long_one + "\n"), ElementsAre(long_one));
  Take("\x1b");
  EXPECT_THAT(End(), ElementsAre("\x1b"));
}

TEST_F(LineReaderTest, InvalidUtf8IsUnchanged) {
  const std::string bytes("a\rb\0c\x1b[Ad\b", 11);
  EXPECT_THAT(Take(bytes + "\n"), ElementsAre(bytes));
  EXPECT_THAT(Take("e\rf\n"), ElementsAre("e\rf"));
}

TEST_F(LineReaderTest, ALongLineIsReportedByItsStart) {
  const std::string megabyte(1 << 20, 'x');
  EXPECT_THAT(Take("one\n" + megabyte, false), ElementsAre("one"));
  Take(megabyte, false);
  EXPECT_THAT(Take("\nnext\n", false), ElementsAre(std::string(400, 'x') + " from 4", "next"));
}

TEST_F(LineReaderTest, OrItIsReturnedInPieces) {
  const std::string megabyte(1 << 20, 'x');
  EXPECT_THAT(Take(megabyte), IsEmpty());
  EXPECT_THAT(Take("y"), ElementsAre(megabyte + "y"));
  EXPECT_THAT(Take("z\n"), ElementsAre("z"));
}

TEST_F(LineReaderTest, HeldBytesAreLimited) {
  std::vector<std::string> lines;
  for (int i = 0; i < 100; ++i) {
    const auto more = Take("\rbar " + std::to_string(i) + "\n");
    lines.insert(lines.end(), more.begin(), more.end());
  }
  EXPECT_LE(reader_.Bars().size(), 50u);
  EXPECT_EQ(lines.size() + reader_.Bars().size(), 100u);
  EXPECT_EQ(lines[0], "bar: bar 0");
  Take("\x1b[99999999999A\x1b[4000000000B\x1b[4000000000A\r" + std::string(3 << 20, 'x'));
  EXPECT_LE(reader_.Bars()[0].size(), 64u << 10);
}

TEST_F(LineReaderTest, AnIncompleteLineIsHeldUntilItIsRequested) {
  EXPECT_FALSE(reader_.HasHalfLine());
  EXPECT_THAT(Take("one\nOverwrite? "), ElementsAre("one"));
  EXPECT_TRUE(reader_.HasHalfLine());
  EXPECT_FALSE(reader_.HasBars()) << "it may come in pieces";
  reader_.HoldHalfLine();
  EXPECT_TRUE(reader_.HasBars() && reader_.HoldsHalfLine());
  EXPECT_THAT(reader_.Bars(), ElementsAre("Overwrite? "));
  EXPECT_THAT(Take("[y/N] "), IsEmpty());
  EXPECT_THAT(reader_.Bars(), ElementsAre("Overwrite? [y/N] "));
  EXPECT_THAT(Settle(10'000), IsEmpty());
  EXPECT_THAT(Take("no\nnext"), ElementsAre("Overwrite? [y/N] no")) << "and is no bar";
  EXPECT_FALSE(reader_.HasBars());
  EXPECT_TRUE(reader_.HasHalfLine());
}

TEST_F(LineReaderTest, AnIncompleteLineMayBecomeABar) {
  Take("10%");
  reader_.HoldHalfLine();
  Take("\r20%");
  EXPECT_FALSE(reader_.HoldsHalfLine());
  EXPECT_THAT(reader_.Bars(), ElementsAre("20%"));
  EXPECT_THAT(Take("\n"), IsEmpty());
  EXPECT_THAT(Settle(300), ElementsAre("bar: 20%"));
}

TEST_F(LineReaderTest, BarsLongLinesAndBytesAreNotIncompleteLines) {
  Take("\r10%");
  EXPECT_FALSE(reader_.HasHalfLine());
  End();
  Take(std::string(5'000, 'x'));
  EXPECT_FALSE(reader_.HasHalfLine());
  End();
  Take(std::string_view("a\0b", 3));
  EXPECT_FALSE(reader_.HasHalfLine());
}

TEST_F(LineReaderTest, StepLinesAreABarIfRequested) {
  const std::string one = "1/3 ━━──── 2s 99ms/step - loss: 3";
  const std::string two = "\x1b[1m2/3\x1b[0m \x1b[32m━━━━\x1b[0m──── 1s 99ms/step - loss: 2";
  const std::string three = "3/3 ━━━━━━ 0s 99ms/step - loss: 1";
  EXPECT_THAT(Take(one + "\n" + two + "\n"), ElementsAre(one, two)) << "not in a pipe";
  reader_.FoldSteps();
  EXPECT_THAT(Take("Epoch 1/2\n" + one + "\n"), ElementsAre("Epoch 1/2"));
  EXPECT_THAT(Settle(10'000), IsEmpty()) << "a step may take long";
  EXPECT_THAT(reader_.Bars(), ElementsAre(one));
  EXPECT_THAT(Take(two + "\n"), IsEmpty());
  EXPECT_THAT(reader_.Bars(), ElementsAre(two));
  EXPECT_THAT(Take(three + "\nEpoch 2/2\n" + one + "\n"), ElementsAre(three, "Epoch 2/2"));
  EXPECT_THAT(Take("Traceback\n"), ElementsAre("bar: " + one, "Traceback"));
  EXPECT_THAT(Take("1/3 of it\n"), ElementsAre("1/3 of it"));
  EXPECT_THAT(End(), IsEmpty());
}

}  // namespace
}  // namespace autodist::display
