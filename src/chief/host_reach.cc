#include "chief/host_reach.h"

#include <algorithm>

#include "transport/local.h"
#include "transport/ssh.h"

namespace autodist::chief {
namespace {

// OpenSSH's usual ones, as far as autodist uses such keys.
constexpr const char* kUsualKeys[] = {"/.ssh/id_rsa", "/.ssh/id_ecdsa", "/.ssh/id_ed25519"};

}  // namespace

Result<std::unique_ptr<HostReach>> HostReach::Create(const spec::LoginSettings& login,
                                                     const std::string& home,
                                                     const std::string& username,
                                                     const std::vector<std::string>& known_hosts) {
  std::unique_ptr<HostReach> reach(new HostReach);
  reach->username_ = login.username.empty() ? username : login.username;
  reach->port_ = login.port.value_or(reach->port_);
  reach->no_key_ = WithRemedy(Error(StatusCode::kNotFound, "no private key in " + home + "/.ssh"),
                              "name one with --key-file");
  if (!login.key_file.empty()) {
    const bool in_home = login.key_file.starts_with("~/");
    reach->key_file_ = in_home ? home + login.key_file.substr(1) : login.key_file;
    AD_ASSIGN_OR_RETURN(reach->key_, transport::SshKey::Load(reach->key_file_));
  }
  for (const char* const name : kUsualKeys) {
    if (reach->key_) break;
    auto key = transport::SshKey::Load(home + name);
    if (key.ok()) {
      reach->key_ = *key;
      reach->key_file_ = home + name;
    } else if (key.status().code() != StatusCode::kNotFound) {
      reach->no_key_ = key.status();
    }
  }
  AD_ASSIGN_OR_RETURN(reach->loop_, transport::SshLoop::Create());
  reach->known_hosts_ =
      std::make_shared<const transport::KnownHosts>(transport::KnownHosts::Load(known_hosts));
  return reach;
}

Result<std::unique_ptr<transport::Transport>> HostReach::To(const spec::HostEntry& host,
                                                            const Location& location) {
  if (location.here) return std::make_unique<transport::LocalTransport>();
  AD_RETURN_IF_ERROR(location.resolved);
  if (!key_) return no_key_;
  if (location.addresses.empty()) {
    return Error(StatusCode::kNotFound, "'" + host.host + "' has no IP address");
  }
  // As for a run: IPv4 first.
  const auto v4 = std::find_if(location.addresses.begin(), location.addresses.end(),
                               [](const base::IpAddress& address) { return !address.v6; });
  return std::make_unique<transport::SshTransport>(
      *loop_, transport::SshTarget{
                  host.host, v4 == location.addresses.end() ? location.addresses.front() : *v4,
                  port_, host.user.empty() ? username_ : host.user, key_file_, key_, known_hosts_});
}

}  // namespace autodist::chief
