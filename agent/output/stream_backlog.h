// What a stream of a rank has written and the chief has not acknowledged: how much of it was sent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>

#include "agent/output/spool.h"
#include "autodist/status.h"
#include "autodist/v1/agent.pb.h"

namespace autodist::agent {

// Not thread-safe; blocks on the disk only.
class StreamBacklog {
 public:
  StreamBacklog(uint64_t limit, const std::string& spool_folder) : spool_(limit, spool_folder) {}

  // Bytes that are not acknowledged; that were not sent; that are on their way.
  uint64_t kept() const { return spool_.end() - spool_.begin(); }
  uint64_t unsent() const { return spool_.end() - sent_; }
  uint64_t in_flight() const { return sent_ - spool_.begin(); }
  size_t pieces_in_flight() const { return pieces_.size(); }
  bool WasSent(uint64_t offset) const { return offset <= sent_; }
  bool empty() const { return kept() == 0 && unkept_.empty(); }
  // When it began to wait for its next piece to be sent: the smaller, the sooner.
  uint64_t turn() const { return turn_; }

  // How many bytes Keep takes now.
  uint64_t room() const { return unkept_.empty() ? spool_.room() : 0; }
  // `turn` counts where nothing waits yet. On failure nothing is lost either, but there is no room
  // until the disk has space again.
  Status Keep(std::string data, uint64_t turn);

  // The next piece, of `most` bytes or fewer. `turn`: that of the piece after it.
  v1::Output Next(size_t most, uint64_t turn);
  // The chief has what is before `offset`.
  void Release(uint64_t offset, uint64_t turn);
  // Nothing is on its way any more: what is kept is sent again.
  void Rewind();

 private:
  Spool spool_;
  uint64_t sent_ = 0;  // offset
  uint64_t turn_ = 0;
  std::deque<uint64_t> pieces_;  // where those end that are on their way
  std::string unkept_;           // there was no space on the disk for it
};

}  // namespace autodist::agent
