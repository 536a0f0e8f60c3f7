// Uses a real FIFO. A separate program, because the file is opened once.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>

#include "autodist/client.h"
#include "base/fd.h"
#include "support/temp_folder.h"

namespace autodist {
namespace {

TEST(ReportProgressTest, WritesALineWithoutBlocking) {
  const test::TempFolder folder;
  const std::string path = folder.path() + "/progress.0";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  const base::UniqueFd fd(open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
  setenv("AUTODIST_PROGRESS", path.c_str(), 1);
  EXPECT_TRUE(ReportProgress(12, 100, {{"loss", 0.5}, {"lr", std::nan("")}}).ok());
  EXPECT_TRUE(ReportProgress(13, 0).ok());
  char bytes[4096];
  const ssize_t got = read(fd.get(), bytes, sizeof bytes);
  ASSERT_GT(got, 0);
  EXPECT_EQ(std::string(bytes, static_cast<size_t>(got)),
            "{\"step\": 12, \"total\": 100, \"loss\": 0.5, \"lr\": NaN}\n{\"step\": 13}\n");
  for (int i = 0; i < 10'000; ++i)
    ASSERT_TRUE(ReportProgress(14, 0).ok()) << "the FIFO is not read";
  EXPECT_FALSE(ReportProgress(1, 0, {{"a\"b", 1}}).ok());
  EXPECT_FALSE(ReportProgress(1, 0, {{std::string(5000, 'a'), 1}}).ok());
  unsetenv("AUTODIST_PROGRESS");
}

}  // namespace
}  // namespace autodist
