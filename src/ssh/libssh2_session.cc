#include "ssh/libssh2_session.h"

#include <libssh2.h>

#include <cstdlib>
#include <cstring>

#include "ssh/ssh_errors.h"

namespace autodist::ssh {
namespace {

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
      return NoCommonAlgorithmError(LastError());
    default:
      break;
  }
  if (ConnectionLost()) {
    return WithRemedy(Error(StatusCode::kResourceExhausted,
                            "the server aborted the SSH handshake: " + LastError()),
                      "see its log (journalctl -u ssh)");
  }
  return WithRemedy(Error(StatusCode::kUnavailable, "SSH handshake: " + LastError()),
                    "test with `ssh`; see the server's log (journalctl -u ssh)");
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
  return rc == 0 ? OkStatus() : ChannelRefusedError(LastError());
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

}  // namespace autodist::ssh
