// Runs programs on nodes over SSH.
#pragma once

#include <memory>
#include <optional>

#include "ssh/ssh_fallback.h"
#include "ssh/ssh_program.h"
#include "ssh/ssh_session.h"
#include "transport/transport.h"

namespace autodist::ssh {

// By libssh2 wherever it can; otherwise by the `ssh` program: where it is known that libssh2
// cannot, and where it has failed and `ssh NODE true` succeeds.
class SshTransport final : public transport::Transport {
 public:
  // Without `session` only the program is used: where that is due to `no_session`, a failure, as a
  // fallback. `loop` must outlive the transport and its streams.
  SshTransport(SshLoop& loop, std::optional<SshTarget> session, Status no_session,
               v1::SshReach reach, std::shared_ptr<SshFallback> fallback)
      : loop_(loop),
        session_(std::move(session)),
        no_session_(std::move(no_session)),
        reach_(reach),
        program_(std::move(reach)),
        fallback_(std::move(fallback)) {}

  // The arguments reach the program through the user's login shell, quoted; give it constants
  // and words of our own only. kResourceExhausted: the server refuses logins for now.
  Result<std::unique_ptr<transport::Stream>> Run(const std::vector<std::string>& argv,
                                                 const std::stop_token& stop) override;

 private:
  // `may_fall_back`: whether ssh may get further than a session that has failed.
  Result<std::unique_ptr<transport::Stream>> RunInSession(const std::vector<std::string>& argv,
                                                          const std::stop_token& stop,
                                                          bool& may_fall_back);

  SshLoop& loop_;
  const std::optional<SshTarget> session_;
  const Status no_session_;
  const v1::SshReach reach_;
  SshProgramTransport program_;
  const std::shared_ptr<SshFallback> fallback_;
};

}  // namespace autodist::ssh
