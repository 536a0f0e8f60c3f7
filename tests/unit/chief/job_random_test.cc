// Jobs with random faults at every step of launch, run, restart and end, in simulated time: each
// ends in the promised time, and ranks of two attempts never run at once. The number of a test is
// its seed. The simulated agent checks that no node is asked twice to end.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "support/in_seconds.h"
#include "support/played_job.h"

namespace autodist::chief {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr uint64_t kRandomJobs = SANITIZED ? 200 : 2'000;
constexpr seconds kFaultsEnd{150};   // remaining faults heal then
constexpr seconds kLastSignal{900};  // longer than all restarts of a job take

class RandomFaultsTest : public test::JobTest, public testing::WithParamInterface<uint64_t> {
 protected:
  RandomFaultsTest() : JobTest(test::EqualNodes()) {}

  int64_t Below(int64_t limit) {
    return std::uniform_int_distribution<int64_t>(0, limit - 1)(random_);
  }
  bool OneOf(int64_t number) { return Below(number) == 0; }
  milliseconds AnyTime() { return milliseconds(Below(milliseconds(kFaultsEnd).count())); }
  // Most of the interesting times are soon after the start.
  milliseconds SomeTime() { return OneOf(2) ? milliseconds(Below(20)) : AnyTime(); }

  // Starts a fault of a node that lasts for a while.
  void Begin(uint32_t number) {
    test::FakeAgent& node = nodes_[number];
    const milliseconds time = OneOf(3) ? kLease + seconds(Below(90)) : seconds(Below(60));
    switch (Below(10)) {
      case 0:
        node.silent = true;
        break;
      case 1:
        node.CutLink();
        break;
      case 2:
        node.fails_at_once = true;
        return HealAfter(number, time, [&node] { node.Break(); });
      case 3:
        node.fails_when_resumed = true;
        return HealAfter(number, time, [&node] { node.Break(); });
      case 4:
        node.ranks_ignore_stop = true;
        return;
      case 5:
        node.prepare_hangs = true;
        break;
      case 6:
        return node.Die();
      case 8:
        node.mute = true;
        break;
      case 7:
        return node.Break();
      default:
        return node.ExitAll(OneOf(4) ? 0 : 7);
    }
    HealAfter(number, time, [] {});
  }
  void HealAfter(uint32_t number, milliseconds time, const std::function<void()>& now) {
    now();
    loop_.After(time, [this, number] { Heal(number); });
  }
  void Heal(uint32_t number) {
    test::FakeAgent& node = nodes_[number];
    node.silent = node.mute = node.unreachable = false;
    node.fails_at_once = node.fails_when_resumed = false;
    node.prepare_hangs = false;
  }
  // Called when ranks of a node start. Soon after it, all running ranks belong to the same attempt,
  // also those of disconnected nodes: never two of a rank.
  void Started(uint32_t number) {
    attempt_of_[number] = planned_.size();
    loop_.After(milliseconds(10), [this] { ExpectOneAttempt(); });
  }
  void ExpectOneAttempt() {
    std::set<size_t> attempts;
    std::string running;
    for (uint32_t node = 0; node < nodes_.size(); ++node) {
      if (nodes_[node].running().empty()) continue;
      attempts.insert(attempt_of_[node]);
      running +=
          " node " + std::to_string(node) + " of attempt " + std::to_string(attempt_of_[node]);
    }
    EXPECT_LE(attempts.size(), 1u) << running << messages_;
  }

  void Plan() {
    v1::JobRequest& request = options_.launch.request;
    request.set_max_restarts(static_cast<uint32_t>(Below(4)));
    if (OneOf(2)) request.set_min_nodes(static_cast<uint32_t>(1 + Below(2)));
    if (OneOf(2)) request.set_spares(1);
    for (uint32_t node = 0; node < nodes_.size(); ++node) {
      nodes_[node].on_start = [this, node] { Started(node); };
      nodes_[node].lease = kLease;
    }
    if (OneOf(20)) {
      nodes_[static_cast<uint32_t>(Below(3))].launch_fails = Error(StatusCode::kUnavailable, "no");
    }
    const int64_t faults = Below(6);
    for (int64_t i = 0; i < faults; ++i) {
      const auto node = static_cast<uint32_t>(Below(3));
      loop_.After(SomeTime(), [this, node] { Begin(node); });
    }
    for (const int signal : {SIGINT, SIGTERM, SIGINT}) {
      if (!OneOf(4)) continue;
      const milliseconds at = SomeTime();
      first_signal_ = std::min(first_signal_, at);
      Signal(at, signal);
    }
    if (OneOf(3)) AllExit(AnyTime(), 0);
    loop_.After(kFaultsEnd, [this] {
      for (uint32_t node = 0; node < nodes_.size(); ++node) Heal(node);
    });
    for (seconds at = kFaultsEnd; at < kLastSignal; at += seconds(20)) AllExit(at, 0);
    for (const seconds more : {seconds(0), seconds(5)}) Signal(kLastSignal + more);
  }

  std::mt19937_64 random_{GetParam()};
  milliseconds first_signal_ = kLastSignal;
  std::vector<size_t> attempt_of_ = std::vector<size_t>(3);
};

TEST_P(RandomFaultsTest, EndsInTimeAndLeavesNoRanks) {
  Plan();
  const int exit_code = Run();
  EXPECT_GE(exit_code, 0);
  EXPECT_LE(took_, first_signal_ + kGrace + StopPolicy::kEndLimit) << messages_;
  // Ranks of a lost node end with its lease, maybe later.
  for (uint32_t node = 0; node < nodes_.size(); ++node) {
    if (status_.nodes(static_cast<int>(node)).phase() != v1::NODE_PHASE_ENDED) continue;
    EXPECT_TRUE(nodes_[node].running().empty()) << "node " << node << "\n" << messages_;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomFaultsTest, testing::Range(uint64_t{0}, kRandomJobs));

}  // namespace
}  // namespace autodist::chief
