#include "agent/output/stream_backlog.h"

#include <utility>

namespace autodist::agent {

Status StreamBacklog::Keep(std::string data, uint64_t turn) {
  if (unsent() == 0) turn_ = turn;
  Status kept = spool_.Append(data);
  unkept_ = kept.ok() ? std::string() : std::move(data);
  return kept;
}

v1::Output StreamBacklog::Next(size_t most, uint64_t turn) {
  auto data = spool_.Read(sent_, most);
  v1::Output output;
  output.set_offset(sent_);
  if (data.ok()) {
    output.set_data(*std::move(data));
  } else {
    // Reports the loss: the reason replaces the bytes.
    output.set_lost(unsent());
    output.set_lost_because(Message(data.status()));
  }
  sent_ += output.data().size() + output.lost();
  pieces_.push_back(sent_);
  turn_ = turn;
  return output;
}

void StreamBacklog::Release(uint64_t offset, uint64_t turn) {
  spool_.Release(offset);
  while (!pieces_.empty() && pieces_.front() <= offset) pieces_.pop_front();
  if (!unkept_.empty() && unkept_.size() <= spool_.room()) {
    (void)Keep(std::move(unkept_), turn).ok();
  }
}

void StreamBacklog::Rewind() {
  sent_ = spool_.begin();
  pieces_.clear();
}

}  // namespace autodist::agent
