#include "web/listen.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/unix_socket.h"
#include "support/temp_folder.h"

namespace autodist::web {
namespace {

TEST(ReadPlaceTest, ReadsAddressesAndPorts) {
  for (const auto& [text, read] : {std::pair("", "127.0.0.1:0"),
                                   {"8080", "127.0.0.1:8080"},
                                   {":8080", "127.0.0.1:8080"},
                                   {"localhost:1", "127.0.0.1:1"},
                                   {"10.0.0.1", "10.0.0.1:0"},
                                   {"10.0.0.1:65535", "10.0.0.1:65535"},
                                   {"[::1]:8080", "[::1]:8080"},
                                   {"[::1]", "[::1]:0"},
                                   {"::1", "[::1]:0"}}) {
    const auto place = ReadPlace(text);
    ASSERT_TRUE(place.ok()) << place.status();
    EXPECT_EQ(HostAndPort(*place), read);
  }
  for (const char* wrong : {"host.example:80", "10.0.0.1:", "10.0.0.1:65536", "10.0.0.1:-1",
                            "[::1]80", "[::1]:", "70000"}) {
    EXPECT_EQ(ReadPlace(wrong).status().code(), StatusCode::kInvalidArgument) << wrong;
  }
}

TEST(ListenTest, LearnsTheFreePortAndRefusesATakenOne) {
  Place place = *ReadPlace("");
  const auto first = ListenOn(place);
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_NE(place.port, 0);
  EXPECT_THAT(Message(ListenOn(place).status()), testing::HasSubstr(HostAndPort(place)));
}

TEST(ListenTest, ASocketIsThisUsersAndNothingIsRemovedForIt) {
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
