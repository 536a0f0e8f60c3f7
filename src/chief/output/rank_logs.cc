#include "chief/output/rank_logs.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "base/log.h"

namespace autodist::chief {
namespace {

// A longer line is shown from its file once it has ended, or, without a file, in pieces.
constexpr size_t kLongestLineKept = 1 << 20;
constexpr size_t kCopySize = 256 * 1024;

Terminal::Stream StreamOf(const v1::Output& output) {
  return output.stream() == v1::OUTPUT_STREAM_STDERR ? Terminal::kStderr : Terminal::kStdout;
}

}  // namespace

Result<std::shared_ptr<RankLogs>> RankLogs::Create(const v1::LaunchPlan& plan,
                                                   const std::string& folder, Prefixes prefixes,
                                                   std::optional<uint32_t> raw) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return ErrnoError(error.value(), "making the folder " + folder);
  std::shared_ptr<RankLogs> logs(new RankLogs(prefixes, raw));
  for (const v1::NodePlan& node : plan.nodes()) {
    for (const v1::RankPlan& planned : node.ranks()) {
      const std::string number = std::to_string(planned.rank());
      Rank& rank = logs->ranks_
                       .try_emplace(planned.rank(), Rank{"[" + node.address() + ":" + number + "] ",
                                                         {},
                                                         LastWords(plan.working_directory())})
                       .first->second;
      for (const auto& [stream, suffix] : {std::pair{0u, ".out"}, std::pair{1u, ".err"}}) {
        const std::string path = folder + "/rank-" + number + suffix;
        rank.sinks[stream].file.Reset(
            open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
        if (!rank.sinks[stream].file.valid()) return ErrnoError(errno, "log file " + path);
      }
    }
  }
  return logs;
}

void RankLogs::Take(const v1::Output& output, Terminal& terminal) {
  const auto found = ranks_.find(output.rank());
  if (found == ranks_.end()) return;
  Rank& rank = found->second;
  const Terminal::Stream stream = StreamOf(output);
  std::string_view data = output.data();
  WriteFile(output.rank(), rank.sinks[stream], data);
  if (raw_ == output.rank()) terminal.Append(stream, data);
  while (!data.empty()) {
    const size_t newline = data.find('\n');
    AddToLine(rank, stream, data.substr(0, newline), newline != std::string_view::npos, terminal);
    data.remove_prefix(std::min(newline, data.size() - 1) + 1);
  }
  if (output.lost() > 0) {
    Warn(std::to_string(output.lost()) + " bytes that rank " + std::to_string(output.rank()) +
         " wrote are lost: " + output.lost_because());
  }
}

void RankLogs::WriteFile(uint32_t number, Sink& sink, std::string_view data) {
  if (sink.cut_short) return;
  const Status written = base::WriteAll(sink.file.get(), data, base::Deadline::Never());
  sink.size += data.size();
  if (written.ok()) return;
  Warn("log of rank " + std::to_string(number) + " is cut short: " + Message(written));
  sink.cut_short = true;
}

void RankLogs::AddToLine(Rank& rank, Terminal::Stream stream, std::string_view data, bool ends,
                         Terminal& terminal) {
  Sink& sink = rank.sinks[stream];
  if (!sink.long_line) {
    sink.line += data;
    if (sink.line.size() > kLongestLineKept && !ends) {
      if (sink.cut_short) {
        EndLine(rank, stream, terminal);
      } else {
        // `data` ends the piece that was written last.
        sink.long_line = sink.size - sink.line.size();
        sink.line.resize(LastWords::kLongestLine);
      }
    }
  }
  if (ends) EndLine(rank, stream, terminal);
}

void RankLogs::ShowLine(const Rank& rank, Terminal::Stream stream, Terminal& terminal) const {
  const Sink& sink = rank.sinks[stream];
  if (prefixes_ == Prefixes::kAll || stream == Terminal::kStderr) {
    terminal.Append(stream, rank.prefix);
  }
  if (sink.long_line) {
    CopyLongLine(sink, stream, terminal);
  } else {
    terminal.Append(stream, sink.line);
  }
  terminal.Append(stream, "\n");
}

void RankLogs::EndLine(Rank& rank, Terminal::Stream stream, Terminal& terminal) {
  Sink& sink = rank.sinks[stream];
  if (!raw_) ShowLine(rank, stream, terminal);
  sink.long_line.reset();
  {
    const std::lock_guard lock(lines_mutex_);
    rank.last_words.Take(stream, sink.line);
  }
  sink.line.clear();
}

void RankLogs::CopyLongLine(const Sink& sink, Terminal::Stream stream, Terminal& terminal) {
  std::string piece(kCopySize, '\0');
  for (uint64_t at = *sink.long_line;; at += piece.size()) {
    piece.resize(kCopySize);
    const ssize_t got = pread(sink.file.get(), piece.data(), piece.size(), static_cast<off_t>(at));
    if (got <= 0) return;
    piece.resize(static_cast<size_t>(got));
    const size_t newline = piece.find('\n');
    terminal.Append(stream, std::string_view(piece).substr(0, newline));
    terminal.Flush(stream);
    if (newline != std::string::npos) return;
  }
}

void RankLogs::EndLines(Terminal& terminal) {
  for (auto& [number, rank] : ranks_) {
    for (const Terminal::Stream stream : {Terminal::kStdout, Terminal::kStderr}) {
      if (!rank.sinks[stream].line.empty()) EndLine(rank, stream, terminal);
    }
  }
}

void RankLogs::Warn(const std::string& what) {
  base::Log(base::LogLevel::kWarning, what);
  warnings_.push_back(what);
}

LastWords RankLogs::LastWordsOf(uint32_t rank) const {
  const std::lock_guard lock(lines_mutex_);
  return ranks_.at(rank).last_words;
}

}  // namespace autodist::chief
