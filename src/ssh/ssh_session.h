// One login over SSH and the one program run through it: connects, verifies the host key, logs in,
// executes the program, then passes bytes.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "autodist/status.h"
#include "autodist/v1/plan.pb.h"
#include "base/deadline.h"
#include "base/fd.h"
#include "base/ip_address.h"
#include "base/tcp_connect.h"
#include "ssh/channel_pump.h"
#include "ssh/identities.h"
#include "ssh/known_hosts.h"
#include "ssh/libssh2_session.h"
#include "ssh/ssh_loop.h"

namespace autodist::ssh {

// The addresses and credentials of a login.
struct SshTarget {
  v1::SshReach reach;
  std::vector<base::IpAddress> addresses;  // the parsed ones of `reach`, in order
  IdentityOffer keys;
  std::shared_ptr<KnownHosts> known_hosts;

  uint16_t port() const { return static_cast<uint16_t>(reach.port()); }
};

// Used by the loop's thread alone, except for calls marked as thread-safe.
class SshSession final : public Pollable, public std::enable_shared_from_this<SshSession> {
 public:
  // `local` is our end of a socket pair; the stream's owner has the other end.
  SshSession(SshLoop& loop, SshTarget target, std::string command, base::UniqueFd local);
  ~SshSession() override;

  bool Advance() override;
  base::Deadline NextDeadline() const override;
  void Abandon() override;

  // Thread-safe: blocks until the program has started or has failed to. Makes slow signatures
  // meanwhile, so one thread must wait.
  Status WaitStarted();
  // Thread-safe: makes the session end at its next step.
  void Cancel();
  // Thread-safe, after a failure before the program's start: whether the `ssh` program may succeed.
  // False if that would be as unsafe with ssh, for example after a host key has changed.
  bool SshMayGetFurther() const;
  // Thread-safe.
  bool WaitEnded(base::Deadline deadline);
  std::string StderrTail() const;
  Status Failure() const;

 private:
  enum class Phase { kConnect, kBanner, kHandshake, kLogIn, kSign, kOpen, kExecute, kRun, kEnded };
  using Outcome = Libssh2Session::Outcome;

  Outcome Interruption() const;
  Outcome Standstill();
  Outcome Next();
  Outcome Connect();
  Outcome AwaitBanner();
  Outcome LogIn();
  Outcome AwaitSignature();
  Outcome Execute();
  Outcome Pump();

  bool CanSshGetFurther(const Status& failure) const;
  void Enter(Phase phase);
  void LimitTo(const transport::Cause& timeout, std::chrono::milliseconds limit);
  void End(const Status& outcome);
  void UpdateInterest();

  SshLoop& loop_;
  const SshTarget target_;
  const std::string command_;
  Phase phase_ = Phase::kConnect;
  base::Deadline deadline_ = base::Deadline::Never();
  std::pair<const transport::Cause*, std::chrono::milliseconds> limit_;  // of the deadline
  std::optional<base::ConnectRace> race_;                                // in Phase::kConnect
  base::UniqueFd tcp_;
  ServerBanner banner_;
  Authentication authentication_;
  std::optional<ChannelPump> pump_;
  std::optional<Libssh2Session> library_;
  ProgressWatch progress_;
  bool refused_host_key_ = false;

  // State shared with other threads.
  struct SignRequest {
    Authentication::Identity identity;
    std::string request;
  };
  struct Shared {
    std::mutex mutex;
    std::condition_variable changed;
    bool started = false;  // guarded by mutex, like the members below
    bool ended = false;
    bool cancelled = false;
    Status failure;
    bool ssh_may_get_further = false;
    std::string stderr_tail;
    std::optional<SignRequest> to_sign;            // for WaitStarted to sign
    std::optional<Result<std::string>> signature;  // from WaitStarted
  };
  mutable Shared shared_;
  std::stop_source signing_;  // thread-safe; stopped when the signature is no longer needed
};

}  // namespace autodist::ssh
