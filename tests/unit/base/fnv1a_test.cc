#include "base/fnv1a.h"

#include <gtest/gtest.h>

namespace autodist::base {
namespace {

// From the authors' table of test vectors.
TEST(Fnv1aTest, IsTheSameEverywhere) {
  EXPECT_EQ(Fnv1a(""), 0xcbf29ce484222325);
  EXPECT_EQ(Fnv1a("a"), 0xaf63dc4c8601ec8c);
  EXPECT_EQ(Fnv1a("foobar"), 0x85944171f73967e8);
}

}  // namespace
}  // namespace autodist::base
