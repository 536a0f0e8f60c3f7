// One SSH connection in libssh2 with its one channel. Never blocks. The only user of libssh2.
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "autodist/status.h"
#include "ssh/packet_socket.h"

struct _LIBSSH2_SESSION;  // NOLINT(bugprone-reserved-identifier): the name in libssh2.h
struct _LIBSSH2_CHANNEL;  // NOLINT(bugprone-reserved-identifier)

namespace autodist::ssh {

// For one thread. An incomplete call must be repeated with the same arguments when the socket is
// ready.
class Libssh2Session {
 public:
  using Outcome = std::optional<Status>;  // nullopt: not complete yet

  // Signs a login request; nullopt: not yet. kUnimplemented: the key cannot use the algorithm in
  // it.
  using Sign = std::function<std::optional<Result<std::string>>(std::string_view request)>;

  enum class LoginAnswer { kNotYet, kAccepted, kRefused, kConnectionLost };

  // `socket` is connected, does not block, and stays the caller's; `received` has already been read
  // from it. `host_key_types`, each followed by a comma, are preferred to all others.
  Libssh2Session(int socket, std::string received, const std::string& host_key_types);
  Libssh2Session(const Libssh2Session&) = delete;
  Libssh2Session& operator=(const Libssh2Session&) = delete;
  // Disconnects without waiting for the other side.
  ~Libssh2Session();

  Outcome Handshake();
  // Returns the key in wire format; empty without one.
  std::string_view HostKey() const;
  // Offers the public key or certificate `blob`, and calls `sign` if the server accepts it.
  LoginAnswer LogIn(const std::string& username, std::string_view blob, const Sign& sign);
  Outcome OpenChannel();
  Outcome Execute(const std::string& command);

  // Returns the number of bytes; 0: the program's output has ended; negative: no data yet, or the
  // connection is lost. The size is always kReadSize: libssh2 extends the server's window by it,
  // and forgets the amount if the extension has to wait for a key exchange.
  static constexpr size_t kReadSize = 64 * 1024;
  ssize_t Read(char* to);
  ssize_t ReadErrors(char* to);
  // If it would block, the same data must be passed again.
  ssize_t Write(std::string_view data);
  bool SendEof();                                   // false: not yet
  bool RemoteEnded() const;                         // whether the program's output has ended
  bool WouldBlock() const { return would_block_; }  // whether the last call failed for this reason

  // Writes data that waited for room in the socket.
  void Flush() { socket_.Flush(); }
  bool HasUnsent() const { return socket_.has_unsent(); }
  // Whether the program's receive window, as last reported by the server, is open.
  bool HasWindow() const;
  // Returns the number of bytes that went through the socket.
  uint64_t moved() const { return socket_.moved(); }

  std::string LastError() const;
  // Returns the server's message when it ended the connection; empty without one.
  const std::string& disconnect_message() const { return disconnect_message_; }
  // Whether the server ended the connection after refusing too many keys.
  bool HadTooManyFailures() const;

 private:
  struct Callbacks;
  Outcome OutcomeOf(int rc);
  ssize_t Remember(ssize_t rc);
  bool ConnectionLost() const { return disconnected_ || socket_.lost() != 0; }

  const int fd_;
  PacketSocket socket_;
  _LIBSSH2_SESSION* session_ = nullptr;
  _LIBSSH2_CHANNEL* channel_ = nullptr;
  bool would_block_ = false;
  bool disconnected_ = false;  // by a message of the server
  int disconnect_reason_ = 0;  // a code of RFC 4253, section 11.1
  std::string disconnect_message_;
};

}  // namespace autodist::ssh
