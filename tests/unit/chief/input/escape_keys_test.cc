#include "chief/input/terminal_input.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autodist::chief {
namespace {

using Key = EscapeKeys::Key;
using testing::ElementsAre;
using testing::IsEmpty;

// The bytes that reach the rank, for text typed one byte at a time.
EscapeKeys::Typed Type(const std::string& text) {
  EscapeKeys escapes;
  EscapeKeys::Typed all;
  for (const char c : text) {
    EscapeKeys::Typed typed = escapes.Take(std::string_view(&c, 1));
    all.bytes += typed.bytes;
    all.keys.insert(all.keys.end(), typed.keys.begin(), typed.keys.end());
  }
  return all;
}

TEST(EscapeKeysTest, ATildeAndADotAtTheStartOfALineLeave) {
  for (const std::string before : {"", "\r", "\n", "n\r", "\x03", "p x\r\r"}) {
    EXPECT_THAT(Type(before + "~.").keys, ElementsAre(Key::kLeave)) << before;
    EXPECT_EQ(Type(before + "~.").bytes, before);
  }
}

TEST(EscapeKeysTest, WithinALineTheyAreSentToTheRank) {
  EXPECT_EQ(Type("x = ~.5\r").bytes, "x = ~.5\r");
  EXPECT_THAT(Type("x = ~.5\r").keys, IsEmpty());
}

TEST(EscapeKeysTest, TwoTildesSendOne) {
  EXPECT_EQ(Type("~~.\r").bytes, "~.\r");
  EXPECT_THAT(Type("~~.\r").keys, IsEmpty());
}

TEST(EscapeKeysTest, OtherCharactersAfterATildeAreSentWithIt) {
  EXPECT_EQ(Type("~x\r").bytes, "~x\r");
  EXPECT_EQ(Type("~\r~.").bytes, "~\r");
  EXPECT_THAT(Type("~\r~.").keys, ElementsAre(Key::kLeave));
}

TEST(EscapeKeysTest, Help) {
  EXPECT_THAT(Type("~?~.").keys, ElementsAre(Key::kHelp, Key::kLeave));
  EXPECT_EQ(Type("~?").bytes, "");
}

TEST(EscapeKeysTest, PastedTextIsHandledTheSameWay) {
  EscapeKeys escapes;
  const EscapeKeys::Typed typed = escapes.Take("n\r~.later");
  EXPECT_EQ(typed.bytes, "n\r");
  EXPECT_THAT(typed.keys, ElementsAre(Key::kLeave));
}

}  // namespace
}  // namespace autodist::chief
