#include "base/backoff.h"

#include <gtest/gtest.h>

namespace autodist::base {
namespace {

TEST(BackoffTest, DoublesTheWaitUpToALimit) {
  Backoff backoff(1);
  for (const int64_t expected : {200, 400, 800, 1600, 1600, 1600}) {
    const auto wait = backoff.Next().count();
    EXPECT_GE(wait, expected / 2);
    EXPECT_LE(wait, expected * 3 / 2);
  }
}

TEST(BackoffTest, JitterSeparatesTheRetriesOfManyNodes) {
  Backoff one(1);
  Backoff other(2);
  EXPECT_NE(one.Next(), other.Next());
}

}  // namespace
}  // namespace autodist::base
