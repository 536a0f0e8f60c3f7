#include "transport/reach_causes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/for_user.h"
#include "base/node_is_down.h"

namespace autodist::transport {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;
using testing::Not;

// Whether the text is this sentence or hint, with words for its placeholders.
bool IsMadeOf(const std::string& text, const std::string& row) {
  static const std::regex special(R"([.^$|()\[*+?\\])");
  static const std::regex placeholder(R"(\{[a-z_]+\})");
  const std::string quoted = std::regex_replace(base::ForUser(row), special, R"(\$&)");
  return std::regex_match(text, std::regex(std::regex_replace(quoted, placeholder, ".*")));
}

// Texts as servers, login shells and ssh print them.
struct Printed {
  std::string text;
  const Cause* cause;
  std::string hint;  // a part of it
};

const Login kLogin{"a", "u@a", "u", "`ssh gate true`", "proxy_jump in the spec", "a at port 22"};

const std::vector<Printed>& Examples() {
  static const std::vector<Printed> examples = {
      {"command-line: line 0: Bad configuration option: knownhostscommand", &cause::kOldSsh,
       "newer OpenSSH"},
      {"C:/h/.ssh/config: line 1: Bad configuration option: \\377\\376m", &cause::kNotPlainText,
       "plain UTF-8"},
      {"/h/.ssh/config: line 1: Bad configuration option: \\357\\273\\277host",
       &cause::kNotPlainText, "byte order mark"},
      {"/h/.ssh/config: line 3: Bad configuration option: usekeychain", &cause::kUnknownOption,
       "IgnoreUnknown usekeychain"},
      {"Bad owner or permissions on /h/.ssh/config", &cause::kConfigPermissions,
       "chmod go-w /h/.ssh/config"},
      {"/h/.ssh/config line 7: Bad number.\n/h/.ssh/config: terminating, 1 bad configuration "
       "options",
       &cause::kWrongConfigLine, "correct that line"},
      {"ssh: Could not resolve hostname a: Temporary failure in name resolution",
       &cause::kSilentNameService, "resolv.conf"},
      {"ssh: Could not resolve hostname a: Name or service not known", &cause::kUnknownName,
       "correct the name"},
      {"Unable to negotiate with 10.0.0.1 port 22: no matching key exchange method found. Their "
       "offer: diffie-hellman-group1-sha1",
       &cause::kNoCommonKeyExchange, "KexAlgorithms in its sshd_config"},
      {"Unable to negotiate with 10.0.0.1 port 22: no matching host key type found. Their offer: "
       "ssh-rsa",
       &cause::kNoCommonHostKeyType, "HostKeyAlgorithms in ~/.ssh/config"},
      {"Unable to negotiate with 10.0.0.1 port 22: no matching cipher found. Their offer: 3des-cbc",
       &cause::kNoCommonCipher, "Ciphers in its sshd_config"},
      {"Unable to negotiate with 10.0.0.1 port 22: no matching MAC found. Their offer: hmac-md5",
       &cause::kNoCommonMac, "MACs in its sshd_config"},
      {"Unable to negotiate with 10.0.0.1 port 22: no matching compression method found.",
       &cause::kNoCommonAlgorithm, ""},
      {"@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @\nHost key verification failed.",
       &cause::kSshChangedHostKey, "remove its line"},
      {"Error: Host key a revoked by file /etc/ssh/revoked", &cause::kRevokedHostKey,
       "new host key"},
      {"Error checking host key ED25519 SHA256:a in revoked keys file ~/.ssh/revoked: No such file "
       "or directory\nHost key verification failed.",
       &cause::kRevokedKeysInHome, "absolute path"},
      {"Error checking host key ED25519 SHA256:a in revoked keys file /etc/revoked: No such file "
       "or directory\nHost key verification failed.",
       &cause::kNoRevokedKeys, "that file must exist"},
      {"No ED25519 host key is known for a.\nHost key verification failed.",
       &cause::kSshUnknownHostKey, "accept-new"},
      {"u@a: Permission denied (keyboard-interactive).", &cause::kOtherMethod, "ControlMaster"},
      {"u@a: Permission denied (publickey,password).", &cause::kSshKeyRefused, "ssh-add"},
      {"Received disconnect from 10.0.0.1 port 22:2: Too many authentication failures",
       &cause::kTooManyKeys, "IdentitiesOnly yes"},
      {"ssh: connect to host a port 22: Connection refused", &cause::kRefused, "start sshd"},
      {"ssh: connect to host a port 22: No route to host", &cause::kSshHostSilent,
       "jump hosts are up"},
      {"ssh: connect to host a port 22: Network is unreachable", &cause::kSshNoRoute, "ip route"},
      {"ssh: connect to host a port 22: Connection timed out", &cause::kSshTimeout, "firewall"},
      {"Connection timed out during banner exchange\nConnection to 10.0.0.1 port 22 timed out",
       &cause::kSshSilentServer, "another service"},
      {"kex_exchange_identification: banner line contains invalid characters",
       &cause::kSshOtherServer, "correct the port (in the node's `address`"},
      {"channel 0: open failed: administratively prohibited: open failed\n"
       "stdio forwarding failed",
       &cause::kJumpHostForbids, "AllowTcpForwarding"},
      {"channel 0: open failed: connect failed: No route to host\nstdio forwarding failed",
       &cause::kJumpHostFails, "that the jump host reaches a at port 22"},
      {"u@gate: Permission denied (publickey).", &cause::kJumpHostRefuses, "ssh gate true"},
      {"ssh: connect to host gate port 22: Connection refused", &cause::kJumpHostUnreachable,
       "ssh gate true"},
      {"kex_exchange_identification: read: Connection reset by peer", &cause::kBusy, "MaxStartups"},
      {"Please login as the user \"ubuntu\" rather than the user \"root\".", &cause::kOtherUser,
       "`username: ubuntu`"},
      {"Please login as the ec2-user user rather than root user.", &cause::kOtherUser,
       "`username: ec2-user`"},
      {"WARNING: Your password has expired.\nPassword change required but no TTY available.",
       &cause::kPasswordExpired, "set a new password"},
      {"You are required to change your password immediately (administrator enforced).",
       &cause::kPasswordExpired, "set a new password"},
      {"Your account has expired; please contact your system administrator.",
       &cause::kAccountClosed, "administrators"},
      {"The account is locked due to 3 failed logins.", &cause::kAccountClosed, "unlock"},
      {"Account locked due to 5 failed logins", &cause::kAccountClosed, "unlock"},
      {"Access denied by pam_slurm_adopt: you have no active jobs on this node",
       &cause::kNoJobOnNode, "--slurm"},
      {"System is booting up. Unprivileged users are not permitted to log in yet. Please come back "
       "later. For technical details, see pam_nologin(8).",
       &cause::kNoLogins, "/run/nologin"},
      {"*******************\n* The cluster is down for maintenance *\n* until Monday, 8:00 *",
       &cause::kMaintenance, "end of the maintenance"},
      {"Maintenance until Monday 8:00.", &cause::kMaintenance, "end of the maintenance"},
      {"Error: Your SSH client doesn't support PTY", &cause::kNeedsTerminal, "another address"},
      {"sudo: sorry, you must have a tty to run sudo", &cause::kNeedsTerminal, "terminal"},
      {"Non-interactive SSH session denied.", &cause::kNeedsTerminal, "terminal"},
  };
  return examples;
}

Status ErrorOf(const Printed& one) {
  switch (one.cause->said_by) {
    case SaidBy::kConfiguration:
      return ConfigurationError(one.text);
    case SaidBy::kServer:
      return SaidByServer("Welcome!\n" + one.text + "\n");
    case SaidBy::kSsh:
    case SaidBy::kJumpHost:
    case SaidBy::kNone:
      break;
  }
  return CauseError(*CauseIn(one.text, one.cause->said_by),
                    {{"{said}", one.text}, {"{where}", ""}});
}

TEST(ReachCausesTest, EachTextShowsItsCauseAndGetsNoHintOfAnother) {
  std::set<const Cause*> shown;
  for (const Printed& one : Examples()) {
    ASSERT_EQ(CauseIn(one.text, one.cause->said_by), one.cause) << one.text;
    shown.insert(one.cause);
    const Status status = WithLogin(ErrorOf(one), kLogin);
    EXPECT_THAT(Remedy(status), HasSubstr(one.hint)) << one.text;
    EXPECT_THAT(Message(status) + Remedy(status), Not(HasSubstr("{"))) << one.text;
    EXPECT_TRUE(IsMadeOf(Remedy(status), one.cause->hint)) << Remedy(status);
    for (const Cause* other : CausesInTexts()) {
      if (std::string_view(other->hint) == one.cause->hint) continue;
      EXPECT_FALSE(IsMadeOf(Remedy(status), other->hint)) << one.text << "\n" << other->hint;
    }
  }
  for (const Cause* cause : CausesInTexts()) {
    EXPECT_TRUE(shown.contains(cause)) << cause->evidence;
    EXPECT_TRUE(std::ranges::none_of(std::string_view(cause->evidence), [](char c) {
      return c >= 'A' && c <= 'Z';
    })) << cause->evidence;
  }
}

TEST(ReachCausesTest, OtherTextsShowNoCause) {
  for (const char* text : {"",
                           "Welcome to Ubuntu 24.04",
                           "Log in as the user train for long jobs.",
                           "Authorized use only. Users log in as themselves.",
                           "Log in as the user",
                           "Please login as the user \"NONE\" rather than the user \"root\".",
                           "module: command not found",
                           "Your disk quota is 80 % used",
                           "To change your password, run passwd.",
                           "Accounts that have expired: call 4711.",
                           "If your password has expired, call 4711.",
                           "Call 4711 when your password has expired.",
                           "Welcome. If your account has been disabled, call 4711.",
                           "Your certificate has expired.",
                           "An account is locked due to inactivity after 90 days.",
                           "After 5 attempts the account is locked due to failed logins.",
                           "Logins are checked by pam_slurm_adopt.",
                           "Robots are not permitted to log in.",
                           "Password logins are disabled.",
                           "On Monday this cluster will be down for maintenance.",
                           "There is no maintenance until May.",
                           "You must change your password every 90 days.",
                           "Change your password immediately if it was stolen."}) {
    EXPECT_EQ(CauseIn(text, SaidBy::kServer), nullptr) << text;
  }
  for (const char* text :
       {"Ncat: Could not resolve hostname \"proxy\": Name or service not known. QUITTING.",
        "proxy: Permission denied (os error 13)", "error: instance i-0bad is unreachable"}) {
    EXPECT_EQ(CauseIn(text, SaidBy::kSsh), nullptr) << text;
    EXPECT_EQ(CauseIn(text, SaidBy::kJumpHost), nullptr) << text;
  }
  EXPECT_EQ(CauseIn("nc: connect to a port 22 (tcp): Connection refused", SaidBy::kJumpHost),
            nullptr);
}

TEST(ReachCausesTest, OnlyTheSentenceIsQuoted) {
  const Status status = SaidByServer(
      "Welcome!\n****************\n*  Node 7 is down for maintenance  *\n*  until Monday  *\n");
  EXPECT_EQ(Message(status), "the server says: Node 7 is down for maintenance until Monday");
  EXPECT_EQ(Message(SaidByServer("\x1b[31mThe cluster is under maintenance.\n")),
            "the server says: \\x1b[31mThe cluster is under maintenance.");
}

TEST(ReachCausesTest, ALoginThatNamesAnotherUserIsNotAwaited) {
  EXPECT_FALSE(
      EndOfLogin("Please login as the user \"ubuntu\" rather than the user \"root\".\n").ok());
  EXPECT_TRUE(EndOfLogin("Please log in as the user train for long jobs.\n").ok());
  EXPECT_TRUE(EndOfLogin("Use the queue rather than this node.\n").ok());
}

TEST(ReachCausesTest, ALoginWithoutACommand) {
  EXPECT_EQ(Message(CommandNotRun("only backups here\n")),
            "the server says: only backups here; the login succeeds, but runs no command");
  EXPECT_EQ(Message(CommandNotRun("This service allows sftp connections only.\n")),
            "the server says: This service allows sftp connections only; the login succeeds, but "
            "runs no command");
  EXPECT_THAT(Message(CommandNotRun("\n")), HasSubstr("no command runs"));
  const Status closed = CommandNotRun("maintenance until Monday 8:00\n");  // of /etc/nologin
  EXPECT_EQ(Message(closed), "the server says: maintenance until Monday 8:00");
  // A forced command may end with 0, so the exit code shows nothing.
  for (const char* text : {"", "only backups here\n"}) {
    EXPECT_THAT(Remedy(CommandNotRun(text)), HasSubstr("`ssh {login} echo works` print `works`"));
    EXPECT_THAT(Remedy(CommandNotRun(text)), HasSubstr("ForceCommand in sshd_config, `command=`"));
  }
  const Status late = CommandLate(cause::kShellWaits, "env? ", seconds(60));
  EXPECT_THAT(Message(late), HasSubstr("has not run anything within 60 s"));
  EXPECT_THAT(Message(late), HasSubstr("and prints:\n    env? "));
  const Status forged = CommandLate(cause::kNoAnswer, "a\nautodist: error: b\n", seconds(60));
  EXPECT_THAT(Message(forged), Not(HasSubstr("\nautodist")));
  const Status news = CommandLate(cause::kShellWaits, "Monday: maintenance mode\n", seconds(60));
  EXPECT_THAT(Remedy(news), HasSubstr("bashrc"));
  const Status asks = CommandLate(cause::kShellWaits, "Your password has expired.\n", seconds(60));
  EXPECT_THAT(Remedy(asks), HasSubstr("set a new password"));
  const Status expired = CommandNotRun("Your password has expired.\n");
  EXPECT_EQ(Message(expired), "the server says: Your password has expired.");
  EXPECT_THAT(Remedy(expired), Not(HasSubstr("bashrc")));
}

// Also rows that no text shows.
const std::vector<const Cause*>& HintsAboutLogins() {
  static const std::vector<const Cause*> rows = [] {
    std::vector<const Cause*> all(CausesInTexts().begin(), CausesInTexts().end());
    all.insert(all.end(),
               {&cause::kConnectTimeout, &cause::kHostSilent,       &cause::kNoRoute,
                &cause::kNoInterface,    &cause::kNotConnected,     &cause::kJumpHostLogin,
                &cause::kProxyFails,     &cause::kProxySilent,      &cause::kSilentServer,
                &cause::kClosedAtOnce,   &cause::kOtherServer,      &cause::kSlowHandshake,
                &cause::kHandshakeFails, &cause::kHandshakeAborted, &cause::kNoKey,
                &cause::kKeyRefused,     &cause::kSlowLogin,        &cause::kLoginLost,
                &cause::kSlowSignature,  &cause::kSshFails,         &cause::kChannelRefused,
                &cause::kSlowCommand,    &cause::kNoCommand,        &cause::kShellExits,
                &cause::kShellWaits,     &cause::kContainerWaits,   &cause::kNoAnswer,
                &cause::kEndlessOutput,  &cause::kSlowFolder,       &cause::kNoFolder,
                &cause::kFolderFails,    &cause::kNotSent,          &cause::kSlowProgram,
                &cause::kProgramFails,   &cause::kOtherHostKey,     &cause::kLoopbackName});
    return all;
  }();
  return rows;
}

TEST(ReachCausesTest, NoHintHasAPlaceholder) {
  const std::regex word(R"(\b(NODE|USER|HOST|JUMP_HOST|NAME|FILE|CONTAINER)\b)");
  for (const Cause* row : HintsAboutLogins()) {
    const Status error = CauseError(*row, {{"{limit}", "10 s"}, {"{rest}", "x"}});
    const std::string hint = Remedy(WithLogin(error, kLogin));
    EXPECT_THAT(hint, Not(HasSubstr("{"))) << row->hint;
    EXPECT_FALSE(std::regex_search(hint, word)) << hint;
    EXPECT_THAT(Remedy(WithLogin(error, {})), Not(HasSubstr("{"))) << row->hint;
    EXPECT_EQ(Message(WithLogin(error, {})), Message(error));
    // The chief names these options after the causes of all nodes.
    for (const char* option : {"--exclude", "--wait-for-nodes", "--min-nodes"}) {
      EXPECT_THAT(hint, Not(HasSubstr(option))) << hint;
    }
  }
}

TEST(ReachCausesTest, AHintNamesOnlyWhatTheUserHas) {
  using base::NodeSource;
  struct Row {
    NodeSource source;
    std::vector<const char*> absent;  // what such a user has not
  };
  const std::vector<const char*> of_init = {"--port", "--key-file", "--user"};
  const Row rows[] = {{NodeSource::kSpec, of_init},
                      {NodeSource::kHosts, of_init},
                      {NodeSource::kInit, {"--fan-out", "--env", "--hosts"}},
                      {NodeSource::kAllocation, {"--port", "--key-file", "--user", "--hosts"}},
                      {NodeSource::kHere, {"--port", "--key-file", "--user", "--hosts"}}};
  const std::regex section(R"(\[[a-z,]+\|)");
  for (const auto& [source, absent] : rows) {
    for (const Cause* row : HintsAboutLogins()) {
      base::SetNodeSource(source);
      const Status error = CauseError(*row, {{"{limit}", "10 s"}, {"{rest}", "x"}});
      base::SetNodeSource(NodeSource::kSpec);
      const std::string shown = Message(error) + "\n" + Remedy(error);
      EXPECT_FALSE(std::regex_search(shown, section)) << shown;
      for (const char* text : absent) EXPECT_THAT(shown, Not(HasSubstr(text)));
      if (source == NodeSource::kSpec) continue;
      for (const char* text : {"the spec", "a spec", "key_file", "proxy_jump", "host_keys"}) {
        EXPECT_THAT(shown, Not(HasSubstr(text)));
      }
    }
  }
}

TEST(ReachCausesTest, EachPlaceOfThePortIsNamed) {
  for (const Cause* row : {&cause::kRefused, &cause::kSilentServer, &cause::kSshSilentServer,
                           &cause::kOtherServer, &cause::kSshOtherServer}) {
    for (const char* place : {"`port` in its ssh group", "the node's `address`", "~/.ssh/config"}) {
      EXPECT_THAT(Remedy(CauseError(*row)), HasSubstr(place));
    }
  }
}

TEST(ReachCausesTest, TextsOfNodesAreNoSections) {
  const Status error = CauseError(cause::kNoCommand, {{"{said}", "[init|x] [spec|y]"}});
  EXPECT_THAT(Message(error), HasSubstr("[init|x] [spec|y]"));
}

TEST(ReachCausesTest, OnlyANodeThatDoesNotAnswerMayBeBooting) {
  for (const Cause* row : {&cause::kConnectTimeout, &cause::kRefused, &cause::kHostSilent,
                           &cause::kSshHostSilent, &cause::kJumpHostFails}) {
    EXPECT_TRUE(NodeIsDown::In(CauseError(*row))) << row->sentence;
  }
  for (const Cause* row : {&cause::kNoRoute, &cause::kSshNoRoute, &cause::kJumpHostUnreachable,
                           &cause::kKeyRefused, &cause::kShellWaits}) {
    EXPECT_FALSE(NodeIsDown::In(CauseError(*row))) << row->sentence;
  }
}

TEST(ReachCausesTest, AHintNamesTheLogin) {
  const Login login{"gpu1", "-p 2222 ann@gpu1", "ann", "`ssh -p 22 gate true`",
                    "ProxyJump in ~/.ssh/config"};
  EXPECT_THAT(Remedy(WithLogin(CauseError(cause::kShellExits), login)),
              HasSubstr("make `ssh -p 2222 ann@gpu1 echo works` print"));
  EXPECT_THAT(Remedy(WithLogin(CauseError(cause::kShellExits), login)),
              HasSubstr("getent passwd ann)"));
  EXPECT_EQ(Remedy(WithLogin(CauseError(cause::kJumpHostLogin), login)),
            "make `ssh -p 22 gate true` work here (ProxyJump in ~/.ssh/config)");
  // A node that is not reached over SSH.
  EXPECT_EQ(Remedy(WithLogin(CauseError(cause::kShellExits), {})), "");
  EXPECT_EQ(Remedy(WithLogin(CauseError(cause::kConnectionLost), {})), cause::kConnectionLost.hint);
}

TEST(ReachCausesTest, ErrorsOfTheConfigurationNameTheirLine) {
  const Status option = ConfigurationError(
      "/root/.ssh/config: line 3: Bad configuration option: usekeychain\r\n"
      "/root/.ssh/config: terminating, 1 bad configuration options\r\n");
  EXPECT_EQ(option.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(Message(option), "/root/.ssh/config: line 3: Bad configuration option: usekeychain");
  EXPECT_THAT(Remedy(option), HasSubstr("`IgnoreUnknown usekeychain` at the top of the file"));
  const Status value = ConfigurationError(
      "/h/config line 2: Bad port 'x'.\r\n/h/config line 4: unsupported option \"maybe\".\r\n"
      "/h/config: terminating, 2 bad configuration options\r\n");
  EXPECT_EQ(Message(value),
            "/h/config line 2: Bad port 'x'. /h/config line 4: unsupported option \"maybe\".");
  // A warning, before another error.
  EXPECT_EQ(ConfigurationError("/etc/ssh/ssh_config line 59: Unsupported option \"x\".\n"
                               "u@a: Permission denied (publickey).\n"),
            OkStatus());
}

}  // namespace
}  // namespace autodist::transport
