// One login over SSH and the one program run through it: connect, verify the host key, log in,
// execute, then pass bytes. The only user of libssh2.
#pragma once

#include <sys/socket.h>

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "autodist/status.h"
#include "base/deadline.h"
#include "base/fd.h"
#include "base/ip_address.h"
#include "transport/known_hosts.h"
#include "transport/ssh_key.h"
#include "transport/ssh_loop.h"

struct _LIBSSH2_SESSION;  // NOLINT(bugprone-reserved-identifier): the name in libssh2.h
struct _LIBSSH2_CHANNEL;  // NOLINT(bugprone-reserved-identifier)

namespace autodist::transport {

struct SshTarget {
  std::string host;         // the name that known_hosts is asked for
  base::IpAddress address;  // where to connect to
  uint16_t port = 22;
  std::string username;
  std::string key_file;  // for messages
  std::shared_ptr<const SshKey> key;
  std::shared_ptr<const KnownHosts> known_hosts;
};

// The state is the loop thread's alone; the calls marked so are for other threads.
class SshSession final : public Pollable {
 public:
  // `local` is our end of the byte stream that the other end's holder reads and writes.
  SshSession(SshLoop& loop, SshTarget target, std::string command, base::UniqueFd local);
  ~SshSession() override;

  bool Advance() override;
  base::Deadline NextDeadline() const override { return deadline_; }
  void Abandon() override;

  // Thread-safe: blocks until the program has been started, or could not be.
  Status WaitStarted();
  // Thread-safe: makes the session give up at its next step.
  void Cancel();
  // Thread-safe.
  bool WaitEnded(base::Deadline deadline);
  std::string StderrTail() const;
  Status Failure() const;

 private:
  enum class Phase { kStart, kConnect, kHandshake, kLogIn, kOpen, kExecute, kRun, kEnded };
  enum class Step { kAgain, kWait };  // another step at once, or wait for a descriptor

  Step Next();
  Step Start();
  Step FinishConnect();
  Step Handshake();
  Status CheckHostKey();
  Step LogIn();
  Step OpenChannel();
  Step Execute();
  void Pump();
  bool ReadRemote();
  bool ReadRemoteErrors();
  bool WriteLocal();
  bool ReadLocal();
  bool WriteRemote();

  void Enter(Phase phase);
  void Fail(const Status& status);
  void End();
  void UpdateInterest();
  Status LibraryError(const std::string& what);
  std::string Where() const;

  SshLoop& loop_;
  const SshTarget target_;
  const std::string command_;
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
};

}  // namespace autodist::transport
