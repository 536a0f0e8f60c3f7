// autodist why [JOB] [--json]
#include <poll.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <utility>
#include <vector>

#include "base/deadline.h"
#include "base/exit_codes.h"
#include "base/wall_clock.h"
#include "cli/commands.h"
#include "cli/named_job.h"
#include "cli/why_text.h"
#include "control/job_client.h"
#include "control/snapshot_client.h"
#include "snapshot/lookup.h"
#include "why/diagnosis.h"
#include "why/sent_again.h"

namespace autodist::cli {
namespace {

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

}  // namespace autodist::cli
