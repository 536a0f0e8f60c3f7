#include "logs/log_index.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

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

}  // namespace autodist::logs
