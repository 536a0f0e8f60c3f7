// The way to hosts that are not in any plan yet.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "autodist/status.h"
#include "autodist/v1/plan.pb.h"
#include "plan/ssh_reach.h"
#include "reach/logins.h"
#include "spec/host_list.h"
#include "spec/spec_draft.h"
#include "transport/ssh_loop.h"
#include "transport/transport.h"

namespace autodist::reach {

// Owns the connections' thread; must outlive the transports. Hosts are numbered as in the list.
class HostReach {
 public:
  // Asks OpenSSH's configuration and the name service about the hosts.
  static Result<std::unique_ptr<HostReach>> Create(const std::vector<spec::HostEntry>& hosts,
                                                   const spec::LoginSettings& login,
                                                   const plan::User& user);

  // Where each host is: the HostName that is configured for it, else the host as given.
  const std::vector<std::string>& names() const { return names_; }

  // Reads the keys, and asks for passphrases. Not for hosts that need none, as this machine.
  void PrepareLogin(size_t host) { logins_.Prepare(reaches_[host]); }

  // Thread-safe; does not block: connecting is the transport's.
  Result<std::unique_ptr<transport::Transport>> To(size_t host) {
    return logins_.TransportTo(reaches_[host], *loop_);
  }

 private:
  HostReach() = default;

  std::vector<std::string> names_;
  std::vector<v1::Reach> reaches_;
  Logins logins_;
  std::unique_ptr<transport::SshLoop> loop_;
};

}  // namespace autodist::reach
