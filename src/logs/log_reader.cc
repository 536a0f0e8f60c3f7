#include "logs/log_reader.h"

#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <optional>
#include <queue>
#include <set>

#include "base/folder_entries.h"
#include "display/rank_lines.h"
#include "logs/last_lines.h"

namespace autodist::logs {
namespace {

constexpr size_t kLookedThrough = 65536;  // for the last lines of a file

// Parses "rank-12.err" to 12, kErr.
std::optional<std::pair<uint32_t, display::Stream>> ParseName(std::string_view name) {
  constexpr std::string_view kPrefix = "rank-";
  if (!name.starts_with(kPrefix)) return std::nullopt;
  const char* const end = name.data() + name.size();
  uint32_t rank = 0;
  const auto parsed = std::from_chars(name.data() + kPrefix.size(), end, rank);
  if (parsed.ec != std::errc()) return std::nullopt;
  const std::string_view suffix(parsed.ptr, static_cast<size_t>(end - parsed.ptr));
  if (suffix == ".out") return std::pair{rank, display::kStdout};
  if (suffix == ".err") return std::pair{rank, display::kStderr};
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
