#include "ssh/ssh_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>

#include "base/fd.h"
#include "base/host_name.h"
#include "base/shell_quote.h"
#include "support/temp_folder.h"

namespace autodist::ssh {
namespace {

using testing::HasSubstr;

const OpensshQuery kQuery = {"node7", "ann", uint16_t{2200}, "10.0.0.7"};

TEST(OpensshConfigTest, TokensAreThoseOfSsh) {
  setenv("AUTODIST_TEST_KEYS", "/the keys", 1);
  const std::string uid = std::to_string(getuid());
  const std::string name = base::HostName();
  for (const auto& [text, expanded] : std::vector<std::pair<std::string, std::string>>{
           {"/k/%h", "/k/10.0.0.7"},
           {"/k/%n", "/k/node7"},
           {"/k/%k", "/k/node7"},
           {"/k/%p.%r", "/k/2200.ann"},
           {"/k/%i", "/k/" + uid},
           {"/k/%L", "/k/" + name.substr(0, name.find('.'))},
           {"/k/100%%", "/k/100%"},
           {"${AUTODIST_TEST_KEYS}/\"%h\" \\ '", "/the keys/\"10.0.0.7\" \\ '"},
       }) {
    const auto path = ExpandByOpenssh(kQuery, text);
    ASSERT_TRUE(path.ok()) << path.status();
    EXPECT_EQ(*path, expanded);
  }
  const auto hash = ExpandByOpenssh(kQuery, "/k/%C");
  ASSERT_TRUE(hash.ok()) << hash.status();
  EXPECT_EQ(hash->size(), std::string("/k/").size() + 40);
  const auto home = ExpandByOpenssh(kQuery, "~root/k");
  ASSERT_TRUE(home.ok()) << home.status();
  EXPECT_EQ(*home, "/root/k");
}

TEST(OpensshConfigTest, UnknownTokensAreQuoted) {
  EXPECT_THAT(Message(ExpandByOpenssh(kQuery, "/k/%Z").status()), HasSubstr("%Z"));
  unsetenv("AUTODIST_TEST_NONE");
  EXPECT_THAT(Message(ExpandByOpenssh(kQuery, "${AUTODIST_TEST_NONE}/k").status()),
              HasSubstr("AUTODIST_TEST_NONE"));
}

// A line that users type.
TEST(OpensshConfigTest, ScpLogsInAsAutodist) {
  const auto reach = [](const std::string& host, uint32_t port, const std::string& username) {
    v1::SshReach made;
    made.set_host(host);
    made.set_port(port);
    made.set_username(username);
    made.set_host_key_check(v1::HOST_KEY_CHECK_STRICT);
    made.add_key_files("/home/ann/.ssh/id_ed25519");
    return made;
  };
  v1::SshReach with_key = reach("gpu1", 2222, "ann");
  with_key.set_key_file_required(true);
  with_key.set_ssh_address("10.0.0.7");
  v1::SshReach behind = reach("gpu1", 22, "ann");
  behind.set_proxy_jump("bob@gate:2200");
  behind.set_host_key_check(v1::HOST_KEY_CHECK_ACCEPT_NEW);
  v1::SshReach directly = reach("gpu1", 22, "");
  directly.set_proxy_jump("none");
  for (const auto& [of, expected] : std::vector<std::pair<v1::SshReach, std::string>>{
           {reach("gpu1", 22, "ann"), "scp -r ann@gpu1:"},
           {reach("fd77::1", 22, "ann"), "scp -r 'ann@[fd77::1]:'"},
           {with_key,
            "scp -r -o HostName=10.0.0.7 -o IdentitiesOnly=yes -i /home/ann/.ssh/id_ed25519 "
            "-P 2222 ann@gpu1:"},
           {directly, "scp -r -o ProxyJump=none gpu1:"},
       }) {
    EXPECT_EQ(base::ShellLine(ScpArgv(of)), expected);
  }
  const std::string jumps = base::ShellLine(ScpArgv(behind));
  EXPECT_TRUE(jumps.starts_with("env AUTODIST_JUMP_PORT=2200 "));
  EXPECT_THAT(jumps, HasSubstr(" AUTODIST_JUMP_HOST=bob@gate scp -r "));
  EXPECT_THAT(jumps, HasSubstr(" -o StrictHostKeyChecking=accept-new "));
  EXPECT_TRUE(jumps.ends_with(" ann@gpu1:"));
}

TEST(OpensshConfigTest, TheLoginThatHintsName) {
  v1::SshReach reach;
  reach.set_host("gpu1");
  reach.set_port(22);
  reach.set_username("ann");
  EXPECT_EQ(LoginTo(reach).ssh, "ann@gpu1");
  EXPECT_EQ(LoginTo(reach).jump, "the login to its jump host");
  EXPECT_EQ(LoginTo(reach).target, "gpu1 at port 22");
  reach.set_configured_host_name("10.0.0.7");
  EXPECT_EQ(LoginTo(reach).target, "10.0.0.7 at port 22");
  reach.set_configured_jump("a,bob@gate:2200");
  EXPECT_EQ(LoginTo(reach).ssh, "ann@gpu1");
  EXPECT_EQ(LoginTo(reach).jump, "`ssh -J a -p 2200 bob@gate true`");
  EXPECT_EQ(LoginTo(reach).jump_from, "ProxyJump in ~/.ssh/config");
  reach.set_proxy_jump("[fd77::2]:2201");
  reach.set_port(2222);
  reach.add_key_files("/home/ann/a key");
  reach.set_key_file_required(true);
  const transport::Login login = LoginTo(reach);
  EXPECT_EQ(login.ssh, "-i '/home/ann/a key' -J '[fd77::2]:2201' -p 2222 ann@gpu1");
  EXPECT_EQ(login.jump, "`ssh -i '/home/ann/a key' -p 2201 fd77::2 true`");
  EXPECT_EQ(login.jump_from, "proxy_jump in the spec");
  EXPECT_EQ(login.user, "ann");
}

TEST(OpensshConfigTest, AnOpenControlConnection) {
  const test::TempFolder folder;
  const std::string path = folder.path() + "/cm";
  EXPECT_FALSE(HasControlConnection({}));
  EXPECT_FALSE(HasControlConnection({{"controlpath", "none"}}));
  EXPECT_FALSE(HasControlConnection({{"controlpath", path}}));
  const base::UniqueFd listener(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(bind(listener.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  EXPECT_FALSE(HasControlConnection({{"controlpath", path}}));  // without a listener it is stale
  ASSERT_EQ(listen(listener.get(), 1), 0);
  EXPECT_TRUE(HasControlConnection({{"controlpath", path}}));
}

TEST(OpensshConfigTest, RelevantKeywordsAreEvaluated) {
  const test::TempFolder folder;
  std::filesystem::create_directories(folder.path() + "/.ssh");
  const auto matters = [&](const std::string& text) {
    folder.Write(".ssh/config", text);
    return OpensshConfigMatters(
        folder.path(), [](const std::string& keyword) { return keyword == "bindaddress"; });
  };
  EXPECT_TRUE(matters("Host *\n  BindAddress=10.0.0.1\n"));
  EXPECT_TRUE(matters("bindaddress 10.0.0.1"));
  EXPECT_FALSE(matters("# BindAddress 10.0.0.1\n\nHost a\n"));
}

}  // namespace
}  // namespace autodist::ssh
