// Runs programs on nodes over SSH.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>

#include "autodist/status.h"
#include "autodist/v1/plan.pb.h"
#include "ssh/ssh_program.h"
#include "ssh/ssh_session.h"
#include "transport/transport.h"

namespace autodist::ssh {

// The nodes that are reached through the `ssh` program because autodist's login fails there.
// Thread-safe.
class SshFallback {
 public:
  // Whether an earlier call has found that the ssh program succeeds there.
  bool IsChosen(const v1::SshReach& reach) const;

  // Records that autodist's login has succeeded: a later failure has a cause that ssh would share.
  void SettleOnOwn(const v1::SshReach& reach);

  // Whether `ssh NODE true` succeeds after autodist's login failed for this reason; tried once for
  // a node, with a warning if it does. Blocks for a login at most, or until it is stopped.
  bool Helps(const v1::SshReach& reach, const Status& failure, const std::stop_token& stop);

 private:
  mutable std::mutex mutex_;
  std::map<std::string, bool> tried_;  // by login; guarded by mutex_; value: whether ssh succeeds
};

// Uses libssh2 where it can. Uses the `ssh` program where libssh2 is known not to work, and where
// libssh2 has failed and `ssh NODE true` succeeds.
class SshTransport final : public transport::Transport {
 public:
  // Without `session` it uses only the program; if `no_session` is a failure, as a fallback. `loop`
  // must outlive the transport and its streams.
  SshTransport(SshLoop& loop, std::optional<SshTarget> session, Status no_session,
               v1::SshReach reach, std::shared_ptr<SshFallback> fallback)
      : loop_(loop),
        session_(std::move(session)),
        no_session_(std::move(no_session)),
        reach_(reach),
        program_(std::move(reach)),
        fallback_(std::move(fallback)) {}

  // The arguments pass through the user's login shell, quoted; they must be constants or strings of
  // autodist. kResourceExhausted: the server refuses logins for now.
  Result<std::unique_ptr<transport::Stream>> Run(const std::vector<std::string>& argv,
                                                 const std::stop_token& stop) override;

 private:
  // `may_fall_back`: whether ssh may succeed after the session has failed.
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
