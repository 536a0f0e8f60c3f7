// A state machine as a table: the next stage for each stage and event. Pairs that are not in the
// table cannot happen, and change nothing.
#pragma once

#include <array>
#include <cstddef>

namespace autodist::chief {

template <typename Stage, typename Event>
struct StageRule {
  Stage from;
  Event event;
  Stage to;
};

template <typename Stage, typename Event, size_t kRules>
constexpr Stage FollowIn(const std::array<StageRule<Stage, Event>, kRules>& table, Stage from,
                         Event event) {
  for (const StageRule<Stage, Event>& rule : table) {
    if (rule.from == from && rule.event == event) return rule.to;
  }
  return from;
}

// Checked at compile time.
template <typename Stage, typename Event, size_t kRules>
constexpr bool HasEachPairOnce(const std::array<StageRule<Stage, Event>, kRules>& table) {
  for (size_t i = 0; i < kRules; ++i) {
    for (size_t j = 0; j < i; ++j) {
      if (table[i].from == table[j].from && table[i].event == table[j].event) return false;
    }
  }
  return true;
}

}  // namespace autodist::chief
