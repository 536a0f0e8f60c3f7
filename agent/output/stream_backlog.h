// The unacknowledged output of a rank's stream, and how much of it was sent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <utility>

#include "autodist/status.h"
#include "autodist/v1/agent.pb.h"
#include "base/fd.h"

namespace autodist::agent {

// Keeps the output of a rank's stream until the chief acknowledges it: in memory, then on disk.
//
// The bytes from begin() to end() of a stream, by offset. The first kInMemory bytes are in memory;
// further ones go to a file, a ring buffer, until all have been released. The file is created when
// it is first needed and has no name, so that it never remains after a crash.
//
// Not thread-safe; blocks only on the disk. A process with a file size limit must ignore SIGXFSZ.
class Spool {
 public:
  static constexpr uint64_t kInMemory = 256 * 1024;  // bytes

  // Keeps at most `limit` bytes. `folder` is for the file.
  Spool(uint64_t limit, std::string folder) : limit_(limit), folder_(std::move(folder)) {}

  uint64_t begin() const { return begin_; }
  uint64_t end() const { return end_; }

  // Returns how many bytes Append accepts; 0: the writer has to wait.
  uint64_t room() const;

  // `data` must fit into room(). On failure nothing is appended, and the file is not written to
  // until Release has emptied the spool: until then room() is that of the memory.
  Status Append(std::string_view data);

  // Returns bytes from `offset` on, which is from begin() to end(): at most `most`, and at least
  // one if there are any.
  Result<std::string> Read(uint64_t offset, size_t most) const;

  // Releases the bytes before `offset`. Ignores offsets outside begin() to end().
  void Release(uint64_t offset);

 private:
  uint64_t file_begin() const { return begin_ + memory_.size(); }
  Status WriteToFile(std::string_view data);

  uint64_t limit_;
  std::string folder_;
  uint64_t begin_ = 0;
  uint64_t end_ = 0;
  std::string memory_;        // from begin_ to file_begin()
  base::UniqueFd file_;       // from file_begin() to end_, each byte at offset % limit_
  bool file_failed_ = false;  // writing to it failed
};

// Not thread-safe; blocks only on the disk.
class StreamBacklog {
 public:
  StreamBacklog(uint64_t limit, const std::string& spool_folder) : spool_(limit, spool_folder) {}

  // Numbers of unacknowledged bytes, of unsent ones, and of those in transit.
  uint64_t kept() const { return spool_.end() - spool_.begin(); }
  uint64_t unsent() const { return spool_.end() - sent_; }
  uint64_t in_flight() const { return sent_ - spool_.begin(); }
  size_t pieces_in_flight() const { return pieces_.size(); }
  bool WasSent(uint64_t offset) const { return offset <= sent_; }
  bool empty() const { return kept() == 0 && unkept_.empty(); }
  // The turn of the next piece; smaller ones are sent first.
  uint64_t turn() const { return turn_; }

  // Returns how many bytes Keep accepts.
  uint64_t room() const { return unkept_.empty() ? spool_.room() : 0; }
  // `turn` is used if no piece is waiting. On failure nothing is lost, but there is no room until
  // the disk has space again.
  Status Keep(std::string data, uint64_t turn);

  // Returns the next piece, of at most `most` bytes. `turn`: of the piece after it.
  v1::Output Next(size_t most, uint64_t turn);
  // The chief has received the bytes before `offset`.
  void Release(uint64_t offset, uint64_t turn);
  // No bytes are in transit any more: kept bytes are sent again.
  void Rewind();

 private:
  Spool spool_;
  uint64_t sent_ = 0;  // offset
  uint64_t turn_ = 0;
  std::deque<uint64_t> pieces_;  // ends of pieces in transit
  std::string unkept_;           // did not fit on the disk
};

}  // namespace autodist::agent
