#include "secure/session.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <utility>

namespace autodist::secure {
namespace {

constexpr size_t kPiece = 64 * 1024;
// Keys are updated long before the limit of AES-GCM (RFC 8446, 5.5: 2^24.5 full records).
constexpr uint64_t kBytesPerKeys = uint64_t{1} << 36;
// Messages of TLS itself from the other side, such as key updates: in its handshake, and then for
// each of these bytes of data. Reading one takes as long as reading many bytes.
constexpr size_t kMaxTlsMessages = 32;
constexpr size_t kBytesPerTlsMessages = 1 << 20;
constexpr unsigned char kAes128GcmSha256[] = {0x13, 0x01};

// Aborts on a null pointer: without memory the session cannot continue.
template <typename T>
T* Made(T* object) {
  if (!object) abort();
  return object;
}

void Need(bool done) {
  if (!done) abort();
}

bool NotNow() { return errno == EAGAIN || errno == EINTR; }

// Wraps a pre-shared key in OpenSSL's session type.
SSL_SESSION* SessionWith(SSL* tls, const Key& key) {
  SSL_SESSION* session = Made(SSL_SESSION_new());
  Need(SSL_SESSION_set1_master_key(session,
                                   reinterpret_cast<const unsigned char*>(key.bytes().data()),
                                   key.bytes().size()) == 1);
  Need(SSL_SESSION_set_cipher(session, Made(SSL_CIPHER_find(tls, kAes128GcmSha256))) == 1);
  Need(SSL_SESSION_set_protocol_version(session, TLS1_3_VERSION) == 1);
  return session;
}

}  // namespace

struct Session::Callbacks {
  static Session& Of(SSL* tls) { return *static_cast<Session*>(SSL_get_app_data(tls)); }

  static int Use(SSL* tls, const EVP_MD*, const unsigned char** identity, size_t* size,
                 SSL_SESSION** session) {
    const Session& self = Of(tls);
    *identity = reinterpret_cast<const unsigned char*>(self.identity_.data());
    *size = self.identity_.size();
    *session = SessionWith(tls, *self.key_);
    return 1;
  }

  static int Find(SSL* tls, const unsigned char* identity, size_t size, SSL_SESSION** session) {
    *session = nullptr;
    if (size > kMaxIdentity) return 1;
    const auto key = Of(tls).find_key_({reinterpret_cast<const char*>(identity), size});
    if (key) *session = SessionWith(tls, *key);
    return 1;
  }

  // OpenSSL would read any number of them in one call.
  static void Count(int written, int, int type, const void*, size_t, SSL* tls, void*) {
    if (written != 0 || type != SSL3_RT_HANDSHAKE) return;
    Session& self = Of(tls);
    if (++self.tls_messages_ > kMaxTlsMessages) Need(BIO_reset(self.received_) == 1);
  }

  static SSL_CTX* Context(const SSL_METHOD* method) {
    OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG, nullptr);
    SSL_CTX* context = Made(SSL_CTX_new(method));
    Need(SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) == 1);
    Need(SSL_CTX_set_ciphersuites(context, "TLS_AES_128_GCM_SHA256") == 1);
    Need(SSL_CTX_set1_groups_list(context, "X25519") == 1);
    SSL_CTX_set_options(context, SSL_OP_NO_TICKET);
    SSL_CTX_clear_options(context, SSL_OP_ENABLE_MIDDLEBOX_COMPAT);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    Need(SSL_CTX_set_num_tickets(context, 0) == 1);
    SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_msg_callback(context, Count);
    return context;
  }

  static SSL_CTX* ClientContext() {
    SSL_CTX* context = Context(TLS_client_method());
    SSL_CTX_set_psk_use_session_callback(context, Use);
    // Rejects all certificates: only the key authenticates.
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
    return context;
  }

  static SSL_CTX* ServerContext() {
    SSL_CTX* context = Context(TLS_server_method());
    SSL_CTX_set_psk_find_session_callback(context, Find);
    return context;
  }
};

Session::Session(base::UniqueFd socket, ssl_st* tls)
    : socket_(std::move(socket)),
      tls_(Made(tls)),
      received_(Made(BIO_new(BIO_s_mem()))),
      to_send_(Made(BIO_new(BIO_s_mem()))) {
  SSL_set_bio(tls_, received_, to_send_);
  SSL_set_app_data(tls_, this);
}

Session::~Session() { SSL_free(tls_); }

std::unique_ptr<Session> Session::OfClient(base::UniqueFd socket, std::string identity,
                                           const Key& key) {
  static SSL_CTX* const context = Callbacks::ClientContext();
  std::unique_ptr<Session> session(new Session(std::move(socket), SSL_new(context)));
  session->identity_ = std::move(identity);
  session->key_ = key;
  SSL_set_connect_state(session->tls_);
  return session;
}

std::unique_ptr<Session> Session::OfServer(base::UniqueFd socket, FindKey find_key) {
  static SSL_CTX* const context = Callbacks::ServerContext();
  std::unique_ptr<Session> session(new Session(std::move(socket), SSL_new(context)));
  session->find_key_ = std::move(find_key);
  session->is_server_ = true;
  SSL_set_accept_state(session->tls_);
  return session;
}

Progress Session::Handshake() {
  for (;;) {
    ERR_clear_error();
    const int done = SSL_do_handshake(tls_);
    // Checks again that the key was used, not a certificate.
    if (done == 1) return SSL_session_reused(tls_) == 1 ? Progress::kDone : Progress::kBroken;
    // Does not send the alert that OpenSSL has prepared.
    if (SSL_get_error(tls_, done) != SSL_ERROR_WANT_READ) return Progress::kBroken;
    if (is_server_ && BIO_pending(to_send_) > 0 && !client_named()) return Progress::kBroken;
    if (Flush() == Progress::kBroken) return Progress::kBroken;
    const Progress filled = Fill();
    if (filled != Progress::kDone) return filled;
  }
}

bool Session::client_named() const { return SSL_session_reused(tls_) == 1; }

// A stream that ends without close_notify was cut.
Progress Session::Fill() {
  std::array<char, kPiece> bytes;
  const bool handshake = SSL_is_init_finished(tls_) == 0;
  const size_t most = handshake ? kMaxHandshake - handshake_bytes_ : bytes.size();
  if (most == 0) return Progress::kBroken;
  const ssize_t got = recv(socket_.get(), bytes.data(), most, MSG_DONTWAIT);
  if (got < 0 && NotNow()) return Progress::kWaits;
  if (got <= 0) return Lost(got == 0 || errno == EPIPE);
  if (handshake) handshake_bytes_ += static_cast<size_t>(got);
  Need(BIO_write(received_, bytes.data(), static_cast<int>(got)) == got);
  return Progress::kDone;
}

// Only the first error counts: EPIPE is a reset after a regular end, and follows any reset, too.
Progress Session::Lost(bool closed_by_peer) {
  if (!closed_by_peer_) closed_by_peer_ = closed_by_peer;
  return Progress::kBroken;
}

Progress Session::Take(char* buffer, size_t size, bool leave_it, size_t& got) {
  for (;;) {
    ERR_clear_error();
    const int done =
        leave_it ? SSL_peek_ex(tls_, buffer, size, &got) : SSL_read_ex(tls_, buffer, size, &got);
    if (tls_messages_ > kMaxTlsMessages) return Progress::kBroken;
    if (done == 1) {
      data_ += leave_it ? 0 : got;
      if (data_ >= kBytesPerTlsMessages) data_ = tls_messages_ = 0;
      return Progress::kDone;
    }
    const int why = SSL_get_error(tls_, done);
    if (why == SSL_ERROR_ZERO_RETURN) return Progress::kEnded;
    if (why != SSL_ERROR_WANT_READ) return Progress::kBroken;
    const Progress filled = Fill();
    if (filled != Progress::kDone) return filled;
  }
}

// A record has at most 16 KiB, and several may be buffered.
Progress Session::Read(std::span<char> buffer, size_t& got) {
  got = 0;
  do {
    size_t more = 0;
    const Progress progress = Take(buffer.data() + got, buffer.size() - got, false, more);
    if (progress != Progress::kDone) return got > 0 ? Progress::kDone : progress;
    got += more;
  } while (got < buffer.size() && SSL_has_pending(tls_) + BIO_pending(received_) > 0);
  return Progress::kDone;
}

Progress Session::ReadLine(std::string& line, size_t max_bytes) {
  std::array<char, 4096> bytes;
  for (;;) {
    size_t seen = 0;
    const Progress progress = Take(bytes.data(), bytes.size(), true, seen);
    if (progress != Progress::kDone) return progress;
    const std::string_view text(bytes.data(), seen);
    const size_t end = text.find('\n');
    const std::string_view part = text.substr(0, end);
    if (line.size() + part.size() > max_bytes) return Progress::kBroken;
    line += part;
    size_t taken = 0;
    Take(bytes.data(), part.size() + (end == text.npos ? 0 : 1), false, taken);
    if (end != text.npos) return Progress::kDone;
  }
}

void Session::Write(std::string_view bytes) {
  if (bytes.empty()) return;
  written_ += bytes.size();
  if (written_ > kBytesPerKeys) {
    written_ = 0;
    SSL_key_update(tls_, SSL_KEY_UPDATE_NOT_REQUESTED);
  }
  ERR_clear_error();
  size_t written = 0;
  // Writes to memory: it fails only if the session has already failed, which the next read reports.
  (void)SSL_write_ex(tls_, bytes.data(), bytes.size(), &written);
}

void Session::WriteEnd() {
  ERR_clear_error();
  (void)SSL_shutdown(tls_);
}

bool Session::has_to_send() const { return !sending_.empty() || BIO_pending(to_send_) > 0; }

Progress Session::Flush() {
  std::array<char, kPiece> bytes;
  while (has_to_send()) {
    std::string_view piece = sending_;
    if (piece.empty()) {
      const int got = BIO_read(to_send_, bytes.data(), static_cast<int>(bytes.size()));
      piece = {bytes.data(), static_cast<size_t>(std::max(got, 0))};
    }
    const ssize_t put =
        send(socket_.get(), piece.data(), piece.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (put < 0 && !NotNow()) return Lost(errno == EPIPE);
    const bool waits = put < 0;
    sending_ = std::string(piece.substr(waits ? 0 : static_cast<size_t>(put)));
    if (waits) return Progress::kWaits;
  }
  return Progress::kDone;
}

}  // namespace autodist::secure
