#include "chief/policy/start_policy.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace autodist::chief {
namespace {

constexpr bool PreparedNodes::*kFacts[] = {
    &PreparedNodes::refused,        &PreparedNodes::cut_off,        &PreparedNodes::lost,
    &PreparedNodes::awaits_devices, &PreparedNodes::may_do_without, &PreparedNodes::plan_differs,
    &PreparedNodes::busy,           &PreparedNodes::ports_taken,    &PreparedNodes::ports_may_move};

// In this order: each row applies if no row before does.
struct Rule {
  bool (*holds)(const PreparedNodes&);
  StartEvent event;
};
constexpr Rule kRules[] = {
    {[](const PreparedNodes& it) { return it.refused; }, StartEvent::kFailed},
    {[](const PreparedNodes& it) { return it.cut_off && it.awaits_devices && it.lost; },
     StartEvent::kFailed},
    {[](const PreparedNodes& it) { return it.cut_off && it.awaits_devices; }, StartEvent::kBusy},
    {[](const PreparedNodes& it) { return it.cut_off && it.may_do_without; }, StartEvent::kPlan},
    {[](const PreparedNodes& it) { return it.cut_off; }, StartEvent::kFailed},
    {[](const PreparedNodes& it) { return it.plan_differs; }, StartEvent::kPlan},
    {[](const PreparedNodes& it) { return it.busy; }, StartEvent::kBusy},
    {[](const PreparedNodes& it) { return it.ports_taken && it.ports_may_move; },
     StartEvent::kPlan},
    {[](const PreparedNodes& it) { return it.ports_taken; }, StartEvent::kFailed},
    {[](const PreparedNodes&) { return true; }, StartEvent::kDone}};

TEST(StartPolicyTest, EveryCombinationOfFacts) {
  for (uint32_t bits = 0; bits < 1u << std::size(kFacts); ++bits) {
    PreparedNodes nodes;
    for (size_t i = 0; i < std::size(kFacts); ++i) nodes.*kFacts[i] = (bits >> i & 1) != 0;
    for (const Rule& rule : kRules) {
      if (!rule.holds(nodes)) continue;
      EXPECT_EQ(Judge(nodes), rule.event) << bits;
      break;
    }
  }
}

}  // namespace
}  // namespace autodist::chief
