#include "plan/ssh_keywords.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <strings.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <sstream>

#include "support/temp_folder.h"

namespace autodist::plan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string OutputOf(const std::string& command) {
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  std::string output;
  for (int c = std::fgetc(pipe.get()); c != EOF; c = std::fgetc(pipe.get())) {
    output += static_cast<char>(c);
  }
  return output;
}

OpensshValues ValuesOf(const std::string& output) {
  OpensshValues values;
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    const size_t space = line.find(' ');
    if (space == std::string::npos) continue;
    std::string keyword = line.substr(0, space);
    for (char& c : keyword) c = static_cast<char>(std::tolower(c));
    values.emplace(keyword, line.substr(space + 1));
  }
  return values;
}

// The output of `ssh -G` for a configuration file with these lines.
OpensshValues Configured(const std::string& lines) {
  const test::TempFolder folder;
  folder.Write("config", lines + "\n");
  return ValuesOf(OutputOf("ssh -G -F " + folder.path() +
                           "/config -o RemoteCommand=none localhost true 2> /dev/null"));
}

SshConfigUse Use(const std::string& lines) { return UseOf(Configured(lines), Configured("")); }

TEST(SshKeywordsTest, AreSortedAndDescribed) {
  std::string_view before = "";
  for (const SshKeyword& keyword : SshKeywords()) {
    EXPECT_LT(strncasecmp(before.data(), keyword.name.data(), 60), 0) << keyword.name;
    EXPECT_FALSE(keyword.how.empty()) << keyword.name;
    before = keyword.name;
  }
}

TEST(SshKeywordsTest, IncludeTheOutputOfSsh) {
  const OpensshValues printed = Configured("");
  EXPECT_GT(printed.size(), 60u);
  for (const auto& [keyword, value] : printed) EXPECT_TRUE(FindSshKeyword(keyword)) << keyword;
}

TEST(SshKeywordsTest, IncludeTheManual) {
  const std::string manual = OutputOf(
      "zcat -f /usr/share/man/man5/ssh_config.5.gz 2> /dev/null | "
      "sed -n 's/^\\.It Cm \\([A-Z][A-Za-z0-9]*\\)$/\\1/p'");
  std::istringstream names(manual);  // empty where manuals are not installed
  for (std::string name; names >> name;) {
    const SshKeyword* const keyword = FindSshKeyword(name);
    ASSERT_TRUE(keyword) << name;
    EXPECT_EQ(keyword->name, name);
  }
}

// The names in readconf.c, including obsolete and ignored ones, with a possibly invalid value.
TEST(SshKeywordsTest, AreKnownToSsh) {
  const std::vector<std::string_view> newer = {"ChannelTimeout",   "ObscureKeystrokeTiming",
                                               "RefuseConnection", "Tag",
                                               "VersionAddendum",  "WarnWeakCrypto"};
  const std::string debians = "UseBlacklistedKeys ProtocolKeepAlives SetupTimeOut ";
  for (const SshKeyword& keyword : SshKeywords()) {
    if (std::ranges::find(newer, keyword.name) != newer.end()) continue;
    if (debians.find(std::string(keyword.name) + " ") != std::string::npos) continue;
    const std::string said =
        OutputOf("ssh -G -F /dev/null -o '" + std::string(keyword.name) + "=no' localhost 2>&1");
    EXPECT_EQ(said.find("Bad configuration option"), std::string::npos) << keyword.name << said;
  }
}

TEST(SshKeywordsTest, AgreeWithTheDocs) {
  const std::map<KeywordUse, std::string> uses = {{KeywordUse::kHonoured, "honored"},
                                                  {KeywordUse::kHandedOver, "`ssh`"},
                                                  {KeywordUse::kNamed, "warning"},
                                                  {KeywordUse::kIrrelevant, "no effect"}};
  std::string table = "| keyword | use | |\n|---|---|---|\n";
  for (const SshKeyword& keyword : SshKeywords()) {
    table += "| `" + std::string(keyword.name) + "` | " + uses.at(keyword.use) + " | " +
             std::string(keyword.how) + " |\n";
  }
  const std::string page = std::string(TEST_SOURCE_DIR) + "/../docs/reference/ssh_config.md";
  std::ifstream file(page);
  std::stringstream text;
  text << file.rdbuf();
  const std::string before = text.str().substr(0, text.str().find("| keyword | use"));
  if (std::getenv("UPDATE_GOLDEN")) std::ofstream(page) << before << table;
  EXPECT_EQ(text.str(), before + table) << "UPDATE_GOLDEN=1 writes the table";
}

struct Setting {
  std::string line;
  KeywordUse use;  // kHonoured stands for all without a handover or warning
};

// Each keyword that changes how a connection is made, with values that need a handover to ssh, or
// that our own login supports.
TEST(SshConfigUseTest, TheOutputOfSsh) {
  using enum KeywordUse;
  const std::vector<Setting> settings = {
      {"BindAddress 10.0.0.1", kHandedOver},
      {"BindInterface eth0", kHandedOver},
      {"CheckHostIP yes", kHandedOver},
      {"CheckHostIP no", kHonoured},
      {"Ciphers aes256-ctr", kHandedOver},
      {"Ciphers -aes192-ctr", kHonoured},
      {"Ciphers ^aes256-ctr", kHonoured},
      {"Compression yes", kHandedOver},
      {"Compression no", kHonoured},
      {"ConnectionAttempts 3", kHandedOver},
      {"GSSAPIAuthentication yes", kHonoured},
      {"GSSAPIClientIdentity me", kHandedOver},
      {"GSSAPIDelegateCredentials yes", kHandedOver},
      {"GSSAPIKeyExchange yes", kHandedOver},
      {"GSSAPIServerIdentity it", kHandedOver},
      {"GSSAPITrustDns yes", kHandedOver},
      {"GSSAPIRenewalForcesRekey yes", kHandedOver},
      {"HostbasedAcceptedAlgorithms ssh-ed25519", kHandedOver},
      {"HostbasedAuthentication yes", kHandedOver},
      {"HostKeyAlgorithms ssh-ed25519", kHandedOver},
      {"HostKeyAlgorithms +ssh-rsa", kHonoured},
      {"IPQoS throughput", kHandedOver},
      {"IPQoS none", kHonoured},
      {"KexAlgorithms sntrup761x25519-sha512@openssh.com", kHandedOver},
      {"KexAlgorithms +diffie-hellman-group1-sha1", kHonoured},
      {"KexAlgorithms curve25519-sha256", kHandedOver},
      {"KnownHostsCommand /bin/keys %H", kHandedOver},
      {"MACs umac-64@openssh.com", kHandedOver},
      {"MACs -hmac-sha1", kHonoured},
      {"NoHostAuthenticationForLocalhost yes", kHandedOver},
      {"PKCS11Provider /usr/lib/p11.so", kHandedOver},
      {"PKCS11Provider none", kHonoured},
      {"PreferredAuthentications publickey", kHonoured},
      {"PreferredAuthentications gssapi-with-mic,publickey", kHonoured},
      {"PreferredAuthentications gssapi-with-mic,hostbased", kHandedOver},
      {"ProxyCommand nc %h %p", kHandedOver},
      {"ProxyCommand none", kHonoured},
      {"ProxyJump gate", kHandedOver},
      {"ProxyUseFdpass yes", kHandedOver},
      {"PubkeyAcceptedAlgorithms ssh-ed25519", kHandedOver},
      {"PubkeyAcceptedAlgorithms +ssh-rsa", kHonoured},
      {"PubkeyAuthentication no", kHandedOver},
      {"PubkeyAuthentication yes", kHonoured},
      {"RekeyLimit 1G 1h", kHandedOver},
      {"RequiredRSASize 2048", kHonoured},
      {"RequiredRSASize 3072", kHandedOver},
      {"RevokedHostKeys /etc/revoked", kHandedOver},
      {"SecurityKeyProvider /usr/lib/sk.so", kHandedOver},
      {"SendEnv LANG LC_*", kHonoured},
      {"SendEnv WANDB_API_KEY", kHandedOver},
      {"SetEnv A=B", kHandedOver},
      {"VerifyHostKeyDNS yes", kHandedOver},
      {"ForwardAgent yes", kNamed},
      {"ForwardAgent no", kHonoured},
      {"PermitLocalCommand yes\nLocalCommand notify-send hello", kNamed},
      {"UpdateHostKeys no", kHonoured},
      {"AddressFamily inet6", kHonoured},
      {"ControlMaster auto\nControlPath ~/.ssh/%C\nControlPersist 10m", kHonoured},
      {"IdentityFile ~/k\nIdentitiesOnly yes\nCertificateFile ~/c", kHonoured},
      {"IdentityAgent ~/agent\nAddKeysToAgent yes", kHonoured},
      {"UserKnownHostsFile ~/a ~/b\nGlobalKnownHostsFile none", kHonoured},
      {"StrictHostKeyChecking accept-new\nHashKnownHosts yes\nHostKeyAlias a", kHonoured},
      {"ConnectTimeout 3\nPort 2222\nUser ann\nHostname b", kHonoured},
      {"CanonicalizeHostname yes\nCanonicalDomains lab\nCanonicalizeMaxDots 0", kHonoured},
      {"LocalForward 1 a:2\nRemoteForward 3 b:4\nDynamicForward 5\nGatewayPorts yes", kHonoured},
      {"ServerAliveInterval 60\nServerAliveCountMax 9\nTCPKeepAlive no", kHonoured},
      {"RequestTTY force\nRemoteCommand tmux\nStdinNull yes\nSessionType none", kHonoured},
      {"ForkAfterAuthentication yes\nEscapeChar none\nVisualHostKey yes", kHonoured},
      {"LogLevel QUIET\nBatchMode yes\nNumberOfPasswordPrompts 1", kHonoured},
      {"ForwardX11 yes\nForwardX11Trusted yes\nXAuthLocation /x", kHonoured},
      {"Protocol 2\nCipher 3des\nRSAAuthentication yes\nUsePrivilegedPort no", kHonoured},
      {"IgnoreUnknown UseKeychain,Other\nUseKeychain yes\nOther no", kHonoured},
  };
  for (const Setting& setting : settings) {
    const SshConfigUse use = Use(setting.line);
    EXPECT_EQ(!use.handed_over.empty(), setting.use == kHandedOver) << setting.line;
    EXPECT_EQ(!use.not_used.empty(), setting.use == kNamed) << setting.line;
  }
}

TEST(SshConfigUseTest, HasAMessage) {
  EXPECT_THAT(Use("BindAddress 10.0.0.1").handed_over, ElementsAre("BindAddress 10.0.0.1"));
  EXPECT_THAT(Use("ForwardAgent yes").not_used, ElementsAre(HasSubstr("ForwardAgent yes: ranks")));
  EXPECT_THAT(UseOf({{"frobnicate", "yes"}}, {}).handed_over, ElementsAre("frobnicate yes"));
  EXPECT_THAT(UseOf({{"frobnicate", "yes"}}, {{"frobnicate", "yes"}}).handed_over, IsEmpty());
}

TEST(SshConfigUseTest, RelevantKeywordsOfAFile) {
  for (const char* keyword : {"bindaddress", "HostName", "include", "match", "useknownnothing"}) {
    EXPECT_TRUE(KeywordMatters(keyword)) << keyword;
  }
  for (const char* keyword : {"host", "localforward", "LogLevel", "visualhostkey"}) {
    EXPECT_FALSE(KeywordMatters(keyword)) << keyword;
  }
}

}  // namespace
}  // namespace autodist::plan
