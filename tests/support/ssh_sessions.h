// A real sshd, and sessions with it.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/deadline.h"
#include "base/fd.h"
#include "base/ip_address.h"
#include "ssh/key_file.h"
#include "ssh/ssh_session.h"
#include "support/loopback_sshd.h"
#include "support/shell.h"
#include "support/temp_folder.h"

namespace autodist::test {

inline constexpr std::chrono::milliseconds kSessionLimit{20'000};

class SshSessions : public testing::Test {
 protected:
  using Key = std::shared_ptr<const ssh::SshIdentity>;

  // `options` are lines of the server's sshd_config.
  explicit SshSessions(const std::string& options = "") : server_(options) {}

  Key NewKey(const std::string& options = "-t ed25519") {
    const std::string file = folder_.path() + "/key" + std::to_string(++keys_);
    Shell("ssh-keygen -q -N '' " + options + " -f " + file);
    const auto read = ssh::ReadKeyFile(file);
    EXPECT_TRUE(read.ok()) << read.status();
    return read->key;
  }
  Key AcceptedKey(const std::string& options = "-t ed25519") {
    Key key = NewKey(options);
    server_.Accept(key->description());
    return key;
  }

  ssh::SshTarget TargetFor(std::vector<Key> keys) {
    ssh::SshTarget target;
    target.reach.set_host("127.0.0.1");
    target.reach.set_host_key_name("127.0.0.1");
    target.reach.set_port(server_.port());
    target.reach.set_username(LoopbackSshd::User());
    target.reach.set_connect_limit_ms(kSessionLimit.count());
    target.reach.set_login_limit_ms(kSessionLimit.count());
    target.addresses = {*base::IpAddress::Parse("127.0.0.1")};
    target.keys.identities = std::move(keys);
    target.known_hosts = std::make_shared<ssh::KnownHosts>(server_.HostKeyLine(), "known_hosts");
    return target;
  }

  Status Start(ssh::SshTarget target, const std::string& command = "exec cat") {
    auto sockets = base::StreamSocketPair();
    EXPECT_TRUE(sockets.ok());
    ours_ = std::move(sockets->first);
    session_ = std::make_shared<ssh::SshSession>(*loop_, std::move(target), command,
                                                 std::move(sockets->second));
    loop_->Add(session_);
    return session_->WaitStarted();
  }
  // Until the end, or until it has as many bytes.
  std::string ReadAll(size_t enough = std::string::npos) {
    std::string all;
    char buffer[65536];
    while (all.size() < enough) {
      const auto got =
          base::ReadSome(ours_.get(), buffer, sizeof buffer, base::Deadline::After(kSessionLimit));
      if (!got.ok() || *got == 0) break;
      all.append(buffer, *got);
    }
    return all;
  }

  const TempFolder folder_;
  LoopbackSshd server_;
  int keys_ = 0;
  std::unique_ptr<ssh::SshLoop> loop_ = *ssh::SshLoop::Create();
  std::shared_ptr<ssh::SshSession> session_;
  base::UniqueFd ours_;
};

}  // namespace autodist::test
