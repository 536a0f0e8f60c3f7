#include "control/log_reader.h"

#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <optional>
#include <set>
#include <vector>

#include "display/rank_lines.h"

namespace autodist::control {
namespace {

constexpr size_t kPiece = 65536;  // bytes; also how far back the last lines are looked for

// "rank-12.err" → 12, kErr.
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

uint64_t SizeOf(int fd) {
  struct stat info;
  return fstat(fd, &info) == 0 ? static_cast<uint64_t>(info.st_size) : 0;
}

base::UniqueFd OpenToRead(const std::string& path) {
  return base::UniqueFd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
}

}  // namespace

std::map<LogReader::File, uint64_t> LogReader::FilesThere() const {
  std::map<File, uint64_t> files;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder_, error)) {
    if (const auto file = ParseName(entry.path().filename().string())) files[*file] = 0;
  }
  return files;
}

void LogReader::SkipToLastLines(size_t lines) {
  read_ = FilesThere();
  std::string text;
  for (auto& [file, offset] : read_) {
    const base::UniqueFd fd = OpenToRead(display::LogPath(folder_, file.first, file.second));
    if (!fd.valid()) continue;
    const uint64_t size = SizeOf(fd.get());
    const uint64_t begin = size - std::min<uint64_t>(size, kPiece);
    text.resize(kPiece);
    const ssize_t got = pread(fd.get(), text.data(), text.size(), static_cast<off_t>(begin));
    text.resize(static_cast<size_t>(std::max<ssize_t>(got, 0)));
    // The last byte ends the last line or is part of it. Where no line begins in the piece, what
    // is shown begins in the middle of one.
    size_t start = lines == 0 ? text.size() : 0;
    size_t seen = 0;
    for (size_t i = text.size(); lines > 0 && start == 0 && i > 1; --i) {
      if (text[i - 2] == '\n' && ++seen == lines) start = i - 1;
    }
    offset = begin + start;
  }
}

void LogReader::ReadAll(const ShowBytes& show) {
  for (const auto& [file, unused] : FilesThere()) Read(file, show);
}

void LogReader::ReadFile(std::string_view name, const ShowBytes& show) {
  if (const auto file = ParseName(name)) Read(*file, show);
}

// Only what is there now: a rank that never stops writing must not keep the others from being read.
void LogReader::Read(File file, const ShowBytes& show) {
  const base::UniqueFd fd = OpenToRead(display::LogPath(folder_, file.first, file.second));
  if (!fd.valid()) return;
  uint64_t& offset = read_[file];
  const uint64_t end = SizeOf(fd.get());
  std::array<char, kPiece> piece;
  while (offset < end) {
    const size_t wanted = std::min<uint64_t>(piece.size(), end - offset);
    const ssize_t got = pread(fd.get(), piece.data(), wanted, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return;
    offset += static_cast<uint64_t>(got);
    show(file.first, file.second, {piece.data(), static_cast<size_t>(got)});
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

void LogWatch::ReadNew(LogReader& logs, const ShowBytes& show) {
  std::set<std::string, std::less<>> names;
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
    // A rank that never stops writing makes new events for ever.
    if (static_cast<size_t>(got) < buffer.size() / 2) break;
  }
  if (all) {
    logs.ReadAll(show);
    return;
  }
  for (const std::string& name : names) logs.ReadFile(name, show);
}

}  // namespace autodist::control
