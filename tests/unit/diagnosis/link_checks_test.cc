#include "diagnosis/burn_checks.h"

#include <gtest/gtest.h>

#include <vector>

namespace autodist::diagnosis {
namespace {

struct Exchange {
  uint32_t one;
  uint32_t other;
  double rate;         // GB/s
  uint64_t wrong = 0;  // received by `other`
};

v1::Diagnosis Of(uint32_t nodes, const std::vector<Exchange>& exchanges) {
  v1::Diagnosis diagnosis;
  for (uint32_t i = 0; i < nodes; ++i) {
    v1::NodeChecks& node = *diagnosis.add_nodes();
    node.set_address("10.0.0." + std::to_string(i));
    v1::CheckOutcome& check = *node.add_checks();
    check.set_check(v1::CHECK_NETWORK);
    check.set_result(v1::CHECK_RESULT_GOOD);
  }
  const auto add = [&](uint32_t node, uint32_t partner, double rate, uint64_t wrong) {
    v1::MeasuredLink& link = *diagnosis.add_links();
    link.set_node(node);
    link.mutable_exchange()->set_partner(partner);
    link.mutable_exchange()->set_rate(rate * 1e9);
    link.mutable_exchange()->set_wrong(wrong);
  };
  for (const Exchange& one : exchanges) {
    add(one.one, one.other, one.rate, 0);
    add(one.other, one.one, one.rate, one.wrong);
  }
  JudgeLinks(diagnosis);
  return diagnosis;
}

TEST(LinkChecksTest, NothingIsFoundBetweenEqualNodes) {
  EXPECT_EQ(Of(4, {{0, 1, 46}, {2, 3, 45}, {0, 2, 44}, {1, 3, 46}}).issues_size(), 0);
  EXPECT_EQ(Of(2, {{0, 1, 0.1}}).issues_size(), 0);
  EXPECT_EQ(Of(1, {}).issues_size(), 0);
  // Measured: equal virtual hosts on two cores.
  EXPECT_EQ(Of(8, {{0, 1, 0.48},
                   {2, 3, 0.49},
                   {4, 5, 0.66},
                   {6, 7, 0.52},
                   {0, 3, 0.5},
                   {1, 2, 0.53},
                   {4, 6, 0.6},
                   {5, 7, 0.58}})
                .issues_size(),
            0);
}

TEST(LinkChecksTest, ANodeThatIsSlowWithEachPartnerIsNamed) {
  const v1::Diagnosis diagnosis = Of(4, {{0, 1, 46}, {2, 3, 21.5}, {0, 2, 21.6}, {1, 3, 46}});
  ASSERT_EQ(diagnosis.issues_size(), 1);
  EXPECT_EQ(diagnosis.issues(0).what(),
            "exchanged data more slowly than others: 21.6 of 46.0 GB/s (47 %), with 10.0.0.3 and "
            "10.0.0.0");
  EXPECT_EQ(diagnosis.issues(0).nodes(0), 2u);
  EXPECT_EQ(diagnosis.issues(0).result(), v1::CHECK_RESULT_WARNING);
  EXPECT_EQ(diagnosis.nodes(2).checks(0).result(), v1::CHECK_RESULT_WARNING);
  EXPECT_EQ(diagnosis.nodes(3).checks(0).result(), v1::CHECK_RESULT_GOOD);
}

TEST(LinkChecksTest, WrongNumbersAreAnError) {
  const v1::Diagnosis diagnosis = Of(2, {{0, 1, 46, 3}});
  ASSERT_EQ(diagnosis.issues_size(), 1);
  EXPECT_EQ(diagnosis.issues(0).what(), "received 3 wrong numbers from 10.0.0.0");
  EXPECT_EQ(diagnosis.issues(0).nodes(0), 1u);
  EXPECT_EQ(diagnosis.nodes(1).checks(0).result(), v1::CHECK_RESULT_BAD);
}

TEST(LinkChecksTest, ALineShowsTheRange) {
  EXPECT_EQ(LinksAsText(Of(4, {{0, 1, 46}, {2, 3, 21.5}})),
            "4 nodes in pairs: 21.5 to 46.0 GB/s in each direction\n");
  EXPECT_EQ(LinksAsText(Of(4, {})), "");
}

}  // namespace
}  // namespace autodist::diagnosis
