// One SSH connection in libssh2 with its one channel, and the login by keys. Never blocks. The only
// user of libssh2.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "autodist/status.h"
#include "ssh/ssh_public_key.h"

struct _LIBSSH2_SESSION;  // NOLINT(bugprone-reserved-identifier): the name in libssh2.h
struct _LIBSSH2_CHANNEL;  // NOLINT(bugprone-reserved-identifier)

namespace autodist::ssh {

// The socket below an SSH session. It accepts every packet as a whole, so that libssh2 never has to
// resume a partly sent packet, which it cannot do during a key exchange that the server begins.
// For one thread; never blocks.
class PacketSocket {
 public:
  // `fd` stays the caller's; `received` has already been read from it.
  PacketSocket(int fd, std::string received) : fd_(fd), received_(std::move(received)) {}

  // Like recv(2) and send(2), but return a negative errno value on failure. Send accepts
  // everything: data that do not fit into the socket are buffered.
  ssize_t Receive(void* to, size_t size);
  ssize_t Send(std::string_view packet);

  // Writes buffered data as far as there is room.
  void Flush();
  bool has_unsent() const { return sent_ < unsent_.size(); }
  // Returns the number of bytes read and written.
  uint64_t moved() const { return moved_; }

  // Returns the errno value with which the connection was lost; 0: not lost; -1: the other side has
  // closed it.
  int lost() const { return lost_; }
  // Shuts the connection down; no data pass afterwards.
  void HangUp();

 private:
  ssize_t Note(ssize_t moved);

  const int fd_;
  std::string received_;
  std::string unsent_;
  size_t sent_ = 0;  // bytes of unsent_
  uint64_t moved_ = 0;
  int lost_ = 0;
  bool hung_up_ = false;
};

// The lines that a server may send before its identification string (RFC 4253, section 4.2).
class ServerBanner {
 public:
  enum class Answer { kMore, kFound, kEndless };

  // Adds the text that was read. kEndless: too much text without a banner.
  Answer Take(std::string_view text);

  // Returns, after it was found, the received part of the banner and what follows it.
  std::string TakeBanner() { return std::move(rest_); }
  // Returns the beginning of the text before the banner, or of the text without one.
  std::string Said() const;

 private:
  std::string said_;  // complete lines
  std::string rest_;  // the text after them
  size_t lines_ = 0;
};

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
  // Returns the text that the server has sent during the login for people; empty without one. The
  // session cannot be used afterwards.
  std::string TakeBanner(const std::string& username);
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

// Public-key login: offers one key after the other until the server accepts one. For one thread.
// Never blocks: slow signatures are made on another thread.
class Authentication {
 public:
  using Identity = std::shared_ptr<const SshIdentity>;

  // Requests a signature that may take long; pass it to TakeSignature. Called once for each
  // request, and not again before the signature has been passed.
  using AskToSign = std::function<void(const Identity& identity, std::string_view request)>;

  // `notes`, for messages: why keys are not among the identities.
  Authentication(std::string username, std::vector<Identity> identities,
                 std::vector<std::string> notes, AskToSign ask_to_sign);
  Authentication(const Authentication&) = delete;
  Authentication& operator=(const Authentication&) = delete;

  // Returns the outcome, or nullopt while it waits for the server or, see waits_for_signature, for
  // a signature. kPermissionDenied: no key was accepted.
  std::optional<Status> Advance(Libssh2Session& session);

  bool AwaitsSignature() const { return asked_ && !signature_; }
  void TakeSignature(Result<std::string> signature) { signature_ = std::move(signature); }

 private:
  std::optional<Result<std::string>> Sign(std::string_view request);
  void NextIdentity();
  Status Refused(Libssh2Session& session) const;

  const std::string username_;
  const std::vector<Identity> identities_;
  std::vector<std::string> notes_;
  const AskToSign ask_to_sign_;
  const Libssh2Session::Sign sign_;
  size_t next_ = 0;     // the identity that is being offered
  bool asked_ = false;  // whether a signature was requested
  std::optional<Result<std::string>> signature_;
  Status not_signed_;  // why there is no signature
};

}  // namespace autodist::ssh
