// Each rank, and what serves them.
#include "metrics/snapshot_parts.h"

namespace autodist::metrics {
namespace {

void AddSample(const v1::RankSample& sample, const Labels& labels, FamilySet& set) {
  set.Gauge("autodist_rank_cpu_cores", "Cores that it uses, with what it has started.", labels,
            Known(sample.has_cpu(), sample.cpu()));
  set.Gauge("autodist_rank_resident_memory_bytes", "With what it has started.", labels,
            Known(sample.has_memory(), sample.memory()));
  set.Gauge("autodist_rank_processes", "It, and what it has started.", labels,
            Known(sample.processes() != 0, sample.processes()));
  set.Gauge("autodist_rank_threads", "Of all its processes.", labels,
            Known(sample.threads() != 0, sample.threads()));
  set.Gauge("autodist_rank_read_bytes_per_second",
            "From disks and file systems, with what it has started.", labels,
            Known(sample.has_read(), sample.read()));
  set.Gauge("autodist_rank_written_bytes_per_second",
            "To disks and file systems, with what it has started.", labels,
            Known(sample.has_written(), sample.written()));
}

// The chief's own time, else as the node tells it.
std::optional<double> SilentSeconds(const SnapshotView& view, const v1::RankSnapshot& rank) {
  if (const auto silent = view.SecondsSince(rank.last_output_ms())) return silent;
  return Known(rank.has_sample() && rank.sample().has_silent_ms(),
               static_cast<double>(rank.sample().silent_ms()) / 1000);
}

}  // namespace

void AddRanks(const SnapshotView& view, FamilySet& set) {
  for (const v1::RankSnapshot& rank : view.snapshot.ranks()) {
    const Labels labels = view.Rank(rank);
    set.Gauge("autodist_rank_state", "1, with the state that the rank is in.",
              With(labels, {{"state", Word(v1::RankState_Name(rank.state()), "RANK_STATE_")}}), 1);
    for (const uint32_t gpu : rank.gpus()) {
      set.Gauge("autodist_rank_gpu_info", "A GPU of the rank's; always 1.",
                With(labels, {{"gpu", std::to_string(gpu)}}), 1);
    }
    if (rank.has_progress()) {
      const v1::Progress& progress = rank.progress();
      set.Gauge("autodist_rank_step", "The last step that the rank has told.", labels,
                Known(progress.has_step(), progress.step()));
      set.Gauge("autodist_rank_steps_per_second", "Over its last steps.", labels,
                Known(progress.has_rate(), progress.rate()));
    }
    if (rank.state() != v1::RANK_STATE_STARTING && rank.state() != v1::RANK_STATE_RUNNING) continue;
    set.Gauge("autodist_rank_silent_seconds", "Time since it wrote something.", labels,
              SilentSeconds(view, rank));
    if (rank.has_sample()) AddSample(rank.sample(), labels, set);
  }
  for (const v1::Issue& issue : view.snapshot.issues()) {
    for (const uint32_t rank : issue.ranks()) {
      if (rank >= static_cast<uint32_t>(view.snapshot.ranks_size())) continue;
      set.Gauge("autodist_rank_issue", "1, with what is not well with the rank.",
                With(view.Rank(view.snapshot.ranks(static_cast<int>(rank))),
                     {{"kind", Word(v1::Issue::Kind_Name(issue.kind()), "KIND_")}}),
                1);
    }
  }
}

}  // namespace autodist::metrics
