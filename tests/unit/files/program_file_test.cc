#include "files/program_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "base/fd.h"
#include "support/temp_folder.h"

namespace autodist::files {
namespace {

// The exit code; -1: not executable.
int ExitCodeOf(const std::string& path) {
  char* argv[] = {const_cast<char*>(path.c_str()), nullptr};
  pid_t pid = 0;
  if (posix_spawn(&pid, path.c_str(), nullptr, nullptr, argv, environ) != 0) return -1;
  int status = 0;
  waitpid(pid, &status, 0);
  return WEXITSTATUS(status);
}

TEST(ProgramFileTest, IsPrivateInNewFolders) {
  const test::TempFolder folder;
  const std::string path = folder.path() + "/a/b/program";
  ASSERT_TRUE(WriteProgram(path, "#!/bin/sh\nexit 7\n").ok());
  EXPECT_EQ(ExitCodeOf(path), 7);
  struct stat info;
  ASSERT_EQ(stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0700U);
  ASSERT_TRUE(WriteProgram(path, "#!/bin/sh\nexit 8\n").ok());
  EXPECT_EQ(ExitCodeOf(path), 8);
}

// Another user could have put the file there, or could replace it before it is executed.
TEST(ProgramFileTest, IsNotUsedWhereOthersCanReplaceIt) {
  const test::TempFolder folder;
  const std::string shared = folder.path() + "/shared";
  const std::string path = shared + "/program";
  ASSERT_TRUE(WriteProgram(path, "#!/bin/sh\n").ok());
  EXPECT_TRUE(HoldsProgram(path, 10));
  EXPECT_FALSE(HoldsProgram(path, 11));  // truncated, or another version
  chmod(shared.c_str(), 0777);
  EXPECT_FALSE(HoldsProgram(path, 10));
  chmod(shared.c_str(), 0700);
  const std::string link = shared + "/link";
  std::filesystem::create_symlink(path, link);
  EXPECT_FALSE(HoldsProgram(link, 10));
}

TEST(ProgramFileTest, AFailedWriteLeavesNoFile) {
  const test::TempFolder folder;
  std::filesystem::create_directory(folder.path() + "/program");  // an obstacle
  std::filesystem::create_directory(folder.path() + "/program/full");
  EXPECT_FALSE(WriteProgram(folder.path() + "/program", "x").ok());
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
  EXPECT_FALSE(WriteProgram("/proc/program", "x").ok());
}

// Other threads may start programs at the same time.
TEST(ProgramFileTest, IsExecutableDespiteConcurrentForks) {
  const test::TempFolder folder;
  const std::string program = base::ReadFile("/bin/true", 1 << 20).value();
  std::atomic<bool> over = false;
  std::vector<std::thread> forking;
  for (int i = 0; i < 3; ++i) {
    forking.emplace_back([&over] {
      while (!over) {
        const pid_t child = fork();
        if (child == 0) {
          usleep(2000);  // before exec
          _exit(0);
        }
        waitpid(child, nullptr, 0);
      }
    });
  }
  int failed = 0;
  for (int i = 0; i < 50; ++i) {
    const std::string path = folder.path() + "/" + std::to_string(i);
    EXPECT_TRUE(WriteProgram(path, program).ok());
    failed += ExitCodeOf(path) != 0;
  }
  over = true;
  for (std::thread& thread : forking) thread.join();
  EXPECT_EQ(failed, 0);
}

}  // namespace
}  // namespace autodist::files
