#include "base/private_folder.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "support/nobody.h"
#include "support/temp_folder.h"

namespace autodist::base {
namespace {

namespace fs = std::filesystem;

// The temporary folder is in /tmp, where all users can write but only the owner of a file can move
// it.
TEST(PrivateFolderTest, OtherUsersCannotChangeAFolder) {
  const test::TempFolder folder;
  const std::string middle = folder.path() + "/middle";
  const std::string inner = middle + "/inner";
  fs::create_directories(inner);
  EXPECT_TRUE(CheckOnlyWeCanChange(inner).ok()) << CheckOnlyWeCanChange(inner);
  for (const std::string& path : {inner, middle}) {
    for (const mode_t mode : {0770U, 0707U, 0775U, 0777U}) {
      ASSERT_EQ(chmod(path.c_str(), mode), 0);
      const Status refused = CheckOnlyWeCanChange(inner);
      EXPECT_EQ(Message(refused), path + ": others can write in it");
      EXPECT_EQ(Remedy(refused), "chmod go-w " + path);
    }
    ASSERT_EQ(chmod(path.c_str(), 01777), 0);
    EXPECT_EQ(CheckOnlyWeCanChange(inner).ok(), path == middle);
    ASSERT_EQ(chmod(path.c_str(), 0755), 0);
  }
  EXPECT_FALSE(CheckOnlyWeCanChange(inner + "/none").ok());
}

TEST(PrivateFolderTest, LinksAreResolved) {
  const test::TempFolder folder;
  const std::string open = folder.path() + "/open";
  fs::create_directories(open + "/inner");
  ASSERT_EQ(chmod(open.c_str(), 0777), 0);
  fs::create_symlink(open + "/inner", folder.path() + "/to-open");
  EXPECT_FALSE(CheckOnlyWeCanChange(folder.path() + "/to-open").ok());
  fs::create_directories(folder.path() + "/closed");
  fs::create_symlink(folder.path() + "/closed", folder.path() + "/to-closed");
  EXPECT_TRUE(CheckOnlyWeCanChange(folder.path() + "/to-closed").ok());
}

TEST(PrivateFolderTest, AnotherUsersFolder) {
  if (geteuid() != 0) GTEST_SKIP() << "takes root";
  const test::TempFolder folder;
  const std::string middle = folder.path() + "/middle";
  fs::create_directories(middle + "/inner");
  ASSERT_EQ(chown(middle.c_str(), test::kNobody, test::kNobody), 0);
  EXPECT_EQ(Message(CheckOnlyWeCanChange(middle + "/inner")), middle + ": another user owns it");
}

TEST(PrivateFolderTest, OnlyFilesThatOthersCannotHaveWrittenAreRead) {
  const test::TempFolder folder;
  const std::string logs = folder.path() + "/logs";
  fs::create_directories(logs + "/folder");
  folder.Write("secret", "s3cret");
  folder.Write("logs/rank-0.out", "line\n");
  fs::create_symlink(folder.path() + "/secret", logs + "/link");
  ASSERT_EQ(mkfifo((logs + "/pipe").c_str(), 0600), 0);
  EXPECT_EQ(ReadOwnFile(logs + "/rank-0.out", 100).value(), "line\n");
  EXPECT_FALSE(ReadOwnFile(logs + "/rank-0.out", 4).ok());
  for (const char* other : {"/link", "/pipe", "/folder", "/none"}) {
    EXPECT_FALSE(OpenOwnFile(logs + other).ok()) << other;
  }
  // The path of the folder may contain a link, such as that of the record.
  fs::create_symlink(logs, folder.path() + "/record");
  EXPECT_TRUE(OpenOwnFile(folder.path() + "/record/rank-0.out").ok());
  ASSERT_EQ(chmod(logs.c_str(), 0775), 0);
  EXPECT_EQ(OpenOwnFile(logs + "/rank-0.out").status().code(), StatusCode::kPermissionDenied);
  ASSERT_EQ(chmod(logs.c_str(), 0755), 0);
  if (geteuid() != 0) GTEST_SKIP() << "takes root";
  ASSERT_EQ(chown(logs.c_str(), test::kNobody, test::kNobody), 0);
  EXPECT_EQ(OpenOwnFile(logs + "/rank-0.out").status().code(), StatusCode::kPermissionDenied);
}

}  // namespace
}  // namespace autodist::base
