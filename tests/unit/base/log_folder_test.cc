#include "base/log_folder.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "support/nobody.h"
#include "support/temp_folder.h"

namespace autodist::base {
namespace {

namespace fs = std::filesystem;

constexpr int kMake = O_WRONLY | O_CREAT | O_TRUNC;

class LogFolderTest : public testing::Test {
 protected:
  static mode_t ModeOf(const std::string& path) {
    struct stat info {};
    return lstat(path.c_str(), &info) == 0 ? info.st_mode & 07777 : 0;
  }
  static bool Makes(const LogFolder& folder, const std::string& name) {
    return folder.OpenFile(name, kMake).ok();
  }

  const test::TempFolder folder_;
  const std::string job_ = folder_.path() + "/runs/job";
};

TEST_F(LogFolderTest, TheFolderAndItsFilesArePrivateDespiteTheUmask) {
  for (const mode_t mask : {0U, 022U, 077U}) {
    const std::string path = job_ + std::to_string(mask);
    const mode_t before = umask(mask);
    const LogFolder job(path);
    EXPECT_FALSE(fs::exists(path));
    EXPECT_TRUE(Makes(job.Within("restart-1"), "rank-0.out"));
    EXPECT_TRUE(job.WriteFile("job.json", "{}").ok());
    umask(before);
    EXPECT_EQ(ModeOf(path), 0700u);
    EXPECT_EQ(ModeOf(path + "/restart-1"), 0700u);
    EXPECT_EQ(ModeOf(path + "/restart-1/rank-0.out"), 0600u);
    EXPECT_EQ(ModeOf(path + "/job.json"), 0600u);
  }
}

TEST_F(LogFolderTest, ARemovedFolderCostsNoDescriptor) {
  const auto descriptors = [] {
    return std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator());
  };
  const LogFolder job(job_);
  const LogFolder attempt = job.Within("restart-1");
  ASSERT_TRUE(Makes(attempt, "rank-0.out"));
  const auto before = descriptors();
  for (int i = 0; i < 20; ++i) {
    fs::remove_all(job_);
    ASSERT_TRUE(Makes(attempt, "rank-0.out"));
  }
  EXPECT_EQ(descriptors(), before);
}

TEST_F(LogFolderTest, FilesAreNotOpenedThroughLinks) {
  const std::string victim = folder_.Write("victim", "precious");
  fs::create_directories(job_);
  for (const char* name : {"rank-0.out", "job.json", "events.jsonl"}) {
    fs::create_symlink(victim, job_ + "/" + name);
  }
  const LogFolder job(job_);
  EXPECT_FALSE(Makes(job, "rank-0.out"));
  EXPECT_FALSE(job.OpenFile("events.jsonl", O_WRONLY | O_CREAT | O_APPEND).ok());
  EXPECT_TRUE(job.WriteFile("job.json", "{}").ok());  // replaces the link
  EXPECT_EQ(folder_.Read("victim"), "precious");
  EXPECT_EQ(folder_.Read("runs/job/job.json"), "{}");
}

// A user who can write in --log-dir replaced it after it was made, and before a restart.
TEST_F(LogFolderTest, AReplacedFolderGetsNoFiles) {
  const std::string victim = folder_.Write("victim", "precious");
  const LogFolder job(job_);
  ASSERT_TRUE(Makes(job, "rank-0.out"));
  fs::rename(job_, job_ + ".moved");
  fs::create_directories(job_ + "/restart-1");
  fs::create_symlink(victim, job_ + "/restart-1/rank-0.out");
  fs::create_symlink(victim, job_ + "/rank-1.out");
  EXPECT_TRUE(Makes(job, "rank-1.out"));
  EXPECT_TRUE(Makes(job.Within("restart-1"), "rank-0.out"));
  EXPECT_TRUE(job.WriteFile("snapshot.json", "{}").ok());
  EXPECT_EQ(folder_.Read("victim"), "precious");
  EXPECT_FALSE(fs::exists(job_ + "/snapshot.json"));
  EXPECT_TRUE(fs::exists(job_ + ".moved/restart-1/rank-0.out"));
  EXPECT_TRUE(fs::exists(job_ + ".moved/snapshot.json"));
}

TEST_F(LogFolderTest, ARemovedFolderIsCreatedAgain) {
  const LogFolder job(job_);
  const LogFolder restart = job.Within("restart-1");
  ASSERT_TRUE(Makes(restart, "rank-0.out"));
  fs::remove_all(folder_.path() + "/runs");
  EXPECT_TRUE(Makes(restart, "rank-0.out"));
  EXPECT_TRUE(job.WriteFile("job.json", "{}").ok());
  EXPECT_TRUE(fs::exists(job_ + "/restart-1/rank-0.out"));
  EXPECT_TRUE(fs::exists(job_ + "/job.json"));
  EXPECT_EQ(ModeOf(job_), 0700u);
}

TEST_F(LogFolderTest, ASymbolicLinkIsRefused) {
  fs::create_directories(folder_.path() + "/elsewhere");
  fs::create_directories(folder_.path() + "/runs");
  fs::create_symlink(folder_.path() + "/elsewhere", job_);
  EXPECT_FALSE(LogFolder(job_).Open().ok());
  EXPECT_TRUE(LogFolder(job_ + "/job").Open().ok());  // --log-dir itself may be a link
  fs::create_symlink(folder_.path() + "/elsewhere", folder_.path() + "/elsewhere/job/restart-1");
  EXPECT_FALSE(LogFolder(job_ + "/job").Within("restart-1").Open().ok());
}

TEST_F(LogFolderTest, AnotherUsersFolderIsRefused) {
  if (geteuid() != 0) GTEST_SKIP() << "takes root";
  fs::create_directories(job_);
  ASSERT_EQ(chown(job_.c_str(), test::kNobody, test::kNobody), 0);
  const auto opened = LogFolder(job_).Open();
  EXPECT_THAT(Message(opened.status()), testing::HasSubstr("another user owns it"));
  EXPECT_THAT(Remedy(opened.status()), testing::HasSubstr("--log-dir"));
  EXPECT_TRUE(fs::is_empty(job_));
}

TEST_F(LogFolderTest, FailuresHaveAReason) {
  folder_.Write("runs", "a file");
  const auto opened = LogFolder(job_).Open();
  EXPECT_THAT(Message(opened.status()), testing::HasSubstr(job_));
  EXPECT_THAT(Remedy(opened.status()), testing::HasSubstr("--log-dir"));
  fs::remove(folder_.path() + "/runs");
  EXPECT_TRUE(LogFolder(job_ + "/").Open().ok());
}

TEST_F(LogFolderTest, GitIgnoresTheUsualFolder) {
  const std::string runs = folder_.path() + "/autodist-runs";
  const LogFolder job(runs + "/job");
  ASSERT_TRUE(Makes(job, "events.jsonl"));
  EXPECT_EQ(folder_.Read("autodist-runs/.gitignore"), "*\n");
  folder_.Write("autodist-runs/.gitignore", "mine");
  ASSERT_TRUE(Makes(LogFolder(runs + "/other"), "events.jsonl"));
  EXPECT_EQ(folder_.Read("autodist-runs/.gitignore"), "mine");
  fs::remove_all(runs + "/other");
  ASSERT_TRUE(job.Remove().ok());
  EXPECT_FALSE(fs::exists(runs));
  fs::create_directory(runs);
  const std::string victim = folder_.path() + "/victim";
  fs::create_symlink(victim, runs + "/.gitignore");
  EXPECT_TRUE(Makes(LogFolder(runs + "/job"), "events.jsonl"));
  EXPECT_FALSE(fs::exists(victim));
  ASSERT_TRUE(Makes(LogFolder(job_), "events.jsonl"));
  EXPECT_FALSE(fs::exists(folder_.path() + "/runs/.gitignore")) << "the user's own --log-dir";
}

TEST_F(LogFolderTest, IsRemovedWithItsContents) {
  const LogFolder job(job_);
  ASSERT_TRUE(Makes(job, "events.jsonl"));
  ASSERT_TRUE(Makes(job.Within("restart-1"), "rank-0.out"));
  fs::create_directories(folder_.path() + "/kept/inside");
  fs::create_directory_symlink(folder_.path() + "/kept", job_ + "/link");
  EXPECT_TRUE(job.Remove().ok());
  EXPECT_FALSE(fs::exists(folder_.path() + "/runs"));  // which it had created
  EXPECT_TRUE(fs::exists(folder_.path() + "/kept/inside"));
  EXPECT_EQ(LogFolder(job_).Remove().code(), StatusCode::kNotFound);
}

TEST_F(LogFolderTest, AParentThatExistedOrHasOtherFilesStays) {
  fs::create_directories(folder_.path() + "/runs");
  const LogFolder job(job_);
  ASSERT_TRUE(Makes(job, "a"));
  EXPECT_TRUE(job.Remove().ok());
  EXPECT_TRUE(fs::exists(folder_.path() + "/runs"));
  fs::remove(folder_.path() + "/runs");
  const LogFolder first(job_);
  const LogFolder second(job_ + "2");
  ASSERT_TRUE(Makes(first, "a") && Makes(second, "a"));
  EXPECT_TRUE(first.Remove().ok());
  EXPECT_TRUE(fs::exists(job_ + "2/a"));
}

TEST_F(LogFolderTest, ALinkIsNotRemoved) {
  fs::create_directories(folder_.path() + "/other/inside");
  fs::create_directories(folder_.path() + "/runs");
  fs::create_directory_symlink(folder_.path() + "/other", job_);
  EXPECT_FALSE(LogFolder(job_).Remove().ok());
  EXPECT_TRUE(fs::exists(folder_.path() + "/other/inside"));
}

}  // namespace
}  // namespace autodist::base
