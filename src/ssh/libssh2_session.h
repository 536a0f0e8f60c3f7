// One SSH connection in libssh2, and the one channel in it, without ever blocking. The only user of
// libssh2.
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

// For one thread. A call that cannot be completed yet is to be repeated, with the same arguments,
// once the socket is ready.
class Libssh2Session {
 public:
  using Outcome = std::optional<Status>;  // nullopt: not completed yet

  // Signs a login request; nullopt: not yet. kUnimplemented: not with the algorithm it names.
  using Sign = std::function<std::optional<Result<std::string>>(std::string_view request)>;

  enum class LoginAnswer { kNotYet, kAccepted, kRefused, kConnectionLost };

  // `socket` is connected, does not block, and stays the caller's; `received` has been read from it
  // already. `host_key_types`, with a comma after each, are asked for before all others.
  Libssh2Session(int socket, std::string received, const std::string& host_key_types);
  Libssh2Session(const Libssh2Session&) = delete;
  Libssh2Session& operator=(const Libssh2Session&) = delete;
  // Hangs up without waiting for the other side.
  ~Libssh2Session();

  Outcome Handshake();
  // As it travels on the wire; empty if there is none.
  std::string_view HostKey() const;
  // Offers the public key or certificate `blob`, and calls `sign` if the server would take it.
  LoginAnswer LogIn(const std::string& username, std::string_view blob, const Sign& sign);
  Outcome OpenChannel();
  Outcome Execute(const std::string& command);

  // The number of bytes; 0: the program's output has ended; negative: nothing now, or the
  // connection is lost. The size is always kReadSize: libssh2 grants the server that much more, and
  // forgets how much it was where the grant has to wait for new keys.
  static constexpr size_t kReadSize = 64 * 1024;
  ssize_t Read(char* to);
  ssize_t ReadErrors(char* to);
  // Where it is not now, the same data are to be passed again.
  ssize_t Write(std::string_view data);
  bool SendEof();                                   // false: not yet
  bool RemoteEnded() const;                         // the program's output
  bool WouldBlock() const { return would_block_; }  // what the last call failed for

  // Writes what waits for room in the socket.
  void Flush() { socket_.Flush(); }
  bool HasUnsent() const { return socket_.has_unsent(); }
  // Whether the program would take something, as far as the server has told.
  bool HasWindow() const;
  // Bytes that went through the socket.
  uint64_t moved() const { return socket_.moved(); }

  std::string LastError() const;
  // What the server said when it ended the connection; empty if it has not, or said nothing.
  const std::string& disconnect_message() const { return disconnect_message_; }
  // Whether it ended the connection because it has refused too many keys.
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
  bool disconnected_ = false;  // by the server, which said so
  int disconnect_reason_ = 0;  // a code of RFC 4253, section 11.1
  std::string disconnect_message_;
};

}  // namespace autodist::ssh
