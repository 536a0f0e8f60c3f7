#include "logs/log_reader.h"

#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <queue>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/folder_entries.h"
#include "base/private_folder.h"
#include "base/split.h"
#include "display/rank_lines.h"
#include "logs/log_index.h"

namespace autodist::logs {
namespace {

constexpr uint64_t kBlock = 64 * 1024;

// Reads one file backward, from entry to entry of the index.
class Backward {
 public:
  explicit Backward(const std::string& path) : path_(path), times_(path) {
    struct stat info {};
    if (stat(path.c_str(), &info) == 0) size_ = static_cast<uint64_t>(info.st_size);
    at_ = size_;
    number_ = times_.size();
    EnterChunk();
  }

  bool AtBegin() const { return at_ == 0; }
  const std::optional<base::WallTime>& time() const { return time_; }  // of what is before at_

  // Subtracts the lines that ended at this time from `lines`, and moves to the previous time.
  void Count(size_t& lines) {
    const auto fd = base::OpenOwnFile(path_);
    std::array<char, kBlock> bytes;
    while (at_ > chunk_ && lines > 0) {
      const uint64_t begin = std::max(chunk_, at_ - std::min(at_, kBlock));
      const ssize_t got =
          fd.ok() ? pread(fd->get(), bytes.data(), at_ - begin, static_cast<off_t>(begin)) : 0;
      CountIn(begin, {bytes.data(), static_cast<size_t>(std::max<ssize_t>(got, 0))}, lines);
    }
    if (lines > 0) EnterChunk();
  }

  // Call when no more lines are counted.
  uint64_t BeginOfLines() const { return has_lines_ ? LineBegin(path_, at_) : size_; }

 private:
  void EnterChunk() {
    std::optional<LogIndexReader::Entry> entry;
    while (number_ > 0 && (entry = times_.At(number_ - 1)) && entry->offset >= at_) --number_;
    chunk_ = number_ > 0 && entry ? entry->offset : 0;
    time_ = number_ > 0 && entry ? std::optional(entry->time) : std::nullopt;
  }

  // Moves back before the end of the last requested line. Text after the last "\n" is a line, too.
  void CountIn(uint64_t begin, std::string_view bytes, size_t& lines) {
    while (!bytes.empty() && lines > 0) {
      const bool end_of_file = begin + bytes.size() == size_;
      const size_t newline = end_of_file ? bytes.size() - 1 : bytes.rfind('\n');
      bytes = bytes.substr(0, newline == bytes.npos ? 0 : newline);
      if (newline == bytes.npos) break;
      has_lines_ = true;
      --lines;
    }
    at_ = begin + bytes.size();
  }

  const std::string path_;
  LogIndexReader times_;
  uint64_t size_ = 0;
  uint64_t at_ = 0;      // everything from here on has been examined
  uint64_t number_ = 0;  // of the entry after the current one
  uint64_t chunk_ = 0;   // offset of the current entry
  std::optional<base::WallTime> time_;
  bool has_lines_ = false;  // whether it has requested lines
};

// Selects the last lines of all these log files together, by
// the time at which they ended; if times are equal or unknown, lines of later files count as later.
// Returns for each file the offset of the first selected line; the file's size without one. Memory
// depends neither on the files' sizes nor on the number of lines.
std::vector<uint64_t> BeginOfLastLines(const std::vector<std::string>& paths, size_t lines) {
  std::vector<Backward> files(paths.begin(), paths.end());
  using Next = std::pair<std::optional<base::WallTime>, size_t>;
  std::priority_queue<Next> latest;
  for (size_t i = 0; i < files.size(); ++i) {
    if (!files[i].AtBegin()) latest.emplace(files[i].time(), i);
  }
  while (lines > 0 && !latest.empty()) {
    const size_t file = latest.top().second;
    latest.pop();
    files[file].Count(lines);
    if (!files[file].AtBegin()) latest.emplace(files[file].time(), file);
  }
  std::vector<uint64_t> begins;
  begins.reserve(files.size());
  for (const Backward& file : files) begins.push_back(file.BeginOfLines());
  return begins;
}

constexpr size_t kLookedThrough = 65536;  // for the last lines of a file

// Parses "rank-12.err" to 12, kErr.
std::optional<std::pair<uint32_t, display::Stream>> ParseName(std::string_view name) {
  if (!base::TakePrefix(name, "rank-")) return std::nullopt;
  const auto rank = base::TakeNumber<uint32_t>(name);
  if (!rank) return std::nullopt;
  if (name == ".out") return std::pair{*rank, display::kStdout};
  if (name == ".err") return std::pair{*rank, display::kStderr};
  return std::nullopt;
}

// The maximum number of newlines for one line, and the size of an increase: a program with several
// progress bars draws each of them in a separate row, repeatedly.
constexpr size_t kMaxEndsOfLine = 1024;
constexpr size_t kMoreEnds = 8;

// Counts lines as shown: redrawing a bar adds no line.
size_t LinesFrom(const std::string& path, uint64_t offset) {
  size_t lines = 0;
  const auto count = [&lines](const display::Line&) { ++lines; };
  display::LineReader reader;
  display::ReadPieces(path, offset, [&](std::string_view piece) {
    reader.Take(piece, false, {}, count);
    return true;
  });
  reader.End(count);
  return lines;
}

}  // namespace

std::string LogReader::PathOf(File file) const {
  return display::LogPath(folder_, file.first, file.second);
}

IndexedLog& LogReader::LogOf(File file) {
  return logs_.try_emplace(file, PathOf(file)).first->second;
}

// In the order of ranks and streams.
std::vector<LogReader::File> LogReader::ExistingFiles() {
  std::set<File> files;
  for (const std::string& name : base::EntriesOf(folder_)) {
    const auto file = ParseName(name);
    if (file && IsWanted(*file)) files.insert(*file);
  }
  return {files.begin(), files.end()};
}

void LogReader::SkipToLastLinesOfEach(size_t lines) {
  for (const File& file : ExistingFiles()) {
    const auto end = display::ReadEnd(PathOf(file), kLookedThrough);
    if (!end) continue;
    const std::string& text = end->text;
    // The last byte ends the last line or is part of it. If no line begins in the piece, the output
    // starts in the middle of one.
    size_t start = lines == 0 ? text.size() : 0;
    size_t seen = 0;
    for (size_t i = text.size(); lines > 0 && start == 0 && i > 1; --i) {
      if (text[i - 2] == '\n' && ++seen == lines) start = i - 1;
    }
    LogOf(file).SkipTo(end->begin + start);
  }
}

size_t LogReader::SkipToLastLines(size_t lines) {
  const std::vector<File> files = ExistingFiles();
  std::vector<std::string> paths;
  paths.reserve(files.size());
  for (const File& file : files) paths.push_back(PathOf(file));
  std::vector<uint64_t> begins;
  size_t there = 0;
  for (size_t ends = lines; ends <= lines * kMaxEndsOfLine; ends *= kMoreEnds) {
    begins = BeginOfLastLines(paths, ends);
    if (lines == 0) break;
    there = 0;
    for (size_t i = 0; i < paths.size(); ++i) there += LinesFrom(paths[i], begins[i]);
    if (there >= lines || std::ranges::all_of(begins, [](uint64_t at) { return at == 0; })) break;
  }
  for (size_t i = 0; i < files.size(); ++i) LogOf(files[i]).SkipTo(begins[i]);
  return there - std::min(there, lines);
}

void LogReader::SkipBefore(base::WallTime time) {
  for (const File& file : ExistingFiles()) LogOf(file).SkipBefore(time);
}

bool LogReader::HasTimes() {
  const std::vector<File> files = ExistingFiles();
  return std::ranges::all_of(files, [this](File file) { return LogOf(file).HasTimes(); });
}

void LogReader::ReadAll(const ShowOutput& show) { Read(ExistingFiles(), show); }

void LogReader::ReadFiles(const std::vector<std::string>& names, const ShowOutput& show) {
  std::vector<File> files;
  for (const std::string& name : names) {
    const auto file = ParseName(name);
    if (file && IsWanted(*file)) files.push_back(*file);
  }
  Read(files, show);
}

// Reads only what exists now: a rank that never stops writing must not block the others.
void LogReader::Read(const std::vector<File>& files, const ShowOutput& show) {
  using Next = std::pair<std::optional<base::WallTime>, File>;
  std::priority_queue<Next, std::vector<Next>, std::greater<>> earliest;
  for (const File& file : files) {
    IndexedLog& log = LogOf(file);
    log.SetEnd();
    if (!log.AtEnd()) earliest.emplace(log.Time(), file);
  }
  while (!earliest.empty()) {
    const auto [time, file] = earliest.top();
    earliest.pop();
    IndexedLog& log = LogOf(file);
    const uint64_t offset = log.offset();
    const std::string_view bytes = log.Read();
    show({file.first, file.second, bytes, time, offset}, log.AtEnd());
    if (!log.AtEnd()) earliest.emplace(log.Time(), file);
  }
}

Result<LogWatch> LogWatch::Open(const std::string& folder) {
  base::UniqueFd inotify(inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  if (!inotify.valid()) {
    return WithRemedy(ErrnoError(errno, "watching the log files"),
                      "see fs.inotify.max_user_instances (sysctl), or use `autodist logs` "
                      "without -f");
  }
  if (inotify_add_watch(inotify.get(), folder.c_str(),
                        IN_CREATE | IN_MODIFY | IN_MOVED_TO | IN_ONLYDIR) < 0) {
    return ErrnoError(errno, "watching " + folder);
  }
  return LogWatch(std::move(inotify));
}

void LogWatch::ReadNew(LogReader& logs, const ShowOutput& show) {
  std::set<std::string> names;
  bool all = false;
  alignas(inotify_event) std::array<char, 16384> buffer;
  for (;;) {
    const ssize_t got = read(inotify_.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    for (ssize_t at = 0; at < got;) {
      const auto* event = reinterpret_cast<const inotify_event*>(buffer.data() + at);
      all = all || (event->mask & IN_Q_OVERFLOW) != 0;
      if (event->len > 0) names.insert(event->name);
      at += static_cast<ssize_t>(sizeof *event + event->len);
    }
    // A rank that never stops writing would create events forever.
    if (static_cast<size_t>(got) < buffer.size() / 2) break;
  }
  if (all) {
    logs.ReadAll(show);
    return;
  }
  logs.ReadFiles({names.begin(), names.end()}, show);
}

}  // namespace autodist::logs
