// With a real FIFO. A program of its own life: the file is opened once.
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

TEST(TellProgressTest, WritesALineAndNeverWaits) {
  const test::TempFolder folder;
  const std::string path = folder.path() + "/progress.0";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  const base::UniqueFd fd(open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
  setenv("AUTODIST_PROGRESS", path.c_str(), 1);
  EXPECT_TRUE(TellProgress(12, 100, {{"loss", 0.5}, {"lr", std::nan("")}}).ok());
  EXPECT_TRUE(TellProgress(13, 0).ok());
  char bytes[4096];
  const ssize_t got = read(fd.get(), bytes, sizeof bytes);
  ASSERT_GT(got, 0);
  EXPECT_EQ(std::string(bytes, static_cast<size_t>(got)),
            "{\"step\": 12, \"total\": 100, \"loss\": 0.5, \"lr\": NaN}\n{\"step\": 13}\n");
  for (int i = 0; i < 10'000; ++i) ASSERT_TRUE(TellProgress(14, 0).ok()) << "nobody reads";
  EXPECT_FALSE(TellProgress(1, 0, {{"a\"b", 1}}).ok());
  EXPECT_FALSE(TellProgress(1, 0, {{std::string(5000, 'a'), 1}}).ok());
  unsetenv("AUTODIST_PROGRESS");
}

}  // namespace
}  // namespace autodist
