#include "chief/output.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "base/log.h"

namespace autodist::chief {
namespace {

constexpr size_t kLastLines = 10;
constexpr size_t kLastLineLength = 400;
// A line that never ends is shown in pieces of this size; the file has it whole.
constexpr size_t kLongestLine = 16 << 20;

size_t Index(v1::OutputStream stream) { return stream == v1::OUTPUT_STREAM_STDERR ? 1 : 0; }

}  // namespace

Result<std::unique_ptr<OutputWriter>> OutputWriter::Create(const v1::LaunchPlan& plan,
                                                           const std::string& folder,
                                                           Written written) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error)
    return Error(StatusCode::kPermissionDenied, "log folder " + folder + ": " + error.message());
  std::filesystem::permissions(folder, std::filesystem::perms::owner_all, error);

  std::unique_ptr<OutputWriter> writer(new OutputWriter(std::move(written)));
  for (const v1::NodePlan& node : plan.nodes()) {
    for (const v1::RankPlan& planned : node.ranks()) {
      const std::string number = std::to_string(planned.rank());
      Rank& rank = writer->ranks_[planned.rank()];
      rank.node_rank = node.node_rank();
      rank.prefix = "[" + node.address() + ":" + number + "] ";
      for (const auto& [stream, suffix] : {std::pair{0u, ".out"}, std::pair{1u, ".err"}}) {
        const std::string path = folder + "/rank-" + number + suffix;
        rank.sinks[stream].file.Reset(
            open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
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
      changed_.wait(lock, [this] { return !queue_.empty() || !messages_.empty() || finishing_; });
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
      v1::OutputAck ack;
      ack.set_rank(output.rank());
      ack.set_stream(output.stream());
      ack.set_offset(output.offset() + output.data().size());
      written_(ranks_.at(output.rank()).node_rank, ack);
    }
    if (last) return;
  }
}

void OutputWriter::Take(const v1::Output& output) {
  const auto found = ranks_.find(output.rank());
  if (found == ranks_.end()) return;
  Rank& rank = found->second;
  const size_t stream = Index(output.stream());
  Sink& sink = rank.sinks[stream];
  std::string_view data = output.data();
  if (sink.file.valid()) {
    const Status written = base::WriteAll(sink.file.get(), data, base::Deadline::Never());
    if (!written.ok()) {
      base::Log(base::LogLevel::kError, "log of rank " + std::to_string(output.rank()) +
                                            " is cut short: " + Message(written));
      sink.file.Reset();
    }
  }
  while (!data.empty()) {
    const size_t newline = data.find('\n');
    sink.line += data.substr(0, newline);
    data.remove_prefix(std::min(newline, data.size() - 1) + 1);
    if (newline != std::string_view::npos || sink.line.size() > kLongestLine) EndLine(rank, stream);
  }
}

void OutputWriter::EndLine(Rank& rank, size_t stream) {
  std::string& line = rank.sinks[stream].line;
  terminal_[stream].append(rank.prefix).append(line).push_back('\n');
  rank.last_lines.push_back(line.substr(0, kLastLineLength));
  if (rank.last_lines.size() > kLastLines) rank.last_lines.pop_front();
  line.clear();
}

void OutputWriter::WriteTerminal() {
  for (size_t stream = 0; stream < terminal_.size(); ++stream) {
    const int fd = stream == 0 ? STDOUT_FILENO : STDERR_FILENO;
    if (!terminal_closed_[stream] &&
        !base::WriteAll(fd, terminal_[stream], base::Deadline::Never()).ok()) {
      terminal_closed_[stream] = true;
      base::Log(base::LogLevel::kWarning,
                std::string(stream == 0 ? "stdout" : "stderr") +
                    " is closed; the job goes on, and its output is in the log files");
    }
    terminal_[stream].clear();
  }
}

std::vector<std::string> OutputWriter::LastLines(uint32_t rank) const {
  const auto& lines = ranks_.at(rank).last_lines;
  return {lines.begin(), lines.end()};
}

}  // namespace autodist::chief
