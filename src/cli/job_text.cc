#include "cli/job_text.h"

#include <absl/strings/ascii.h>

#include <algorithm>
#include <chrono>
#include <ctime>

#include "base/quantity.h"
#include "base/shell_quote.h"
#include "base/utf8.h"
#include "base/wall_clock.h"

namespace autodist::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Row = std::vector<std::string>;

// "JOB_PHASE_RUNNING" → "running".
std::string PhaseText(v1::JobPhase phase) {
  return absl::AsciiStrToLower(v1::JobPhase_Name(phase).substr(sizeof "JOB_PHASE_" - 1));
}

std::string PhaseText(v1::NodePhase phase) {
  return absl::AsciiStrToLower(v1::NodePhase_Name(phase).substr(sizeof "NODE_PHASE_" - 1));
}

std::string TimeText(int64_t ms) {
  if (ms == 0) return "-";
  return base::LocalTime("%F %T", static_cast<std::time_t>(ms / 1000));
}

// "12 s", "2 min 31 s", "-": of one that crashed nobody knows when.
std::string ElapsedText(const v1::JobStatus& job, int64_t now_ms) {
  const bool ended = job.phase() == v1::JOB_PHASE_ENDED;
  if (job.started_ms() == 0 || (job.chief_gone() && !ended)) return "-";
  const auto elapsed = milliseconds((ended ? job.ended_ms() : now_ms) - job.started_ms());
  return base::Elapsed(std::chrono::floor<seconds>(std::max(elapsed, milliseconds(0))));
}

// "now", "3 s ago", "12 min ago", "2 d ago", "-".
std::string AgoText(int64_t ms, int64_t now_ms) {
  using Days = std::chrono::duration<int64_t, std::ratio<86'400>>;
  if (ms == 0) return "-";
  const auto time = milliseconds(now_ms - ms);
  if (time < seconds(1)) return "now";
  const auto ago = [&](auto unit, const char* name) {
    return std::to_string(std::chrono::floor<decltype(unit)>(time).count()) + " " + name + " ago";
  };
  if (time < std::chrono::minutes(1)) return ago(seconds(), "s");
  if (time < std::chrono::hours(1)) return ago(std::chrono::minutes(), "min");
  return time < Days(1) ? ago(std::chrono::hours(), "h") : ago(Days(), "d");
}

// "1 of 3"; "-" where there is none, and none may come.
std::string RestartsText(const v1::JobStatus& job) {
  if (job.attempt() == 0 && !job.may_restart() && job.max_restarts() == 0) return "-";
  return std::to_string(job.attempt()) +
         (job.max_restarts() > 0 ? " of " + std::to_string(job.max_restarts()) : "");
}

// "3", "0-3", "-".
std::string RanksText(const v1::NodeStatus& node) {
  if (node.ranks() == 0) return "-";
  const std::string first = std::to_string(node.first_rank());
  return node.ranks() == 1 ? first
                           : first + "-" + std::to_string(node.first_rank() + node.ranks() - 1);
}

std::string NameText(const v1::JobStatus& job) {
  return job.name().empty() ? "-" : base::Printable(job.name());
}

std::string CommandText(const v1::JobStatus& job) {
  return base::Printable(base::ShellLine({job.command().begin(), job.command().end()}));
}

// The last column is as wide as it is.
std::string Table(const std::vector<Row>& rows) {
  std::vector<size_t> widths(rows.front().size(), 0);
  for (const Row& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const Row& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      line += row[i];
      if (i + 1 < row.size()) line.append(widths[i] - row[i].size() + 2, ' ');
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

}  // namespace

std::string StateText(const v1::JobStatus& job) {
  if (job.phase() == v1::JOB_PHASE_ENDED) return "ended " + std::to_string(job.exit_code());
  return job.chief_gone() ? "crashed" : PhaseText(job.phase());
}

std::string JobTable(const std::vector<v1::JobStatus>& jobs, int64_t now_ms) {
  std::vector<Row> rows = {
      {"JOB", "NAME", "STATE", "NODES", "RANKS", "ELAPSED", "LAST OUTPUT", "RESTARTS", "COMMAND"}};
  for (const v1::JobStatus& job : jobs) {
    rows.push_back({job.job_id(), NameText(job), StateText(job), std::to_string(job.nodes_size()),
                    std::to_string(job.world_size()), ElapsedText(job, now_ms),
                    AgoText(job.last_output_ms(), now_ms), RestartsText(job), CommandText(job)});
  }
  return Table(rows);
}

std::string JobText(const v1::JobStatus& job, int64_t now_ms, const JobDetails& details) {
  std::vector<Row> facts = {{"job", job.job_id()},
                            {"state", StateText(job) + (details.stalled ? ", stalled" : "")}};
  const auto fact = [&](const std::string& name, const std::string& value) {
    if (!value.empty()) facts.push_back({name, base::Printable(value)});
  };
  fact("name", job.name());
  fact("command", CommandText(job));
  fact("folder", job.working_directory());
  fact("host", job.host());
  fact("process", job.chief_pid() == 0 ? "" : std::to_string(job.chief_pid()));
  fact("started", TimeText(job.started_ms()));
  if (job.ended_ms() != 0) fact("ended", TimeText(job.ended_ms()));
  fact("elapsed", ElapsedText(job, now_ms));
  fact("last output", AgoText(job.last_output_ms(), now_ms));
  for (const auto& [name, value] : details.rows) fact(name, value);
  fact("ranks", std::to_string(job.world_size()));
  if (const std::string restarts = RestartsText(job); restarts != "-") fact("restarts", restarts);
  fact("logs", job.log_folder());
  if (job.phase() == v1::JOB_PHASE_ENDED) fact("exit code", std::to_string(job.exit_code()));
  std::string text = Table(facts);

  if (job.nodes_size() > 0) {
    std::vector<Row> nodes = {{"NODE", "STATE", "RANKS", "RUNNING", ""}};
    for (const v1::NodeStatus& node : job.nodes()) {
      nodes.push_back({base::Printable(node.address()), PhaseText(node.phase()), RanksText(node),
                       std::to_string(node.running_ranks()), base::Printable(node.detail())});
    }
    text += "\n" + Table(nodes);
  }
  if (job.chief_gone()) text += "\n" + CrashedText(job) + "\n";
  if (!job.report().empty()) text += "\n" + base::PrintableLines(job.report()) + "\n";
  return text;
}

std::string CrashedText(const v1::JobStatus& job) {
  return "the autodist of job " + job.job_id() +
         " is gone, and did not end the job; the nodes end its ranks by themselves when its lease "
         "has run out, and `autodist clean --spec FILE` ends what is left on them now";
}

}  // namespace autodist::cli
