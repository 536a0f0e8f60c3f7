// The unacknowledged output of a rank's stream, and how much of it was sent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>

#include "agent/output/spool.h"
#include "autodist/status.h"
#include "autodist/v1/agent.pb.h"

namespace autodist::agent {

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
