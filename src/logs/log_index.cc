#include "logs/log_index.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "base/fd.h"
#include "base/private_folder.h"

namespace autodist::logs {
namespace {

using std::chrono::microseconds;

constexpr std::chrono::milliseconds kMaxTime{100};  // between entries
constexpr uint64_t kMaxBytes = 64 * 1024;
constexpr size_t kNumberSize = 8;
constexpr size_t kEntrySize = 2 * kNumberSize;
constexpr uint64_t kEntriesAtOnce = 64;  // read together

using EntryBytes = std::array<unsigned char, kEntrySize>;

void Put(uint64_t number, unsigned char* to) {
  for (size_t i = 0; i < kNumberSize; ++i) to[i] = static_cast<unsigned char>(number >> (8 * i));
}

uint64_t Get(const unsigned char* from) {
  uint64_t number = 0;
  for (size_t i = 0; i < kNumberSize; ++i) number |= uint64_t{from[i]} << (8 * i);
  return number;
}

// The time in a damaged entry may be any number.
base::WallTime TimeOf(uint64_t since_1970) {
  constexpr auto kLast = std::chrono::duration_cast<microseconds>(base::WallTime::duration::max());
  const auto last = static_cast<uint64_t>(kLast.count());
  return base::WallTime(microseconds(static_cast<int64_t>(std::min(since_1970, last))));
}

constexpr char kTimes[] = ".times";  // suffix of the log file's name

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

LogIndexWriter::LogIndexWriter(base::LogFolder folder, const std::string& log)
    : folder_(std::move(folder)), name_(log + kTimes) {}

void LogIndexWriter::Note(uint64_t offset, base::WallTime now) {
  const bool fresh =
      begun_ && offset - offset_ < kMaxBytes && now >= time_ && now - time_ < kMaxTime;
  if (failed_ || fresh) return;
  if (!fd_.valid()) {
    const int how = begun_ ? O_APPEND : O_CREAT | O_TRUNC;
    if (auto file = folder_.OpenFile(name_, O_WRONLY | how); file.ok()) fd_ = *std::move(file);
  }
  begun_ = true;
  const auto since_1970 = std::chrono::duration_cast<microseconds>(now.time_since_epoch());
  EntryBytes bytes;
  Put(offset, bytes.data());
  Put(static_cast<uint64_t>(since_1970.count()), bytes.data() + kNumberSize);
  const std::string_view entry(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  failed_ = !fd_.valid() || !base::WriteAll(fd_.get(), entry, base::Deadline::Never()).ok();
  offset_ = offset;
  time_ = now;
}

LogIndexReader::LogIndexReader(const std::string& log_path) : path_(log_path + kTimes) {}

uint64_t LogIndexReader::size() const {
  struct stat info {};
  return stat(path_.c_str(), &info) == 0 ? static_cast<uint64_t>(info.st_size) / kEntrySize : 0;
}

std::optional<LogIndexReader::Entry> LogIndexReader::At(uint64_t number) {
  if (number < first_ || number >= first_ + block_.size()) {
    block_.clear();
    first_ = number / kEntriesAtOnce * kEntriesAtOnce;
    const auto fd = base::OpenOwnFile(path_);
    std::array<EntryBytes, kEntriesAtOnce> bytes;
    const ssize_t got = fd.ok() ? pread(fd->get(), bytes.data(), sizeof bytes,
                                        static_cast<off_t>(first_ * kEntrySize))
                                : 0;
    const size_t entries = static_cast<size_t>(std::max<ssize_t>(got, 0)) / kEntrySize;
    for (size_t i = 0; i < entries; ++i) {
      block_.push_back({Get(bytes[i].data()), TimeOf(Get(bytes[i].data() + kNumberSize))});
    }
  }
  if (number - first_ >= block_.size()) return std::nullopt;
  return block_[number - first_];
}

uint64_t LogIndexReader::First(const std::function<bool(const Entry&)>& is_it) {
  uint64_t begin = 0;
  uint64_t end = size();
  while (begin < end) {
    const uint64_t middle = begin + (end - begin) / 2;
    const auto entry = At(middle);
    if (!entry || is_it(*entry)) {
      end = middle;
    } else {
      begin = middle + 1;
    }
  }
  return begin;
}

uint64_t LogIndexReader::FirstBehind(uint64_t offset) {
  return First([&](const Entry& entry) { return entry.offset > offset; });
}

uint64_t LogIndexReader::FirstSince(base::WallTime time) {
  return First([&](const Entry& entry) { return entry.time >= time; });
}

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
