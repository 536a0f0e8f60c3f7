// Runs programs on nodes over SSH.
#pragma once

#include <optional>

#include "transport/ssh_program.h"
#include "transport/ssh_session.h"
#include "transport/transport.h"

namespace autodist::transport {

// By libssh2 wherever it can; otherwise by the `ssh` program.
class SshTransport final : public Transport {
 public:
  // `loop` must outlive the transport and its streams. Without `session` only the program is used.
  SshTransport(SshLoop& loop, std::optional<SshTarget> session, v1::SshReach program)
      : loop_(loop), session_(std::move(session)), program_(std::move(program)) {}

  // The arguments reach the program through the user's login shell, quoted; give it constants
  // and words of our own only. kResourceExhausted: the server refuses logins for now.
  Result<std::unique_ptr<Stream>> Run(const std::vector<std::string>& argv,
                                      const std::stop_token& stop) override;

 private:
  Result<std::unique_ptr<Stream>> RunInSession(const std::vector<std::string>& argv,
                                               const std::stop_token& stop);

  SshLoop& loop_;
  const std::optional<SshTarget> session_;
  SshProgramTransport program_;
};

}  // namespace autodist::transport
