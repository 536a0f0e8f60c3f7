// A machine as a table: for each stage and event where it goes on. What the table does not have
// cannot happen there, and changes nothing.
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
class StageTable {
 public:
  explicit constexpr StageTable(const std::array<StageRule<Stage, Event>, kRules>& rules)
      : rules_(rules) {}

  constexpr Stage Follow(Stage from, Event event) const {
    for (const StageRule<Stage, Event>& rule : rules_) {
      if (rule.from == from && rule.event == event) return rule.to;
    }
    return from;
  }
  // To be checked where the table is compiled.
  constexpr bool HasEachPairOnce() const {
    for (size_t i = 0; i < kRules; ++i) {
      for (size_t j = 0; j < i; ++j) {
        if (rules_[i].from == rules_[j].from && rules_[i].event == rules_[j].event) return false;
      }
    }
    return true;
  }

 private:
  std::array<StageRule<Stage, Event>, kRules> rules_;
};

}  // namespace autodist::chief
