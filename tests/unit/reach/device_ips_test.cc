#include "reach/device_ips.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "support/temp_folder.h"
#include "transport/local.h"

namespace autodist::reach {
namespace {

using testing::ElementsAre;

constexpr char kAnswer[] =
    "Welcome!\n\nAUTODIST-DEVICE-IPS\n192.168.100.101\n\nno address\nAUTODIST-END\n";

TEST(ReadDeviceIpsTest, FindsTheAnswerAfterNoise) {
  EXPECT_THAT(*ReadDeviceIps(kAnswer, 3), ElementsAre("192.168.100.101", "", ""));
  EXPECT_EQ(ReadDeviceIps(kAnswer, 2).status().code(), StatusCode::kInternal);
}

TEST(ReadDeviceIpsTest, ATruncatedAnswer) {
  const std::string answer = kAnswer;
  for (const size_t size : {size_t{0}, size_t{20}, answer.size() - 1}) {
    EXPECT_EQ(ReadDeviceIps(answer.substr(0, size), 3).status().code(), StatusCode::kNotFound);
  }
}

// Replaces the tool of Ascend's driver, which exists only on machines with NPUs.
TEST(AskDeviceIpsTest, TheToolIsQueried) {
  const test::TempFolder folder;
  const std::string tool =
      folder.Write("hccn_tool",
                   "#!/bin/sh\n[ \"$1 $3 $4\" = '-i -ip -g' ] && "
                   "printf 'ipaddr:192.168.10%s.101\\nnetmask:255.255.255.0\\n'"
                   " \"$2\"\n");
  chmod(tool.c_str(), 0755);
  const std::string path = getenv("PATH");
  setenv("PATH", (folder.path() + ":" + path).c_str(), 1);
  transport::LocalTransport here;
  LoginRetryBudget servers;
  const auto ips = AskDeviceIps(here, {4, 6}, servers, kAskLimit);
  setenv("PATH", path.c_str(), 1);
  ASSERT_TRUE(ips.ok()) << ips.status();
  EXPECT_THAT(*ips, ElementsAre("192.168.104.101", "192.168.106.101"));
}

TEST(AskDeviceIpsTest, WithoutDevicesThereAreNoAddresses) {
  transport::LocalTransport here;
  LoginRetryBudget servers;
  const auto ips = AskDeviceIps(here, {0}, servers, kAskLimit);
  ASSERT_TRUE(ips.ok()) << ips.status();
  EXPECT_THAT(*ips, ElementsAre(""));
}

}  // namespace
}  // namespace autodist::reach
