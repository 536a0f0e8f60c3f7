#include "base/fd.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "support/temp_folder.h"

namespace autodist::base {
namespace {

using std::chrono::milliseconds;

TEST(UniqueFdTest, ClosesWhatItOwns) {
  int number = -1;
  {
    auto pipe = Pipe();
    ASSERT_TRUE(pipe.ok());
    number = pipe->first.get();
    EXPECT_EQ(fcntl(number, F_GETFD), FD_CLOEXEC);
  }
  EXPECT_EQ(fcntl(number, F_GETFD), -1);
}

TEST(FdTest, ReadTimesOutAtItsDeadline) {
  auto pipe = Pipe();
  ASSERT_TRUE(pipe.ok());
  char byte = 0;
  const auto got = ReadSome(pipe->first.get(), &byte, 1, Deadline::After(milliseconds(10)));
  EXPECT_EQ(got.status().code(), StatusCode::kDeadlineExceeded);
}

TEST(FdTest, WriteAllToAFullPipeTimesOut) {
  auto pipe = Pipe();
  ASSERT_TRUE(pipe.ok());
  ASSERT_TRUE(SetNonBlocking(pipe->second.get()).ok());
  const std::string much(1 << 20, 'x');
  EXPECT_EQ(WriteAll(pipe->second.get(), much, Deadline::After(milliseconds(10))).code(),
            StatusCode::kDeadlineExceeded);
}

TEST(FdTest, WriteAllPassesMoreThanAPipeHolds) {
  auto pipe = Pipe();
  ASSERT_TRUE(pipe.ok());
  const std::string much(1 << 20, 'x');
  std::thread writer([&] {
    EXPECT_TRUE(WriteAll(pipe->second.get(), much, Deadline::After(milliseconds(30'000))).ok());
    pipe->second.Reset();
  });
  size_t total = 0;
  char buffer[5000];
  for (;;) {
    const auto got = ReadSome(pipe->first.get(), buffer, sizeof buffer, Deadline::Never());
    ASSERT_TRUE(got.ok());
    if (*got == 0) break;
    total += *got;
  }
  writer.join();
  EXPECT_EQ(total, much.size());
}

TEST(FdTest, ClosedStandardStreamsAreOpened) {
  const pid_t child = fork();
  if (child == 0) {
    close(STDIN_FILENO);
    close(STDERR_FILENO);
    OpenStandardStreams();
    char byte = 0;
    const auto next = Pipe();
    const bool fine = read(STDIN_FILENO, &byte, 1) == 0 && write(STDERR_FILENO, "x", 1) == 1 &&
                      next.ok() && next->first.get() > STDERR_FILENO;
    _exit(fine ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST(FdTest, ReadFileRespectsItsLimit) {
  const test::TempFolder folder;
  const std::string path = folder.Write("file", std::string(100, 'a'));
  EXPECT_EQ(ReadFile(path, 100)->size(), 100u);
  EXPECT_FALSE(ReadFile(path, 99).ok());
  EXPECT_EQ(ReadFile(folder.path() + "/none", 99).status().code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace autodist::base
