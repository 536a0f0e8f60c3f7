#include "chief/policy/restart_policy.h"

#include <algorithm>

namespace autodist::chief {

std::optional<std::chrono::milliseconds> RestartPolicy::Next(const AttemptOutcome& outcome) {
  const bool can_be_mended = outcome.cause.kind == Cause::Kind::kRankFailed ||
                             outcome.cause.kind == Cause::Kind::kNodeLost ||
                             outcome.cause.kind == Cause::Kind::kHung;
  if (!outcome.ran || !can_be_mended) return std::nullopt;
  const bool goes_on_without =
      outcome.nodes_missing && limits_.min_nodes > 0 && outcome.nodes_present >= limits_.min_nodes;
  if (!goes_on_without) {
    if (counted_ == limits_.max_restarts) return std::nullopt;
    ++counted_;
  }
  if (outcome.lasted > kCrashLoop) wait_ = kFirstWait;
  const auto wait = wait_;
  wait_ = std::min(wait_ * 2, kMaxWait);
  return wait;
}

}  // namespace autodist::chief
