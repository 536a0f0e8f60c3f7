#include "logs/indexed_log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/fd.h"
#include "base/private_folder.h"

namespace autodist::logs {
namespace {

// The read size; small, because thousands of files have thousands of buffers.
constexpr uint64_t kPiece = 16 * 1024;

// Reads up to the size of `into`, and shrinks it to what was read.
void ReadAt(const std::string& path, uint64_t offset, std::string& into) {
  const auto fd = base::OpenOwnFile(path);
  if (!fd.ok()) return into.clear();
  ssize_t got = -1;
  do {
    got = pread(fd->get(), into.data(), into.size(), static_cast<off_t>(offset));
  } while (got < 0 && errno == EINTR);
  into.resize(static_cast<size_t>(std::max<ssize_t>(got, 0)));
}

base::WallTime ChangeOf(const struct stat& info) {
  return base::WallTime(std::chrono::seconds(info.st_mtim.tv_sec) +
                        std::chrono::nanoseconds(info.st_mtim.tv_nsec));
}

}  // namespace

void IndexedLog::SkipTo(uint64_t offset) {
  if (offset <= offset_) return;
  offset_ = offset;
  next_.reset();
}

void IndexedLog::SkipBefore(base::WallTime time) {
  struct stat info {};
  if (stat(path_.c_str(), &info) != 0) return;
  const auto size = static_cast<uint64_t>(info.st_size);
  const uint64_t number = times_.FirstSince(time);
  if (const auto entry = times_.At(number)) {
    SkipTo(LineBegin(path_, std::min(entry->offset, size)));
  } else if (ChangeOf(info) < time) {
    SkipTo(size);
  } else if (number > 0) {
    // From the last entry on, or everything after a crash that truncated the times.
    SkipTo(LineBegin(path_, std::min(times_.At(number - 1)->offset, size)));
  }
}

void IndexedLog::SetEnd() {
  struct stat info {};
  end_ = stat(path_.c_str(), &info) == 0 ? static_cast<uint64_t>(info.st_size) : 0;
  buffer_.clear();
}

std::optional<base::WallTime> IndexedLog::Time() {
  if (!next_) {
    next_ = times_.FirstBehind(offset_);
    if (*next_ > 0) --*next_;  // the entry with this time
  }
  for (; const auto entry = times_.At(*next_); ++*next_) {
    if (entry->offset > offset_) break;
    time_ = time_ ? std::max(*time_, entry->time) : entry->time;
  }
  return time_;
}

std::string_view IndexedLog::Read() {
  (void)Time();  // finds the next entry
  if (offset_ < buffer_at_ || offset_ >= buffer_at_ + buffer_.size()) Fill();
  std::string_view piece(buffer_);
  piece.remove_prefix(std::min<uint64_t>(offset_ - buffer_at_, piece.size()));
  if (const auto entry = times_.At(*next_)) piece = piece.substr(0, entry->offset - offset_);
  offset_ += piece.size();
  if (piece.empty()) end_ = offset_;
  return piece;
}

void IndexedLog::Fill() {
  buffer_at_ = offset_;
  buffer_.resize(std::min(kPiece, end_ - offset_));
  ReadAt(path_, offset_, buffer_);
}

bool IndexedLog::HasTimes() const {
  struct stat info {};
  return times_.size() > 0 || stat(path_.c_str(), &info) != 0 || info.st_size == 0;
}

uint64_t LineBegin(const std::string& path, uint64_t offset) {
  std::string piece;
  while (offset > 0) {
    const uint64_t begin = offset - std::min(offset, kPiece);
    piece.resize(offset - begin);
    ReadAt(path, begin, piece);
    const size_t newline = piece.rfind('\n');
    if (newline != piece.npos) return begin + newline + 1;
    offset = begin;
  }
  return 0;
}

}  // namespace autodist::logs
