// The way to a host that is not in any plan yet.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "autodist/status.h"
#include "chief/locate.h"
#include "spec/host_list.h"
#include "spec/spec_draft.h"
#include "transport/known_hosts.h"
#include "transport/ssh_key.h"
#include "transport/ssh_loop.h"
#include "transport/transport.h"

namespace autodist::chief {

// Owns the connections' thread; must outlive the transports. Thread-safe.
class HostReach {
 public:
  // `home` is this machine's user's; fails if a key file is named in `login` and cannot be used.
  static Result<std::unique_ptr<HostReach>> Create(const spec::LoginSettings& login,
                                                   const std::string& home,
                                                   const std::string& username,
                                                   const std::vector<std::string>& known_hosts);

  // Does not block: connecting is the transport's.
  Result<std::unique_ptr<transport::Transport>> To(const spec::HostEntry& host,
                                                   const Location& location);

 private:
  HostReach() = default;

  std::string username_;
  uint16_t port_ = 22;
  std::string key_file_;
  std::shared_ptr<const transport::SshKey> key_;
  Status no_key_;  // why key_ is null
  std::shared_ptr<const transport::KnownHosts> known_hosts_;
  std::unique_ptr<transport::SshLoop> loop_;
};

}  // namespace autodist::chief
