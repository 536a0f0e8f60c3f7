#include "ssh/ssh_errors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autodist::ssh {
namespace {

using testing::HasSubstr;

constexpr char kEnd[] =
    "kex_exchange_identification: Connection closed by remote host\r\n"
    "Connection closed by UNKNOWN port 65535";

struct Said {
  std::string text;
  StatusCode code;
  std::string headline;  // a part of it
};

TEST(SshErrorsTest, MessagesOfTheProgram) {
  using enum StatusCode;
  const std::string end = kEnd;
  const std::vector<Said> table = {
      // A failing proxy prints the reason; ssh's own message comes after it.
      {"TargetNotConnected: i-0bad is not connected\n" + end, kUnavailable,
       "the ProxyCommand of a ended without a connection: TargetNotConnected: i-0bad is not"},
      {"sh: 1: /opt/proxy: Permission denied\n" + end, kUnavailable,
       "the ProxyCommand of a ended without a connection: sh: 1: /opt/proxy: Permission denied"},
      {"error: no matching instance\n" + end, kUnavailable, "connection: error: no matching"},
      {"token REVOKED\n" + end, kUnavailable, "connection: token REVOKED"},
      {"nc: connect to b port 22 (tcp) timed out\n" + end, kUnavailable, "ProxyCommand of a ended"},
      {"gone\nkex_exchange_identification: read: Connection reset by peer\r\n"
       "Connection reset by UNKNOWN port 65535",
       kUnavailable, "connection: gone"},
      {"ssh: connect to host b port 1: Connection refused\n" + end, kUnavailable,
       "the jump host of a ended without a connection: ssh: connect to host b port 1: Connection"},
      {"channel 0: open failed: connect failed: No route to host\r\n"
       "stdio forwarding failed\n" +
           end,
       kUnavailable, "the jump host of a ended"},
      {"Connection timed out during banner exchange\r\nConnection to UNKNOWN port 65535 timed out",
       kDeadlineExceeded, "timed out during banner exchange"},
      {end, kResourceExhausted,
       "the ProxyCommand of a ended without a connection, and without a message"},
      // A jump host that is busy itself.
      {"kex_exchange_identification: Connection closed by remote host\r\n"
       "Connection closed by 10.0.0.1 port 22\n" +
           end,
       kResourceExhausted, "refusing logins for now"},
      {"u@gate: Permission denied (publickey).\n" + end, kPermissionDenied, "key refused"},
      {"ssh: Could not resolve hostname gate: Name or service not known\n" + end, kNotFound,
       "name does not resolve"},
      {"Host key verification failed.\n" + end, kFailedPrecondition, "host key unknown"},
      // Without a jump host.
      {"kex_exchange_identification: Connection closed by remote host\r\n"
       "Connection closed by 10.0.0.1 port 22",
       kResourceExhausted, "refusing logins for now"},
      {"u@a: Permission denied (publickey,password).", kPermissionDenied, "key refused"},
      {"Received disconnect from 10.0.0.1 port 22:2: Too many authentication failures",
       kPermissionDenied, "key refused"},
      {"Unable to negotiate with 10.0.0.1 port 22: no matching cipher found. Their offer: x",
       kUnimplemented, "no common algorithm"},
      {"ssh: connect to host a port 22: Connection refused", kUnavailable, "Connection refused"},
      {"ssh: connect to host a port 22: Connection timed out", kDeadlineExceeded, "timed out"},
      {"", kUnavailable, "ssh ended without a message"},
  };
  for (const Said& said : table) {
    const Status status = SshProgramError(said.text, "a");
    EXPECT_EQ(status.code(), said.code) << said.text;
    EXPECT_THAT(Message(status), HasSubstr(said.headline)) << said.text;
    EXPECT_NE(Remedy(status), "") << said.text;
  }
}

}  // namespace
}  // namespace autodist::ssh
