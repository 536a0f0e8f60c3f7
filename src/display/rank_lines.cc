#include "display/rank_lines.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "base/fd.h"
#include "base/json_quote.h"
#include "base/quantity.h"
#include "base/utf8.h"

namespace autodist::display {
namespace {

// Formats output of ranks as lines of JSON, for `run --json`.
// {"type":"output","time_ms":...,"rank":3,"node":"gpu1","stream":"stdout","text":"..."}, without a
// line feed. Bytes that are not UTF-8 become '?'; an unknown time is null.
std::string OutputAsJson(const Process& process, Stream stream, std::optional<base::WallTime> time,
                         std::string_view text) {
  using std::chrono::milliseconds;
  const auto since_1970 = [](base::WallTime at) {
    return std::chrono::duration_cast<milliseconds>(at.time_since_epoch()).count();
  };
  return "{\"type\":\"output\",\"time_ms\":" + (time ? std::to_string(since_1970(*time)) : "null") +
         ",\"rank\":" + std::to_string(process.rank) +
         ",\"node\":" + base::JsonQuoted(base::ToUtf8(process.node)) + ",\"stream\":\"" +
         (stream == kStdout ? "stdout" : "stderr") +
         "\",\"text\":" + base::JsonQuoted(base::ToUtf8(text)) + "}";
}

using std::chrono::milliseconds;

constexpr milliseconds kUpdateInterval{100};
// Delay until an unchanged bar may become a line: longer than LineReader waits.
constexpr milliseconds kSettling{500};
// Interval of bars without a terminal.
constexpr std::chrono::seconds kReportInterval{30};
// Delay until an incomplete line is shown, because most arrive completely within it.
constexpr milliseconds kHalfLineAfter{300};
constexpr std::string_view kLongLine = "(a line of more than 1 MiB, which the log file has)";
// Max bytes of a rank's earlier stderr that are shown when it has failed.
constexpr size_t kLastErrors = 8 * 1024;
constexpr size_t kMaxKindsOfBars = 1000;

constexpr size_t kPiece = 256 * 1024;

base::UniqueFd OpenToRead(const std::string& path) {
  return base::UniqueFd(open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY));
}

// Reads at most the size of `text`.
void ReadInto(const base::UniqueFd& file, uint64_t from, std::string& text) {
  const ssize_t got = pread(file.get(), text.data(), text.size(), static_cast<off_t>(from));
  text.resize(static_cast<size_t>(std::max<ssize_t>(got, 0)));
}

}  // namespace

RankLines::RankLines(std::vector<Process> processes, View view, std::string folder, OnLine on_line,
                     OnBar on_bar)
    : view_(std::move(view)),
      folder_(std::move(folder)),
      on_line_(std::move(on_line)),
      on_bar_(std::move(on_bar)),
      looks_{StyleOf(kStdout, view_.colour), StyleOf(kStderr, view_.colour)},
      prefixes_(view_.prefix, processes, looks_, view_.time_stamps) {
  for (Process& process : processes) {
    Rank& rank = ranks_[process.rank];
    rank.shown = rank.errors_shown = view_.show.Shows(process);
    rank.process = std::move(process);
  }
}

RankLines::Rank& RankLines::RankOf(uint32_t number) {
  const auto [found, is_new] = ranks_.try_emplace(number);
  Rank& rank = found->second;
  if (is_new) {
    rank.process.rank = number;
    rank.shown = rank.errors_shown = view_.show.Shows(rank.process);
  }
  return rank;
}

bool RankLines::IsShown(const Rank& rank, Stream stream) const {
  for (const auto& only : {view_.raw, view_.at_terminal}) {
    if (only && *only != rank.process.rank) return false;
  }
  if (stream == kStdout) return rank.shown && !view_.only_stderr;
  return rank.errors_shown;
}

bool RankLines::IsRaw(const Rank& rank, Stream stream) const {
  const uint32_t number = rank.process.rank;
  return view_.at_terminal == number || (view_.raw == number && !looks_[Target(stream)].terminal);
}

void RankLines::Take(const Output& output, bool in_file, Time now, Screen& screen) {
  const auto& [number, stream, bytes, time, offset] = output;
  Rank& rank = RankOf(number);
  const bool shown = IsShown(rank, stream);
  const bool raw = IsRaw(rank, stream);
  if (shown && raw) screen.Append(Target(stream), bytes);
  if (!on_line_ && (raw || !shown)) return;
  // A bar that was finished comes before later output to the other stream.
  const Stream other = stream == kStdout ? kStderr : kStdout;
  if (rank.readers[other].HasBars()) {
    rank.readers[other].EndAbove([&](const Line& line) { EndLine(rank, other, line, screen); });
  }
  rank.written[stream] = time;
  LineReader& reader = rank.readers[stream];
  if (screen.has_terminal() && looks_[Target(stream)].terminal) reader.FoldSteps();
  if (offset) reader.SkipTo(*offset);
  reader.Take(bytes, !in_file, now,
              [&](const Line& line) { EndLine(rank, output.stream, line, screen); });
  NoteHalfLine({number, stream}, rank);
  if (!reader.HasBars()) return;
  changed_ = now;
  rank.changed[stream] = rank.unread[stream] = true;
  for (const std::string_view bar : reader.Bars()) (void)IsFirstOfItsKind(number, bar);
  if (with_bars_.insert({number, stream}).second) rank.reported[stream] = now;
}

void RankLines::EndLine(const Rank& rank, Stream stream, const Line& line, Screen& screen) {
  if (on_line_) on_line_(rank.process.rank, stream, line.text);
  Show(rank, stream, line, screen);
}

void RankLines::Show(const Rank& rank, Stream stream, const Line& line, Screen& screen) {
  const uint32_t number = rank.process.rank;
  if (!ShowsLinesOf(rank, stream)) return;
  if (view_.json) {
    const std::string_view text = line.long_from ? kLongLine : line.text;
    screen.Append(kStdout, OutputAsJson(rank.process, stream, rank.written[stream], text) + "\n");
    return;
  }
  if (line.bar && !IsFirstOfItsKind(number, line.text)) return;
  if (to_skip_ > 0) {
    --to_skip_;
    return;
  }
  const Stream target = Target(stream);
  if (!view_.plain_stdout || stream == kStderr) {
    screen.Append(target, prefixes_.Of(number, target, rank.written[stream]));
  }
  if (line.long_from) {
    ReadPieces(LogPath(folder_, number, stream), *line.long_from, [&](std::string_view piece) {
      const size_t end = piece.find('\n');
      AppendText(target, piece.substr(0, end), screen);
      return end == piece.npos;
    });
  } else {
    AppendText(target, line.text, screen);
  }
  screen.Append(target, "\n");
}

void RankLines::AppendText(Stream target, std::string_view text, Screen& screen) const {
  if (looks_[target].terminal) {
    screen.Append(target, Harmless(text));
  } else {
    screen.Append(target, text);
  }
}

void RankLines::EndLines(Screen& screen) {
  for (const auto& [number, rank] : ranks_) {
    for (const Stream stream : {kStdout, kStderr}) EndLinesOf(number, stream, screen);
  }
  screen.SetBars({});
}

void RankLines::EndLinesOf(uint32_t number, Stream stream, Screen& screen) {
  Rank& rank = RankOf(number);
  rank.readers[stream].End([&](const Line& line) { EndLine(rank, stream, line, screen); });
  with_bars_.erase({number, stream});
  NoteHalfLine({number, stream}, rank);
}

void RankLines::NoteHalfLine(Source source, Rank& rank) {
  const bool half = rank.readers[source.second].HasHalfLine();
  if (std::exchange(rank.half[source.second], half) == half) return;
  if (half) {
    half_lines_.insert(source);
  } else {
    half_lines_.erase(source);
  }
}

// Shows a prompt or dots in place of a bar, so that the line can still grow.
void RankLines::HoldHalfLines(Time now) {
  for (auto source = half_lines_.begin(); source != half_lines_.end();) {
    const auto [number, stream] = *source;
    Rank& rank = ranks_.at(number);
    LineReader& reader = rank.readers[stream];
    if (now < reader.changed() + kHalfLineAfter) {
      ++source;
      continue;
    }
    reader.HoldHalfLine();
    rank.half[stream] = false;
    source = half_lines_.erase(source);
    changed_ = now;
    rank.changed[stream] = rank.unread[stream] = true;
    rank.reported[stream] = now;
    with_bars_.insert({number, stream});
    for (const std::string_view text : reader.Bars()) (void)IsFirstOfItsKind(number, text);
  }
}

void RankLines::ShowErrorsOf(uint32_t number, Screen& screen) {
  Rank& rank = RankOf(number);
  if (std::exchange(rank.errors_shown, true)) return;
  const auto end = ReadEnd(LogPath(folder_, number, kStderr), kLastErrors);
  if (!end) return;
  std::string_view lines = end->text;
  if (end->begin > 0) lines.remove_prefix(std::min(lines.find('\n'), lines.size() - 1) + 1);
  // An incomplete line is shown when it is complete.
  lines = lines.substr(0, lines.rfind('\n') + 1);
  LineReader reader;
  reader.Take(lines, true, Time{}, [&](const Line& line) { Show(rank, kStderr, line, screen); });
}

// Most ranks show the same bar, so one is enough.
bool RankLines::IsFirstOfItsKind(uint32_t rank, std::string_view bar) {
  if (!view_.show.all() || view_.each_bar) return true;
  std::string label = BarLabel(bar);
  const auto found = first_of_kind_.find(label);
  if (found == first_of_kind_.end()) {
    if (first_of_kind_.size() == kMaxKindsOfBars) first_of_kind_.clear();
    first_of_kind_.emplace(std::move(label), rank);
    return true;
  }
  found->second = std::min(found->second, rank);
  return found->second == rank;
}

void RankLines::Update(Time now, Screen& screen) {
  if (!view_.json) HoldHalfLines(now);
  if (with_bars_.empty() || now < updated_ + kUpdateInterval) return;
  Settle(now, screen);
  if (view_.json) return;
  if (screen.has_terminal()) {
    screen.SetBars(BarRows(screen.Room()));
  } else {
    ReportBars(now, screen);
  }
}

void RankLines::Settle(Time now, Screen& screen) {
  if (with_bars_.empty() || now < updated_ + kUpdateInterval) return;
  updated_ = now;
  for (auto source = with_bars_.begin(); source != with_bars_.end();) {
    const auto [number, stream] = *source;
    Rank& rank = ranks_.at(number);
    LineReader& reader = rank.readers[stream];
    if (std::exchange(rank.unread[stream], false) && on_bar_) {
      const bool half = reader.HoldsHalfLine();
      for (const std::string_view bar : reader.Bars()) on_bar_(number, stream, bar, half);
    }
    reader.Settle(now,
                  [&, stream = stream](const Line& line) { EndLine(rank, stream, line, screen); });
    source = reader.HasBars() ? std::next(source) : with_bars_.erase(source);
  }
}

// All rows of all bars or, if they do not fit, the last row of each.
std::vector<std::string> RankLines::BarRows(size_t room) {
  std::vector<std::string> rows;
  std::vector<std::string> last_rows;
  for (const auto& [number, stream] : with_bars_) {
    const Rank& rank = ranks_.at(number);
    if (!ShowsLinesOf(rank, stream)) continue;
    const size_t before = rows.size();
    for (const std::string_view bar : rank.readers[stream].Bars()) {
      if (!IsFirstOfItsKind(number, bar)) continue;
      const auto prefix = prefixes_.Of(number, Target(stream), rank.written[stream]);
      rows.push_back(std::string(prefix).append(bar));
    }
    if (rows.size() > before) last_rows.push_back(rows.back());
  }
  if (rows.size() <= room) return rows;
  if (last_rows.size() > room) {
    const size_t others = last_rows.size() - room + 1;
    last_rows.resize(room - 1);
    last_rows.push_back("... and " + base::Count(others, "bar") + " more; see --show");
  }
  return last_rows;
}

void RankLines::ReportBars(Time now, Screen& screen) {
  for (const auto& [number, stream] : with_bars_) {
    Rank& rank = ranks_.at(number);
    if (!rank.changed[stream] || now < rank.reported[stream] + kReportInterval) continue;
    rank.reported[stream] = now;
    rank.changed[stream] = false;
    if (!ShowsLinesOf(rank, stream)) continue;
    for (const std::string_view bar : rank.readers[stream].Bars()) {
      if (!IsFirstOfItsKind(number, bar)) continue;
      const Stream target = Target(stream);
      screen.Append(target, prefixes_.Of(number, target, rank.written[stream]));
      AppendText(target, bar, screen);  // it may be a terminal that cannot draw
      screen.Append(target, "\n");
    }
  }
}

std::optional<Time> RankLines::Due(const Screen& screen) const {
  std::optional<Time> due = BarsDue(screen);
  if (view_.json) return due;
  for (const auto& [number, stream] : half_lines_) {
    const Time at = ranks_.at(number).readers[stream].changed() + kHalfLineAfter;
    due = due ? std::min(*due, at) : at;
  }
  return due;
}

std::optional<Time> RankLines::BarsDue(const Screen& screen) const {
  if (with_bars_.empty()) return std::nullopt;
  if (updated_ < changed_ + kSettling) return updated_ + kUpdateInterval;
  if (screen.has_terminal() || view_.json) return std::nullopt;
  std::optional<Time> due;
  for (const auto& [number, stream] : with_bars_) {
    const Rank& rank = ranks_.at(number);
    if (!rank.changed[stream]) continue;
    const Time at = rank.reported[stream] + kReportInterval;
    due = due ? std::min(*due, at) : at;
  }
  return due;
}

std::string LogName(uint32_t rank, Stream stream) {
  return "rank-" + std::to_string(rank) + (stream == kStdout ? ".out" : ".err");
}

std::string LogPath(const std::string& folder, uint32_t rank, Stream stream) {
  return folder + "/" + LogName(rank, stream);
}

void ReadPieces(const std::string& path, uint64_t from,
                const std::function<bool(std::string_view piece)>& take) {
  const base::UniqueFd file = OpenToRead(path);
  std::string piece;
  do {
    from += piece.size();
    piece.resize(kPiece);
    ReadInto(file, from, piece);
  } while (!piece.empty() && take(piece));
}

std::optional<FileEnd> ReadEnd(const std::string& path, size_t most) {
  const base::UniqueFd file = OpenToRead(path);
  struct stat info {};
  if (!file.valid() || fstat(file.get(), &info) != 0) return std::nullopt;
  const auto size = static_cast<uint64_t>(info.st_size);
  FileEnd end{size - std::min<uint64_t>(size, most), std::string(most, '\0')};
  ReadInto(file, end.begin, end.text);
  return end;
}

}  // namespace autodist::display
