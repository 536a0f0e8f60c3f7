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
#include <utility>
#include <variant>

#include "base/log.h"
#include "transport/ssh_errors.h"
#include "transport/tcp_connect.h"

namespace autodist::transport {
namespace {

using base::Deadline;
using std::chrono::milliseconds;

// Time limits of the phases after the server's first words.
constexpr milliseconds kHandshakeLimit{20'000};
constexpr milliseconds kLogInLimit{20'000};
constexpr milliseconds kLoginSignLimit{90'000};  // an agent may ask its person
constexpr milliseconds kExecuteLimit{20'000};
// How long a program may go on after its input has been closed.
constexpr milliseconds kCloseLimit{5'000};

constexpr int kFreeTries = 10;  // three are needed
constexpr size_t kBufferSize = 64 * 1024;
constexpr size_t kStderrTail = 4096;

// nistp256 costs an OpenSSH server a tenth less than curve25519, and half of what the finite
// field groups cost.
constexpr char kKeyExchanges[] =
    "ecdh-sha2-nistp256,curve25519-sha256,curve25519-sha256@libssh.org,ecdh-sha2-nistp384,"
    "ecdh-sha2-nistp521,diffie-hellman-group14-sha256,diffie-hellman-group16-sha512,"
    "diffie-hellman-group18-sha512,diffie-hellman-group-exchange-sha256";
constexpr char kPreferredCiphers[] =
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

int SignFor(LIBSSH2_SESSION*, unsigned char** signature, size_t* length, const unsigned char* data,
            size_t data_length, void** session) {
  std::string text;
  const int rc = static_cast<SshSession*>(*session)->Sign(
      {reinterpret_cast<const char*>(data), data_length}, text);
  if (rc != 0) return rc;
  *signature = static_cast<unsigned char*>(std::malloc(text.size()));  // libssh2 frees it
  if (!*signature) return LIBSSH2_ERROR_ALLOC;
  std::memcpy(*signature, text.data(), text.size());
  *length = text.size();
  return 0;
}

}  // namespace

SshSession::SshSession(SshLoop& loop, SshTarget target, std::string command, base::UniqueFd local)
    : loop_(loop),
      target_(std::move(target)),
      command_(std::move(command)),
      local_(std::move(local)) {}

SshSession::~SshSession() { End(); }

std::string SshSession::Where() const {
  return target_.username + "@" + target_.host_key_name + " port " + std::to_string(target_.port);
}

void SshSession::Enter(Phase phase) {
  phase_ = phase;
  switch (phase) {
    case Phase::kConnect:
      deadline_ = Deadline::After(target_.connect_limit);
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
    case Phase::kBanner:   // within the limit of kConnect
    case Phase::kExecute:  // within that of kOpen
    case Phase::kEnded:
      break;
  }
}

std::string SshSession::LibraryError() {
  char* text = nullptr;
  libssh2_session_last_error(session_, &text, nullptr, 0);
  return text && *text ? text : "no reason given";
}

bool SshSession::Advance() {
  {
    const std::lock_guard lock(mutex_);
    if (cancelled_ && phase_ < Phase::kRun) failure_ = Error(StatusCode::kCancelled, "cancelled");
  }
  if (phase_ < Phase::kRun && !Failure().ok()) Fail(Failure());
  if (phase_ != Phase::kEnded && deadline_.Expired()) {
    static constexpr std::pair<const char*, milliseconds> kWhat[] = {
        {"starting", {}},
        {"connecting", {}},
        {"waiting for the first words of an SSH server", {}},
        {"the SSH handshake", kHandshakeLimit},
        {"logging in", kLogInLimit},
        {"opening a channel", kExecuteLimit},
        {"starting the program", kExecuteLimit},
        {"closing", kCloseLimit}};
    const auto& [what, limit] = kWhat[static_cast<size_t>(phase_)];
    Fail(TimeOutError(what, limit.count() > 0 ? limit : target_.connect_limit));
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
    case Phase::kBanner:
      return AwaitBanner();
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
  auto connecting = StartConnecting(target_.address, target_.port);
  if (const int* error = std::get_if<int>(&connecting)) {
    return Fail(ConnectError(*error, target_.address.ToString()));
  }
  tcp_ = std::move(std::get<base::UniqueFd>(connecting));
  return Step::kWait;
}

SshSession::Step SshSession::FinishConnect() {
  const int error = ConnectResult(tcp_.get());
  if (error == EINPROGRESS) return Step::kWait;
  if (error != 0) return Fail(ConnectError(error, target_.address.ToString()));
  Enter(Phase::kBanner);
  return Step::kAgain;
}

// What a server says first tells what it is; libssh2 would only say that it did not like it.
SshSession::Step SshSession::AwaitBanner() {
  constexpr std::string_view kBanner = "SSH-";
  std::string text(1024, '\0');
  const ssize_t got = recv(tcp_.get(), text.data(), text.size(), MSG_PEEK | MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return Step::kWait;
  text.resize(static_cast<size_t>(std::max<ssize_t>(got, 0)));
  const bool begun = !text.empty() && kBanner.starts_with(text.substr(0, kBanner.size()));
  // Lines before the banner are allowed (RFC 4253, section 4.2).
  if (begun || text.find("\nSSH-") != std::string::npos) return StartHandshake();
  return Fail(NoBannerError(text));
}

SshSession::Step SshSession::StartHandshake() {
  static const int initialised = libssh2_init(0);
  session_ = initialised == 0 ? libssh2_session_init() : nullptr;
  if (!session_) return Fail(Error(StatusCode::kInternal, "libssh2 could not be initialised"));
  libssh2_session_set_blocking(session_, 0);
  libssh2_session_callback_set2(session_, LIBSSH2_CALLBACK_RECV,
                                reinterpret_cast<libssh2_cb_generic*>(Receive));
  std::string host_key_types;
  for (const std::string& type :
       target_.known_hosts->KeyTypes(target_.host_key_name, target_.port)) {
    // A key of type ssh-rsa signs with SHA-2 these days.
    host_key_types += (type == "ssh-rsa" ? "rsa-sha2-512,rsa-sha2-256" : type) + ",";
  }
  libssh2_session_method_pref(session_, LIBSSH2_METHOD_KEX, kKeyExchanges);
  libssh2_session_method_pref(session_, LIBSSH2_METHOD_CRYPT_CS, kPreferredCiphers);
  libssh2_session_method_pref(session_, LIBSSH2_METHOD_CRYPT_SC, kPreferredCiphers);
  libssh2_session_method_pref(session_, LIBSSH2_METHOD_HOSTKEY,
                              (host_key_types + kHostKeyTypes).c_str());
  Enter(Phase::kHandshake);
  return Step::kAgain;
}

SshSession::Step SshSession::Handshake() {
  const int rc = libssh2_session_handshake(session_, tcp_.get());
  if (rc == LIBSSH2_ERROR_EAGAIN) return Step::kWait;
  if (rc == LIBSSH2_ERROR_KEX_FAILURE || rc == LIBSSH2_ERROR_METHOD_NONE) {
    return Fail(NoCommonAlgorithmError(LibraryError()));
  }
  if (rc == LIBSSH2_ERROR_SOCKET_DISCONNECT || rc == LIBSSH2_ERROR_SOCKET_RECV) {
    return Fail(WithRemedy(Error(StatusCode::kResourceExhausted,
                                 "the server broke off the SSH handshake: " + LibraryError()),
                           "its log (journalctl -u ssh) tells why"));
  }
  if (rc != 0) {
    return Fail(WithRemedy(Error(StatusCode::kUnavailable, "SSH handshake: " + LibraryError()),
                           "does `ssh` reach the machine? its server's log tells more"));
  }
  if (const Status trusted = CheckHostKey(); !trusted.ok()) return Fail(trusted);
  Enter(Phase::kLogIn);
  return Step::kAgain;
}

Status SshSession::CheckHostKey() {
  size_t length = 0;
  int type = 0;
  const char* key = libssh2_session_hostkey(session_, &length, &type);
  if (!key) return Error(StatusCode::kUnavailable, "the server shows no host key");
  const std::string_view blob(key, length);
  const auto answer = target_.known_hosts->Check(target_.host_key_name, target_.port, blob);
  using Check = SshTarget::HostKeyCheck;
  const bool revoked = answer.verdict == KnownHosts::Verdict::kRevoked;
  if (target_.host_key_check == Check::kOff && !revoked) return OkStatus();
  if (target_.host_key_check == Check::kAcceptNew &&
      answer.verdict == KnownHosts::Verdict::kUnknown) {
    AD_RETURN_IF_ERROR(target_.known_hosts->Add(target_.host_key_name, target_.port, blob,
                                                target_.hash_known_hosts));
    base::Log(base::LogLevel::kInfo, target_.host_key_name + ": host key added to known_hosts: " +
                                         KnownHosts::KeyType(blob) + " " +
                                         KnownHosts::Fingerprint(blob));
    return OkStatus();
  }
  return HostKeyError(answer, target_.host_key_name, target_.port, blob);
}

SshSession::Step SshSession::LogIn() {
  if (identity_ == target_.identities.size()) return FailRefused();
  void* self = this;
  const std::string& blob = target_.identities[identity_]->public_blob();
  const int rc = libssh2_userauth_publickey(session_, target_.username.c_str(),
                                            reinterpret_cast<const unsigned char*>(blob.data()),
                                            blob.size(), SignFor, &self);
  if (rc == LIBSSH2_ERROR_EAGAIN) return Step::kWait;
  if (rc == 0) {
    Enter(Phase::kOpen);
    return Step::kAgain;
  }
  if (rc == LIBSSH2_ERROR_AUTHENTICATION_FAILED || rc == LIBSSH2_ERROR_PUBLICKEY_UNVERIFIED) {
    {
      const std::lock_guard lock(mutex_);
      if (signed_ && !signed_->ok()) target_.identity_notes.push_back(Message(signed_->status()));
      signed_.reset();
    }
    ++identity_;
    return Step::kAgain;
  }
  if (identity_ > 0) return FailRefused();  // it hangs up at its MaxAuthTries
  return Fail(WithRemedy(Error(StatusCode::kUnavailable, "logging in: " + LibraryError()),
                         "the server's log (journalctl -u ssh) tells why"));
}

SshSession::Step SshSession::FailRefused() {
  std::vector<std::string> tried;
  for (size_t i = 0; i < identity_; ++i) tried.push_back(target_.identities[i]->description());
  return Fail(KeyRefusedError(target_.username, tried, target_.identity_notes));
}

int SshSession::Sign(std::string_view request, std::string& signature) {
  const SshIdentity& identity = *target_.identities[identity_];
  const std::lock_guard lock(mutex_);
  if (!identity.slow()) signed_ = identity.SignRequest(request);
  if (!signed_) {
    deadline_ = Deadline::After(kLoginSignLimit);
    to_sign_ = request;
    changed_.notify_all();
    return LIBSSH2_ERROR_EAGAIN;
  }
  if (signed_->status().code() == StatusCode::kUnimplemented) {
    signed_.reset();
    return LIBSSH2_ERROR_ALGO_UNSUPPORTED;  // libssh2 asks for another signature
  }
  if (!signed_->ok()) return LIBSSH2_ERROR_PUBLICKEY_UNVERIFIED;
  signature = **signed_;
  signed_.reset();
  return 0;
}

SshSession::Step SshSession::OpenChannel() {
  channel_ = libssh2_channel_open_session(session_);
  if (channel_) {
    Enter(Phase::kExecute);
    return Step::kAgain;
  }
  if (libssh2_session_last_errno(session_) == LIBSSH2_ERROR_EAGAIN) return Step::kWait;
  return Fail(ChannelRefusedError(LibraryError()));
}

SshSession::Step SshSession::Execute() {
  const int rc = libssh2_channel_exec(channel_, command_.c_str());
  if (rc == LIBSSH2_ERROR_EAGAIN) return Step::kWait;
  if (rc != 0) return Fail(ChannelRefusedError(LibraryError()));
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
  if (got < 0 && got != LIBSSH2_ERROR_EAGAIN)
    Fail(Error(StatusCode::kUnavailable, "connection lost: " + LibraryError()));
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
    if (!libssh2_channel_eof(channel_))
      Fail(Error(StatusCode::kUnavailable, "connection lost: " + LibraryError()));
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
  if (phase_ == Phase::kBanner) {
    loop_.Watch(tcp_.get(), EPOLLIN, this);
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

SshSession::Step SshSession::Fail(const Status& status) {
  {
    const std::lock_guard lock(mutex_);
    failure_ = Annotate(status, Where());
  }
  End();
  return Step::kWait;
}

// Closes everything without waiting for the far end, which learns it from TCP.
void SshSession::End() {
  phase_ = Phase::kEnded;
  deadline_ = Deadline::Never();
  if (channel_ && libssh2_channel_free(channel_) != LIBSSH2_ERROR_EAGAIN) channel_ = nullptr;
  if (session_) {
    libssh2_session_disconnect(session_, "done");
    shutdown(tcp_.get(), SHUT_RDWR);
    Free();
  }
  channel_ = nullptr;
  session_ = nullptr;
  tcp_.Reset();
  local_.Reset();
  const std::lock_guard lock(mutex_);
  ended_ = true;
  changed_.notify_all();
}

// libssh2 frees nothing as long as it waits; and where a packet is half sent it waits, without
// trying, until it has read that the connection is gone. A write first finds that the rest of the
// packet cannot be sent, and the next one reads.
void SshSession::Free() {
  if (to_remote_.empty()) {
    to_remote_.assign(1, '\0');
    to_remote_begin_ = 0;
  }
  for (int tries = 0; tries < kFreeTries; ++tries) {
    if (libssh2_session_free(session_) != LIBSSH2_ERROR_EAGAIN) return;
    if (!channel_) continue;
    libssh2_channel_write(channel_, to_remote_.data() + to_remote_begin_,
                          to_remote_.size() - to_remote_begin_);
    libssh2_channel_wait_eof(channel_);
  }
}

void SshSession::Abandon() { Fail(Error(StatusCode::kCancelled, "cancelled")); }

Status SshSession::WaitStarted() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return started_ || ended_ || to_sign_; });
    if (started_ || ended_) return started_ ? OkStatus() : failure_;
    const std::string request = *std::exchange(to_sign_, std::nullopt);
    const auto identity = target_.identities[identity_];  // the loop waits for its signature
    lock.unlock();
    auto signature = identity->SignRequest(request);
    lock.lock();
    signed_ = std::move(signature);
    loop_.Nudge(weak_from_this());
  }
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
