#include "base/write_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "support/temp_folder.h"

namespace autodist::base {
namespace {

size_t FilesIn(const std::string& folder) {
  size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    (void)entry;
    ++count;
  }
  return count;
}

TEST(WriteFileTest, WritesAsTheShellWould) {
  const test::TempFolder folder;
  const mode_t mask = umask(027);
  EXPECT_TRUE(WriteFile(folder.path() + "/new", "text", IfExists::kRefuse).ok());
  umask(mask);
  EXPECT_EQ(folder.Read("new"), "text");
  struct stat there;
  ASSERT_EQ(stat((folder.path() + "/new").c_str(), &there), 0);
  EXPECT_EQ(there.st_mode & 0777, 0640u);
  EXPECT_EQ(FilesIn(folder.path()), 1u);
}

TEST(WriteFileTest, ReplacesOnlyWhereItMay) {
  const test::TempFolder folder;
  const std::string path = folder.Write("old", "old");
  const Status refused = WriteFile(path, "new", IfExists::kRefuse);
  EXPECT_EQ(refused.code(), StatusCode::kAlreadyExists) << refused;
  EXPECT_EQ(folder.Read("old"), "old");
  EXPECT_TRUE(WriteFile(path, "new", IfExists::kReplace).ok());
  EXPECT_EQ(folder.Read("old"), "new");
  EXPECT_EQ(FilesIn(folder.path()), 1u);
}

TEST(WriteFileTest, ALinkToNothingIsSomething) {
  const test::TempFolder folder;
  std::filesystem::create_symlink("/none", folder.path() + "/link");
  EXPECT_EQ(WriteFile(folder.path() + "/link", "x", IfExists::kRefuse).code(),
            StatusCode::kAlreadyExists);
}

TEST(WriteFileTest, LeavesNothingWhereItFails) {
  const test::TempFolder folder;
  std::filesystem::create_directory(folder.path() + "/taken");
  EXPECT_FALSE(WriteFile(folder.path() + "/taken", "x", IfExists::kReplace).ok());
  EXPECT_EQ(FilesIn(folder.path()), 1u);
  EXPECT_EQ(WriteFile(folder.path() + "/no/file", "x", IfExists::kRefuse).code(),
            StatusCode::kNotFound);
}

}  // namespace
}  // namespace autodist::base
