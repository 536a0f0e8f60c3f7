#include "base/home_folder.h"

#include <gtest/gtest.h>

#include <pwd.h>
#include <unistd.h>
#include "support/scoped_variable.h"

#include <cstdlib>

namespace autodist::base {
namespace {

TEST(HomeFolderTest, ATildeIsTheHomeFolder) {
  EXPECT_EQ(ExpandHome("~/a/b"), HomeFolder() + "/a/b");
}

TEST(HomeFolderTest, TheSystemProvidesItIfHomeIsUnset) {
  const std::string home = HomeFolder();
  for (const char* folder : {"/some/where", "", "no/path"}) {
    setenv("HOME", folder, 1);
    EXPECT_EQ(HomeFolder(), folder[0] == '/' ? folder : getpwuid(geteuid())->pw_dir);
  }
  setenv("HOME", home.c_str(), 1);
}

TEST(HomeFolderTest, OtherPathsAreUnchanged) {
  for (const char* path : {"/a/~/b", "~other/a", "~", "a", ""}) EXPECT_EQ(ExpandHome(path), path);
}

TEST(ShortenHomeTest, OnlyThisUsersFolders) {
  for (const char* home : {"/home/ann", "/home/ann/"}) {
    const test::ScopedVariable variable("HOME", home);
    for (const auto& [path, shown] : {std::pair{"/home/ann", "~"},
                                      {"/home/ann/x y", "~/x y"},
                                      {"/home/anna", "/home/anna"},
                                      {"/data/home/ann", "/data/home/ann"},
                                      {"~/x", "~/x"},
                                      {"", ""}}) {
      EXPECT_EQ(ShortenHome(path), shown) << path;
    }
  }
}

}  // namespace
}  // namespace autodist::base
