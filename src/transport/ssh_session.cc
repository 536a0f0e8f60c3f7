#include "transport/ssh_session.h"

#include <libssh2.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>

#include "transport/tcp_connect.h"

namespace autodist::transport {
namespace {

using base::Deadline;
using std::chrono::milliseconds;

// Time limits of the phases.
constexpr milliseconds kConnectLimit{10'000};
constexpr milliseconds kHandshakeLimit{20'000};
constexpr milliseconds kLogInLimit{20'000};
constexpr milliseconds kExecuteLimit{20'000};
// How long a program may go on after its input has been closed.
constexpr milliseconds kCloseLimit{5'000};

constexpr size_t kBufferSize = 64 * 1024;
constexpr size_t kStderrTail = 4096;

// nistp256 costs an OpenSSH server a tenth less than curve25519, and half of what the finite
// field groups cost.
constexpr char kKeyExchanges[] =
    "ecdh-sha2-nistp256,curve25519-sha256,curve25519-sha256@libssh.org,ecdh-sha2-nistp384,"
    "ecdh-sha2-nistp521,diffie-hellman-group14-sha256,diffie-hellman-group16-sha512,"
    "diffie-hellman-group18-sha512,diffie-hellman-group-exchange-sha256";
constexpr char kCiphers[] =
    "aes128-gcm@openssh.com,chacha20-poly1305@openssh.com,aes256-gcm@openssh.com,aes128-ctr,"
    "aes256-ctr";
constexpr char kHostKeyTypes[] =
    "ssh-ed25519,ecdsa-sha2-nistp256,ecdsa-sha2-nistp384,ecdsa-sha2-nistp521,rsa-sha2-512,"
    "rsa-sha2-256";

// Asks for an acknowledgement at once: sshd's small writes otherwise wait 40 ms for a delayed one.
ssize_t Receive(libssh2_socket_t fd, void* buffer, size_t length, int flags, void**) {
  const ssize_t got = recv(fd, buffer, length, flags);
  if (got < 0) return -errno;
  const int one = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_QUICKACK, &one, sizeof one);
  return got;
}

int Sign(LIBSSH2_SESSION*, unsigned char** signature, size_t* length, const unsigned char* data,
         size_t data_length, void** key) {
  const auto signed_data = static_cast<const SshKey*>(*key)->SignRequest(
      {reinterpret_cast<const char*>(data), data_length});
  if (!signed_data.ok()) return LIBSSH2_ERROR_PUBLICKEY_UNVERIFIED;
  *signature = static_cast<unsigned char*>(std::malloc(signed_data->size()));  // libssh2 frees it
  if (!*signature) return LIBSSH2_ERROR_ALLOC;
  std::memcpy(*signature, signed_data->data(), signed_data->size());
  *length = signed_data->size();
  return 0;
}

// The remedy for a connection that could not be made, by what the system said.
std::string ConnectRemedy(const Status& status) {
  if (Message(status).find("refused") != std::string::npos) {
    return "is sshd running there, and on this port?";
  }
  return "is the machine up, the address right, and no firewall in between?";
}

}  // namespace

SshSession::SshSession(SshLoop& loop, SshTarget target, std::string command, base::UniqueFd local)
    : loop_(loop),
      target_(std::move(target)),
      command_(std::move(command)),
      local_(std::move(local)) {}

SshSession::~SshSession() { End(); }

std::string SshSession::Where() const {
  return target_.username + "@" + target_.host + " port " + std::to_string(target_.port);
}

void SshSession::Enter(Phase phase) {
  phase_ = phase;
  switch (phase) {
    case Phase::kConnect:
      deadline_ = Deadline::After(kConnectLimit);
      break;
    case Phase::kHandshake:
      deadline_ = Deadline::After(kHandshakeLimit);
      break;
    case Phase::kLogIn:
      deadline_ = Deadline::After(kLogInLimit);
      break;
    case Phase::kOpen:
      deadline_ = Deadline::After(kExecuteLimit);
      break;
    case Phase::kRun:
      deadline_ = Deadline::Never();
      break;
    case Phase::kStart:
    case Phase::kExecute:  // within the limit of kOpen
    case Phase::kEnded:
      break;
  }
}

Status SshSession::LibraryError(const std::string& what) {
  char* text = nullptr;
  libssh2_session_last_error(session_, &text, nullptr, 0);
  return Error(StatusCode::kUnavailable, what + ": " + (text && *text ? text : "no reason given"));
}

bool SshSession::Advance() {
  {
    const std::lock_guard lock(mutex_);
    if (cancelled_ && phase_ < Phase::kRun) failure_ = Error(StatusCode::kCancelled, "cancelled");
  }
  if (phase_ < Phase::kRun && !Failure().ok()) Fail(Failure());
  if (phase_ != Phase::kEnded && deadline_.Expired()) {
    static constexpr const char* kWhat[] = {
        "starting",   "connecting",        "the SSH handshake",
        "logging in", "opening a channel", "starting the program",
        "closing"};
    Fail(WithRemedy(Error(StatusCode::kDeadlineExceeded,
                          std::string(kWhat[static_cast<size_t>(phase_)]) + " timed out"),
                    "is the machine up, the address right, and no firewall in between?"));
  }
  while (phase_ != Phase::kEnded && Next() == Step::kAgain) {
  }
  if (phase_ == Phase::kEnded) return false;
  UpdateInterest();
  return true;
}

SshSession::Step SshSession::Next() {
  switch (phase_) {
    case Phase::kStart:
      return Start();
    case Phase::kConnect:
      return FinishConnect();
    case Phase::kHandshake:
      return Handshake();
    case Phase::kLogIn:
      return LogIn();
    case Phase::kOpen:
      return OpenChannel();
    case Phase::kExecute:
      return Execute();
    case Phase::kRun:
      Pump();
      return Step::kWait;
    case Phase::kEnded:
      break;
  }
  return Step::kWait;
}

SshSession::Step SshSession::Start() {
  Enter(Phase::kConnect);
  auto fd = StartConnecting(target_.address, target_.port);
  if (!fd.ok()) {
    Fail(WithRemedy(fd.status(), ConnectRemedy(fd.status())));
  } else {
    tcp_ = std::move(*fd);
  }
  return Step::kWait;
}

SshSession::Step SshSession::FinishConnect() {
  bool pending = false;
  if (const Status status = ConnectResult(tcp_.get(), pending); !status.ok()) {
    Fail(WithRemedy(status, ConnectRemedy(status)));
    return Step::kWait;
  }
  if (pending) return Step::kWait;
  static const int initialised = libssh2_init(0);
  session_ = initialised == 0 ? libssh2_session_init() : nullptr;
  if (!session_) {
    Fail(Error(StatusCode::kInternal, "libssh2 could not be initialised"));
    return Step::kWait;
  }
  libssh2_session_set_blocking(session_, 0);
  libssh2_session_callback_set2(session_, LIBSSH2_CALLBACK_RECV,
                                reinterpret_cast<libssh2_cb_generic*>(Receive));
  std::string host_key_types;
  for (const std::string& type : target_.known_hosts->KeyTypes(target_.host, target_.port)) {
    // A key of type ssh-rsa signs with SHA-2 these days.
    host_key_types += (type == "ssh-rsa" ? "rsa-sha2-512,rsa-sha2-256" : type) + ",";
  }
  libssh2_session_method_pref(session_, LIBSSH2_METHOD_KEX, kKeyExchanges);
  libssh2_session_method_pref(session_, LIBSSH2_METHOD_CRYPT_CS, kCiphers);
  libssh2_session_method_pref(session_, LIBSSH2_METHOD_CRYPT_SC, kCiphers);
  libssh2_session_method_pref(session_, LIBSSH2_METHOD_HOSTKEY,
                              (host_key_types + kHostKeyTypes).c_str());
  Enter(Phase::kHandshake);
  return Step::kAgain;
}

SshSession::Step SshSession::Handshake() {
  const int rc = libssh2_session_handshake(session_, tcp_.get());
  if (rc == LIBSSH2_ERROR_EAGAIN) return Step::kWait;
  if (rc != 0) {
    Fail(WithRemedy(LibraryError("SSH handshake"), "is this port that of an SSH server?"));
    return Step::kWait;
  }
  if (const Status trusted = CheckHostKey(); !trusted.ok()) {
    Fail(trusted);
    return Step::kWait;
  }
  Enter(Phase::kLogIn);
  return Step::kAgain;
}

Status SshSession::CheckHostKey() {
  size_t length = 0;
  int type = 0;
  const char* key = libssh2_session_hostkey(session_, &length, &type);
  if (!key) return LibraryError("host key");
  const std::string_view blob(key, length);
  const auto answer = target_.known_hosts->Check(target_.host, target_.port, blob);
  const std::string offered = KnownHosts::KeyType(blob) + " " + KnownHosts::Fingerprint(blob);
  const std::string line = KnownHosts::Line(target_.host, target_.port, blob);
  switch (answer.verdict) {
    case KnownHosts::Verdict::kTrusted:
      return OkStatus();
    case KnownHosts::Verdict::kUnknown:
      return WithRemedy(
          Error(StatusCode::kFailedPrecondition, "host key unknown: the server has " + offered),
          "if that is its fingerprint (ssh-keygen -l on the machine tells), add to "
          "~/.ssh/known_hosts:\n" +
              line);
    case KnownHosts::Verdict::kChanged:
      return WithRemedy(
          Error(StatusCode::kFailedPrecondition, "host key changed: the server has " + offered +
                                                     ", which is not the key on " + answer.where),
          "somebody may be listening in; if the machine was set up anew, replace "
          "that line by\n" +
              line);
    case KnownHosts::Verdict::kRevoked:
      break;
  }
  return WithRemedy(Error(StatusCode::kFailedPrecondition,
                          "host key revoked by " + answer.where + ": " + offered),
                    "give the machine a new host key");
}

SshSession::Step SshSession::LogIn() {
  void* key = const_cast<SshKey*>(target_.key.get());
  const std::string& blob = target_.key->public_blob();
  const int rc = libssh2_userauth_publickey(session_, target_.username.c_str(),
                                            reinterpret_cast<const unsigned char*>(blob.data()),
                                            blob.size(), Sign, &key);
  if (rc == LIBSSH2_ERROR_EAGAIN) return Step::kWait;
  if (rc == 0) {
    Enter(Phase::kOpen);
    return Step::kAgain;
  }
  if (rc == LIBSSH2_ERROR_AUTHENTICATION_FAILED || rc == LIBSSH2_ERROR_PUBLICKEY_UNVERIFIED) {
    Fail(WithRemedy(Error(StatusCode::kPermissionDenied,
                          "key refused: the server does not accept " + target_.key_file +
                              " for user " + target_.username),
                    "add the public key to ~/.ssh/authorized_keys of that user on the node, or "
                    "correct username or key_file in the spec"));
  } else {
    Fail(LibraryError("logging in"));
  }
  return Step::kWait;
}

SshSession::Step SshSession::OpenChannel() {
  channel_ = libssh2_channel_open_session(session_);
  if (channel_) {
    Enter(Phase::kExecute);
    return Step::kAgain;
  }
  if (libssh2_session_last_errno(session_) != LIBSSH2_ERROR_EAGAIN) {
    Fail(LibraryError("opening a channel"));
  }
  return Step::kWait;
}

SshSession::Step SshSession::Execute() {
  const int rc = libssh2_channel_exec(channel_, command_.c_str());
  if (rc == LIBSSH2_ERROR_EAGAIN) return Step::kWait;
  if (rc != 0) {
    Fail(LibraryError("starting the program"));
    return Step::kWait;
  }
  Enter(Phase::kRun);
  const std::lock_guard lock(mutex_);
  started_ = true;
  changed_.notify_all();
  return Step::kAgain;
}

// Until nothing moves any more: libssh2 may hold decrypted bytes that epoll knows nothing of.
void SshSession::Pump() {
  bool progress = true;
  while (progress && phase_ == Phase::kRun) {
    progress = ReadRemoteErrors();
    progress |= ReadRemote();
    if (phase_ != Phase::kRun) return;
    progress |= WriteLocal();
    progress |= ReadLocal();
    progress |= WriteRemote();
  }
  if (phase_ == Phase::kRun && remote_ended_ && to_local_.empty()) End();
}

bool SshSession::ReadRemote() {
  if (!to_local_.empty() || remote_ended_) return false;
  to_local_.resize(kBufferSize);
  const ssize_t got = libssh2_channel_read(channel_, to_local_.data(), to_local_.size());
  to_local_.resize(static_cast<size_t>(std::max<ssize_t>(got, 0)));
  to_local_begin_ = 0;
  if (got > 0) return true;
  if (got == 0 && libssh2_channel_eof(channel_)) remote_ended_ = true;
  if (got < 0 && got != LIBSSH2_ERROR_EAGAIN) Fail(LibraryError("connection lost"));
  return false;
}

bool SshSession::ReadRemoteErrors() {
  char buffer[4096];
  const ssize_t got = libssh2_channel_read_stderr(channel_, buffer, sizeof buffer);
  if (got <= 0) return false;
  const std::lock_guard lock(mutex_);
  stderr_tail_.append(buffer, static_cast<size_t>(got));
  if (stderr_tail_.size() > kStderrTail) {
    stderr_tail_.erase(0, stderr_tail_.size() - kStderrTail);
  }
  return true;
}

bool SshSession::WriteLocal() {
  if (to_local_.empty()) return false;
  const ssize_t put = send(local_.get(), to_local_.data() + to_local_begin_,
                           to_local_.size() - to_local_begin_, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (put < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  // Nobody reads any more: what comes is dropped.
  to_local_begin_ = put < 0 ? to_local_.size() : to_local_begin_ + static_cast<size_t>(put);
  if (to_local_begin_ == to_local_.size()) to_local_.clear();
  return true;
}

bool SshSession::ReadLocal() {
  if (!to_remote_.empty() || local_ended_) return false;
  to_remote_.resize(kBufferSize);
  const ssize_t got = recv(local_.get(), to_remote_.data(), to_remote_.size(), MSG_DONTWAIT);
  to_remote_.resize(static_cast<size_t>(std::max<ssize_t>(got, 0)));
  to_remote_begin_ = 0;
  if (got > 0) return true;
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  local_ended_ = true;
  deadline_ = Deadline::After(kCloseLimit);
  return true;
}

bool SshSession::WriteRemote() {
  if (to_remote_.empty()) {
    if (!local_ended_ || eof_sent_) return false;
    eof_sent_ = libssh2_channel_send_eof(channel_) != LIBSSH2_ERROR_EAGAIN;
    return eof_sent_;
  }
  const ssize_t put = libssh2_channel_write(channel_, to_remote_.data() + to_remote_begin_,
                                            to_remote_.size() - to_remote_begin_);
  if (put == LIBSSH2_ERROR_EAGAIN) return false;
  if (put < 0) {
    // The program may have ended without reading all; its output tells.
    to_remote_.clear();
    if (!libssh2_channel_eof(channel_)) Fail(LibraryError("connection lost"));
    return false;
  }
  to_remote_begin_ += static_cast<size_t>(put);
  if (to_remote_begin_ == to_remote_.size()) to_remote_.clear();
  return put > 0;
}

void SshSession::UpdateInterest() {
  if (phase_ == Phase::kConnect) {
    loop_.Watch(tcp_.get(), EPOLLOUT, this);
    return;
  }
  const int directions = libssh2_session_block_directions(session_);
  const bool outbound = (directions & LIBSSH2_SESSION_BLOCK_OUTBOUND) != 0;
  const bool reading = to_local_.empty();
  loop_.Watch(tcp_.get(), (reading ? EPOLLIN : 0u) | (outbound ? EPOLLOUT : 0u), this);
  if (phase_ != Phase::kRun) return;
  const bool want_local = to_remote_.empty() && !local_ended_;
  loop_.Watch(local_.get(), (want_local ? EPOLLIN : 0u) | (reading ? 0u : EPOLLOUT), this);
}

void SshSession::Fail(const Status& status) {
  {
    const std::lock_guard lock(mutex_);
    failure_ = Annotate(status, Where());
  }
  End();
}

// Closes everything without waiting for the far end, which learns it from TCP.
void SshSession::End() {
  phase_ = Phase::kEnded;
  deadline_ = Deadline::Never();
  if (channel_) libssh2_channel_free(channel_);
  if (session_) {
    libssh2_session_disconnect(session_, "done");
    libssh2_session_free(session_);
  }
  channel_ = nullptr;
  session_ = nullptr;
  tcp_.Reset();
  local_.Reset();
  const std::lock_guard lock(mutex_);
  ended_ = true;
  changed_.notify_all();
}

void SshSession::Abandon() { Fail(Error(StatusCode::kCancelled, "cancelled")); }

Status SshSession::WaitStarted() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return started_ || ended_; });
  return started_ ? OkStatus() : failure_;
}

void SshSession::Cancel() {
  const std::lock_guard lock(mutex_);
  cancelled_ = true;
}

bool SshSession::WaitEnded(Deadline deadline) {
  std::unique_lock lock(mutex_);
  return changed_.wait_until(lock, deadline.when(), [this] { return ended_; });
}

std::string SshSession::StderrTail() const {
  const std::lock_guard lock(mutex_);
  return stderr_tail_;
}

Status SshSession::Failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

}  // namespace autodist::transport
