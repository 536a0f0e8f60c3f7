// Jobs end in time for every node fault at every time.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <string>
#include <tuple>

#include "support/in_seconds.h"
#include "support/played_job.h"

namespace autodist::chief {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using test::JobTest;

struct Issue {
  const char* name;
  void (*begin)(test::FakeAgent& node);
};
const Issue kIssues[] = {
    {"stopped", [](test::FakeAgent& node) { node.silent = true; }},
    {"cut", [](test::FakeAgent& node) { node.CutLink(); }},
    {"failing",
     [](test::FakeAgent& node) {
       node.fails_at_once = true;
       node.Break();
     }},
    {"failing_later",
     [](test::FakeAgent& node) {
       node.fails_when_resumed = true;
       node.Break();
     }},
    {"undying", [](test::FakeAgent& node) { node.ranks_cannot_be_killed = true; }},
};

class JobIssueTest : public JobTest, public testing::WithParamInterface<std::tuple<Issue, int>> {
 protected:
  // A rank of another node fails at 100 s, and its attempt is restarted.
  void Begin(seconds issue) {
    options_.launch.request.set_lease(test::InSeconds(seconds(600)));
    options_.launch.request.set_max_restarts(1);
    nodes_[1].ranks_ignore_stop = true;
    loop_.After(issue, [this] { std::get<0>(GetParam()).begin(nodes_[1]); });
    loop_.After(seconds(100), [this] { nodes_[0].Exit(0, 7); });
  }
  milliseconds At() const { return milliseconds(std::get<1>(GetParam())); }
};

TEST_P(JobIssueTest, CtrlCOnceEndsTheJobInTime) {
  Begin(std::min(seconds(90), std::chrono::floor<seconds>(At())));
  Signal(At());
  Run();
  EXPECT_LE(took_, At() + kGrace + StopPolicy::kEndLimit);
  EXPECT_TRUE(nodes_[0].running().empty());
  EXPECT_TRUE(nodes_[2].running().empty());
}

TEST_P(JobIssueTest, CtrlCThreeTimesEndsItWithinASecond) {
  Begin(std::min(seconds(90), std::chrono::floor<seconds>(At())));
  for (const seconds more : {seconds(0), seconds(1), seconds(4)}) Signal(At() + more);
  Run();
  EXPECT_LE(took_, At() + seconds(4) + seconds(1));
}

// Launching, running, stopping, before and during a restart, running again.
INSTANTIATE_TEST_SUITE_P(WhateverAndWhenever, JobIssueTest,
                         testing::Combine(testing::ValuesIn(kIssues),
                                          testing::Values(1, 2, 50'000, 99'000, 100'100, 101'000,
                                                          131'000, 145'000, 300'000)),
                         [](const auto& test) {
                           return std::string(std::get<0>(test.param).name) + "_" +
                                  std::to_string(std::get<1>(test.param));
                         });

}  // namespace
}  // namespace autodist::chief
