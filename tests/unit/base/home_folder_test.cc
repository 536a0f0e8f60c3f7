#include "base/home_folder.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace autodist::base {
namespace {

TEST(HomeFolderTest, ATildeIsTheHomeFolder) {
  const char* home = std::getenv("HOME");
  EXPECT_EQ(ExpandHome("~/a/b"), std::string(home ? home : "") + "/a/b");
}

TEST(HomeFolderTest, OtherPathsStayAsTheyAre) {
  for (const char* path : {"/a/~/b", "~other/a", "~", "a", ""}) EXPECT_EQ(ExpandHome(path), path);
}

}  // namespace
}  // namespace autodist::base
