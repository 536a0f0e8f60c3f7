// Ranks whose steps take longer than the others'.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "base/quantity.h"
#include "issues/checks.h"
#include "snapshot/lookup.h"

namespace autodist::issues {
namespace {

// "1.4".
std::string Decimal(double value) {
  const long tenths = std::lround(value * 10);
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10);
}

}  // namespace

// Ranks that each report their steps, and do not wait for each other in each of them.
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
    Found& one = found.emplace_back();
    one.key = "slow" + std::to_string(rank.rank());
    one.min_duration_ms = kMinSlowStepsMs;
    one.issue = OfRank(of.now, rank.rank(), v1::Issue::KIND_SLOW,
                       " is " + Decimal(median / rate) + " x slower than the median");
    AddEvidence(one.issue, kStepsPerSecond,
                Decimal(rate) + "; the median of " + base::Count(rates.size(), "rank") + ": " +
                    Decimal(median),
                "its output");
  }
}

}  // namespace autodist::issues
