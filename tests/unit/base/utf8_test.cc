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

TEST(Utf8Test, TextIsCutBetweenCharacters) {
  struct Row {
    std::string text;
    size_t limit;
    std::string first;
    std::string last;
    std::string truncated;
  };
  const Row rows[] = {
      {"", 3, "", "", ""},
      {"abc", 3, "abc", "abc", "abc"},
      {"abcdef", 5, "abcde", "bcdef", "ab…"},
      {"éééé", 8, "éééé", "éééé", "éééé"},
      {"éééé", 7, "ééé", "ééé", "éé…"},
      {"éééé", 6, "ééé", "ééé", "é…"},
      {"a😀b", 4, "a", "b", "a…"},
      {"a😀b", 5, "a😀", "😀b", "a…"},
      {"\x80\x80\x80\x80\x80\x80", 5, "\x80\x80\x80\x80\x80", "\x80\x80\x80\x80\x80", "\x80\x80…"},
      {"abc", 0, "", "", "…"},
      {"é", 1, "", "", "…"},
      {"éé", 1, "", "", "…"},
      {"😀b", 3, "", "b", "…"},
      {"b😀", 3, "b", "", "…"},
      {"😀", 2, "", "", "…"},
      {"\x80\x80", 1, "\x80", "\x80", "…"},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(FirstCharacters(row.text, row.limit), row.first) << row.text << row.limit;
    EXPECT_EQ(LastCharacters(row.text, row.limit), row.last) << row.text << row.limit;
    EXPECT_EQ(Truncated(row.text, row.limit), row.truncated) << row.text << row.limit;
  }
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
