#include "chief/checks/reported_addresses.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/plans.h"

namespace autodist::chief {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

v1::LaunchPlan AskingPlan() {
  plan::Input input = test::ThreeNodeInput();
  input.address_of["10.0.0.2"].ask = true;
  input.address_of["node3"].ask = true;
  return *plan::MakePlan(input);
}

launch::LaunchedNode Reports(uint32_t node, const std::string& address) {
  launch::LaunchedNode launched;
  launched.node_rank = node;
  launched.prepared.set_data_address(address);
  return launched;
}

TEST(ReportedAddressesTest, OnlyOfQueriedNodes) {
  const v1::LaunchPlan plan = AskingPlan();
  const auto reported = ReportedAddresses(
      plan, {Reports(0, "10.9.0.1"), Reports(1, "10.9.0.2"), Reports(2, "fd00:0::3")});
  EXPECT_THAT(reported, ElementsAre(Pair("10.0.0.2", "10.9.0.2"), Pair("node3", "fd00::3")));
  EXPECT_TRUE(CheckReportedAddresses(plan, reported).ok());
  EXPECT_TRUE(Differ(plan, reported));
  EXPECT_FALSE(Differ(plan, {{"10.0.0.2", "10.0.0.2"}, {"node3", "10.0.0.3"}}));
}

TEST(ReportedAddressesTest, EachNodeReportsItsOwn) {
  const v1::LaunchPlan plan = AskingPlan();
  const auto silent = ReportedAddresses(plan, {Reports(1, "10.9.0.2"), Reports(2, "$(reboot)")});
  EXPECT_THAT(Message(CheckReportedAddresses(plan, silent)), HasSubstr("node3 does not report"));
  const Status same =
      CheckReportedAddresses(plan, {{"10.0.0.2", "10.0.2.15"}, {"node3", "10.0.2.15"}});
  EXPECT_THAT(Message(same), HasSubstr("10.0.0.2 and node3 both report 10.0.2.15"));
  EXPECT_THAT(Remedy(same), HasSubstr("data_address"));
}

}  // namespace
}  // namespace autodist::chief
