#include "slurm/allocation.h"

#include <gtest/gtest.h>

#include <string>

namespace autodist::slurm {
namespace {

std::string Config(const std::string& type, const std::string& info) {
  return "AuthAltTypes            = auth/jwt\nAuthInfo                = " + info +
         "\nAuthType                = " + type + "\nKillWait                = 30 sec\n";
}

TEST(SlurmAllocationTest, FindsTheMungeSocket) {
  EXPECT_EQ(MungeSocketIn(Config("auth/munge", "(null)")), "");
  EXPECT_EQ(MungeSocketIn(Config("auth/munge", "socket=/run/munge.2")), "/run/munge.2");
  EXPECT_EQ(MungeSocketIn(Config("auth/munge", "ttl=9,socket=/run/a b,cred_expire=3")), "/run/a b");
  EXPECT_EQ(MungeSocketIn(Config("auth/none", "socket=/run/munge.2")), std::nullopt);
  EXPECT_EQ(MungeSocketIn(Config("auth/slurm", "(null)")), std::nullopt);
  EXPECT_EQ(MungeSocketIn(""), std::nullopt);
}

}  // namespace
}  // namespace autodist::slurm
