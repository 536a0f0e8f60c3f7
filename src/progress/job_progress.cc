#include "progress/job_progress.h"

#include <algorithm>

namespace autodist::progress {
namespace {

// Steps weigh most, then their total, then anything else.
int Worth(const v1::Progress& progress) {
  return (progress.has_step() ? 4 : 0) + (progress.has_total() ? 2 : 0) +
         (progress.metrics_size() > 0 ? 1 : 0);
}

bool ReportsAlike(const v1::Progress& one, const v1::Progress& other) {
  return one.has_step() && other.has_step() && one.source() == other.source() &&
         one.has_total() == other.has_total() && one.total() == other.total();
}

}  // namespace

std::optional<v1::Progress> OfJob(const std::map<uint32_t, v1::Progress>& ranks) {
  if (ranks.empty()) return std::nullopt;
  const auto lead =
      std::ranges::max_element(ranks, {}, [](const auto& entry) { return Worth(entry.second); });
  v1::Progress job = lead->second;
  const v1::Progress* last = &lead->second;
  for (const auto& [rank, progress] : ranks) {
    if (!ReportsAlike(progress, lead->second)) continue;
    job.set_time_ms(std::max(job.time_ms(), progress.time_ms()));
    if (progress.step() < last->step()) last = &progress;
  }
  if (last == &lead->second) return job;
  job.set_step(last->step());
  job.clear_rate();
  job.clear_eta();
  if (last->has_rate()) job.set_rate(last->rate());
  if (last->has_eta()) job.set_eta(last->eta());
  return job;
}

}  // namespace autodist::progress
