// Serves files of this node to other nodes, encrypted (secure/session.h) with a key that both
// received from the chief. A client sends the number of a file, and receives its size and content;
// then the next. Numbers have 8 bytes, big-endian.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "autodist/status.h"
#include "autodist/v1/sync.pb.h"
#include "base/deadline.h"
#include "base/fd.h"
#include "base/listen_address.h"
#include "secure/key.h"
#include "secure/session.h"

namespace autodist::agent {

inline constexpr size_t kNumberSize = 8;             // bytes
inline constexpr uint64_t kNoSuchFile = UINT64_MAX;  // instead of a size
inline constexpr size_t kFilePiece = 256 * 1024;     // bytes read or sent at a time
std::string NumberAsBytes(uint64_t number);
uint64_t NumberOf(const std::string& bytes);  // from kNumberSize bytes

// Serves on a separate thread until it is destroyed. Disconnects clients that do not know the key,
// send nothing or read nothing.
class FilePort {
 public:
  static constexpr size_t kMaxConnections = 256;  // authenticated ones; others wait
  static constexpr size_t kMaxStrangers = 256;    // above it, the oldest is closed

  struct File {
    base::UniqueFd fd;  // invalid: no file with this number
    uint64_t size = 0;
  };
  // Called on the thread.
  using OpenFile = std::function<File(uint64_t number)>;

  // Listens only at the address, which must be this node's, at a port that the system selects.
  static Result<std::unique_ptr<FilePort>> Open(const std::string& address, const secure::Key& key,
                                                OpenFile open_file);
  ~FilePort();
  FilePort(const FilePort&) = delete;
  FilePort& operator=(const FilePort&) = delete;

  uint16_t port() const { return listening_.address.port; }

 private:
  struct Connection {
    std::unique_ptr<secure::Session> session;
    base::Deadline close_at;
    bool knows_key = false;
    std::string incoming{};  // a part of a number
    File file{};
    uint64_t sent = 0;      // bytes of the current file
    bool has_turn = false;  // can continue without waiting, after the others

    bool Sends() const { return session->has_to_send() || sent < file.size; }
  };

  FilePort(base::Listening listening, const secure::Key& key, OpenFile open_file);
  void Serve();
  void Accept();
  size_t Strangers() const;
  // Continues without blocking, for one piece at most; false: done.
  bool Continue(Connection& connection);
  secure::Progress Receive(Connection& connection);
  secure::Progress Send(Connection& connection);

  const base::Listening listening_;
  const secure::Key key_;
  const OpenFile open_file_;
  base::FdPair stop_;  // closing the second end stops the thread

  // Used only by the thread:
  std::vector<Connection> connections_;
  std::vector<char> buffer_;
  base::Deadline accept_at_ = base::Deadline::After(std::chrono::milliseconds(0));

  std::jthread thread_;
};

// The client of another node's FilePort. The other node's data are untrusted, even if it knows the
// key: the caller checks the digest of each file.
// Not thread-safe. Both calls block; meanwhile they call `go_on`, which returns whether to
// continue.
class FileSource {
 public:
  using GoOn = std::function<bool()>;
  static constexpr std::chrono::milliseconds kConnectLimit{5'000};
  // The limit for the next answer and, within a file, for this many bytes or the rest.
  static constexpr std::chrono::milliseconds kPatience{20'000};
  static constexpr uint64_t kLeast = 64 * 1024;

  static Result<FileSource> Connect(const v1::SyncSource& source, const GoOn& go_on);

  // `take` gets the content piece by piece, and returns whether to continue. Fails if the file does
  // not exist or has another size; after any other failure the source must not be used again.
  Status Get(uint64_t number, uint64_t size, const std::function<bool(std::string_view)>& take,
             const GoOn& go_on);

 private:
  explicit FileSource(std::unique_ptr<secure::Session> session) : session_(std::move(session)) {}
  Status Await(short events, base::Deadline deadline, const GoOn& go_on) const;
  Status ShakeHands(const GoOn& go_on) const;
  Status Say(std::string_view words, const GoOn& go_on) const;
  // Reads at least one byte.
  Result<std::string_view> ReadSome(std::span<char> buffer, base::Deadline deadline,
                                    const GoOn& go_on) const;
  Result<uint64_t> HearNumber(const GoOn& go_on) const;

  std::unique_ptr<secure::Session> session_;
};

}  // namespace autodist::agent
