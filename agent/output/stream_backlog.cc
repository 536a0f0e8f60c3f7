#include "agent/output/stream_backlog.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace autodist::agent {

uint64_t Spool::room() const {
  if (!file_failed_) return limit_ - (end_ - begin_);
  return file_begin() < end_ ? 0 : std::min(limit_, kInMemory) - memory_.size();
}

Status Spool::Append(std::string_view data) {
  if (file_begin() == end_ && memory_.size() + data.size() <= kInMemory) {
    memory_ += data;
  } else if (Status written = WriteToFile(data); !written.ok()) {
    file_failed_ = true;
    return Annotate(written, "a file in " + folder_);
  }
  end_ += data.size();
  return OkStatus();
}

Status Spool::WriteToFile(std::string_view data) {
  if (!file_.valid()) {
    std::string path = folder_ + "/autodist-output-XXXXXX";
    file_.Reset(mkostemp(path.data(), O_CLOEXEC));
    if (!file_.valid()) return ErrnoError(errno, "making it");
    unlink(path.c_str());
  }
  for (uint64_t offset = end_; !data.empty();) {
    const uint64_t position = offset % limit_;
    const ssize_t written =
        pwrite(file_.get(), data.data(), std::min<uint64_t>(data.size(), limit_ - position),
               static_cast<off_t>(position));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return ErrnoError(written < 0 ? errno : ENOSPC, "writing");
    offset += static_cast<uint64_t>(written);
    data.remove_prefix(static_cast<size_t>(written));
  }
  return OkStatus();
}

Result<std::string> Spool::Read(uint64_t offset, size_t most) const {
  if (offset < file_begin()) return memory_.substr(offset - begin_, most);
  if (offset == end_) return std::string();
  const uint64_t position = offset % limit_;
  std::string data(std::min<uint64_t>({most, end_ - offset, limit_ - position}), '\0');
  ssize_t got = 0;
  do {
    got = pread(file_.get(), data.data(), data.size(), static_cast<off_t>(position));
  } while (got < 0 && errno == EINTR);
  if (got < 0) return ErrnoError(errno, "reading output kept in a file in " + folder_);
  if (got == 0 && !data.empty()) {
    return Error(StatusCode::kDataLoss,
                 "output was kept in a file in " + folder_ + ", which is cut");
  }
  data.resize(static_cast<size_t>(got));
  return data;
}

void Spool::Release(uint64_t offset) {
  if (offset <= begin_ || offset > end_) return;
  memory_.erase(0, offset - begin_);
  begin_ = offset;
  if (begin_ < end_) return;
  file_failed_ = false;
  if (file_.valid()) (void)!ftruncate(file_.get(), 0);  // only returns space to the disk
}

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
