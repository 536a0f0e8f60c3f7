// One SSH connection in libssh2, and the one channel in it, without ever blocking. The only user of
// libssh2.
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "autodist/status.h"

struct _LIBSSH2_SESSION;  // NOLINT(bugprone-reserved-identifier): the name in libssh2.h
struct _LIBSSH2_CHANNEL;  // NOLINT(bugprone-reserved-identifier)

namespace autodist::transport {

// For one thread. A call that cannot be completed yet is to be repeated, with the same arguments,
// once the socket is ready.
class Libssh2Session {
 public:
  using Outcome = std::optional<Status>;  // nullopt: not completed yet

  // Signs a login request; nullopt: not yet. kUnimplemented: not with the algorithm it names.
  using Sign = std::function<std::optional<Result<std::string>>(std::string_view request)>;

  enum class LoginAnswer { kNotYet, kAccepted, kRefused, kConnectionLost };

  // `socket` is connected, does not block, and stays the caller's. `host_key_types`, with a comma
  // after each, are asked for before all others.
  Libssh2Session(int socket, const std::string& host_key_types);
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
  // connection is lost.
  ssize_t Read(char* to, size_t size);
  ssize_t ReadErrors(char* to, size_t size);
  // What has not been written yet must live as long as this object, or until it is written.
  ssize_t Write(std::string_view data);
  bool SendEof();                                   // false: not yet
  bool RemoteEnded() const;                         // the program's output
  bool WouldBlock() const { return would_block_; }  // what the last call failed for
  bool WantsToWrite() const;                        // else it waits for something to read

  std::string LastError() const;
  // What the server said when it ended the connection; empty if it has not, or said nothing.
  const std::string& disconnect_message() const { return disconnect_message_; }
  // Whether it ended the connection because it has refused too many keys.
  bool HadTooManyFailures() const;

 private:
  struct Callbacks;
  Outcome OutcomeOf(int rc);
  ssize_t Remember(ssize_t rc);

  const int socket_;
  _LIBSSH2_SESSION* session_ = nullptr;
  _LIBSSH2_CHANNEL* channel_ = nullptr;
  bool would_block_ = false;
  bool connection_lost_ = false;
  int disconnect_reason_ = 0;  // a code of RFC 4253, section 11.1
  std::string disconnect_message_;
  std::string_view unwritten_;
};

}  // namespace autodist::transport
