#include "plan/ssh_keywords.h"

#include <absl/strings/str_join.h>
#include <strings.h>

#include <algorithm>
#include <array>

#include "base/parse_number.h"
#include "base/split.h"

namespace autodist::plan {
namespace {

using Values = SshKeyword::Values;
using enum KeywordUse;

// RSA host keys with fewer bits are left to ssh (ssh/host_key_check).
constexpr uint32_t kMinRsaBits = 2048;

// The algorithms of autodist's logins: ssh/libssh2_session.
constexpr std::array<std::string_view, 5> kOurCiphers = {
    "aes128-gcm@openssh.com", "chacha20-poly1305@openssh.com", "aes256-gcm@openssh.com",
    "aes128-ctr", "aes256-ctr"};
constexpr std::array<std::string_view, 4> kOurMacs = {"hmac-sha2-256-etm@openssh.com",
                                                      "hmac-sha2-512-etm@openssh.com",
                                                      "hmac-sha2-256", "hmac-sha2-512"};
constexpr std::array<std::string_view, 9> kOurKeyExchanges = {
    "ecdh-sha2-nistp256",
    "curve25519-sha256",
    "curve25519-sha256@libssh.org",
    "ecdh-sha2-nistp384",
    "ecdh-sha2-nistp521",
    "diffie-hellman-group14-sha256",
    "diffie-hellman-group16-sha512",
    "diffie-hellman-group18-sha512",
    "diffie-hellman-group-exchange-sha256"};
constexpr std::array<std::string_view, 6> kOurKeyTypes = {
    "ssh-ed25519",         "ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384",
    "ecdsa-sha2-nistp521", "rsa-sha2-512",        "rsa-sha2-256"};

bool Allows(const Values& values, std::span<const std::string_view> ours) {
  if (values.empty()) return false;
  const std::vector<std::string_view> listed = base::Split(values.front(), ',');
  return std::ranges::all_of(
      ours, [&](std::string_view name) { return std::ranges::find(listed, name) != listed.end(); });
}

bool AllowOurCiphers(const Values& values) { return Allows(values, kOurCiphers); }
bool AllowOurMacs(const Values& values) { return Allows(values, kOurMacs); }
bool AllowOurKeyExchanges(const Values& values) { return Allows(values, kOurKeyExchanges); }
bool AllowOurKeyTypes(const Values& values) { return Allows(values, kOurKeyTypes); }

bool AreOff(const Values& values) {
  return std::ranges::all_of(values, [](const std::string& value) {
    return value == "no" || value == "false" || value == "none" || value == "off";
  });
}

bool AreBothNone(const Values& values) { return values == Values{"none none"}; }

bool AllowPublicKeys(const Values& values) {
  return Allows(values, std::array<std::string_view, 1>{"publickey"});
}

bool AreOfTheLocale(const Values& values) {
  return std::ranges::all_of(values, [](const std::string& name) {
    return name == "LANG" || name == "LANGUAGE" || name == "XMODIFIERS" || name.starts_with("LC_");
  });
}

bool IsAtMostOurMinimum(const Values& values) {
  const std::string_view bits = values.empty() ? "" : std::string_view(values.front());
  return base::ParseNumber<uint32_t>(bits).value_or(kMinRsaBits + 1) <= kMinRsaBits;
}

constexpr char kBySshG[] = "applied by `ssh -G`, which autodist runs";
constexpr char kBySsh[] = "by the `ssh` program";
constexpr char kNoForwarding[] = "autodist's logins use no forwarding";
constexpr char kNoTerminal[] = "logins have no terminal";
constexpr char kNeverAsks[] = "autodist's logins never ask for anything";
constexpr char kNoX11[] = "ranks run longer than a login, and have no display";
constexpr char kOwnLimits[] = "autodist uses its own limits to detect a lost connection";
constexpr char kNoMaster[] = "autodist opens no shared connection, but uses an open one";
constexpr char kObsolete[] = "obsolete; ssh itself ignores it";
constexpr char kOlderName[] = "an old name; `ssh -G` prints the new one";

constexpr SshKeyword kKeywords[] = {
    {"AddKeysToAgent", kIrrelevant,
     "autodist asks for a passphrase once per run, and keeps the key in a private agent"},
    {"AddressFamily", kHonoured, "selects IPv4 or IPv6 addresses of a name"},
    {"AFSTokenPassing", kIrrelevant, kObsolete},
    {"BatchMode", kIrrelevant, kNeverAsks},
    {"BindAddress", kHandedOver, kBySsh},
    {"BindInterface", kHandedOver, kBySsh},
    {"CanonicalDomains", kHonoured, kBySshG},
    {"CanonicalizeFallbackLocal", kHonoured, kBySshG},
    {"CanonicalizeHostname", kHonoured, kBySshG},
    {"CanonicalizeMaxDots", kHonoured, kBySshG},
    {"CanonicalizePermittedCNAMEs", kHonoured, kBySshG},
    {"CASignatureAlgorithms", kHonoured,
     "hosts with a certificate authority in known_hosts are reached through `ssh`"},
    {"CertificateFile", kHonoured, "offered before the plain key"},
    {"ChallengeResponseAuthentication", kIrrelevant, kOlderName},
    {"ChannelTimeout", kHandedOver, kBySsh},
    {"CheckHostIP", kHandedOver, kBySsh, AreOff},
    {"Cipher", kIrrelevant, kObsolete},
    {"Ciphers", kHandedOver, "by the `ssh` program, if it excludes an algorithm of autodist",
     AllowOurCiphers},
    {"ClearAllForwardings", kIrrelevant, kNoForwarding},
    {"Compression", kHandedOver, kBySsh, AreOff},
    {"CompressionLevel", kIrrelevant, kObsolete},
    {"ConnectionAttempts", kHandedOver, kBySsh},
    {"ConnectTimeout", kHonoured, "at most 3 s when a connection is made again"},
    {"ControlMaster", kIrrelevant, kNoMaster},
    {"ControlPath", kHonoured, "an open connection is used through `ssh`"},
    {"ControlPersist", kIrrelevant, kNoMaster},
    {"DSAAuthentication", kIrrelevant, kOlderName},
    {"DynamicForward", kIrrelevant, kNoForwarding},
    {"EnableEscapeCommandline", kIrrelevant, kNoTerminal},
    {"EnableSSHKeysign", kIrrelevant, "read only by ssh-keysign; see HostbasedAuthentication"},
    {"EscapeChar", kIrrelevant, kNoTerminal},
    {"ExitOnForwardFailure", kIrrelevant, kNoForwarding},
    {"FallBackToRsh", kIrrelevant, kObsolete},
    {"FingerprintHash", kIrrelevant, "messages show fingerprints as SHA256"},
    {"ForkAfterAuthentication", kIrrelevant, "set to `no`: the login stays with autodist"},
    {"ForwardAgent", kNamed, "ranks run longer than a login, and cannot use your ssh-agent",
     AreOff},
    {"ForwardX11", kIrrelevant, kNoX11},
    {"ForwardX11Timeout", kIrrelevant, kNoX11},
    {"ForwardX11Trusted", kIrrelevant, kNoX11},
    {"GatewayPorts", kIrrelevant, kNoForwarding},
    {"GlobalKnownHostsFile", kHonoured, "all files in the list"},
    {"GlobalKnownHostsFile2", kIrrelevant, kObsolete},
    {"GSSAPIAuthentication", kHonoured, "through `ssh`, if no key is accepted"},
    {"GSSAPIClientIdentity", kHandedOver, kBySsh},
    {"GSSAPIDelegateCredentials", kHandedOver, kBySsh, AreOff},
    {"GSSAPIKexAlgorithms", kIrrelevant, "only used with GSSAPIKeyExchange, and so by `ssh`"},
    {"GSSAPIKeyExchange", kHandedOver, kBySsh, AreOff},
    {"GSSAPIRenewalForcesRekey", kHandedOver, kBySsh, AreOff},
    {"GSSAPIServerIdentity", kHandedOver, kBySsh},
    {"GSSAPITrustDns", kHandedOver, kBySsh, AreOff},
    {"HashKnownHosts", kHonoured, "for new keys in known_hosts"},
    {"Host", kHonoured, kBySshG},
    {"HostbasedAcceptedAlgorithms", kHandedOver, kBySsh},
    {"HostbasedAuthentication", kHandedOver, kBySsh, AreOff},
    {"HostbasedKeyTypes", kIrrelevant, kOlderName},
    {"HostKeyAlgorithms", kHandedOver,
     "by the `ssh` program, if it excludes an algorithm of autodist", AllowOurKeyTypes},
    {"HostKeyAlias", kHonoured, "the name to look up in known_hosts"},
    {"Hostname", kHonoured, "the address of the node"},
    {"IdentitiesOnly", kHonoured, "no other keys of the agent are offered"},
    {"IdentityAgent", kHonoured, "the agent that is used"},
    {"IdentityFile", kHonoured, "the keys that are offered"},
    {"IdentityFile2", kIrrelevant, kOlderName},
    {"IgnoreUnknown", kHonoured, kBySshG},
    {"Include", kHonoured, kBySshG},
    {"IPQoS", kHandedOver, "by the `ssh` program; autodist itself sets none", AreBothNone},
    {"KbdInteractiveAuthentication", kIrrelevant, kNeverAsks},
    {"KbdInteractiveDevices", kIrrelevant, kNeverAsks},
    {"KeepAlive", kIrrelevant, kOlderName},
    {"KerberosAuthentication", kIrrelevant, kObsolete},
    {"KerberosTGTPassing", kIrrelevant, kObsolete},
    {"KexAlgorithms", kHandedOver, "by the `ssh` program, if it excludes an algorithm of autodist",
     AllowOurKeyExchanges},
    {"KnownHostsCommand", kHandedOver, kBySsh},
    {"LocalCommand", kIrrelevant, "only used with PermitLocalCommand"},
    {"LocalForward", kIrrelevant, kNoForwarding},
    {"LogLevel", kIrrelevant, "set to `INFO`: errors quote the output of ssh"},
    {"LogVerbose", kIrrelevant, "for debugging ssh itself"},
    {"MACs", kHandedOver, "by the `ssh` program, if it excludes an algorithm of autodist",
     AllowOurMacs},
    {"Match", kHonoured, kBySshG},
    {"NoHostAuthenticationForLocalhost", kHandedOver, kBySsh, AreOff},
    {"NumberOfPasswordPrompts", kIrrelevant, kNeverAsks},
    {"ObscureKeystrokeTiming", kIrrelevant, kNoTerminal},
    {"PasswordAuthentication", kIrrelevant, kNeverAsks},
    {"PermitLocalCommand", kNamed, "autodist logs in several times, and never runs LocalCommand",
     AreOff},
    {"PermitRemoteOpen", kIrrelevant, kNoForwarding},
    {"PKCS11Provider", kHandedOver, kBySsh, AreOff},
    {"Port", kHonoured, "if the spec has none"},
    {"PreferredAuthentications", kHandedOver, "by the `ssh` program, if `publickey` is missing",
     AllowPublicKeys},
    {"Protocol", kIrrelevant, kObsolete},
    {"ProtocolKeepAlives", kIrrelevant, kOlderName},
    {"ProxyCommand", kHandedOver, kBySsh, AreOff},
    {"ProxyJump", kHandedOver, kBySsh, AreOff},
    {"ProxyUseFdpass", kHandedOver, kBySsh, AreOff},
    {"PubkeyAcceptedAlgorithms", kHandedOver,
     "by the `ssh` program, if it excludes an algorithm of autodist", AllowOurKeyTypes},
    {"PubkeyAcceptedKeyTypes", kIrrelevant, kOlderName},
    {"PubkeyAuthentication", kHandedOver, "by the `ssh` program, if it is not `yes`"},
    {"RefuseConnection", kHandedOver, kBySsh},
    {"RekeyLimit", kHandedOver, kBySsh},
    {"RemoteCommand", kIrrelevant, "set to `none`: a login runs autodist's agent"},
    {"RemoteForward", kIrrelevant, kNoForwarding},
    {"RequestTTY", kIrrelevant, kNoTerminal},
    {"RequiredRSASize", kHandedOver,
     "by the `ssh` program, if it is above 2048; so are RSA host keys with fewer bits",
     IsAtMostOurMinimum},
    {"RevokedHostKeys", kHandedOver, kBySsh, AreOff},
    {"RhostsAuthentication", kIrrelevant, kObsolete},
    {"RhostsRSAAuthentication", kIrrelevant, kObsolete},
    {"RSAAuthentication", kIrrelevant, kObsolete},
    {"SecurityKeyProvider", kHandedOver, kBySsh},
    {"SendEnv", kHandedOver,
     "by the `ssh` program, except for the locale (`LANG`, `LC_*`), which comes from the node",
     AreOfTheLocale},
    {"ServerAliveCountMax", kIrrelevant, kOwnLimits},
    {"ServerAliveInterval", kIrrelevant, kOwnLimits},
    {"SessionType", kIrrelevant, "set to `default`: a login runs autodist's agent"},
    {"SetEnv", kHandedOver, kBySsh},
    {"SetupTimeOut", kIrrelevant, kOlderName},
    {"SkeyAuthentication", kIrrelevant, kOlderName},
    {"SmartcardDevice", kIrrelevant, kOlderName},
    {"StdinNull", kIrrelevant, "set to `no`: the agent reads its connection from stdin"},
    {"StreamLocalBindMask", kIrrelevant, kNoForwarding},
    {"StreamLocalBindUnlink", kIrrelevant, kNoForwarding},
    {"StrictHostKeyChecking", kHonoured,
     "`ask` means `yes`; host_key_check of the spec overrides it"},
    {"SyslogFacility", kIrrelevant, "logins do not write to syslog"},
    {"Tag", kHonoured, kBySshG},
    {"TCPKeepAlive", kIrrelevant, kOwnLimits},
    {"TISAuthentication", kIrrelevant, kOlderName},
    {"Tunnel", kIrrelevant, kNoForwarding},
    {"TunnelDevice", kIrrelevant, kNoForwarding},
    {"UpdateHostKeys", kIrrelevant, "autodist does not add other keys of a host to known_hosts"},
    {"UseBlacklistedKeys", kIrrelevant, kObsolete},
    {"UsePrivilegedPort", kIrrelevant, kObsolete},
    {"User", kHonoured, "if the spec has none"},
    {"UserKnownHostsFile", kHonoured, "all files in the list"},
    {"UserKnownHostsFile2", kIrrelevant, kObsolete},
    {"UseRoaming", kIrrelevant, kObsolete},
    {"UseRsh", kIrrelevant, kObsolete},
    {"VerifyHostKeyDNS", kHandedOver, kBySsh, AreOff},
    {"VersionAddendum", kHandedOver, kBySsh, AreOff},
    {"VisualHostKey", kIrrelevant, kNoTerminal},
    {"WarnWeakCrypto", kIrrelevant, "a message about the server for interactive logins"},
    {"XAuthLocation", kIrrelevant, kNoX11},
};

std::vector<std::string> ValuesOf(const OpensshValues& config, const std::string& keyword) {
  std::vector<std::string> values;
  const auto [first, last] = config.equal_range(keyword);
  for (auto it = first; it != last; ++it) values.push_back(it->second);
  std::ranges::sort(values);
  return values;
}

}  // namespace

std::span<const SshKeyword> SshKeywords() { return kKeywords; }

const SshKeyword* FindSshKeyword(std::string_view name) {
  const auto* const found = std::ranges::find_if(kKeywords, [&](const SshKeyword& keyword) {
    return keyword.name.size() == name.size() &&
           strncasecmp(keyword.name.data(), name.data(), name.size()) == 0;
  });
  return found == std::end(kKeywords) ? nullptr : found;
}

SshConfigUse UseOf(const OpensshValues& configured, const OpensshValues& defaults) {
  SshConfigUse use;
  for (auto it = configured.begin(); it != configured.end();
       it = configured.upper_bound(it->first)) {
    const std::vector<std::string> values = ValuesOf(configured, it->first);
    if (values == ValuesOf(defaults, it->first)) continue;
    const SshKeyword* const keyword = FindSshKeyword(it->first);
    if (keyword && keyword->harmless && keyword->harmless(values)) continue;
    const std::string text =
        std::string(keyword ? keyword->name : it->first) + " " + absl::StrJoin(values, " ");
    if (!keyword || keyword->use == KeywordUse::kHandedOver) {
      use.handed_over.push_back(text);
    } else if (keyword->use == KeywordUse::kNamed) {
      use.not_used.push_back(text + ": " + std::string(keyword->how));
    }
  }
  return use;
}

bool KeywordMatters(const std::string& keyword) {
  const SshKeyword* const known = FindSshKeyword(keyword);
  return !known || (known->use != KeywordUse::kIrrelevant && known->name != "Host");
}

}  // namespace autodist::plan
