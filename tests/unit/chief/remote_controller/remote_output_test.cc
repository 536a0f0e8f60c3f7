#include "chief/remote_controller/run_remote.h"

#include <gtest/gtest.h>

namespace autodist::chief {
namespace {

const std::string kNonce = "0123456789abcdef";

TEST(RemoteOutputTest, TheMarkIsRemovedFromTheBytes) {
  for (const size_t size : {size_t{1}, size_t{3}, size_t{1000}}) {  // sizes of the received pieces
    RemoteOutput output(kNonce, false);
    const std::string bytes = std::string("a\0b\x1b[2J\r\n", 9) + MarkOf255(kNonce);
    std::string passed;
    for (size_t at = 0; at < bytes.size(); at += size)
      passed += output.Take(bytes.substr(at, size));
    passed += output.End();
    EXPECT_EQ(passed, std::string("a\0b\x1b[2J\r\n", 9)) << size;
    EXPECT_TRUE(output.ended_with_255()) << size;
  }
}

TEST(RemoteOutputTest, OnlyAPossibleStartOfTheMarkIsHeldBack) {
  RemoteOutput output(kNonce, false);
  EXPECT_EQ(output.Take("$ "), "$ ");
  EXPECT_EQ(output.Take(std::string("b\0AUTO", 6)), "b");
  EXPECT_EQ(output.Take("MATIC"), std::string("\0AUTOMATIC", 10));
  EXPECT_EQ(output.Take(MarkOf255("of-another")), MarkOf255("of-another"));
  EXPECT_EQ(output.Take(std::string(1, '\0')), "");
  EXPECT_EQ(output.End(), std::string(1, '\0'));
  EXPECT_FALSE(output.ended_with_255());
}

TEST(RemoteOutputTest, ATerminalGetsNoControlSequences) {
  RemoteOutput output(kNonce, true);
  EXPECT_EQ(output.Take("one \x1b[31mred\x1b[0m\x1b]0;ti"), "");
  EXPECT_EQ(output.Take("tle\x07\r\ntwo\x1b[2J\nthr"), "one \x1b[31mred\x1b[0m\ntwo\n");
  EXPECT_EQ(output.Take("ee\x1b]52;c;eA==\x07" + MarkOf255(kNonce)), "");
  EXPECT_EQ(output.End(), "three");
  EXPECT_TRUE(output.ended_with_255());
}

}  // namespace
}  // namespace autodist::chief
