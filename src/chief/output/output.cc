#include "chief/output/output.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/log.h"

namespace autodist::chief {
namespace {

constexpr size_t kLastLines = 10;
constexpr size_t kLastLineLength = 400;
// A longer line is shown from its file once it has ended, or, without a file, in pieces.
constexpr size_t kLongestLineKept = 1 << 20;
constexpr size_t kCopySize = 256 * 1024;

size_t Index(v1::OutputStream stream) { return stream == v1::OUTPUT_STREAM_STDERR ? 1 : 0; }

}  // namespace

v1::OutputAck AckOf(const v1::Output& output) {
  v1::OutputAck ack;
  ack.set_rank(output.rank());
  ack.set_stream(output.stream());
  ack.set_offset(output.offset() + output.data().size() + output.lost());
  return ack;
}

Result<std::unique_ptr<OutputWriter>> OutputWriter::Create(const v1::LaunchPlan& plan,
                                                           const std::string& folder,
                                                           Prefixes prefixes, Written written) {
  std::unique_ptr<OutputWriter> writer(new OutputWriter(prefixes, std::move(written)));
  for (const v1::NodePlan& node : plan.nodes()) {
    for (const v1::RankPlan& planned : node.ranks()) {
      const std::string number = std::to_string(planned.rank());
      Rank& rank = writer->ranks_[planned.rank()];
      rank.node_rank = node.node_rank();
      rank.prefix = "[" + node.address() + ":" + number + "] ";
      for (const auto& [stream, suffix] : {std::pair{0u, ".out"}, std::pair{1u, ".err"}}) {
        const std::string path = folder + "/rank-" + number + suffix;
        rank.sinks[stream].file.Reset(
            open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
        if (!rank.sinks[stream].file.valid()) return ErrnoError(errno, "log file " + path);
      }
    }
  }
  writer->thread_ = std::thread(&OutputWriter::Run, writer.get());
  return writer;
}

OutputWriter::~OutputWriter() { Finish(); }

void OutputWriter::Write(v1::Output output) {
  const std::lock_guard lock(mutex_);
  queue_.push_back(std::move(output));
  if (queue_.size() == 1) changed_.notify_one();
}

bool OutputWriter::Busy() const {
  const std::lock_guard lock(mutex_);
  return writing_ || !queue_.empty();
}

void OutputWriter::Say(std::string message) {
  const std::lock_guard lock(mutex_);
  messages_.push_back(std::move(message));
  changed_.notify_one();
}

void OutputWriter::Finish() {
  {
    const std::lock_guard lock(mutex_);
    finishing_ = true;
    changed_.notify_one();
  }
  if (thread_.joinable()) thread_.join();
}

void OutputWriter::Run() {
  for (;;) {
    std::deque<v1::Output> taken;
    std::vector<std::string> messages;
    {
      std::unique_lock lock(mutex_);
      writing_ = false;
      changed_.wait(lock, [this] { return !queue_.empty() || !messages_.empty() || finishing_; });
      writing_ = true;
      taken.swap(queue_);
      messages.swap(messages_);
    }
    const bool last = taken.empty() && messages.empty();
    for (const v1::Output& output : taken) Take(output);
    if (last) {
      for (auto& [number, rank] : ranks_) {
        for (size_t stream = 0; stream < rank.sinks.size(); ++stream) {
          if (!rank.sinks[stream].line.empty()) EndLine(rank, stream);
        }
      }
    }
    WriteTerminal();
    for (const std::string& message : messages) base::Log(base::LogLevel::kInfo, message);
    for (const v1::Output& output : taken) {
      written_(ranks_.at(output.rank()).node_rank, AckOf(output));
    }
    if (last) return;
  }
}

void OutputWriter::Take(const v1::Output& output) {
  const auto found = ranks_.find(output.rank());
  if (found == ranks_.end()) return;
  Rank& rank = found->second;
  const size_t stream = Index(output.stream());
  std::string_view data = output.data();
  written_bytes_ += data.size();
  WriteFile(output.rank(), rank.sinks[stream], data);
  while (!data.empty()) {
    const size_t newline = data.find('\n');
    AddToLine(rank, stream, data.substr(0, newline), newline != std::string_view::npos);
    data.remove_prefix(std::min(newline, data.size() - 1) + 1);
  }
  if (output.lost() > 0) {
    Trouble(std::to_string(output.lost()) + " bytes that rank " + std::to_string(output.rank()) +
            " wrote are lost: " + output.lost_because());
  }
}

void OutputWriter::WriteFile(uint32_t number, Sink& sink, std::string_view data) {
  if (sink.cut_short) return;
  const Status written = base::WriteAll(sink.file.get(), data, base::Deadline::Never());
  sink.size += data.size();
  if (written.ok()) return;
  Trouble("log of rank " + std::to_string(number) + " is cut short: " + Message(written));
  sink.cut_short = true;
}

void OutputWriter::AddToLine(Rank& rank, size_t stream, std::string_view data, bool ends) {
  Sink& sink = rank.sinks[stream];
  if (!sink.long_line) {
    sink.line += data;
    if (sink.line.size() > kLongestLineKept && !ends) {
      if (sink.cut_short) {
        EndLine(rank, stream);
      } else {
        // `data` ends the piece that was written last.
        sink.long_line = sink.size - sink.line.size();
        sink.line.resize(kLastLineLength);
      }
    }
  }
  if (ends) EndLine(rank, stream);
}

void OutputWriter::EndLine(Rank& rank, size_t stream) {
  Sink& sink = rank.sinks[stream];
  if (prefixes_ == Prefixes::kAll || stream == 1) terminal_[stream].append(rank.prefix);
  if (sink.long_line) {
    CopyLongLine(sink, stream);
    sink.long_line.reset();
  } else {
    terminal_[stream].append(sink.line);
  }
  terminal_[stream].push_back('\n');
  {
    const std::lock_guard lock(lines_mutex_);
    rank.last_lines.push_back(sink.line.substr(0, kLastLineLength));
    if (rank.last_lines.size() > kLastLines) rank.last_lines.pop_front();
  }
  sink.line.clear();
}

void OutputWriter::CopyLongLine(const Sink& sink, size_t stream) {
  std::string piece(kCopySize, '\0');
  for (uint64_t at = *sink.long_line;; at += piece.size()) {
    piece.resize(kCopySize);
    const ssize_t got = pread(sink.file.get(), piece.data(), piece.size(), static_cast<off_t>(at));
    if (got <= 0) return;
    piece.resize(static_cast<size_t>(got));
    const size_t newline = piece.find('\n');
    terminal_[stream].append(piece, 0, newline);
    WriteTerminal(stream, std::exchange(terminal_[stream], ""));
    if (newline != std::string::npos) return;
  }
}

void OutputWriter::WriteTerminal() {
  for (size_t stream = 0; stream < terminal_.size(); ++stream) {
    WriteTerminal(stream, terminal_[stream]);
    terminal_[stream].clear();
  }
}

void OutputWriter::WriteTerminal(size_t stream, std::string_view text) {
  if (terminal_closed_[stream] || text.empty()) return;
  const int fd = stream == 0 ? STDOUT_FILENO : STDERR_FILENO;
  const Status written = base::WriteAll(fd, text, base::Deadline::Never());
  if (written.ok()) return;
  terminal_closed_[stream] = true;
  Trouble(std::string(stream == 0 ? "stdout" : "stderr") + " takes no more (" + Message(written) +
          "); the job goes on, and its output is in the log files");
}

void OutputWriter::Trouble(const std::string& what) {
  base::Log(base::LogLevel::kWarning, what);
  troubles_.push_back(what);
}

std::vector<std::string> OutputWriter::LastLines(uint32_t rank) const {
  const std::lock_guard lock(lines_mutex_);
  const auto& lines = ranks_.at(rank).last_lines;
  return {lines.begin(), lines.end()};
}

}  // namespace autodist::chief
