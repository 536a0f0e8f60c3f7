// Metrics of each rank.
#include "metrics/snapshot_parts.h"

namespace autodist::metrics {
namespace {

void AddSample(const v1::RankSample& sample, const Labels& labels, FamilySet& set) {
  set.Gauge("autodist_rank_cpu_cores", "Cores that the rank and its child processes use.", labels,
            Known(sample.has_cpu(), sample.cpu()));
  set.Gauge("autodist_rank_resident_memory_bytes",
            "Memory that the rank and its child processes use.", labels,
            Known(sample.has_memory(), sample.memory()));
  set.Gauge("autodist_rank_processes", "Processes of the rank, including children.", labels,
            Known(sample.processes() != 0, sample.processes()));
  set.Gauge("autodist_rank_threads", "Threads of all processes of the rank.", labels,
            Known(sample.threads() != 0, sample.threads()));
  set.Gauge("autodist_rank_read_bytes_per_second",
            "Bytes that the rank and its child processes read from disks and file systems.", labels,
            Known(sample.has_read(), sample.read()));
  set.Gauge("autodist_rank_written_bytes_per_second",
            "Bytes that the rank and its child processes wrote to disks and file systems.", labels,
            Known(sample.has_written(), sample.written()));
}

// Uses the chief's time of the last output, else the node's.
std::optional<double> SilentSeconds(const SnapshotView& view, const v1::RankSnapshot& rank) {
  if (const auto silent = view.SecondsSince(rank.last_output_ms())) return silent;
  return Known(rank.has_sample() && rank.sample().has_silent_ms(),
               static_cast<double>(rank.sample().silent_ms()) / 1000);
}

}  // namespace

void AddRanks(const SnapshotView& view, FamilySet& set) {
  for (const v1::RankSnapshot& rank : view.snapshot.ranks()) {
    const Labels labels = view.Rank(rank);
    set.Gauge("autodist_rank_state", "1 for the state of the rank.",
              With(labels, {{"state", Word(v1::RankState_Name(rank.state()), "RANK_STATE_")}}), 1);
    for (const uint32_t gpu : rank.gpus()) {
      set.Gauge("autodist_rank_gpu_info", "A GPU of the rank; always 1.",
                With(labels, {{"gpu", std::to_string(gpu)}}), 1);
    }
    if (rank.has_progress()) {
      const v1::Progress& progress = rank.progress();
      set.Gauge("autodist_rank_step", "Last step that the rank reported.", labels,
                Known(progress.has_step(), progress.step()));
      set.Gauge("autodist_rank_steps_per_second",
                "Steps per second over the last steps of the rank.", labels,
                Known(progress.has_rate(), progress.rate()));
    }
    if (rank.state() != v1::RANK_STATE_STARTING && rank.state() != v1::RANK_STATE_RUNNING) continue;
    set.Gauge("autodist_rank_silent_seconds", "Time since the rank wrote output.", labels,
              SilentSeconds(view, rank));
    if (rank.has_sample()) AddSample(rank.sample(), labels, set);
  }
  for (const v1::Issue& issue : view.snapshot.issues()) {
    for (const uint32_t rank : issue.ranks()) {
      if (rank >= static_cast<uint32_t>(view.snapshot.ranks_size())) continue;
      set.Gauge("autodist_rank_issue", "1 for the issue of the rank.",
                With(view.Rank(view.snapshot.ranks(static_cast<int>(rank))),
                     {{"kind", Word(v1::Issue::Kind_Name(issue.kind()), "KIND_")}}),
                1);
    }
  }
}

}  // namespace autodist::metrics
