#include "http/connection.h"

#include <gtest/gtest.h>

#include "base/host_name.h"

namespace autodist::http {
namespace {

const auto kLoopback = base::IpAddress::Parse("127.0.0.1");
const auto kAll = base::IpAddress::Parse("0.0.0.0");

TEST(IsOurHostTest, IsAnAddressOrALocalName) {
  for (const char* ours :
       {"127.0.0.1:80", "127.0.0.1", "localhost:9000", "LOCALHOST", "[::1]:80"}) {
    EXPECT_TRUE(IsOurHost(ours, kLoopback)) << ours;
    EXPECT_TRUE(IsOurHost(ours, std::nullopt)) << ours;
  }
  for (const char* other : {"", "evil.example", "evil.example:80", "localhost.evil.example:80",
                            "127.0.0.1.evil.example", "10.0.0.1:80", "[::1", "[]"}) {
    EXPECT_FALSE(IsOurHost(other, kLoopback)) << other;
    EXPECT_FALSE(IsOurHost(other, std::nullopt)) << other;
  }
}

TEST(IsOurHostTest, OnANetworkItIsAnAddressOrThisMachinesName) {
  EXPECT_TRUE(IsOurHost("10.0.0.1:80", kAll));
  EXPECT_TRUE(IsOurHost(base::HostName() + ":80", kAll));
  EXPECT_TRUE(IsOurHost(base::HostName().substr(0, base::HostName().find('.')), kAll));
  for (const char* other : {"", "evil.example:80", "[::1", ":80"}) {
    EXPECT_FALSE(IsOurHost(other, kAll)) << other;
  }
  EXPECT_FALSE(IsOurHost(base::HostName() + ".evil.example:80", kAll));
}

}  // namespace
}  // namespace autodist::http
