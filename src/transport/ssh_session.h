// One login over SSH and the one program run through it: connect, verify the host key, log in,
// execute, then pass bytes. The only user of libssh2.
#pragma once

#include <sys/socket.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "autodist/status.h"
#include "base/deadline.h"
#include "base/fd.h"
#include "base/ip_address.h"
#include "transport/known_hosts.h"
#include "transport/ssh_identity.h"
#include "transport/ssh_loop.h"

struct _LIBSSH2_SESSION;  // NOLINT(bugprone-reserved-identifier): the name in libssh2.h
struct _LIBSSH2_CHANNEL;  // NOLINT(bugprone-reserved-identifier)

namespace autodist::transport {

struct SshTarget {
  std::string host_key_name;  // what known_hosts is asked for
  base::IpAddress address;    // where to connect to
  uint16_t port = 22;
  std::string username;
  std::vector<std::shared_ptr<const SshIdentity>> identities;  // offered in this order
  std::vector<std::string> identity_notes;                     // about keys that cannot be
  bool ssh_has_more_keys = false;                              // which only `ssh` can use
  std::shared_ptr<KnownHosts> known_hosts;
  enum class HostKeyCheck { kStrict, kAcceptNew, kOff } host_key_check = HostKeyCheck::kStrict;
  bool hash_known_hosts = false;              // where a new key is added
  std::chrono::milliseconds connect_limit{};  // until the server's first words
};

// The state is the loop thread's alone; the calls marked so are for other threads.
class SshSession final : public Pollable, public std::enable_shared_from_this<SshSession> {
 public:
  // `local` is our end of the byte stream that the other end's holder reads and writes.
  SshSession(SshLoop& loop, SshTarget target, std::string command, base::UniqueFd local);
  ~SshSession() override;

  bool Advance() override;
  base::Deadline NextDeadline() const override { return deadline_; }
  void Abandon() override;

  // Thread-safe: blocks until the program has been started, or could not be. Signs meanwhile
  // where that may take long, so one thread has to wait.
  Status WaitStarted();
  // Thread-safe: makes the session give up at its next step.
  void Cancel();
  // Thread-safe.
  bool WaitEnded(base::Deadline deadline);
  std::string StderrTail() const;
  Status Failure() const;

  // Called by libssh2: the signature of the identity that is being tried.
  int Sign(std::string_view request, std::string& signature);

 private:
  enum class Phase { kStart, kConnect, kBanner, kHandshake, kLogIn, kOpen, kExecute, kRun, kEnded };
  enum class Step { kAgain, kWait };  // another step at once, or wait for a descriptor

  Step Next();
  Step Start();
  Step FinishConnect();
  Step AwaitBanner();
  Step StartHandshake();
  Step Handshake();
  Status CheckHostKey();
  Step LogIn();
  Step FailRefused();
  Step OpenChannel();
  Step Execute();
  void Pump();
  bool ReadRemote();
  bool ReadRemoteErrors();
  bool WriteLocal();
  bool ReadLocal();
  bool WriteRemote();

  void Enter(Phase phase);
  Step Fail(const Status& status);  // kWait: for the caller to return
  void End();
  void Free();
  void UpdateInterest();
  std::string LibraryError();
  std::string Where() const;

  SshLoop& loop_;
  SshTarget target_;
  const std::string command_;
  size_t identity_ = 0;  // of target_.identities, that is being tried
  base::UniqueFd local_;
  base::UniqueFd tcp_;
  Phase phase_ = Phase::kStart;
  base::Deadline deadline_ = base::Deadline::Never();
  _LIBSSH2_SESSION* session_ = nullptr;
  _LIBSSH2_CHANNEL* channel_ = nullptr;

  std::string to_local_;  // read from the node, not yet written
  size_t to_local_begin_ = 0;
  std::string to_remote_;  // read here, not yet written
  size_t to_remote_begin_ = 0;
  bool local_ended_ = false;
  bool eof_sent_ = false;
  bool remote_ended_ = false;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool started_ = false;  // guarded by mutex_, as are the rest
  bool ended_ = false;
  bool cancelled_ = false;
  Status failure_;
  std::string stderr_tail_;
  std::optional<std::string> to_sign_;         // what WaitStarted shall sign
  std::optional<Result<std::string>> signed_;  // by WaitStarted
};

}  // namespace autodist::transport
