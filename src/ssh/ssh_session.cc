#include "ssh/ssh_session.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <string_view>
#include <utility>

#include "base/log.h"
#include "base/quantity.h"
#include "ssh/ssh_errors.h"
#include "ssh/ssh_wire.h"

namespace autodist::ssh {
namespace {

// Verifies the host key of a server.

constexpr size_t kMinRsaBits = 2048;  // see src/plan/ssh_keywords.cc

// OpenSSH may be configured to reject a short key (RequiredRSASize).
Status CheckRsaSize(std::string_view key) {
  WireReader reader(key);
  if (reader.String() != "ssh-rsa") return OkStatus();
  reader.String();  // the exponent
  std::string_view modulus = reader.String();
  while (modulus.starts_with('\0')) modulus.remove_prefix(1);
  if (modulus.size() * 8 >= kMinRsaBits) return OkStatus();
  return Error(StatusCode::kUnimplemented, "the server's RSA host key has " +
                                               std::to_string(modulus.size() * 8) +
                                               " bits, fewer than " + std::to_string(kMinRsaBits));
}

// Returns the known host key types of the server, each followed by a comma.
std::string KnownKeyTypes(const v1::SshReach& reach, const KnownHosts& known_hosts) {
  std::string types;
  for (const std::string& type :
       known_hosts.KeyTypes(reach.host_key_name(), static_cast<uint16_t>(reach.port()))) {
    // A key of type ssh-rsa signs with SHA-2 today.
    types += (type == "ssh-rsa" ? "rsa-sha2-512,rsa-sha2-256" : type) + ",";
  }
  return types;
}

// Checks as the spec and OpenSSH's configuration say; may add a new key to `known_hosts`, which
// writes a file. kUnimplemented: ssh must decide.
Status CheckHostKey(const v1::SshReach& reach, KnownHosts& known_hosts, std::string_view key) {
  if (key.empty()) return Error(StatusCode::kUnavailable, "the server shows no host key");
  AD_RETURN_IF_ERROR(CheckRsaSize(key));
  const auto answer =
      known_hosts.Check(reach.host_key_name(), static_cast<uint16_t>(reach.port()), key);
  if (reach.host_keys_size() > 0) return PinnedHostKeyError(answer, key);
  const bool revoked = answer.match == KnownHosts::Match::kRevoked;
  if (reach.host_key_check() == v1::HOST_KEY_CHECK_OFF && !revoked) return OkStatus();
  if (reach.host_key_check() == v1::HOST_KEY_CHECK_ACCEPT_NEW &&
      answer.match == KnownHosts::Match::kUnknown) {
    AD_RETURN_IF_ERROR(known_hosts.Add(reach.host_key_name(), static_cast<uint16_t>(reach.port()),
                                       key, reach.hash_known_hosts()));
    base::Log(base::LogLevel::kInfo, reach.host_key_name() + ": host key added to known_hosts: " +
                                         KnownHosts::Describe(key));
    return OkStatus();
  }
  return HostKeyError(answer, reach.host_key_name(), static_cast<uint16_t>(reach.port()), key);
}

// Whether the files, as autodist reads them, have no key of the server.
bool IsUnknownKey(const v1::SshReach& reach, const KnownHosts& known_hosts, std::string_view key) {
  return reach.host_keys_size() == 0 &&
         known_hosts.Check(reach.host_key_name(), static_cast<uint16_t>(reach.port()), key).match ==
             KnownHosts::Match::kUnknown;
}

using base::Deadline;
using std::chrono::milliseconds;
namespace cause = transport::cause;

// The phase after the server's first data. Limits of login and program's start are in the plan.
constexpr milliseconds kHandshakeLimit{20'000};
// The time that a program may run on after its input has been closed.
constexpr milliseconds kCloseLimit{5'000};

constexpr size_t kStderrTail = 4096;

// "ann@gpu1 (10.0.0.2) port 22".
std::string Destination(const SshTarget& target) {
  std::string tried;
  for (const base::IpAddress& address : target.addresses) {
    tried += (tried.empty() ? "" : ", ") + address.ToString();
  }
  const std::string& host = target.reach.host();
  return target.reach.username() + "@" + host + (tried == host ? "" : " (" + tried + ")") +
         " port " + std::to_string(target.port());
}

bool HasHungUp(int socket) {
  pollfd entry{socket, POLLRDHUP, 0};
  return poll(&entry, 1, 0) > 0;
}

}  // namespace

SshSession::SshSession(SshLoop& loop, SshTarget target, std::string command, base::UniqueFd local)
    : loop_(loop),
      target_(std::move(target)),
      command_(std::move(command)),
      authentication_(target_.reach.username(), target_.keys.identities, target_.keys.notes,
                      [this](const Authentication::Identity& identity, std::string_view request) {
                        const std::lock_guard lock(shared_.mutex);
                        shared_.to_sign = {identity, std::string(request)};
                        shared_.changed.notify_all();
                      }),
      pump_(std::in_place, std::move(local)) {}

SshSession::~SshSession() { End(OkStatus()); }

void SshSession::LimitTo(const transport::Cause& timeout, milliseconds limit) {
  limit_ = {&timeout, limit};
  deadline_ = Deadline::After(limit);
}

void SshSession::Enter(Phase phase) {
  phase_ = phase;
  const milliseconds login_limit(target_.reach.login_limit_ms());
  switch (phase) {
    case Phase::kConnect:
      return LimitTo(cause::kConnectTimeout, milliseconds(target_.reach.connect_limit_ms()));
    case Phase::kBanner:  // with the same deadline
      limit_.first = &cause::kSilentServer;
      return;
    case Phase::kHandshake:
      return LimitTo(cause::kSlowHandshake, kHandshakeLimit);
    case Phase::kLogIn:
      return LimitTo(cause::kSlowLogin, login_limit);
    case Phase::kOpen:
      return LimitTo(cause::kSlowCommand, login_limit);
    case Phase::kExecute:  // with the same deadline
      return;
    case Phase::kSign:  // the signer has a limit
    case Phase::kRun:
    case Phase::kEnded:
      deadline_ = Deadline::Never();
  }
}

Deadline SshSession::NextDeadline() const {
  const Deadline next = std::min(deadline_, progress_.deadline());
  return race_ ? std::min(next, race_->next()) : next;
}

bool SshSession::Advance() {
  Outcome outcome = Interruption();
  if (library_) library_->Flush();
  while (!outcome) {
    const Phase before = phase_;
    outcome = Next();
    if (phase_ == before) break;
  }
  if (!outcome) outcome = Standstill();
  if (outcome) {
    End(*outcome);
  } else if (phase_ != Phase::kEnded) {
    UpdateInterest();
  }
  return phase_ != Phase::kEnded;
}

SshSession::Outcome SshSession::Interruption() const {
  {
    const std::lock_guard lock(shared_.mutex);
    if (shared_.cancelled && phase_ < Phase::kRun) {
      return Error(StatusCode::kCancelled, "cancelled");
    }
  }
  if (!deadline_.Expired()) return std::nullopt;
  const std::string limit = base::Seconds(limit_.second);
  const std::string said = banner_.Said();
  if (phase_ == Phase::kBanner && !said.empty()) {
    return NoBannerError(said, ", and no more within " + limit);
  }
  return transport::CauseError(*limit_.first, {{"{limit}", limit}});
}

// Returns the failure of a session without progress.
SshSession::Outcome SshSession::Standstill() {
  uint64_t moved = static_cast<uint64_t>(phase_) + pump_->moves();
  bool sending = false;
  if (library_) {
    moved += library_->moved();
    // A program that does not read its input is not a failure of the connection while the input's
    // writer is still connected.
    sending = library_->HasUnsent() || (phase_ == Phase::kRun && pump_->has_for_remote() &&
                                        (library_->HasWindow() || pump_->abandoned()));
  }
  Status status = progress_.Turn(moved, sending);
  return status.ok() ? std::nullopt : Outcome(std::move(status));
}

// Executes one step of the phase. Returns its failure, or the end of the program's output; nullopt
// if it waits or has entered the next phase.
SshSession::Outcome SshSession::Next() {
  Outcome done;
  switch (phase_) {
    case Phase::kConnect:
      return Connect();
    case Phase::kBanner:
      return AwaitBanner();
    case Phase::kHandshake:
      done = library_->Handshake();
      if (!done || !done->ok()) break;
      done = CheckHostKey(target_.reach, *target_.known_hosts, library_->HostKey());
      refused_host_key_ =
          !done->ok() && !IsUnknownKey(target_.reach, *target_.known_hosts, library_->HostKey());
      if (done->ok()) Enter(Phase::kLogIn);
      break;
    case Phase::kLogIn:
      return LogIn();
    case Phase::kSign:
      return AwaitSignature();
    case Phase::kOpen:
      done = library_->OpenChannel();
      if (done && done->ok()) Enter(Phase::kExecute);
      break;
    case Phase::kExecute:
      return Execute();
    case Phase::kRun:
      return Pump();
    case Phase::kEnded:
      break;
  }
  return done && !done->ok() ? done : std::nullopt;
}

SshSession::Outcome SshSession::Connect() {
  if (!race_) {
    race_.emplace(target_.addresses, target_.port());
    Enter(Phase::kConnect);
  }
  auto connected = race_->Advance();
  if (!connected && !race_->lost()) return std::nullopt;
  if (!connected) return ConnectError(race_->failed());
  tcp_ = std::move(*connected);
  race_.reset();
  Enter(Phase::kBanner);
  return std::nullopt;
}

// Checks the server's first data here, because libssh2 has only a generic error for them.
SshSession::Outcome SshSession::AwaitBanner() {
  for (;;) {
    std::array<char, 1024> text;
    const ssize_t got = recv(tcp_.get(), text.data(), text.size(), MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return std::nullopt;
    if (got <= 0) return NoBannerError(banner_.Said(), "");
    switch (banner_.Take({text.data(), static_cast<size_t>(got)})) {
      case ServerBanner::Answer::kMore:
        break;
      case ServerBanner::Answer::kEndless:
        return NoBannerError(banner_.Said(), ", and goes on without end");
      case ServerBanner::Answer::kFound:
        library_.emplace(tcp_.get(), banner_.TakeBanner(),
                         KnownKeyTypes(target_.reach, *target_.known_hosts));
        Enter(Phase::kHandshake);
        return std::nullopt;
    }
  }
}

SshSession::Outcome SshSession::LogIn() {
  Outcome done = authentication_.Advance(*library_);
  if (done && !done->ok()) return done;
  if (done) {
    Enter(Phase::kOpen);
  } else if (authentication_.AwaitsSignature()) {
    Enter(Phase::kSign);
  }
  return std::nullopt;
}

// Reads nothing: the server sends nothing before it has the signature.
SshSession::Outcome SshSession::AwaitSignature() {
  {
    const std::lock_guard lock(shared_.mutex);
    if (shared_.signature) {
      authentication_.TakeSignature(*std::exchange(shared_.signature, std::nullopt));
    }
  }
  if (!authentication_.AwaitsSignature()) {
    Enter(Phase::kLogIn);
  } else if (HasHungUp(tcp_.get())) {
    return transport::CauseError(cause::kSlowSignature);
  }
  return std::nullopt;
}

SshSession::Outcome SshSession::Execute() {
  Outcome done = library_->Execute(command_);
  if (!done) return std::nullopt;
  if (!done->ok()) return done;
  Enter(Phase::kRun);
  const std::lock_guard lock(shared_.mutex);
  shared_.started = true;
  shared_.changed.notify_all();
  return std::nullopt;
}

SshSession::Outcome SshSession::Pump() {
  const bool closing = pump_->local_ended();
  Outcome done = pump_->Advance(*library_, [this](std::string_view said) {
    const std::lock_guard lock(shared_.mutex);
    std::string& tail = shared_.stderr_tail;
    tail += said;
    if (tail.size() > kStderrTail) tail.erase(0, tail.size() - kStderrTail);
  });
  if (!closing && pump_->local_ended()) LimitTo(cause::kSlowEnd, kCloseLimit);
  if (!done && pump_->has_more()) loop_.Nudge(weak_from_this());
  return done;
}

void SshSession::UpdateInterest() {
  if (phase_ == Phase::kConnect) {
    for (const int socket : race_->sockets()) loop_.Watch(socket, EPOLLOUT, this);
    return;
  }
  if (phase_ == Phase::kBanner || phase_ == Phase::kSign) {
    loop_.Watch(tcp_.get(), phase_ == Phase::kBanner ? EPOLLIN : EPOLLRDHUP, this);
    return;
  }
  // Data that cannot be written although the socket has room wait for data to read: a key exchange,
  // or a window update of the program.
  const bool unsent = library_->HasUnsent();
  const bool reading = !pump_->has_for_local() || (pump_->has_for_remote() && !unsent);
  loop_.Watch(tcp_.get(), (reading ? EPOLLIN : 0u) | (unsent ? EPOLLOUT : 0u), this);
  if (phase_ != Phase::kRun) return;
  const uint32_t wanted = (pump_->wants_local() ? EPOLLIN : 0u) |
                          (pump_->has_for_local() ? EPOLLOUT : 0u) |
                          (pump_->may_be_abandoned() ? EPOLLRDHUP : 0u);
  loop_.Watch(pump_->local(), wanted, this);
}

bool SshSession::CanSshGetFurther(const Status& failure) const {
  switch (phase_) {
    case Phase::kHandshake:
    case Phase::kOpen:
    case Phase::kExecute:
      // A server that does not answer would make ssh wait too.
      return !refused_host_key_ && failure.code() != StatusCode::kDeadlineExceeded &&
             failure.code() != StatusCode::kCancelled;
    case Phase::kLogIn:
      // With a key that the spec names, ssh has no other key to offer.
      return failure.code() == StatusCode::kPermissionDenied && !target_.reach.key_file_required();
    default:
      return false;
  }
}

// Closes everything without waiting for the other side, which notices it through TCP.
void SshSession::End(const Status& outcome) {
  const bool ssh_may_get_further = !outcome.ok() && CanSshGetFurther(outcome);
  Enter(Phase::kEnded);
  library_.reset();
  pump_.reset();
  race_.reset();
  tcp_.Reset();
  signing_.request_stop();
  const std::lock_guard lock(shared_.mutex);
  if (!outcome.ok()) {
    shared_.ssh_may_get_further = ssh_may_get_further;
    shared_.failure = Annotate(outcome, Destination(target_));
  }
  shared_.ended = true;
  shared_.changed.notify_all();
}

void SshSession::Abandon() { End(Error(StatusCode::kCancelled, "cancelled")); }

Status SshSession::WaitStarted() {
  std::unique_lock lock(shared_.mutex);
  for (;;) {
    shared_.changed.wait(lock,
                         [this] { return shared_.started || shared_.ended || shared_.to_sign; });
    if (shared_.started || shared_.ended) return shared_.started ? OkStatus() : shared_.failure;
    const SignRequest asked = *std::exchange(shared_.to_sign, std::nullopt);
    lock.unlock();
    auto signature = asked.identity->SignRequest(asked.request, signing_.get_token());
    lock.lock();
    shared_.signature = std::move(signature);
    loop_.Nudge(weak_from_this());
  }
}

bool SshSession::SshMayGetFurther() const {
  const std::lock_guard lock(shared_.mutex);
  return shared_.ssh_may_get_further;
}

void SshSession::Cancel() {
  const std::lock_guard lock(shared_.mutex);
  shared_.cancelled = true;
}

bool SshSession::WaitEnded(Deadline deadline) {
  std::unique_lock lock(shared_.mutex);
  return shared_.changed.wait_until(lock, deadline.when(), [this] { return shared_.ended; });
}

std::string SshSession::StderrTail() const {
  const std::lock_guard lock(shared_.mutex);
  return shared_.stderr_tail;
}

Status SshSession::Failure() const {
  const std::lock_guard lock(shared_.mutex);
  return shared_.failure;
}

}  // namespace autodist::ssh
