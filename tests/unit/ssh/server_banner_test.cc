#include "ssh/libssh2_session.h"

#include <gtest/gtest.h>

#include <string>

namespace autodist::ssh {
namespace {

using Answer = ServerBanner::Answer;

TEST(ServerBannerTest, LinesMayPrecedeIt) {
  ServerBanner banner;
  EXPECT_EQ(banner.Take("Welcome to\r\nthe ma"), Answer::kMore);
  EXPECT_EQ(banner.Take("chine\nSS"), Answer::kMore);
  EXPECT_EQ(banner.Take("H-2.0-x\r\nmore"), Answer::kFound);
  EXPECT_EQ(banner.TakeBanner(), "SSH-2.0-x\r\nmore");
}

TEST(ServerBannerTest, OtherOutputIsKept) {
  ServerBanner banner;
  EXPECT_EQ(banner.Said(), "");
  EXPECT_EQ(banner.Take("220 mail SSH-\r\nHel"), Answer::kMore);
  EXPECT_EQ(banner.Take("lo"), Answer::kMore);
  EXPECT_EQ(banner.Said(), "220 mail SSH-\r\nHello");
}

TEST(ServerBannerTest, NumberAndLengthOfLinesAreLimited) {
  ServerBanner lines;
  std::string many;
  for (int i = 0; i < 1024; ++i) many += "x\n";
  EXPECT_EQ(lines.Take(many), Answer::kMore);
  EXPECT_EQ(lines.Take("x\n"), Answer::kEndless);
  ServerBanner line;
  EXPECT_EQ(line.Take(std::string(8192, 'x')), Answer::kMore);
  EXPECT_EQ(line.Take("x"), Answer::kEndless);
  EXPECT_LE(line.Said().size(), 1024u);
}

}  // namespace
}  // namespace autodist::ssh
