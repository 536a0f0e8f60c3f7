#include "agent/life/job_folder.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "base/fd.h"
#include "support/home_folder.h"

namespace autodist::agent {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class JobFolderTest : public testing::Test {
 protected:
  void TearDown() override { folder_.Remove(); }

  const test::HomeFolder home_;
  // The location cannot be chosen; no other test has this job.
  const JobFolder folder_{"job-folder-test-" + std::to_string(getpid()), "3"};
};

bool IsListed(const JobFolder& folder) {
  return std::ranges::any_of(JobFolder::All(), [&](const JobFolder& other) {
    return other.name() == folder.name() && other.path() == folder.path();
  });
}

TEST_F(JobFolderTest, IsPrivate) {
  EXPECT_FALSE(IsListed(folder_));
  ASSERT_TRUE(folder_.Make().ok());
  EXPECT_TRUE(folder_.Make().ok());  // repeated
  struct stat info;
  ASSERT_EQ(lstat(folder_.path().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0700u);
  EXPECT_TRUE(IsListed(folder_));
  for (const std::string& file : {folder_.chief_socket(), folder_.lock()}) {
    close(open(file.c_str(), O_WRONLY | O_CREAT, 0600));
  }
  folder_.Remove();
  EXPECT_FALSE(fs::exists(folder_.path()));
}

TEST_F(JobFolderTest, IsRemovedWithItsContents) {
  ASSERT_TRUE(folder_.Make().ok());
  for (const std::string& folder : {folder_.pmix(), folder_.files()}) {
    ASSERT_EQ(mkdir(folder.c_str(), 0700), 0);
    const base::UniqueFd file(open((folder + "/x").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    ASSERT_TRUE(file.valid());
  }
  folder_.Remove();
  EXPECT_FALSE(fs::exists(folder_.path()));
}

TEST_F(JobFolderTest, AFolderThatOthersCanEnterIsRefused) {
  ASSERT_TRUE(folder_.Make().ok());
  ASSERT_EQ(chmod(folder_.path().c_str(), 0710), 0);
  const Status status = folder_.Make();
  EXPECT_EQ(status.code(), StatusCode::kPermissionDenied);
  EXPECT_THAT(Message(status), HasSubstr("not a private folder"));
  EXPECT_EQ(Remedy(status), "remove it");
}

TEST_F(JobFolderTest, MovesToTheHomeFolderIfTheNameIsTakenInTmp) {
  ASSERT_TRUE(folder_.Make().ok());
  const std::string in_tmp = fs::path(folder_.path()).parent_path();
  ASSERT_EQ(chmod(in_tmp.c_str(), 0755), 0);  // like another user's
  const JobFolder other("other-" + std::to_string(getpid()), "1");
  EXPECT_TRUE(other.path().starts_with(home_.path() + "/.cache/autodist/on-")) << other.path();
  EXPECT_TRUE(other.Lock().ok());
  EXPECT_TRUE(IsListed(other));
  EXPECT_FALSE(folder_.IsOurs() || IsListed(folder_));
  ASSERT_EQ(chmod(in_tmp.c_str(), 0700), 0);
  // Both folders are found.
  EXPECT_TRUE(IsListed(folder_) && IsListed(other));
  EXPECT_EQ(JobFolder("other-" + std::to_string(getpid()), "1").path(), other.path());
  other.Remove();
  EXPECT_TRUE(fs::is_empty(home_.path() + "/.cache/autodist"));
}

TEST_F(JobFolderTest, APathTooLongForSocketsIsRefused) {
  ASSERT_TRUE(folder_.Make().ok());
  const std::string in_tmp = fs::path(folder_.path()).parent_path();
  ASSERT_EQ(chmod(in_tmp.c_str(), 0755), 0);
  setenv("HOME", (home_.path() + "/" + std::string(60, 'd')).c_str(), 1);
  const Status refused = JobFolder("other", "1").Make();
  EXPECT_THAT(Message(refused), HasSubstr("File name too long"));
  EXPECT_EQ(Remedy(refused), "remove " + in_tmp + ", which is another's");
  ASSERT_EQ(chmod(in_tmp.c_str(), 0700), 0);
}

TEST_F(JobFolderTest, ASymbolicLinkIsRefused) {
  ASSERT_TRUE(folder_.Make().ok());
  folder_.Remove();
  fs::create_directories(fs::path(folder_.path()).parent_path());
  fs::permissions(fs::path(folder_.path()).parent_path(), fs::perms::owner_all);
  fs::create_directory_symlink(home_.path(), folder_.path());
  EXPECT_EQ(folder_.Make().code(), StatusCode::kPermissionDenied);
  fs::remove(folder_.path());
}

TEST_F(JobFolderTest, TheEndReasonOutlivesTheFolder) {
  ASSERT_TRUE(folder_.Make().ok());
  EXPECT_EQ(folder_.ReadEndReason(), "");
  folder_.WriteEndReason("its agent was killed");
  folder_.Remove();
  EXPECT_EQ(folder_.ReadEndReason(), "its agent was killed");
  folder_.RemoveEndReason();
  EXPECT_EQ(folder_.ReadEndReason(), "");
}

TEST_F(JobFolderTest, OtherProcessesSeeItsOwnersUntilTheyEnd) {
  ASSERT_TRUE(folder_.Make().ok());
  const base::UniqueFd file(open(folder_.lock().c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  auto held = base::Pipe();
  auto end = base::Pipe();
  const pid_t holder = fork();
  if (holder == 0) {
    end->second.Reset();
    TakeLock(file.get(), JobLock::kWatchdog);
    TakeLock(file.get(), JobLock::kChiefInCharge);
    ReleaseLock(file.get(), JobLock::kChiefInCharge);
    (void)!write(held->second.get(), "x", 1);
    char byte;
    (void)!read(end->first.get(), &byte, 1);
    _exit(0);
  }
  char byte;
  ASSERT_EQ(read(held->first.get(), &byte, 1), 1);
  EXPECT_EQ(LockHolder(file.get(), JobLock::kWatchdog), holder);
  EXPECT_EQ(LockHolder(file.get(), JobLock::kChiefInCharge), std::nullopt);
  EXPECT_FALSE(TakeLock(file.get(), JobLock::kWatchdog));
  end->second.Reset();
  AwaitLock(file.get(), JobLock::kWatchdog);
  EXPECT_EQ(LockHolder(file.get(), JobLock::kWatchdog), std::nullopt);
  waitpid(holder, nullptr, 0);
}

}  // namespace
}  // namespace autodist::agent
