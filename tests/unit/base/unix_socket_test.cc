#include "base/unix_socket.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "base/deadline.h"
#include "support/busy_listener.h"
#include "support/temp_folder.h"

namespace autodist::base {
namespace {

using namespace std::chrono_literals;

TEST(UnixSocketTest, WithoutAListenerThereIsNoConnection) {
  const test::TempFolder folder;
  const std::string path = folder.path() + "/socket";
  EXPECT_FALSE(HasListener(path));
  errno = 0;
  EXPECT_FALSE(ConnectWithin(path, 20s).valid());
  EXPECT_EQ(errno, ENOENT);
  (void)*ListenAt(path);  // closed, but its socket file still exists
  EXPECT_FALSE(HasListener(path));
  EXPECT_FALSE(ConnectWithin(path, 20s).valid());
  EXPECT_EQ(errno, ECONNREFUSED);
  const auto listener = ListenAt(path);
  EXPECT_TRUE(HasListener(path));
  EXPECT_TRUE(ConnectWithin(path, 20s).valid());
}

TEST(UnixSocketTest, ABusyListenerIsDetected) {
  const test::TempFolder folder;
  const std::string path = folder.path() + "/socket";
  const test::BusyListener listener(path);
  EXPECT_TRUE(HasListener(path));
  errno = 0;
  EXPECT_FALSE(ConnectWithin(path, 1ms).valid());
  EXPECT_EQ(errno, EAGAIN);
  std::jthread accepts([&] { listener.Accept(); });
  EXPECT_TRUE(ConnectWithin(path, 20s).valid());
}

}  // namespace
}  // namespace autodist::base
