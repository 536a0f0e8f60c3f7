#include "control/log_printer.h"

#include <unistd.h>

#include <algorithm>

#include "base/fd.h"

namespace autodist::control {
namespace {

// A longer line is shown in pieces.
constexpr size_t kLongestLine = 16 << 20;
constexpr size_t kMostPending = 1 << 20;

}  // namespace

void LogPrinter::SetJob(const v1::JobStatus& job) {
  Finish();
  prefixes_.clear();
  for (const v1::NodeStatus& node : job.nodes()) {
    const auto add = [&](uint32_t rank) {
      prefixes_[rank] = "[" + node.address() + ":" + std::to_string(rank) + "] ";
    };
    for (uint32_t i = 0; i < node.ranks(); ++i) add(node.first_rank() + i);
    for (const uint32_t process : node.auxiliary()) add(process);
  }
}

void LogPrinter::Take(uint32_t rank, RankStream stream, std::string_view bytes) {
  if (!options_.ranks.empty() && !options_.ranks.contains(rank)) return;
  if (options_.only_stderr && stream != RankStream::kErr) return;
  if (options_.raw) {
    pending_[!options_.only_stderr && stream == RankStream::kErr ? 1 : 0] += bytes;
    Flush();
    return;
  }
  std::string& line = lines_[{rank, stream}];
  while (!bytes.empty()) {
    const size_t newline = bytes.find('\n');
    line += bytes.substr(0, newline);
    bytes.remove_prefix(std::min(newline, bytes.size() - 1) + 1);
    if (newline != std::string_view::npos || line.size() > kLongestLine) {
      EndLine(rank, stream, line);
    }
  }
  if (std::max(pending_[0].size(), pending_[1].size()) > kMostPending) Flush();
}

void LogPrinter::EndLine(uint32_t rank, RankStream stream, std::string& line) {
  std::string& pending = pending_[!options_.only_stderr && stream == RankStream::kErr ? 1 : 0];
  const auto prefix = prefixes_.find(rank);
  pending += prefix == prefixes_.end() ? "[?:" + std::to_string(rank) + "] " : prefix->second;
  pending.append(line).push_back('\n');
  line.clear();
}

void LogPrinter::Flush() {
  for (size_t i = 0; i < pending_.size(); ++i) {
    // Where it is closed, nothing is lost: the files have it all.
    (void)base::WriteAll(i == 0 ? STDOUT_FILENO : STDERR_FILENO, pending_[i],
                         base::Deadline::Never());
    pending_[i].clear();
  }
}

void LogPrinter::Finish() {
  for (auto& [source, line] : lines_) {
    if (!line.empty()) EndLine(source.first, source.second, line);
  }
  Flush();
}

}  // namespace autodist::control
