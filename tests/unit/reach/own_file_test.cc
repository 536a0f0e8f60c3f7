#include "reach/own_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "support/temp_folder.h"

namespace autodist::reach {
namespace {

using testing::HasSubstr;

constexpr uid_t kNobody = 65534;  // also an unprivileged group

class OwnFileTest : public testing::Test {
 protected:
  OwnFileTest() { chmod(folder_.path().c_str(), 0700); }

  std::string Check() const { return Message(CheckNoOthersWrite(file_)); }
  std::string Hint() const { return Remedy(CheckNoOthersWrite(file_)); }

  const test::TempFolder folder_;
  const std::string file_ = folder_.Write("autodist.yaml", "nodes: []\n");
};

TEST_F(OwnFileTest, AFileThatOnlyThisUserCanChangeIsOurs) {
  for (const mode_t mode : {0600U, 0644U, 0755U, 0400U}) {
    chmod(file_.c_str(), mode);
    EXPECT_EQ(Check(), "") << mode;
  }
}

TEST_F(OwnFileTest, AWorldWritableFileIsNot) {
  chmod(file_.c_str(), 0646);
  EXPECT_EQ(Check(), "all users can write to " + file_);
  EXPECT_EQ(Hint(), "run chmod go-w " + file_);
}

TEST_F(OwnFileTest, NorIsAFileInAWorldWritableFolder) {
  chmod(folder_.path().c_str(), 0777);
  EXPECT_EQ(Check(), "all users can write to " + folder_.path());
  EXPECT_EQ(Hint(), "run chmod go-w " + folder_.path());
  chmod(folder_.path().c_str(), 01777);  // like /tmp, where it cannot be replaced
  EXPECT_EQ(Check(), "");
}

TEST_F(OwnFileTest, ABareNameIsInTheCurrentFolder) {
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder_.path());
  EXPECT_TRUE(CheckNoOthersWrite("autodist.yaml").ok());
  chmod(folder_.path().c_str(), 0777);
  EXPECT_FALSE(CheckNoOthersWrite("autodist.yaml").ok());
  std::filesystem::current_path(before);
}

TEST_F(OwnFileTest, ALinkIsJudgedByItsTarget) {
  const test::TempFolder other;
  const std::string target = other.Write("cluster.yaml", "");
  std::filesystem::remove(file_);
  std::filesystem::create_symlink(target, file_);
  EXPECT_EQ(Check(), "");
  chmod(target.c_str(), 0666);
  EXPECT_EQ(Check(), "all users can write to " + target);
  chmod(target.c_str(), 0600);
  chmod(other.path().c_str(), 0777);
  EXPECT_EQ(Check(), "all users can write to " + other.path());
}

TEST_F(OwnFileTest, FilesOfOtherUsersAndGroupsAreNot) {
  if (geteuid() != 0) return;  // only root can change owners
  ASSERT_EQ(chown(file_.c_str(), kNobody, kNobody), 0);
  EXPECT_EQ(Check(), file_ + " belongs to the user with the number 65534");
  EXPECT_EQ(Hint(), "");
  ASSERT_EQ(chown(file_.c_str(), 0, kNobody), 0);
  EXPECT_EQ(Check(), "");
  chmod(file_.c_str(), 0664);
  EXPECT_EQ(Check(), "the group with the number 65534 can write to " + file_);
  ASSERT_EQ(chown(file_.c_str(), 0, 0), 0);  // root's group
  EXPECT_EQ(Check(), "");
  // Another user's link to a file of ours in a folder like /tmp.
  const std::string target = folder_.Write("download.yaml", "");
  std::filesystem::remove(file_);
  std::filesystem::create_symlink(target, file_);
  ASSERT_EQ(lchown(file_.c_str(), kNobody, kNobody), 0);
  chmod(folder_.path().c_str(), 01777);
  EXPECT_EQ(Check(), file_ + " belongs to the user with the number 65534");
}

TEST_F(OwnFileTest, AFolderOfAnotherUserIsNot) {
  if (geteuid() != 0) return;
  ASSERT_EQ(chown(folder_.path().c_str(), kNobody, kNobody), 0);
  chmod(folder_.path().c_str(), 01755);
  EXPECT_EQ(Check(), folder_.path() + " belongs to the user with the number 65534");
  ASSERT_EQ(chown(folder_.path().c_str(), 0, 0), 0);
}

}  // namespace
}  // namespace autodist::reach
