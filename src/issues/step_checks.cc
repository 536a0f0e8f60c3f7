// Checks for ranks whose steps take longer than those of the others.
#include <algorithm>
#include <string>
#include <vector>

#include "base/quantity.h"
#include "issues/checks.h"

namespace autodist::issues {
// Only for ranks that report their own steps and do not synchronize in each step.
void SlowRanks(const Snapshots& of, AllFound& found) {
  std::vector<double> rates;
  for (const v1::RankSnapshot& rank : of.now.ranks()) {
    if (rank.progress().rate() > 0) rates.push_back(rank.progress().rate());
  }
  if (rates.size() < kMinRanksToCompare) return;
  std::ranges::sort(rates);
  const double median = rates[rates.size() / 2];
  for (const v1::RankSnapshot& rank : of.now.ranks()) {
    const double rate = rank.progress().rate();
    if (rate <= 0 || rate * kSlowStep > median || rank.state() != v1::RANK_STATE_RUNNING) continue;
    Found& one = AddOfRank(found, "slow", of.now, rank.rank(), v1::Issue::KIND_SLOW,
                           " is " + Decimal(median / rate) + " x slower than the median");
    one.min_duration_ms = kMinSlowStepsMs;
    AddEvidence(one.issue, kStepsPerSecond,
                Decimal(rate) + "; the median of " + base::Count(rates.size(), "rank") + ": " +
                    Decimal(median),
                "its output");
  }
}

}  // namespace autodist::issues
