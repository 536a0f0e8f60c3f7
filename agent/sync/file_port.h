// Where other nodes get files of this one. What is said there, after a connection: by those who
// want files the question, 32 characters; the answer; then, as often as wanted, the number of a
// file, and its size with that many bytes. Numbers have 8 bytes, the highest first.
#pragma once

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "autodist/status.h"
#include "autodist/v1/sync.pb.h"
#include "base/deadline.h"
#include "base/fd.h"
#include "base/listen_address.h"

namespace autodist::agent {

inline constexpr size_t kWordSize = 32;              // bytes of a question or an answer
inline constexpr size_t kNumberSize = 8;             // likewise
inline constexpr uint64_t kNoSuchFile = UINT64_MAX;  // in place of a size
inline constexpr size_t kFilePiece = 256 * 1024;     // that are read or sent at a time
std::string NumberAsBytes(uint64_t number);
uint64_t NumberOf(const std::string& bytes);  // kNumberSize of them
// Of recv or send: there is nothing now.
inline bool IsForLater(int error) { return error == EAGAIN || error == EINTR; }

// Serves on a thread of its own until it is destroyed. Whoever does not know the question, says
// nothing or takes nothing is hung up on.
class FilePort {
 public:
  static constexpr size_t kMostConnections = 256;  // at once; others wait to be accepted

  struct File {
    base::UniqueFd fd;  // invalid: there is none of this number
    uint64_t size = 0;
  };
  // Called on the thread.
  using OpenFile = std::function<File(uint64_t number)>;

  // At the address alone, which must be this node's, at a port that the system chooses.
  static Result<std::unique_ptr<FilePort>> Open(const std::string& address,
                                                const v1::SyncWords& words, OpenFile open_file);
  ~FilePort();
  FilePort(const FilePort&) = delete;
  FilePort& operator=(const FilePort&) = delete;

  uint16_t port() const { return listening_.address.port; }

 private:
  struct Connection {
    base::UniqueFd socket;
    base::Deadline close_at;
    bool knows_question = false;
    std::string incoming{};  // a part of a question or of a number
    std::string outgoing{};  // goes before the file
    File file{};
    uint64_t sent = 0;  // bytes of it

    bool Sends() const { return !outgoing.empty() || sent < file.size; }
  };

  FilePort(base::Listening listening, const v1::SyncWords& words, OpenFile open_file);
  void Serve();
  void Accept();
  // Each goes on as far as it can at once; false: the connection has come to its end.
  bool Continue(Connection& connection);
  bool Receive(Connection& connection);
  bool Send(Connection& connection);

  const base::Listening listening_;
  const v1::SyncWords words_;
  const OpenFile open_file_;
  base::FdPair stop_;  // its second end is closed to stop the thread

  // Only touched by the thread.
  std::vector<Connection> connections_;
  std::vector<char> buffer_;
  base::Deadline accept_at_ = base::Deadline::After(std::chrono::milliseconds(0));

  std::thread thread_;
};

}  // namespace autodist::agent
