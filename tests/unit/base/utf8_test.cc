#include "base/utf8.h"

#include <gtest/gtest.h>

namespace autodist::base {
namespace {

TEST(Utf8Test, DistinguishesValidFromInvalid) {
  for (const char* good : {"", "a", "ü", "€", "😀", "\xF4\x8F\xBF\xBF"}) {
    EXPECT_TRUE(IsUtf8(good)) << good;
  }
  // Lone continuation, truncated, overlong, surrogate, beyond U+10FFFF, never valid.
  for (const char* bad :
       {"\x80", "\xC3", "\xC0\x80", "\xE0\x80\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xFF"}) {
    EXPECT_FALSE(IsUtf8(bad));
  }
}

TEST(Utf8Test, InvalidBytesAreReplaced) {
  EXPECT_EQ(ToUtf8("ü\xFF€\xC3"), "ü?€?");
  EXPECT_EQ(ToUtf8("\xED\xA0\x80"), "???");
}

TEST(Utf8Test, PrintableTextHasNoControlSequences) {
  EXPECT_EQ(Printable("plain ü € 😀 \\ text"), "plain ü € 😀 \\ text");
  EXPECT_EQ(Printable(std::string_view("a\n\r\t\x1b\0\x7f", 7)), "a\\n\\r\\t\\x1b\\x00\\x7f");
  EXPECT_EQ(Printable("\u009b\u202e\u200b\ufeff"), "\\u009b\\u202e\\u200b\\ufeff");
  EXPECT_EQ(Printable("\xff\xc3"), "\\xff\\xc3");
}

TEST(Utf8Test, PrintableLinesStayLines) {
  EXPECT_EQ(PrintableLines("a\tb\n\x1b[2J\r\nc\rd\xff\r"), "a\tb\n\\x1b[2J\nc\\rd\\xff\\r");
}

}  // namespace
}  // namespace autodist::base
