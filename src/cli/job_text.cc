#include "cli/job_text.h"

#include <absl/strings/ascii.h>

#include <algorithm>
#include <ctime>

#include "base/quantity.h"
#include "base/shell_quote.h"
#include "base/utf8.h"
#include "base/wall_clock.h"

namespace autodist::cli {
namespace {

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

// "3", "0-3", "-".
std::string RanksText(const v1::NodeStatus& node) {
  if (node.ranks() == 0) return "-";
  const std::string first = std::to_string(node.first_rank());
  return node.ranks() == 1 ? first
                           : first + "-" + std::to_string(node.first_rank() + node.ranks() - 1);
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

std::string JobTable(const std::vector<v1::JobStatus>& jobs) {
  std::vector<Row> rows = {{"JOB", "STATE", "NODES", "RANKS", "STARTED", "COMMAND"}};
  for (const v1::JobStatus& job : jobs) {
    rows.push_back({job.job_id(), StateText(job), std::to_string(job.nodes_size()),
                    std::to_string(job.world_size()), TimeText(job.started_ms()),
                    CommandText(job)});
  }
  return Table(rows);
}

std::string JobText(const v1::JobStatus& job) {
  std::vector<Row> facts = {{"job", job.job_id()}, {"state", StateText(job)}};
  const auto fact = [&](const std::string& name, const std::string& value) {
    if (!value.empty()) facts.push_back({name, base::Printable(value)});
  };
  fact("command", CommandText(job));
  fact("folder", job.working_directory());
  fact("host", job.host());
  fact("process", job.chief_pid() == 0 ? "" : std::to_string(job.chief_pid()));
  fact("started", TimeText(job.started_ms()));
  if (job.ended_ms() != 0) fact("ended", TimeText(job.ended_ms()));
  fact("ranks", std::to_string(job.world_size()));
  if (job.max_restarts() > 0) {
    fact("restarts", std::to_string(job.attempt()) + " of " + std::to_string(job.max_restarts()));
  }
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
