#include "cli/job_text.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <set>

#include <absl/strings/ascii.h>
#include <absl/strings/str_join.h>
#include "base/home_folder.h"
#include "base/json_quote.h"
#include "base/parallel.h"
#include "base/quantity.h"
#include "base/shell_quote.h"
#include "base/split.h"
#include "base/text_table.h"
#include "base/utf8.h"
#include "base/wall_clock.h"
#include "control/job_client.h"
#include "snapshot/lookup.h"

namespace autodist::cli {
namespace {

constexpr int kMaxMetrics = 8;

// "0.51", "2.375", "1e-05", with at most this many significant digits.
std::string FigureText(double value, int digits = 4) {
  char text[32];
  std::snprintf(text, sizeof text, "%.*g", digits, value);
  return text;
}

// With two significant digits, but whole numbers are not rounded to tens.
std::string RateText(double value) {
  return FigureText(value < 10 ? value : std::round(value), value < 10 ? 2 : 9);
}

std::string StepsText(const v1::Progress& progress) {
  std::string text = "step " + base::Thousands(progress.step());
  if (progress.total() > 0) text += " of " + base::Thousands(progress.total());
  if (!progress.what().empty()) text += ", " + base::Printable(progress.what());
  if (progress.has_rate()) text += ", " + RateText(progress.rate()) + " steps/s";
  return text;
}

bool IsStepIssue(const v1::Issue& issue) {
  return issue.kind() == v1::Issue::KIND_STALLED || issue.kind() == v1::Issue::KIND_SLOW;
}

// nullopt: the job does not run, or does not answer.
std::optional<v1::JobSnapshot> AskForSnapshot(const v1::JobStatus& job) {
  const bool is_silent = job.chief_gone() || job.chief_silent();
  if (job.phase() == v1::JOB_PHASE_ENDED || is_silent) return std::nullopt;
  const auto client = control::JobClient::Connect(job.job_id());
  if (!client.ok()) return std::nullopt;
  auto snapshot = client->GetSnapshot(0);
  if (!snapshot.ok()) return std::nullopt;
  return *std::move(snapshot);
}

using std::chrono::milliseconds;
using std::chrono::seconds;
using Row = base::TextRow;

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

// "12 s", "2 min 31 s"; "-" if the end is unknown: the job crashed, or is on another machine.
std::string ElapsedText(const v1::JobStatus& job, int64_t now_ms) {
  const bool ended = job.phase() == v1::JOB_PHASE_ENDED;
  const bool unknown =
      ended ? job.ended_ms() == 0 : job.chief_gone() || job.phase() == v1::JOB_PHASE_UNSPECIFIED;
  if (job.started_ms() == 0 || unknown) return "-";
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

// "1 of 3"; "-" if the job was not restarted and cannot be.
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

// "-": unknown, as the job is on another machine.
std::string CountText(uint64_t count) { return count == 0 ? "-" : std::to_string(count); }

std::string NameText(const v1::JobStatus& job) {
  return job.name().empty() ? "-" : base::Printable(job.name());
}

std::string FolderText(const v1::JobStatus& job) {
  const std::string folder = base::ShortenHome(job.working_directory());
  return folder.empty() ? "-" : base::Printable(folder);
}

std::string CommandText(const v1::JobStatus& job) {
  return base::Printable(base::ShellLine({job.command().begin(), job.command().end()}));
}

// "24 %", "step 1200", "-".
std::string ProgressText(const v1::Progress& progress) {
  if (!progress.has_step()) return "-";
  if (progress.total() == 0) return "step " + std::to_string(progress.step());
  constexpr uint64_t kAll = 100;
  const double share = static_cast<double>(progress.step()) / static_cast<double>(progress.total());
  return std::to_string(std::min(kAll, static_cast<uint64_t>(share * kAll))) + " %";
}

// "17:30" on the same day, else "Nov 20"; "2025-11-20" in another year.
std::string StartedText(int64_t ms, int64_t now_ms) {
  if (ms == 0) return "-";
  const auto then = static_cast<std::time_t>(ms / 1000);
  const auto now = static_cast<std::time_t>(now_ms / 1000);
  const auto same = [&](const char* part) {
    return base::LocalTime(part, then) == base::LocalTime(part, now);
  };
  return base::LocalTime(same("%F") ? "%H:%M" : same("%Y") ? "%b %d" : "%F", then);
}

// The rows of `ps`, with fewer columns on a narrow terminal.
class JobRows {
 public:
  enum Narrower { kNoRestarts, kNoOutput, kNoFolder, kNoNodes, kShortIds, kNoElapsed };
  static constexpr Narrower kNarrower[] = {kNoRestarts, kNoOutput, kNoFolder,
                                           kNoNodes,    kShortIds, kNoElapsed};

  JobRows(const std::vector<v1::JobStatus>& jobs, const ProgressOfJobs& progress,
          const std::set<std::string>& stalled, int64_t now_ms)
      : jobs_(jobs), progress_(progress), stalled_(stalled), now_ms_(now_ms) {}

  void Apply(Narrower narrower) { applied_.insert(narrower); }

  std::vector<Row> Rows() const {
    std::vector<Row> rows(jobs_.size() + 1);
    const auto add = [&](const char* name, auto of) {
      rows[0].push_back(name);
      for (size_t i = 0; i < jobs_.size(); ++i) rows[i + 1].push_back(of(jobs_[i]));
    };
    const auto add_unless = [&](Narrower narrower, const char* name, auto of) {
      if (!applied_.contains(narrower)) add(name, of);
    };
    add("JOB", [&](const auto& job) { return IdText(job.job_id()); });
    add("NAME", NameText);
    add("STATE", [&](const auto& job) {
      const bool stalled = job.phase() == v1::JOB_PHASE_RUNNING && stalled_.contains(job.job_id());
      return stalled ? "stalled" : StateText(job);
    });
    if (std::ranges::any_of(jobs_, [](const auto& job) { return job.elsewhere(); })) {
      add("HOST", [](const auto& job) { return base::Printable(job.host()); });
    }
    add_unless(kNoNodes, "NODES",
               [](const auto& job) { return CountText(static_cast<uint64_t>(job.nodes_size())); });
    add("RANKS", [](const auto& job) { return CountText(job.world_size()); });
    add("STARTED", [&](const auto& job) { return StartedText(job.started_ms(), now_ms_); });
    add_unless(kNoElapsed, "ELAPSED", [&](const auto& job) { return ElapsedText(job, now_ms_); });
    add("PROGRESS", [&](const auto& job) {
      const auto known = progress_.find(job.job_id());
      return known == progress_.end() ? "-" : ProgressText(known->second);
    });
    add_unless(kNoOutput, "LAST OUTPUT",
               [&](const auto& job) { return AgoText(job.last_output_ms(), now_ms_); });
    add_unless(kNoRestarts, "RESTARTS", RestartsText);
    add_unless(kNoFolder, "FOLDER", FolderText);
    add("COMMAND", CommandText);
    return rows;
  }

 private:
  // All commands accept a unique suffix of an id.
  std::string IdText(const std::string& id) const {
    const size_t end = id.rfind('-');
    return applied_.contains(kShortIds) && end != id.npos ? id.substr(end + 1) : id;
  }

  const std::vector<v1::JobStatus>& jobs_;
  const ProgressOfJobs& progress_;
  const std::set<std::string>& stalled_;
  const int64_t now_ms_;
  std::set<Narrower> applied_;
};

}  // namespace

std::optional<v1::Progress> ProgressIn(const v1::JobStatus& job, const v1::JobSnapshot& snapshot) {
  const bool over = job.phase() == v1::JOB_PHASE_ENDED || job.chief_gone();
  return over || !snapshot.has_progress() ? std::nullopt : std::optional(snapshot.progress());
}

std::vector<v1::JobSnapshot> SnapshotsOf(const std::vector<v1::JobStatus>& jobs) {
  constexpr size_t kAskedAtOnce = 16;
  std::vector<std::optional<v1::JobSnapshot>> found(jobs.size());
  base::ParallelFor(jobs.size(), kAskedAtOnce,
                    [&](size_t i) { found[i] = AskForSnapshot(jobs[i]); });
  std::vector<v1::JobSnapshot> snapshots;
  for (std::optional<v1::JobSnapshot>& snapshot : found) {
    if (snapshot) snapshots.push_back(*std::move(snapshot));
  }
  return snapshots;
}

ProgressOfJobs ProgressIn(const std::vector<v1::JobSnapshot>& snapshots) {
  ProgressOfJobs known;
  for (const v1::JobSnapshot& snapshot : snapshots) {
    if (auto progress = ProgressIn(snapshot.job(), snapshot)) {
      known.emplace(snapshot.job().job_id(), *std::move(progress));
    }
  }
  return known;
}

std::set<std::string> StalledJobsIn(const std::vector<v1::JobSnapshot>& snapshots) {
  std::set<std::string> stalled;
  for (const v1::JobSnapshot& snapshot : snapshots) {
    if (snapshot::StandstillIn(snapshot)) stalled.insert(snapshot.job().job_id());
  }
  return stalled;
}

JobDetails DetailsOf(const v1::JobSnapshot& snapshot) {
  JobDetails details;
  details.stalled = snapshot::StandstillIn(snapshot) != nullptr;
  const v1::Progress& progress = snapshot.progress();
  if (progress.has_step()) details.rows.emplace_back("progress", StepsText(progress));
  std::vector<std::string> metrics;
  for (int i = 0; i < std::min(progress.metrics_size(), kMaxMetrics); ++i) {
    const v1::Metric& metric = progress.metrics(i);
    metrics.push_back(base::Printable(metric.name()) + " " + FigureText(metric.value()));
  }
  if (!metrics.empty()) details.rows.emplace_back("metrics", absl::StrJoin(metrics, ", "));
  for (const v1::Issue& issue : snapshot.issues()) {
    if (IsStepIssue(issue)) details.rows.emplace_back("issue", issue.what());
  }
  std::string restarted;
  for (const v1::JobEvent& event : snapshot.events()) {
    if (event.job_phase() == v1::JOB_PHASE_RESTARTING) restarted = event.what();
  }
  if (!restarted.empty()) {
    details.rows.emplace_back("restarted", "because " + std::string(base::FirstLine(restarted)));
  }
  return details;
}

std::string StalledJson(const v1::JobSnapshot& snapshot) {
  const v1::Issue* const stalled = snapshot::StandstillIn(snapshot);
  if (!stalled) return "null";
  return "{\"since_ms\":" + std::to_string(stalled->since_ms()) +
         ",\"what\":" + base::JsonQuoted(stalled->what()) + "}";
}

std::string StateText(const v1::JobStatus& job) {
  if (job.phase() == v1::JOB_PHASE_ENDED) {
    const bool known = job.has_exit_code() || !job.elsewhere();
    return known ? "exit " + std::to_string(job.exit_code()) : "ended";
  }
  if (job.phase() == v1::JOB_PHASE_UNSPECIFIED) return "unknown";
  if (job.chief_silent()) return "not answering";
  return job.chief_gone() ? "crashed" : PhaseText(job.phase());
}

std::string JobTable(const std::vector<v1::JobStatus>& jobs, const ProgressOfJobs& progress,
                     const std::set<std::string>& stalled, int64_t now_ms, size_t width) {
  const auto fits = [&](const std::vector<Row>& rows) {
    constexpr size_t kMinCommand = 12;  // columns
    return width == 0 || base::LastColumn(rows) + kMinCommand <= width;
  };
  JobRows shown{jobs, progress, stalled, now_ms};
  // Applies the reductions in order until the rows fit.
  for (const JobRows::Narrower narrower : JobRows::kNarrower) {
    if (fits(shown.Rows())) break;
    shown.Apply(narrower);
  }
  return base::TextTable(shown.Rows(), width);
}

std::string RankTable(const std::vector<v1::JobSnapshot>& snapshots) {
  std::vector<Row> rows = {{"JOB", "RANK", "NODE", "PID", "STATE"}};
  for (const v1::JobSnapshot& snapshot : snapshots) {
    for (const v1::RankSnapshot& rank : snapshot.ranks()) {
      const v1::NodeSnapshot* const node = snapshot::NodeOf(snapshot, rank);
      const std::string number =
          rank.auxiliary() ? base::Printable(rank.name()) : std::to_string(rank.rank());
      rows.push_back({snapshot.job().job_id(), number,
                      node ? base::Printable(node->address()) : "-",
                      rank.has_pid() ? std::to_string(rank.pid()) : "-", rank.state_text()});
    }
  }
  return rows.size() > 1 ? base::TextTable(rows) : "";
}

std::string JobText(const v1::JobStatus& job, int64_t now_ms, const JobDetails& details) {
  std::vector<Row> facts = {{"job", job.job_id()}};
  const auto fact = [&](const std::string& name, const std::string& value) {
    if (!value.empty()) facts.push_back({name, base::Printable(value)});
  };
  const bool ended = job.phase() == v1::JOB_PHASE_ENDED;
  fact("state", (ended ? "ended" : StateText(job)) + (details.stalled ? ", stalled" : "") +
                    (job.chief_silent() ? "; last known: " + PhaseText(job.phase()) : ""));
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
  if (job.has_exit_code()) fact("exit code", std::to_string(job.exit_code()));
  std::string text = base::TextTable(facts);

  const bool is_old = job.chief_gone() || job.chief_silent();
  if (job.nodes_size() > 0) {
    std::vector<Row> nodes = {{"NODE", "STATE", "RANKS", "RUNNING", ""}};
    for (const v1::NodeStatus& node : job.nodes()) {
      // The record of a job does not show the current state of the nodes.
      nodes.push_back({base::Printable(node.address()),
                       is_old ? "unknown" : PhaseText(node.phase()), RanksText(node),
                       is_old ? "-" : std::to_string(node.running_ranks()),
                       base::Printable(node.detail())});
    }
    text += "\n" + base::TextTable(nodes);
  }
  if (job.chief_gone()) text += "\n" + CrashedText(job) + "\n";
  if (!job.report().empty()) text += "\n" + base::PrintableLines(job.report()) + "\n";
  return text;
}

std::string CrashedText(const v1::JobStatus& job) {
  const std::string host = base::Printable(job.host());
  const std::string of_job = "the chief of job " + job.job_id();
  if (job.slurm_state() == v1::SLURM_STATE_ENDED) {
    return of_job + " on " + host + " is gone and the job has crashed; Slurm has ended it";
  }
  if (job.slurm_state() == v1::SLURM_STATE_NODE_DOWN) {
    return "Slurm has ended job " + job.job_id() + ", but the chief's node, " + host +
           ", is down or does not answer; it may still have processes of the job";
  }
  return of_job +
         " is gone and the job has crashed; the nodes end its ranks when the lease expires; to end "
         "them now: `autodist clean " +
         job.job_id() + "`";
}

}  // namespace autodist::cli
