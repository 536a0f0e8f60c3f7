#include "top/keys.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "snapshot/derived.h"
#include "support/snapshots.h"

namespace autodist::top {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<Key> KeysOf(const std::vector<std::string>& pieces, bool end = false) {
  KeyReader reader;
  std::vector<Key> keys;
  for (const std::string& piece : pieces) reader.Take(piece, keys);
  if (end) reader.EndWait(keys);
  return keys;
}

TEST(KeyReaderTest, CharactersAndControl) {
  EXPECT_THAT(KeysOf({"jé\r\x7f\x03"}),
              ElementsAre(Key{Key::kCharacter, 'j'}, Key{Key::kCharacter, 0xE9}, Key{Key::kEnter},
                          Key{Key::kBackspace}, Key{Key::kControl, 'C'}));
  EXPECT_THAT(KeysOf({"\xc3", "\xa9"}), ElementsAre(Key{Key::kCharacter, 0xE9}));
  EXPECT_THAT(KeysOf({"\xff\xfe", "a"}), ElementsAre(Key{Key::kCharacter, 'a'}));
}

TEST(KeyReaderTest, SequencesInAnyPieces) {
  for (const char* up : {"\x1b[A", "\x1bOA", "\x1b[1;5A"}) {
    EXPECT_THAT(KeysOf({up}), ElementsAre(Key{Key::kUp})) << up;
  }
  EXPECT_THAT(KeysOf({"\x1b", "[", "5", "~"}), ElementsAre(Key{Key::kPageUp}));
  EXPECT_THAT(KeysOf({"\x1b[6~\x1b[H\x1b[4~"}),
              ElementsAre(Key{Key::kPageDown}, Key{Key::kHome}, Key{Key::kEnd}));
}

TEST(KeyReaderTest, InvalidSequencesAreSkipped) {
  EXPECT_THAT(KeysOf({"\x1b[?1;2c\x1b[200~\x1b[M"}), ElementsAre(Key{Key::kEnter}));
  EXPECT_THAT(KeysOf({"\x1b[" + std::string(1000, '1')}), testing::Not(IsEmpty()));
}

TEST(KeyReaderTest, EscapeAloneIsAKeyIfNothingFollows) {
  EXPECT_THAT(KeysOf({"\x1b"}), IsEmpty());
  EXPECT_THAT(KeysOf({"\x1b"}, true), ElementsAre(Key{Key::kEscape}));
  EXPECT_THAT(KeysOf({"\x1bq"}), ElementsAre(Key{Key::kEscape}, Key{Key::kCharacter, 'q'}));
}

class PressTest : public testing::Test {
 protected:
  Command Type(const std::string& text) {
    Command last = Command::kNone;
    for (const char byte : text) {
      const Key key = byte == '\n'     ? Key{Key::kEnter}
                      : byte == '\x1b' ? Key{Key::kEscape}
                      : byte == '\b'   ? Key{Key::kBackspace}
                                       : Key{Key::kCharacter, static_cast<uint32_t>(byte)};
      last = Press(key, snapshot_, view_);
    }
    return last;
  }

  static v1::JobSnapshot Slow() {
    v1::JobSnapshot snapshot = test::SlowSnapshot(test::HealthySnapshot({}));
    snapshot::Derive(snapshot);
    return snapshot;
  }

  v1::JobSnapshot snapshot_ = Slow();
  ViewState view_;
};

TEST_F(PressTest, SelectsTheWorstRankFirst) {
  Type("j");
  EXPECT_EQ(view_.selected, 25u);
  Type("j");
  EXPECT_EQ(view_.selected, 0u);
  Type("kkk");
  EXPECT_EQ(view_.selected, 25u);
  EXPECT_EQ(Type("\n"), Command::kOpenLog);
}

TEST_F(PressTest, EnterOpensTheFirstIfNoneIsSelected) {
  EXPECT_EQ(Type("\n"), Command::kOpenLog);
  EXPECT_EQ(view_.selected, 25u);
}

TEST_F(PressTest, AFilterIsTypedAndRemoved) {
  EXPECT_EQ(Type("/q node2:3x\b"), Command::kNone);
  EXPECT_EQ(view_.prompt, Prompt::kText);
  EXPECT_EQ(view_.filter, "q node2:3");
  Type("\x1b/node2:3\n");
  EXPECT_EQ(view_.prompt, Prompt::kNone);
  Type("j");
  EXPECT_EQ(view_.selected, 11u);
  Type("\x1b");
  EXPECT_EQ(view_.filter, "");
}

TEST_F(PressTest, StopsOnlyAfterConfirmation) {
  EXPECT_EQ(Type("S"), Command::kNone);
  EXPECT_EQ(view_.prompt, Prompt::kStop);
  EXPECT_EQ(Type("\n"), Command::kNone);
  EXPECT_EQ(view_.prompt, Prompt::kNone);
  EXPECT_EQ(Type("Sq"), Command::kNone);
  EXPECT_EQ(Type("y"), Command::kNone);
  EXPECT_EQ(Type("Sy"), Command::kStop);
  test::End(snapshot_, 0);
  EXPECT_EQ(Type("Sy"), Command::kNone);
  EXPECT_EQ(Type("x"), Command::kNone);
}

TEST_F(PressTest, AsksWhyAlsoAfterTheEnd) {
  EXPECT_EQ(Type("w"), Command::kAskWhy);
  EXPECT_FALSE(view_.evidence);
  view_.panel.kind = Panel::kWhy;
  EXPECT_EQ(Type("w"), Command::kAskWhy);
  Type("\x1b");
  EXPECT_FALSE(view_.panel.open());
  test::End(snapshot_, 0);
  EXPECT_EQ(Type("w"), Command::kAskWhy);
}

TEST_F(PressTest, CyclesThroughTheChoices) {
  Type("s");
  EXPECT_EQ(view_.sort, Sort::kRank);
  Type("ssssss");
  EXPECT_EQ(view_.sort, Sort::kWorst);
  Type("mmmmm");
  EXPECT_EQ(view_.fact, Fact::kUse);
  Type("oe2t");
  EXPECT_TRUE(view_.by_name);
  EXPECT_TRUE(view_.evidence);
  EXPECT_EQ(view_.large, 2u);
  EXPECT_EQ(view_.range, 1u);
  Type("2");
  EXPECT_EQ(view_.large, 0u);
}

TEST_F(PressTest, ALogIsScrolledAndSearched) {
  TextLines lines;
  for (int i = 0; i < 100; ++i) lines.push_back({"line " + std::to_string(i), false});
  view_.panel.kind = Panel::kLog;
  view_.panel.text = std::make_shared<const TextLines>(lines);
  Type("kkk");
  EXPECT_EQ(view_.panel.above, 3u);
  Type("jjjjj");
  EXPECT_EQ(view_.panel.above, 0u);
  Type("/line 42\n");
  EXPECT_EQ(view_.panel.above, 57u);
  Type("n");
  EXPECT_EQ(view_.panel.above, 57u);
  Type("G/nowhere\n");
  EXPECT_EQ(view_.panel.above, 0u);
  EXPECT_EQ(view_.notice, "not found: nowhere");
  Type("g");
  EXPECT_EQ(view_.panel.above, 100u);
  Type("\x1b");
  EXPECT_EQ(view_.panel.kind, Panel::kNone);
}

TEST_F(PressTest, Leaves) {
  EXPECT_EQ(Type("q"), Command::kQuit);
  EXPECT_EQ(Press({Key::kControl, 'C'}, snapshot_, view_), Command::kQuit);
  EXPECT_EQ(Press({Key::kControl, 'Z'}, snapshot_, view_), Command::kSuspend);
  view_.panel.kind = Panel::kKeys;
  EXPECT_EQ(Type("q"), Command::kQuit);
}

}  // namespace
}  // namespace autodist::top
