#include "logs/log_printer.h"

#include <algorithm>

namespace autodist::logs {
namespace {

using Clock = std::chrono::steady_clock;

}  // namespace

std::vector<display::Process> ProcessesOf(const v1::JobStatus& job) {
  std::vector<display::Process> processes;
  for (const v1::NodeStatus& node : job.nodes()) {
    for (uint32_t i = 0; i < node.ranks(); ++i) {
      processes.push_back({node.first_rank() + i, i, node.address(), false});
    }
    for (const uint32_t number : node.auxiliary()) {
      processes.push_back({number, 0, node.address(), true});
    }
  }
  return processes;
}

void LogPrinter::SetJob(const v1::JobStatus& job) {
  Finish();
  lines_ = std::make_unique<display::RankLines>(ProcessesOf(job), view_, job.attempt_folder());
}

void LogPrinter::Take(const display::Output& output) {
  took_any_ |= !output.bytes.empty();
  lines_->Take(output, true, Clock::now(), screen_);
}

void LogPrinter::Replay(const display::Output& output, bool last) {
  display::Time then{};
  if (output.time) then += output.time->time_since_epoch();
  took_any_ |= !output.bytes.empty();
  lines_->Settle(then, screen_);
  lines_->Take(output, true, then, screen_);
  if (last) lines_->EndLinesOf(output.rank, output.stream, screen_);
}

void LogPrinter::Flush() {
  const auto now = Clock::now();
  if (lines_) lines_->Update(now, screen_);
  screen_.Update(now);
}

std::optional<display::Time> LogPrinter::Due() const {
  const auto lines = lines_ ? lines_->Due(screen_) : std::nullopt;
  const auto screen = screen_.Due();
  return lines && screen ? std::min(lines, screen) : (lines ? lines : screen);
}

void LogPrinter::Finish() {
  if (lines_) lines_->EndLines(screen_);
  screen_.Clear();
}

}  // namespace autodist::logs
