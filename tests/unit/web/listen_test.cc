#include "web/server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/unix_socket.h"
#include "support/temp_folder.h"

namespace autodist::web {
namespace {

TEST(ListenTest, ASocketIsPrivateAndReplacesNothing) {
  const test::TempFolder folder;
  const std::string path = folder.path() + "/web.sock";
  {
    const auto listening = ListenAtPath(path);
    ASSERT_TRUE(listening.ok()) << listening.status();
    struct stat info;
    ASSERT_EQ(stat(path.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0600);
    EXPECT_EQ(ListenAtPath(path).status().code(), StatusCode::kAlreadyExists);
  }
  EXPECT_TRUE(ListenAtPath(path).ok()) << "left by one that was killed";
  const std::string file = folder.Write("file", "x");
  EXPECT_EQ(ListenAtPath(file).status().code(), StatusCode::kAlreadyExists);
  EXPECT_EQ(folder.Read("file"), "x");
}

}  // namespace
}  // namespace autodist::web
