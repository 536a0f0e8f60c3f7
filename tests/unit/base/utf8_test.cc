#include "base/utf8.h"

#include <gtest/gtest.h>

namespace autodist::base {
namespace {

TEST(Utf8Test, TellsGoodFromBad) {
  for (const char* good : {"", "a", "ü", "€", "😀", "\xF4\x8F\xBF\xBF"}) {
    EXPECT_TRUE(IsUtf8(good)) << good;
  }
  // Lone continuation, cut short, overlong, surrogate, beyond U+10FFFF, never valid.
  for (const char* bad :
       {"\x80", "\xC3", "\xC0\x80", "\xE0\x80\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xFF"}) {
    EXPECT_FALSE(IsUtf8(bad));
  }
}

TEST(Utf8Test, BadBytesAreReplaced) {
  EXPECT_EQ(ToUtf8("ü\xFF€\xC3"), "ü?€?");
  EXPECT_EQ(ToUtf8("\xED\xA0\x80"), "???");
}

}  // namespace
}  // namespace autodist::base
