// Metrics of the job and its progress.
#include <absl/strings/str_join.h>

#include <algorithm>
#include <array>

#include "metrics/snapshot_parts.h"
#include "snapshot/goodput_accounting.h"

namespace autodist::metrics {
namespace {

constexpr int kMaxTrainingMetrics = 64;  // of a program

void AddPhase(const SnapshotView& view, FamilySet& set) {
  for (int number = v1::JOB_PHASE_LAUNCHING; number <= v1::JOB_PHASE_ENDED; ++number) {
    const auto phase = static_cast<v1::JobPhase>(number);
    set.Gauge("autodist_job_phase", "1 for the phase that the job is in, 0 for the others.",
              With(view.Job(), {{"phase", Word(v1::JobPhase_Name(phase), "JOB_PHASE_")}}),
              view.snapshot.job().phase() == phase ? 1 : 0);
  }
}

void AddCounts(const SnapshotView& view, FamilySet& set) {
  for (int number = v1::RANK_STATE_STARTING; number <= v1::RANK_STATE_LOST; ++number) {
    const auto state = static_cast<v1::RankState>(number);
    set.Gauge("autodist_job_ranks", "Ranks of this attempt in a state.",
              With(view.Job(), {{"state", Word(v1::RankState_Name(state), "RANK_STATE_")}}),
              std::ranges::count_if(view.snapshot.ranks(), [&](const v1::RankSnapshot& rank) {
                return rank.state() == state && !rank.auxiliary();
              }));
  }
  for (int number = v1::NODE_PHASE_LAUNCHING; number <= v1::NODE_PHASE_LOST; ++number) {
    const auto phase = static_cast<v1::NodePhase>(number);
    set.Gauge("autodist_job_nodes", "Nodes in a phase.",
              With(view.Job(), {{"phase", Word(v1::NodePhase_Name(phase), "NODE_PHASE_")}}),
              std::ranges::count_if(view.snapshot.nodes(), [&](const v1::NodeSnapshot& node) {
                return node.phase() == phase;
              }));
  }
  for (int number = v1::Issue::KIND_FAILED; number <= v1::Issue::KIND_WARNING; ++number) {
    const auto kind = static_cast<v1::Issue::Kind>(number);
    set.Gauge("autodist_job_issues", "Issues of the job by kind; 0 if none is known.",
              With(view.Job(), {{"kind", Word(v1::Issue::Kind_Name(kind), "KIND_")}}),
              std::ranges::count_if(view.snapshot.issues(),
                                    [&](const v1::Issue& issue) { return issue.kind() == kind; }));
  }
}

void AddTimeParts(const SnapshotView& view, FamilySet& set) {
  if (!view.snapshot.has_goodput_parts()) return;
  const v1::GoodputParts& spent = view.snapshot.goodput_parts();
  const std::array<std::pair<const char*, int64_t>, 6> parts{{{"start_up", spent.start_up()},
                                                              {"training", spent.training()},
                                                              {"stalled", spent.stalled()},
                                                              {"stopping", spent.stopping()},
                                                              {"restarting", spent.restarting()},
                                                              {"lost_steps", spent.lost_steps()}}};
  for (const auto& [part, time] : parts) {
    set.Gauge("autodist_job_time_seconds", "The job's wall time by use, over all attempts.",
              With(view.Job(), {{"part", part}}), static_cast<double>(time) / 1000);
  }
  set.Gauge("autodist_job_goodput_ratio", "Share of the job's wall time that was training.",
            view.Job(), snapshot::Goodput(spent));
}

}  // namespace

void AddJob(const SnapshotView& view, FamilySet& set) {
  const v1::JobStatus& job = view.snapshot.job();
  const Labels labels = view.Job();
  set.Gauge("autodist_job_info", "Facts about the job; always 1.",
            With(labels, {{"name", job.name()},
                          {"command", absl::StrJoin(job.command(), " ")},
                          {"host", job.host()},
                          {"log_folder", job.log_folder()}}),
            1);
  AddPhase(view, set);
  set.Gauge("autodist_job_start_time_seconds", "Start time of the job, since 1970.", labels,
            Known(job.started_ms() != 0, static_cast<double>(job.started_ms()) / 1000));
  const SnapshotView end{view.snapshot, job.ended_ms() != 0 ? job.ended_ms() : view.now_ms};
  set.Gauge("autodist_job_elapsed_seconds",
            "Wall time from the start of the job to now or its end.", labels,
            end.SecondsSince(job.started_ms()));
  set.Counter("autodist_job_restarts_total", "Restarts of the job.", labels, job.attempt());
  set.Gauge("autodist_job_restarts_allowed", "Maximum number of restarts of the job.", labels,
            job.max_restarts());
  set.Gauge("autodist_job_world_size", "Ranks of this attempt.", labels,
            Known(job.world_size() != 0, job.world_size()));
  set.Gauge("autodist_job_silent_seconds", "Time since any rank wrote output.", labels,
            end.SecondsSince(job.last_output_ms()));
  set.Gauge("autodist_job_exit_code", "Exit code of the ended job.", labels,
            Known(job.phase() == v1::JOB_PHASE_ENDED, job.exit_code()));
  AddCounts(view, set);
  AddTimeParts(view, set);
}

void AddProgress(const SnapshotView& view, FamilySet& set) {
  if (!view.snapshot.has_progress()) return;
  const v1::Progress& progress = view.snapshot.progress();
  const Labels labels = view.Job();
  set.Gauge("autodist_training_step", "Last step that the program reported.", labels,
            Known(progress.has_step(), progress.step()));
  set.Gauge("autodist_training_steps_expected", "Total number of steps.", labels,
            Known(progress.has_total(), progress.total()));
  set.Gauge("autodist_training_steps_per_second", "Steps per second over the last steps.", labels,
            Known(progress.has_rate(), progress.rate()));
  set.Gauge("autodist_training_eta_seconds", "Estimated time for the remaining steps.", labels,
            Known(progress.has_eta(), progress.eta()));
  int metrics = 0;
  for (const v1::Metric& metric : progress.metrics()) {
    if (++metrics > kMaxTrainingMetrics) break;
    set.Gauge("autodist_training_metric",
              "Other values that the program reports, such as the loss.",
              With(labels, {{"name", metric.name()}}), metric.value());
  }
}

}  // namespace autodist::metrics
