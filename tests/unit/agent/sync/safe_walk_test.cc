#include "agent/sync/target_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "support/nobody.h"
#include "support/temp_folder.h"

namespace autodist::agent {
namespace {

namespace fs = std::filesystem;
using test::kNobody;
using testing::HasSubstr;

constexpr uid_t kThird = 1234;

class SafeWalkTest : public testing::Test {
 protected:
  std::string At(const std::string& path) const { return temp_.path() + "/" + path; }
  std::string Make(const std::string& path, mode_t mode, uid_t owner) const {
    fs::create_directories(At(path));
    EXPECT_EQ(chmod(At(path).c_str(), mode), 0);
    EXPECT_EQ(lchown(At(path).c_str(), owner, owner), 0);
    return At(path);
  }
  std::string Link(const std::string& path, const std::string& to, uid_t owner) const {
    fs::create_symlink(to, At(path));
    EXPECT_EQ(lchown(At(path).c_str(), owner, owner), 0);
    return At(path);
  }
  // Whether the path leads to this inode.
  static bool Leads(const std::string& path, const std::string& to) {
    const auto reached = ReachFolder(path);
    struct stat info {
    }, wanted{};
    return reached.ok() && fstat(reached->fd.get(), &info) == 0 && stat(to.c_str(), &wanted) == 0 &&
           info.st_ino == wanted.st_ino;
  }

  const test::TempFolder temp_;
};

TEST_F(SafeWalkTest, FilesOfOthersInASharedFolderAreRefused) {
  if (geteuid() != 0) GTEST_SKIP() << "takes root";
  struct Case {
    mode_t mode;
    uid_t above, entry;
    bool entered;
  };
  const Case cases[] = {
      {01777, 0, 0, true},        {01777, 0, kNobody, false},      {01777, kNobody, kNobody, true},
      {01777, kNobody, 0, true},  {01777, kNobody, kThird, false}, {03777, 0, kNobody, false},
      {01703, 0, kNobody, false}, {0777, 0, kNobody, false},       {01775, 0, kNobody, true},
      {02775, 0, kNobody, true},  {0755, 0, kNobody, true},        {01755, 0, kNobody, true},
  };
  Make("elsewhere/sub", 0755, 0);
  int number = 0;
  for (const Case& one : cases) {
    const std::string above = "above" + std::to_string(++number);
    Make(above + "/entry", 0755, one.entry);
    Link(above + "/link", "../elsewhere", one.entry);
    Make(above, one.mode, one.above);
    SCOPED_TRACE(above);
    EXPECT_EQ(ReachFolder(At(above + "/entry")).ok(), one.entered);
    EXPECT_EQ(ReachFolder(At(above + "/entry/new/sub")).ok(), one.entered);
    EXPECT_EQ(fs::exists(At(above + "/entry/new")), one.entered);
    EXPECT_EQ(Leads(At(above + "/link"), At("elsewhere")), one.entered);
    EXPECT_EQ(Leads(At(above + "/link/sub"), At("elsewhere/sub")), one.entered);
    EXPECT_EQ(ReachFolder(Link("to-" + above, above + "/entry", 0)).ok(), one.entered);
  }
}

TEST_F(SafeWalkTest, ReportsTheOwner) {
  if (geteuid() != 0) GTEST_SKIP() << "takes root";
  Make("tmp/theirs", 0755, kNobody);
  Make("tmp", 01777, 0);
  const Status status = ReachFolder(At("tmp/theirs/work")).status();
  EXPECT_EQ(status.code(), StatusCode::kPermissionDenied);
  EXPECT_THAT(Message(status), HasSubstr(At("tmp/theirs") + " belongs to another user, number"));
  EXPECT_THAT(Remedy(status), HasSubstr("remove it"));
}

TEST_F(SafeWalkTest, AllKindsOfPaths) {
  fs::create_directories(At("a/b"));
  fs::create_symlink("a/b/..", At("up"));
  fs::create_symlink(At("up"), At("absolute"));
  fs::create_symlink("loop", At("loop"));
  fs::create_symlink("none", At("dangling"));
  EXPECT_TRUE(Leads("/", "/"));
  EXPECT_TRUE(Leads(At("a//b/./"), At("a/b")));
  EXPECT_TRUE(Leads(At("a/../a/b/.."), At("a")));
  EXPECT_TRUE(Leads(At("up/b"), At("a/b")));
  EXPECT_TRUE(Leads(At("absolute"), At("a")));
  EXPECT_THAT(Message(ReachFolder(At("loop")).status()), HasSubstr("Too many levels"));
  EXPECT_THAT(Message(ReachFolder(At("dangling/x")).status()), HasSubstr("No such file"));
  EXPECT_FALSE(fs::exists(At("none")));
  temp_.Write("file", "");
  EXPECT_THAT(Message(ReachFolder(At("file/x")).status()), HasSubstr("Not a directory"));
}

TEST_F(SafeWalkTest, MissingFoldersAreCreated) {
  EXPECT_TRUE(ReachFolder(At("new/sub/"))->made);
  EXPECT_FALSE(ReachFolder(At("new/sub"))->made);
  EXPECT_FALSE(ReachFolder(At("new"))->made);
  EXPECT_EQ(fs::status(At("new/sub")).permissions(), fs::perms::owner_all);
  fs::create_symlink("new", At("link"));
  EXPECT_TRUE(ReachFolder(At("link/other"))->made);
  EXPECT_TRUE(Leads(At("link/other"), At("new/other")));
}

}  // namespace
}  // namespace autodist::agent
