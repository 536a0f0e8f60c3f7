// autodist why [JOB] [--json]
// autodist stacks [JOB] [--rank R]...
#include <poll.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "base/deadline.h"
#include "base/exit_codes.h"
#include "base/json_quote.h"
#include "base/utf8.h"
#include "base/wall_clock.h"
#include "cli/commands.h"
#include "cli/named_job.h"
#include "control/job_client.h"
#include "control/snapshot_client.h"
#include "json/plain_json.h"
#include "snapshot/lookup.h"
#include "why/diagnosis.h"
#include "why/sent_again.h"
#include "why/stack_groups.h"

namespace autodist::cli {
namespace {

constexpr int kExitWrong = 3;
constexpr int kExitCannotTell = 4;

const char* Name(why::Diagnosis::Kind kind) {
  if (kind == why::Diagnosis::Kind::kUnclear) return "unknown";
  return kind == why::Diagnosis::Kind::kWell ? "ok" : "issue";
}

int ExitCodeOf(const why::Diagnosis& diagnosis) {
  if (diagnosis.kind == why::Diagnosis::Kind::kUnclear) return kExitCannotTell;
  return diagnosis.kind == why::Diagnosis::Kind::kWell ? 0 : kExitWrong;
}

// The diagnosis, its cost, the evidence with sources, and what was ruled out.
std::string WhyText(const why::Diagnosis& diagnosis) {
  const v1::Issue& issue = diagnosis.issue;
  std::string text = base::Printable(issue.what()) + "\n";
  if (!issue.cost().empty()) text += "  " + base::Printable(issue.cost()) + "\n";
  for (const bool against : {false, true}) {
    for (const v1::Evidence& one : issue.evidence()) {
      if (one.against() != against) continue;
      text += std::string(against ? "  ruled out: " : "  ") + base::Printable(one.what()) + ": " +
              base::Printable(one.value()) + " [" + base::Printable(one.source()) + "]\n";
    }
  }
  return text;
}

// {"job_id": …, "diagnosis": "issue" | "ok" | "unknown", "issue": {…}}, on one line.
std::string WhyJson(const std::string& job_id, const why::Diagnosis& diagnosis) {
  return "{\"job_id\":" + base::JsonQuoted(job_id) +
         ",\"diagnosis\":" + base::JsonQuoted(Name(diagnosis.kind)) +
         ",\"issue\":" + json::PlainJson(diagnosis.issue) + "}\n";
}

using std::chrono::milliseconds;

// Time between two samples of stacks: a stack that is in both is not a short phase of a step.
constexpr milliseconds kStackInterval{4'000};
constexpr milliseconds kSnapshotInterval{250};  // between checks for progress

struct WhyOptions {
  std::string job;
  bool json = false;
};

// Returns the snapshot with the current time, even if its version is old.
Result<v1::JobSnapshot> SnapshotNow(control::SnapshotClient& reader) {
  AD_ASSIGN_OR_RETURN(const auto kept, reader.Snapshot());
  v1::JobSnapshot snapshot = *kept;
  if (snapshot.job().phase() != v1::JOB_PHASE_ENDED)
    snapshot.set_time_ms(base::MillisecondsSince1970());
  return snapshot;
}

Result<std::vector<v1::WholeStack>> StacksOf(const v1::JobSnapshot& snapshot, bool flight_records) {
  std::vector<uint32_t> ranks;
  for (const v1::RankSnapshot& rank : snapshot.ranks()) ranks.push_back(rank.rank());
  AD_ASSIGN_OR_RETURN(const auto client, control::JobClient::Connect(snapshot.job().job_id()));
  AD_ASSIGN_OR_RETURN(const auto stacks, client.GetStacks(ranks, flight_records));
  return std::vector<v1::WholeStack>(stacks.stacks().begin(), stacks.stacks().end());
}

bool Runs(const v1::JobSnapshot& snapshot) { return snapshot.job().phase() != v1::JOB_PHASE_ENDED; }

// Waits until newer samples show progress, at most kStackInterval.
Status AwaitProgress(control::SnapshotClient& reader, why::Known& known) {
  const base::Deadline deadline = base::Deadline::After(kStackInterval);
  for (;;) {
    AD_ASSIGN_OR_RETURN(known.now, SnapshotNow(reader));
    const bool goes_on = why::GoesOn(known.now, *known.before) &&
                         snapshot::AllSampledSince(*known.before, known.now);
    if (!Runs(known.now) || goes_on || deadline.Expired()) break;
    const base::Deadline next = std::min(deadline, base::Deadline::After(kSnapshotInterval));
    poll(nullptr, 0, next.PollTimeout());
  }
  return OkStatus();
}

// Keeps the samples from before the stacks: collecting stacks stops the ranks for a moment.
void KeepSamples(const v1::JobSnapshot& from, v1::JobSnapshot& to) {
  if (from.nodes_size() != to.nodes_size() || from.ranks_size() != to.ranks_size()) return;
  for (int i = 0; i < from.nodes_size(); ++i) {
    if (from.nodes(i).has_sample()) *to.mutable_nodes(i)->mutable_sample() = from.nodes(i).sample();
  }
  for (int i = 0; i < from.ranks_size(); ++i) {
    if (from.ranks(i).has_sample()) *to.mutable_ranks(i)->mutable_sample() = from.ranks(i).sample();
  }
}

// Collects two snapshots of a running job and, if it makes no progress, its stacks twice.
Result<why::Known> CollectEvidence(control::SnapshotClient& reader) {
  why::Known known;
  AD_ASSIGN_OR_RETURN(known.before, SnapshotNow(reader));
  AD_ASSIGN_OR_RETURN(known.stacks, StacksOf(*known.before, false));
  AD_RETURN_IF_ERROR(AwaitProgress(reader, known));
  if (!Runs(known.now)) return known;
  if (why::GoesOn(known.now, *known.before) && !why::MuchIsSentAgain(known.stacks)) return known;
  known.stacks_earlier = std::move(known.stacks);
  AD_ASSIGN_OR_RETURN(known.stacks, StacksOf(known.now, true));
  AD_ASSIGN_OR_RETURN(v1::JobSnapshot last, SnapshotNow(reader));
  KeepSamples(known.now, last);
  known.now = std::move(last);
  return known;
}

Result<why::Diagnosis> Diagnose(const v1::JobStatus& job) {
  control::SnapshotClient reader(job.job_id());
  if (job.phase() != v1::JOB_PHASE_ENDED) {
    const auto known = CollectEvidence(reader);
    if (known.ok() && Runs(known->now)) return why::Judge(*known);
    // The job may have ended meanwhile.
    AD_ASSIGN_OR_RETURN(const v1::JobStatus now, control::LookUpJob(job.job_id()));
    if (now.phase() == v1::JOB_PHASE_LAUNCHING || now.phase() == v1::JOB_PHASE_RESTARTING) {
      AD_ASSIGN_OR_RETURN(const v1::JobSnapshot snapshot, SnapshotNow(reader));
      return why::JudgeStarting(snapshot);
    }
    if (now.phase() != v1::JOB_PHASE_ENDED) {
      return known.ok() ? why::Judge(*known) : Result<why::Diagnosis>(known.status());
    }
    return Diagnose(now);
  }
  const auto last = reader.Snapshot();  // missing for jobs of an older autodist
  return why::JudgeEnded(job, last.ok() ? **last : v1::JobSnapshot());
}

int Why(const WhyOptions& options) {
  const auto job = NamedJob(options.job);
  if (!job.ok()) return Fail(job.status(), kExitUsage);
  if (job->chief_gone()) return FailCrashed(*job);
  const auto diagnosis = Diagnose(*job);
  if (!diagnosis.ok()) {
    return Fail(Annotate(diagnosis.status(), "job " + job->job_id()), kExitCannotLaunch);
  }
  const std::string text = options.json ? WhyJson(job->job_id(), *diagnosis) : WhyText(*diagnosis);
  std::fputs(text.c_str(), stdout);
  return ExitCodeOf(*diagnosis);
}

struct StacksOptions {
  std::string job;
  std::vector<uint32_t> ranks;
};

// Prints all stacks of the requested ranks.
void PrintWhole(const std::vector<uint32_t>& ranks, const v1::JobStacks& stacks) {
  for (const uint32_t rank : ranks) {
    const auto found = std::ranges::find(stacks.stacks(), rank, &v1::WholeStack::rank);
    std::printf("\n==== rank %u\n%s", rank,
                found == stacks.stacks().end() ? "no answer from this rank\n"
                                               : base::PrintableLines(found->text()).c_str());
  }
}

int Stacks(const StacksOptions& options) {
  const auto job = NamedJob(options.job);
  if (!job.ok()) return Fail(job.status(), kExitUsage);
  const Status right = CheckRanks(options.ranks, *job);
  if (!right.ok()) return Fail(right, kExitUsage);
  if (job->chief_gone()) return FailCrashed(*job);
  if (job->phase() == v1::JOB_PHASE_ENDED) {
    return Fail(
        WithRemedy(Error(StatusCode::kFailedPrecondition, "job " + job->job_id() + " has ended"),
                   "`autodist status " + job->job_id() + "` shows why, `autodist logs " +
                       job->job_id() + "` the output"),
        kExitCannotLaunch);
  }
  const auto client = control::JobClient::Connect(job->job_id());
  const auto stacks = client.ok() ? client->GetStacks(options.ranks, true) : client.status();
  if (!stacks.ok()) {
    return Fail(Annotate(stacks.status(), "job " + job->job_id()), kExitCannotLaunch);
  }
  std::printf("%s\n", base::PrintableLines(why::GroupsText(stacks->groups())).c_str());
  PrintWhole(options.ranks, *stacks);
  std::fflush(stdout);
  if (stacks->file().empty()) {
    base::Log(base::LogLevel::kWarning, "the stacks could not be written: " + stacks->file_error());
  } else {
    base::Log(base::LogLevel::kInfo, "all stacks are in " + stacks->file());
  }
  return 0;
}

}  // namespace

Command AddWhy(CLI::App& app) {
  auto options = std::make_shared<WhyOptions>();
  AddJob(app, options->job);
  app.add_flag("--json", options->json, "Print a JSON object");
  app.footer(R"(
Collects everything that is known of a job and prints one diagnosis: which rank
the others wait for and what it does instead, or which node or GPU is slow and
why. It can also be that the job is in order, or that the cause is unknown. The
output includes the evidence, its source, and what was ruled out.

Takes about 5 seconds; up to 15 on GPUs, and up to a minute with gdb or with many
ranks on a node. Processes stop for a moment, as with `autodist stacks`; the job
continues.

Exit code: 0 no issue, 3 an issue, 4 the cause is unknown, 125 the job does not
answer, 2 wrong usage.

Examples:
  autodist why
  autodist why 3fa9c1
  autodist why last --json | jq -r .issue.what)");
  return [options] { return Why(*options); };
}

Command AddStacks(CLI::App& app) {
  auto options = std::make_shared<StacksOptions>();
  AddJob(app, options->job);
  app.add_option("--rank", options->ranks, "Also print all stacks of this rank; repeatable")
      ->allow_extra_args(false)
      ->type_name("R");
  app.footer(R"(
Shows what each rank of a running job is doing, with identical ranks grouped. If
most ranks are in one place, the others come first. py-spy (Python) or gdb on the
node stops the processes for a moment; without them, the stacks contain only what
the kernel reports. The job continues. The log folder receives the stacks of all
threads. Takes a few seconds, at most 40. Ranks without an answer are listed with
the cause.

Examples:
  autodist stacks last
  autodist stacks 3fa9c1 --rank 2 --rank 3)");
  return [options] { return Stacks(*options); };
}

}  // namespace autodist::cli
