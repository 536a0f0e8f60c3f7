// An encrypted byte stream between two sides that share a key: TLS 1.3 by OpenSSL, with a
// pre-shared key, no certificates, and an ephemeral key exchange (forward secrecy).
//
// Each side sends only its handshake until the other side has proved that it knows the key. The
// server sends nothing at all to a client that does not know it.
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

// kDone: done; kWaits: waits for the socket; kEnded: the other side has ended its direction;
// kBroken: the connection is lost or was tampered with.
enum class Progress { kDone, kWaits, kEnded, kBroken };

// Owns the socket. Never blocks. For one thread at a time.
class Session {
 public:
  // Finds the key by the identity that the client sends unencrypted, bound to the handshake;
  // nullopt rejects the client. Called within Handshake, at most twice.
  using FindKey = std::function<std::optional<Key>(std::string_view identity)>;

  // The maximum number of bytes accepted from a peer before it has proved that it knows the key.
  static constexpr size_t kMaxHandshake = 2048;
  static constexpr size_t kMaxIdentity = 512;

  static std::unique_ptr<Session> OfClient(base::UniqueFd socket, std::string identity,
                                           const Key& key);
  static std::unique_ptr<Session> OfServer(base::UniqueFd socket, FindKey find_key);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // kDone: both sides have proved that they know the key, over nonces of both. No other function
  // may be called before.
  Progress Handshake();
  // For a server whose handshake waits: whether the client's first message was made with the key.
  // It may be a replayed message.
  bool client_named() const;

  // kDone: `got` bytes were read, at least one.
  Progress Read(std::span<char> buffer, size_t& got);
  // Appends the available part of a line to `line`; kDone: the whole line, without its line feed.
  // Does not consume what follows it. kBroken also for a line that is too long.
  Progress ReadLine(std::string& line, size_t max_bytes);

  // Encrypts the bytes and buffers them; Flush sends them.
  void Write(std::string_view bytes);
  // Ends this direction; the other one continues.
  void WriteEnd();
  // kDone: everything has been sent.
  Progress Flush();
  bool has_to_send() const;

  int socket() const { return socket_.get(); }
  // After kBroken: whether the peer's system has closed the connection, as it does when a process
  // ends. False if it was reset, which others can do, or timed out.
  bool closed_by_peer() const { return closed_by_peer_.value_or(false); }

 private:
  Session(base::UniqueFd socket, ssl_st* tls);

  struct Callbacks;  // callbacks of OpenSSL

  Progress Fill();
  Progress Lost(bool closed_by_peer);
  Progress Take(char* buffer, size_t size, bool leave_it, size_t& got);

  const base::UniqueFd socket_;
  ssl_st* const tls_;
  bio_st* const received_;  // owned by tls_
  bio_st* const to_send_;
  std::string identity_;
  std::optional<Key> key_;
  FindKey find_key_;
  bool is_server_ = false;
  std::optional<bool> closed_by_peer_;  // set when the connection is lost
  size_t handshake_bytes_ = 0;
  size_t tls_messages_ = 0;  // received
  size_t data_ = 0;          // bytes received since tls_messages_ was 0
  uint64_t written_ = 0;     // since the last key update
  std::string sending_;      // moved from to_send_
};

}  // namespace autodist::secure
