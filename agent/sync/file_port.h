// Where other nodes get files of this one, encrypted (secure/session.h) with a key that both
// received from the chief. A client sends the number of a file, and receives its size and that many
// bytes; then the next. Numbers have 8 bytes, the highest first.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "autodist/status.h"
#include "base/deadline.h"
#include "base/fd.h"
#include "base/listen_address.h"
#include "secure/key.h"
#include "secure/session.h"

namespace autodist::agent {

inline constexpr size_t kNumberSize = 8;             // bytes
inline constexpr uint64_t kNoSuchFile = UINT64_MAX;  // in place of a size
inline constexpr size_t kFilePiece = 256 * 1024;     // that are read or sent at a time
std::string NumberAsBytes(uint64_t number);
uint64_t NumberOf(const std::string& bytes);  // kNumberSize of them

// Serves on a thread of its own until it is destroyed. Clients that do not know the key, send
// nothing or read nothing are disconnected.
class FilePort {
 public:
  static constexpr size_t kMaxConnections = 256;  // at once that know the key; others wait
  static constexpr size_t kMaxStrangers = 256;    // of more, the first has to go

  struct File {
    base::UniqueFd fd;  // invalid: there is none of this number
    uint64_t size = 0;
  };
  // Called on the thread.
  using OpenFile = std::function<File(uint64_t number)>;

  // At the address alone, which must be this node's, at a port that the system chooses.
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
    uint64_t sent = 0;      // bytes of it
    bool has_turn = false;  // can go on at once, after the others

    bool Sends() const { return session->has_to_send() || sent < file.size; }
  };

  FilePort(base::Listening listening, const secure::Key& key, OpenFile open_file);
  void Serve();
  void Accept();
  size_t Strangers() const;
  // As far as it can at once, and no more than one piece; false: it has come to its end.
  bool Continue(Connection& connection);
  secure::Progress Receive(Connection& connection);
  secure::Progress Send(Connection& connection);

  const base::Listening listening_;
  const secure::Key key_;
  const OpenFile open_file_;
  base::FdPair stop_;  // its second end is closed to stop the thread

  // Only touched by the thread.
  std::vector<Connection> connections_;
  std::vector<char> buffer_;
  base::Deadline accept_at_ = base::Deadline::After(std::chrono::milliseconds(0));

  std::jthread thread_;
};

}  // namespace autodist::agent
