#include "ssh/ssh_errors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

#include "base/node_is_down.h"

namespace autodist::ssh {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr char kEnd[] =
    "kex_exchange_identification: Connection closed by remote host\r\n"
    "Connection closed by UNKNOWN port 65535";

namespace cause = transport::cause;

const transport::Login kLogin{
    "gpu1", "ann@gpu1", "ann", "`ssh gate true`", "proxy_jump in the spec", "gpu1 at port 22"};

struct Said {
  std::string text;
  StatusCode code;
  std::string headline;  // a part of it
  const transport::Cause* hint_of = nullptr;
};

TEST(SshErrorsTest, MessagesOfTheProgram) {
  using enum StatusCode;
  const std::string end = kEnd;
  const std::vector<Said> table = {
      // A failing proxy prints the reason; ssh's own message comes after it.
      {"TargetNotConnected: i-0bad is not connected\n" + end, kUnavailable,
       "its ProxyCommand ended without a connection: TargetNotConnected: i-0bad is not"},
      {"sh: 1: /opt/proxy: Permission denied\n" + end, kUnavailable,
       "its ProxyCommand ended without a connection: sh: 1: /opt/proxy: Permission denied"},
      {"error: no matching instance\n" + end, kUnavailable, "connection: error: no matching"},
      {"token REVOKED\n" + end, kUnavailable, "connection: token REVOKED"},
      {"nc: connect to b port 22 (tcp) timed out\n" + end, kUnavailable, "its ProxyCommand ended"},
      {"Ncat: Could not resolve hostname \"proxy\": Name or service not known. QUITTING.\n" + end,
       kUnavailable, "its ProxyCommand ended without a connection: Ncat: Could not resolve"},
      {"nc: getaddrinfo: Temporary failure in name resolution\n" + end, kUnavailable,
       "its ProxyCommand ended without a connection: nc: getaddrinfo"},
      {"proxy: Permission denied (os error 13)\n" + end, kUnavailable,
       "its ProxyCommand ended without a connection: proxy: Permission denied"},
      {"gone\nkex_exchange_identification: read: Connection reset by peer\r\n"
       "Connection reset by UNKNOWN port 65535",
       kUnavailable, "connection: gone"},
      // A jump host that is not reached, or refuses the login.
      {"ssh: connect to host b port 1: Connection refused\n" + end, kUnavailable,
       "its jump host cannot be reached: ssh: connect to host b port 1: Connection refused",
       &cause::kJumpHostUnreachable},
      {"u@gate: Permission denied (publickey).\n" + end, kPermissionDenied,
       "the login to its jump host fails: u@gate: Permission denied", &cause::kJumpHostRefuses},
      {"ssh: Could not resolve hostname gate: Name or service not known\n" + end, kUnavailable,
       "its jump host cannot be reached", &cause::kJumpHostUnreachable},
      {"Host key verification failed.\n" + end, kPermissionDenied,
       "the login to its jump host fails", &cause::kJumpHostRefuses},
      // One that admits the user.
      {"channel 0: open failed: connect failed: No route to host\r\n"
       "stdio forwarding failed\n" +
           end,
       kUnavailable, "its jump host does not reach it: channel 0", &cause::kJumpHostFails},
      {"channel 0: open failed: administratively prohibited: open failed\r\n"
       "stdio forwarding failed\n" +
           end,
       kUnavailable, "its jump host forbids connections to other machines",
       &cause::kJumpHostForbids},
      {"Connection timed out during banner exchange\r\nConnection to UNKNOWN port 65535 timed out",
       kDeadlineExceeded, "timed out during banner exchange"},
      {end, kResourceExhausted,
       "its ProxyCommand ended without a connection, and without a message"},
      // A jump host that is busy itself.
      {"kex_exchange_identification: Connection closed by remote host\r\n"
       "Connection closed by 10.0.0.1 port 22\n" +
           end,
       kResourceExhausted, "refusing logins for now"},
      // Without a jump host.
      {"kex_exchange_identification: Connection closed by remote host\r\n"
       "Connection closed by 10.0.0.1 port 22",
       kResourceExhausted, "refusing logins for now"},
      {"u@a: Permission denied (publickey,password).", kPermissionDenied, "key refused"},
      {"Received disconnect from 10.0.0.1 port 22:2: Too many authentication failures",
       kPermissionDenied, "key refused", &cause::kTooManyKeys},
      {"Unable to negotiate with 10.0.0.1 port 22: no matching cipher found. Their offer: x",
       kUnimplemented, "no common cipher: ssh says:", &cause::kNoCommonCipher},
      {"ssh: connect to host a port 22: Connection refused", kUnavailable, "Connection refused"},
      {"ssh: connect to host a port 22: Connection timed out", kDeadlineExceeded, "timed out"},
      {"", kUnavailable, "ssh ended without a message"},
      // A banner about the account comes before ssh's own line.
      {"System is going down. Unprivileged users are not permitted to log in anymore.\r\n"
       "Connection closed by 10.0.0.1 port 22",
       kUnavailable, "the server says: System is going down. Unprivileged users"},
      {"The cluster is down for maintenance.\nu@a: Permission denied (publickey).", kUnavailable,
       "the server says: The cluster is down for maintenance."},
      {"Call 4711 if your password has expired.\nu@a: Permission denied (publickey).",
       kPermissionDenied, "key refused"},
      {"u@a: Permission denied (keyboard-interactive).", kPermissionDenied,
       "the server wants a password or a code, too"},
      {"/h/.ssh/config: line 2: Bad configuration option: usekeychain\r\n"
       "/h/.ssh/config: terminating, 1 bad configuration options",
       kInvalidArgument, "line 2: Bad configuration option"},
  };
  for (const Said& said : table) {
    const Status status = transport::WithLogin(SshProgramError(said.text, "a"), kLogin);
    EXPECT_EQ(status.code(), said.code) << said.text;
    EXPECT_THAT(Message(status), HasSubstr(said.headline)) << said.text;
    EXPECT_NE(Remedy(status), "") << said.text;
    if (said.hint_of) {
      const Status made = transport::CauseError(*said.hint_of);
      EXPECT_EQ(Remedy(status), Remedy(transport::WithLogin(made, kLogin))) << said.text;
    }
    EXPECT_THAT(Message(status) + Remedy(status), Not(HasSubstr("{"))) << said.text;
  }
}

TEST(SshErrorsTest, AKeyThatTheSpecDoesNotHaveIsNoMatterOfKnownHosts) {
  constexpr char kChanged[] =
      "@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @\n"
      "The fingerprint for the ED25519 key sent by the remote host is\nSHA256:Mx+4/aE.\n"
      "Please contact your system administrator.\n"
      "Offending ED25519 key in KnownHostsCommand-HOSTNAME:1\nHost key verification failed.";
  constexpr char kOfOtherType[] =
      "No ED25519 host key is known for a and you have requested strict checking.\n"
      "Host key verification failed.";
  const std::string known = "host key does not match 'host_keys' in the spec: ";
  EXPECT_EQ(Message(SshProgramError(kChanged, "a", true)), known + "the server has SHA256:Mx+4/aE");
  EXPECT_THAT(Message(SshProgramError(kOfOtherType, "a", true)),
              testing::StartsWith(known + "ssh says:"));
  for (const char* said : {kChanged, kOfOtherType}) {
    const Status pinned = SshProgramError(said, "a", true);
    EXPECT_THAT(Remedy(pinned), HasSubstr("correct host_keys in the spec"));
    EXPECT_THAT(Message(SshProgramError(said, "a")), Not(HasSubstr("in the spec")));
  }
  EXPECT_THAT(Message(SshProgramError("Permission denied (publickey).", "a", true)),
              HasSubstr("key refused"));
  const Status own = PinnedHostKeyError({KnownHosts::Match::kUnknown, ""}, "key");
  EXPECT_THAT(Message(own), HasSubstr("'host_keys' in the spec: the server has "));
  EXPECT_EQ(Remedy(own), Remedy(SshProgramError(kChanged, "a", true)));
}

base::ConnectRace::Failed Failed(const char* address, int error) {
  return {*base::IpAddress::Parse(address), error};
}

TEST(SshErrorsTest, AFailedConnectionNamesEachAddress) {
  const Status one = ConnectError({Failed("10.0.0.2", EHOSTUNREACH)});
  EXPECT_EQ(Message(one), "no answer: connecting to 10.0.0.2: No route to host");
  EXPECT_THAT(Remedy(one), HasSubstr("check that the machine is up"));
  EXPECT_TRUE(NodeIsDown::In(one));
  const Status outside = ConnectError({Failed("10.0.0.2", ENETUNREACH)});
  EXPECT_EQ(Message(outside), "no route: connecting to 10.0.0.2: Network is unreachable");
  EXPECT_THAT(Remedy(outside), HasSubstr("ip route"));
  EXPECT_FALSE(NodeIsDown::In(outside));  // the routes of this machine are the cause
  EXPECT_FALSE(NodeIsDown::In(ConnectError({Failed("10.0.0.2", ENODEV)})));
  const Status two =
      ConnectError({Failed("10.0.0.2", EHOSTUNREACH), Failed("fd00::2", ECONNREFUSED)});
  EXPECT_EQ(Message(two),
            "connecting to 10.0.0.2: No route to host; connecting to fd00::2: Connection refused");
  EXPECT_THAT(Remedy(two), HasSubstr("start sshd"));
}

TEST(SshErrorsTest, ARefusedLogin) {
  RefusedLogin login;
  login.username = "ann";
  EXPECT_THAT(Message(KeyRefusedError(login)), HasSubstr("there is no key to offer"));
  login.tried = {"/k", "/k2"};
  login.notes = {"another is encrypted"};
  const Status plain = KeyRefusedError(login);
  EXPECT_EQ(Message(plain),
            "key refused: the server does not accept for user ann:\n  /k\n  /k2\n  not tried: "
            "another is encrypted");
  EXPECT_THAT(Remedy(plain), HasSubstr("authorized_keys"));
  EXPECT_THAT(Remedy(plain), HasSubstr("AllowUsers and DenyUsers"));
  EXPECT_THAT(Remedy(plain), HasSubstr("StrictModes"));
  EXPECT_THAT(Remedy(plain), HasSubstr("(`username` or key_file in the spec; where it has none, "
                                       "User or IdentityFile in ~/.ssh/config)"));

  login.certificate = "certificate /c is for bob, not for ann";
  const Status wrong = KeyRefusedError(login);
  EXPECT_THAT(Message(wrong), testing::StartsWith("key refused: certificate /c is for bob"));
  EXPECT_THAT(Remedy(wrong), HasSubstr("get a certificate for ann"));
  EXPECT_EQ(wrong.code(), StatusCode::kPermissionDenied);

  login.banner = "Authorized users only. If your password has expired, call 4711.\n";
  const Status banner = KeyRefusedError(login);
  EXPECT_THAT(Message(banner), HasSubstr("\n  the server says: Authorized users"));
  EXPECT_EQ(Remedy(banner), Remedy(wrong));
  login.banner = "***\nThe cluster is down for maintenance.\n***\n";
  const Status closed = KeyRefusedError(login);
  EXPECT_THAT(Message(closed),
              testing::StartsWith("the server says: The cluster is down for maintenance.\nkey "
                                  "refused: "));
  EXPECT_THAT(Message(closed), Not(HasSubstr("\n  the server says: ")));
  EXPECT_EQ(Remedy(closed), cause::kMaintenance.hint);
}

TEST(SshErrorsTest, TheHintForANewHostKeyNamesTheFileThatIsUsed) {
  const auto hint = [](const std::string& file) {
    const KnownHosts known(std::vector<std::string>{file, "/etc/ssh/ssh_known_hosts"});
    return Remedy(HostKeyError(known.Check("a", 22, "key"), "a", 22, "key"));
  };
  EXPECT_THAT(hint("/nowhere/of_project"), HasSubstr("add to /nowhere/of_project:\na "));
  EXPECT_THAT(hint("/dev/null"), HasSubstr("add to a file of UserKnownHostsFile:"));
  EXPECT_THAT(hint("/nowhere/k"), HasSubstr("/etc/ssh/ssh_host_*_key.pub | ssh-keygen -lf -"));
}

TEST(SshErrorsTest, ALoginThatTheServerEnds) {
  EXPECT_EQ(Message(LoginInterruptedError("", "", "socket disconnect")),
            "the connection was lost while logging in: socket disconnect");
  const Status ended = LoginInterruptedError("", "Idle for too long", "socket disconnect");
  EXPECT_EQ(Message(ended), "the server ended the login: Idle for too long");
  EXPECT_EQ(Remedy(ended), "");
  const Status refused = LoginInterruptedError(
      "Access denied by pam_slurm_adopt: you have no active jobs on this node\n", "", "x");
  EXPECT_THAT(Remedy(refused), HasSubstr("--slurm"));
  const Status closed = LoginInterruptedError(
      "Your account has expired; please contact your system administrator\n", "", "x");
  EXPECT_EQ(Message(closed),
            "the server says: Your account has expired; please contact your system administrator");
  EXPECT_EQ(closed.code(), StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace autodist::ssh
