#include "ssh/libssh2_session.h"

#include <libssh2.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <utility>

#include "ssh/ssh_errors.h"
#include "ssh/ssh_public_key.h"

namespace autodist::ssh {
namespace {

namespace cause = transport::cause;
using transport::CauseError;

// No data packet is written while another is buffered. So anything beyond this limit is responses
// that a server requests and does not read.
constexpr size_t kMaxUnsent = 1 << 20;

constexpr std::string_view kBanner = "SSH-";
// The limits of OpenSSH's client.
constexpr size_t kMaxLines = 1024;
constexpr size_t kMaxLineLength = 8192;
constexpr size_t kMaxKept = 1024;

constexpr int kFreeTries = 10;  // three are needed

// src/plan/ssh_keywords.cc has the same names: if OpenSSH is configured not to use one of them, the
// ssh program is used. nistp256 costs an OpenSSH server 10% less than curve25519, and half of the
// finite field groups.
constexpr char kKeyExchanges[] =
    "ecdh-sha2-nistp256,curve25519-sha256,curve25519-sha256@libssh.org,ecdh-sha2-nistp384,"
    "ecdh-sha2-nistp521,diffie-hellman-group14-sha256,diffie-hellman-group16-sha512,"
    "diffie-hellman-group18-sha512,diffie-hellman-group-exchange-sha256";
constexpr char kPreferredCiphers[] =
    "aes128-gcm@openssh.com,chacha20-poly1305@openssh.com,aes256-gcm@openssh.com,aes128-ctr,"
    "aes256-ctr";
// Older servers that support only HMAC-SHA1 are left to the ssh program.
constexpr char kMacs[] =
    "hmac-sha2-256-etm@openssh.com,hmac-sha2-512-etm@openssh.com,hmac-sha2-256,hmac-sha2-512";
constexpr char kHostKeyTypes[] =
    "ssh-ed25519,ecdsa-sha2-nistp256,ecdsa-sha2-nistp384,ecdsa-sha2-nistp521,rsa-sha2-512,"
    "rsa-sha2-256";

template <typename Function>
libssh2_cb_generic* Generic(Function* function) {
  return reinterpret_cast<libssh2_cb_generic*>(function);
}

}  // namespace

ssize_t PacketSocket::Note(ssize_t moved) {
  if (moved > 0) moved_ += static_cast<uint64_t>(moved);
  if (moved >= 0) return moved;
  const int error = errno;
  if (error != EAGAIN && error != EINTR && lost_ == 0) lost_ = error;
  return error == EINTR ? -EAGAIN : -error;
}

// Requests immediate acknowledgements: otherwise small writes of sshd wait 40 ms for a delayed one.
ssize_t PacketSocket::Receive(void* to, size_t size) {
  if (hung_up_) return -ECONNRESET;
  if (!received_.empty()) {
    const size_t count = received_.copy(static_cast<char*>(to), size);
    received_.erase(0, count);
    return static_cast<ssize_t>(count);
  }
  const ssize_t got = Note(recv(fd_, to, size, MSG_DONTWAIT));
  if (got == 0 && lost_ == 0) lost_ = -1;
  const int one = 1;
  if (got > 0) setsockopt(fd_, IPPROTO_TCP, TCP_QUICKACK, &one, sizeof one);
  return got;
}

ssize_t PacketSocket::Send(std::string_view packet) {
  Flush();
  if (hung_up_ || lost_ > 0) return hung_up_ ? -EPIPE : -lost_;
  std::string_view left = packet;
  if (!has_unsent()) {
    const ssize_t put = Note(send(fd_, left.data(), left.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
    if (put < 0 && put != -EAGAIN) return put;
    left.remove_prefix(static_cast<size_t>(std::max<ssize_t>(put, 0)));
  }
  if (unsent_.size() - sent_ + left.size() > kMaxUnsent) return -ENOBUFS;
  unsent_ += left;
  return static_cast<ssize_t>(packet.size());
}

void PacketSocket::Flush() {
  if (!has_unsent() || hung_up_) return;
  const ssize_t put =
      Note(send(fd_, unsent_.data() + sent_, unsent_.size() - sent_, MSG_NOSIGNAL | MSG_DONTWAIT));
  if (put > 0) sent_ += static_cast<size_t>(put);
  if (!has_unsent() || lost_ > 0) {
    unsent_.clear();
    sent_ = 0;
  }
}

void PacketSocket::HangUp() {
  shutdown(fd_, SHUT_RDWR);
  hung_up_ = true;
}

ServerBanner::Answer ServerBanner::Take(std::string_view text) {
  rest_ += text;
  for (;;) {
    const std::string_view begin = std::string_view(rest_).substr(0, kBanner.size());
    if (begin == kBanner) return Answer::kFound;
    if (kBanner.starts_with(begin)) return Answer::kMore;
    const size_t end = rest_.find('\n');
    if (end == std::string::npos && rest_.size() <= kMaxLineLength) return Answer::kMore;
    if (end == std::string::npos || ++lines_ > kMaxLines) return Answer::kEndless;
    if (said_.size() < kMaxKept) said_ += rest_.substr(0, end + 1);
    rest_.erase(0, end + 1);
  }
}

std::string ServerBanner::Said() const { return (said_ + rest_).substr(0, kMaxKept); }

struct Libssh2Session::Callbacks {
  static ssize_t Receive(libssh2_socket_t, void* buffer, size_t length, int, void** self) {
    return static_cast<Libssh2Session*>(*self)->socket_.Receive(buffer, length);
  }

  static ssize_t Send(libssh2_socket_t, const void* data, size_t length, int, void** self) {
    return static_cast<Libssh2Session*>(*self)->socket_.Send(
        {static_cast<const char*>(data), length});
  }

  static void Disconnect(LIBSSH2_SESSION*, int reason, const char* message, int length, const char*,
                         int, void** abstract) {
    auto* self = static_cast<Libssh2Session*>(*abstract);
    self->disconnected_ = true;
    self->disconnect_reason_ = reason;
    self->disconnect_message_.assign(message, static_cast<size_t>(length));
  }

  static int SignRequest(LIBSSH2_SESSION*, unsigned char** signature, size_t* length,
                         const unsigned char* data, size_t data_length, void** sign) {
    const auto made =
        (*static_cast<const Sign*>(*sign))({reinterpret_cast<const char*>(data), data_length});
    if (!made) return LIBSSH2_ERROR_EAGAIN;
    // Makes libssh2 request another algorithm.
    if (made->status().code() == StatusCode::kUnimplemented) return LIBSSH2_ERROR_ALGO_UNSUPPORTED;
    if (!made->ok()) return LIBSSH2_ERROR_PUBLICKEY_UNVERIFIED;
    *signature = static_cast<unsigned char*>(std::malloc((*made)->size()));  // libssh2 frees it
    if (!*signature) return LIBSSH2_ERROR_ALLOC;
    std::memcpy(*signature, (*made)->data(), (*made)->size());
    *length = (*made)->size();
    return 0;
  }
};

Libssh2Session::Libssh2Session(int socket, std::string received, const std::string& host_key_types)
    : fd_(socket), socket_(socket, std::move(received)) {
  static const int initialised = libssh2_init(0);
  if (initialised != 0) return;
  session_ = libssh2_session_init_ex(nullptr, nullptr, nullptr, this);
  if (!session_) return;
  libssh2_session_set_blocking(session_, 0);
  libssh2_session_callback_set2(session_, LIBSSH2_CALLBACK_RECV, Generic(Callbacks::Receive));
  libssh2_session_callback_set2(session_, LIBSSH2_CALLBACK_SEND, Generic(Callbacks::Send));
  libssh2_session_callback_set2(session_, LIBSSH2_CALLBACK_DISCONNECT,
                                Generic(Callbacks::Disconnect));
  libssh2_session_method_pref(session_, LIBSSH2_METHOD_KEX, kKeyExchanges);
  libssh2_session_method_pref(session_, LIBSSH2_METHOD_CRYPT_CS, kPreferredCiphers);
  libssh2_session_method_pref(session_, LIBSSH2_METHOD_CRYPT_SC, kPreferredCiphers);
  libssh2_session_method_pref(session_, LIBSSH2_METHOD_MAC_CS, kMacs);
  libssh2_session_method_pref(session_, LIBSSH2_METHOD_MAC_SC, kMacs);
  libssh2_session_method_pref(session_, LIBSSH2_METHOD_HOSTKEY,
                              (host_key_types + kHostKeyTypes).c_str());
}

// libssh2_session_free fails with EAGAIN while it waits for the network; after the connection is
// marked as lost it succeeds.
Libssh2Session::~Libssh2Session() {
  if (!session_) return;
  libssh2_session_disconnect(session_, "done");
  socket_.HangUp();
  for (int tries = 0; tries < kFreeTries; ++tries) {
    if (libssh2_session_free(session_) != LIBSSH2_ERROR_EAGAIN) return;
  }
}

std::string Libssh2Session::LastError() const {
  char* text = nullptr;
  libssh2_session_last_error(session_, &text, nullptr, 0);
  const std::string said = text && *text ? text : "no reason given";
  return socket_.lost() > 0 ? said + ": " + std::strerror(socket_.lost()) : said;
}

// libssh2 takes a banner from the packets that have arrived only when it asks for the methods of
// the login. The answer is not needed.
std::string Libssh2Session::TakeBanner(const std::string& username) {
  char* banner = nullptr;
  libssh2_userauth_list(session_, username.c_str(), static_cast<unsigned int>(username.size()));
  return libssh2_userauth_banner(session_, &banner) == 0 && banner ? banner : "";
}

bool Libssh2Session::HadTooManyFailures() const {
  return disconnect_reason_ == SSH_DISCONNECT_NO_MORE_AUTH_METHODS_AVAILABLE ||
         disconnect_message_.find("Too many authentication failures") != std::string::npos;
}

Libssh2Session::Outcome Libssh2Session::Handshake() {
  if (!session_) return Error(StatusCode::kInternal, "libssh2 could not be initialised");
  switch (libssh2_session_handshake(session_, fd_)) {
    case LIBSSH2_ERROR_EAGAIN:
      return std::nullopt;
    case 0:
      return OkStatus();
    case LIBSSH2_ERROR_KEX_FAILURE:
    case LIBSSH2_ERROR_METHOD_NONE:
      return CauseError(cause::kNoCommonAlgorithm, {{"{said}", LastError()}});
    default:
      break;
  }
  return CauseError(ConnectionLost() ? cause::kHandshakeAborted : cause::kHandshakeFails,
                    {{"{said}", LastError()}});
}

std::string_view Libssh2Session::HostKey() const {
  size_t length = 0;
  int type = 0;
  const char* key = libssh2_session_hostkey(session_, &length, &type);
  return key ? std::string_view(key, length) : std::string_view();
}

Libssh2Session::LoginAnswer Libssh2Session::LogIn(const std::string& username,
                                                  std::string_view blob, const Sign& sign) {
  void* abstract = const_cast<Sign*>(&sign);
  const int rc = libssh2_userauth_publickey(session_, username.c_str(),
                                            reinterpret_cast<const unsigned char*>(blob.data()),
                                            blob.size(), Callbacks::SignRequest, &abstract);
  switch (rc) {
    case LIBSSH2_ERROR_EAGAIN:
      return LoginAnswer::kNotYet;
    case 0:
      return LoginAnswer::kAccepted;
    case LIBSSH2_ERROR_AUTHENTICATION_FAILED:
    case LIBSSH2_ERROR_METHOD_NONE:  // the server accepts no algorithm that the key can sign with
    case LIBSSH2_ERROR_ALGO_UNSUPPORTED:
      return LoginAnswer::kRefused;
    case LIBSSH2_ERROR_PUBLICKEY_UNVERIFIED:  // also if no response came
      return ConnectionLost() ? LoginAnswer::kConnectionLost : LoginAnswer::kRefused;
    default:
      return LoginAnswer::kConnectionLost;
  }
}

Libssh2Session::Outcome Libssh2Session::OutcomeOf(int rc) {
  if (rc == LIBSSH2_ERROR_EAGAIN) return std::nullopt;
  return rc == 0 ? OkStatus() : CauseError(cause::kChannelRefused, {{"{said}", LastError()}});
}

Libssh2Session::Outcome Libssh2Session::OpenChannel() {
  channel_ = libssh2_channel_open_session(session_);
  return OutcomeOf(channel_ ? 0 : libssh2_session_last_errno(session_));
}

Libssh2Session::Outcome Libssh2Session::Execute(const std::string& command) {
  return OutcomeOf(libssh2_channel_exec(channel_, command.c_str()));
}

ssize_t Libssh2Session::Remember(ssize_t rc) {
  would_block_ = rc == LIBSSH2_ERROR_EAGAIN;
  return rc;
}

ssize_t Libssh2Session::Read(char* to) {
  return Remember(libssh2_channel_read(channel_, to, kReadSize));
}

ssize_t Libssh2Session::ReadErrors(char* to) {
  return libssh2_channel_read_stderr(channel_, to, kReadSize);
}

// Writes one packet only if none is buffered, so that at most one packet waits.
ssize_t Libssh2Session::Write(std::string_view data) {
  socket_.Flush();
  if (socket_.has_unsent()) return Remember(LIBSSH2_ERROR_EAGAIN);
  return Remember(libssh2_channel_write(channel_, data.data(), data.size()));
}

bool Libssh2Session::SendEof() {
  return libssh2_channel_send_eof(channel_) != LIBSSH2_ERROR_EAGAIN;
}

bool Libssh2Session::RemoteEnded() const { return libssh2_channel_eof(channel_) != 0; }

bool Libssh2Session::HasWindow() const {
  return libssh2_channel_window_write_ex(channel_, nullptr) > 0;
}

Authentication::Authentication(std::string username, std::vector<Identity> identities,
                               std::vector<std::string> notes, AskToSign ask_to_sign)
    : username_(std::move(username)),
      identities_(std::move(identities)),
      notes_(std::move(notes)),
      ask_to_sign_(std::move(ask_to_sign)),
      sign_([this](std::string_view request) { return Sign(request); }) {}

std::optional<Status> Authentication::Advance(Libssh2Session& session) {
  while (next_ < identities_.size()) {
    if (AwaitsSignature()) return std::nullopt;
    switch (session.LogIn(username_, identities_[next_]->public_blob(), sign_)) {
      case Libssh2Session::LoginAnswer::kNotYet:
        return std::nullopt;
      case Libssh2Session::LoginAnswer::kAccepted:
        return OkStatus();
      case Libssh2Session::LoginAnswer::kRefused:
        NextIdentity();
        break;
      case Libssh2Session::LoginAnswer::kConnectionLost:
        if (session.HadTooManyFailures()) {
          NextIdentity();
          return Refused(session);
        }
        const std::string why = session.LastError();  // before the next call
        return LoginInterruptedError(session.TakeBanner(username_), session.disconnect_message(),
                                     why);
    }
  }
  return Refused(session);
}

std::optional<Result<std::string>> Authentication::Sign(std::string_view request) {
  const Identity& identity = identities_[next_];
  if (!identity->slow()) {
    signature_ = identity->SignRequest(request, {});
  } else if (!asked_) {
    asked_ = true;
    ask_to_sign_(identity, request);
  }
  if (!signature_) return std::nullopt;
  asked_ = false;
  auto signature = std::exchange(signature_, std::nullopt);
  not_signed_ = signature->status();
  return signature;
}

void Authentication::NextIdentity() {
  if (!not_signed_.ok()) notes_.push_back(Message(std::exchange(not_signed_, OkStatus())));
  ++next_;
}

Status Authentication::Refused(Libssh2Session& session) const {
  RefusedLogin login;
  login.username = username_;
  login.notes = notes_;
  for (size_t i = 0; i < next_; ++i) {
    const SshIdentity& identity = *identities_[i];
    login.tried.push_back(identity.description());
    const auto certificate = ReadCertificate(identity.public_blob());
    if (!certificate.ok()) continue;  // a plain key
    const std::string fault =
        CertificateFault(*certificate, username_, static_cast<uint64_t>(std::time(nullptr)));
    if (!fault.empty()) login.certificate = identity.description() + " " + fault;
  }
  login.banner = session.TakeBanner(username_);
  return KeyRefusedError(login);
}

}  // namespace autodist::ssh
