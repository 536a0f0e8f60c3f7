#include "base/write_file.h"

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <iterator>

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

TEST(WriteFileTest, WritesLikeTheShell) {
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

// Exits with 0 if WriteFile succeeds without the system call umask, which ends the process.
[[noreturn]] void WriteWithoutUmask(const std::string& path) {
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_umask, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{std::size(filter), filter};
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) _exit(2);
  _exit(WriteFile(path, "text", IfExists::kReplace).ok() ? 0 : 1);
}

// Other threads may create files at the same time.
TEST(WriteFileTest, TheUmaskOfTheProcessIsNotChanged) {
  const test::TempFolder folder;
  EXPECT_EXIT(WriteWithoutUmask(folder.path() + "/new"), testing::ExitedWithCode(0), "");
}

TEST(WriteFileTest, ReplacesOnlyIfAllowed) {
  const test::TempFolder folder;
  const std::string path = folder.Write("old", "old");
  const Status refused = WriteFile(path, "new", IfExists::kRefuse);
  EXPECT_EQ(refused.code(), StatusCode::kAlreadyExists) << refused;
  EXPECT_EQ(folder.Read("old"), "old");
  EXPECT_TRUE(WriteFile(path, "new", IfExists::kReplace).ok());
  EXPECT_EQ(folder.Read("old"), "new");
  EXPECT_EQ(FilesIn(folder.path()), 1u);
}

TEST(WriteFileTest, ADanglingLinkCountsAsExisting) {
  const test::TempFolder folder;
  std::filesystem::create_symlink("/none", folder.path() + "/link");
  EXPECT_EQ(WriteFile(folder.path() + "/link", "x", IfExists::kRefuse).code(),
            StatusCode::kAlreadyExists);
}

TEST(WriteFileTest, AFailureLeavesNoFile) {
  const test::TempFolder folder;
  std::filesystem::create_directory(folder.path() + "/taken");
  EXPECT_FALSE(WriteFile(folder.path() + "/taken", "x", IfExists::kReplace).ok());
  EXPECT_EQ(FilesIn(folder.path()), 1u);
  EXPECT_EQ(WriteFile(folder.path() + "/no/file", "x", IfExists::kRefuse).code(),
            StatusCode::kNotFound);
}

}  // namespace
}  // namespace autodist::base
