#include "base/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace autodist::base {
namespace {

TEST(LogTest, EachOfTheseWarningsIsLoggedOnce) {
  std::vector<std::string> logged;
  SetLogWriter([&](LogLevel, std::string_view message) { logged.emplace_back(message); });
  WarningsOnce warnings;
  for (const char* const text : {"a", "b", "a", "a"}) warnings.Warn(text);
  SetLogWriter(nullptr);
  EXPECT_THAT(logged, testing::ElementsAre("a", "b"));
}

}  // namespace
}  // namespace autodist::base
