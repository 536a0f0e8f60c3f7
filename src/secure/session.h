// An encrypted byte stream between two sides that share a key: TLS 1.3 by OpenSSL, with that key
// alone (no certificates) and an ephemeral exchange, so that a key which becomes known later opens
// nothing that was recorded before.
//
// Neither side sends anything but its handshake before the other has shown that it knows the key.
// The side that is called answers one that does not know it with nothing at all.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "secure/key.h"

struct ssl_st;
struct bio_st;

namespace autodist::secure {

// What can be done at once was done; more has to wait for the socket; the other side has ended its
// direction; the connection is lost, or was tampered with.
enum class Progress { kDone, kWaits, kEnded, kBroken };

// Owns the socket. Never blocks. For one thread at a time.
class Session {
 public:
  // What the side that calls says of itself, in clear, bound to the handshake; nullopt: it is to be
  // refused. Called within Handshake, at most twice.
  using FindKey = std::function<std::optional<Key>(std::string_view identity)>;

  // Bytes that are taken of a side before it has shown that it knows the key.
  static constexpr size_t kMaxHandshake = 2048;
  static constexpr size_t kMaxIdentity = 512;

  static std::unique_ptr<Session> OfClient(base::UniqueFd socket, std::string identity,
                                           const Key& key);
  static std::unique_ptr<Session> OfServer(base::UniqueFd socket, FindKey find_key);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // kDone: both sides have shown that they know the key, over nonces of both. Nothing else may be
  // called before.
  Progress Handshake();
  // Of a handshake that waits, as the side that was called: the other side's first message was made
  // with the key. It may be a recorded one, sent again.
  bool client_named() const;

  // kDone: `got` bytes have come, at least one.
  Progress Read(std::span<char> buffer, size_t& got);
  // Appends to `line` what has come of it; kDone: all of it, without its line feed. Takes nothing
  // of what follows it. kBroken also for one that is longer.
  Progress ReadLine(std::string& line, size_t max_bytes);

  // Encrypts it; Flush sends it. What is given meanwhile is kept here.
  void Write(std::string_view bytes);
  // The end of this direction: the other one goes on.
  void WriteEnd();
  // kDone: all has gone.
  Progress Flush();
  bool has_to_send() const;

  int socket() const { return socket_.get(); }

 private:
  Session(base::UniqueFd socket, ssl_st* tls);

  struct Callbacks;  // what OpenSSL calls

  Progress Fill();
  Progress Take(char* buffer, size_t size, bool leave_it, size_t& got);

  const base::UniqueFd socket_;
  ssl_st* const tls_;
  bio_st* const received_;  // of tls_
  bio_st* const to_send_;
  std::string identity_;
  std::optional<Key> key_;
  FindKey find_key_;
  bool is_server_ = false;
  size_t handshake_bytes_ = 0;
  uint64_t written_ = 0;  // since the last change of keys
  std::string sending_;   // taken from to_send_
};

}  // namespace autodist::secure
