// Random walks through losses, returns, refusals and late answers of nodes with a spare, in
// simulated time: there are never two of a rank, no job ends while enough nodes are healthy, and
// each ends. The number of a test is its seed. WALKS and FIRST_WALK set how many there are, and the
// first seed.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <set>
#include <string>

#include "support/in_seconds.h"
#include "support/played_job.h"

namespace autodist::chief::recovery_walks_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr int kEvents = 12;  // of a walk
constexpr size_t kNeeded = 2;
constexpr uint64_t kWalks = SANITIZED ? 100 : 500;

uint64_t FromEnvironment(const char* name, uint64_t otherwise) {
  const char* const text = std::getenv(name);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

class RecoveryWalksTest : public test::JobTest, public testing::WithParamInterface<uint64_t> {
 protected:
  RecoveryWalksTest() : JobTest(test::EqualNodes()) {
    v1::JobRequest& request = options_.launch.request;
    request.set_spares(1);
    request.set_max_restarts(1'000);
    request.set_timeout(36'000);
    for (uint32_t node = 0; node < nodes_.size(); ++node) {
      nodes_[node].lease = kLease;
      nodes_[node].on_start = [this, node] { Started(node); };
    }
  }

  uint32_t Below(uint32_t limit) {
    return std::uniform_int_distribution<uint32_t>(0, limit - 1)(random_);
  }
  // Most faults come from events that follow each other closely.
  milliseconds Gap() {
    constexpr std::array kGaps = {milliseconds(0),     milliseconds(1),     milliseconds(2),
                                  milliseconds(3),     milliseconds(400),   milliseconds(3'000),
                                  milliseconds(9'000), milliseconds(40'000)};
    return kGaps[Below(kGaps.size())];
  }

  // A node that is not reachable and one that refuses are not healthy, the latter for good.
  void Disturb(uint32_t number) {
    test::FakeAgent& node = nodes_[number];
    switch (Below(10)) {
      case 0:
        unreachable_.insert(number);
        return node.CutLink();
      case 1:
      case 2:
        return Heal(number);
      case 3:
        return node.Break();
      case 4:
        unreachable_.insert(number);
        node.deaf = true;  // a connection on which no order arrives
        return node.Break();
      case 5:
        return node.Die();
      case 6:
        node.preparing_takes = seconds(Below(2) == 0 ? 0 : 6);
        node.ignores_cancel = Below(2) == 0;
        return;
      case 7:
        if (!refused_.empty()) return;  // one may be replaced
        refused_.insert(number);
        node.issues.emplace_back().set_cause("no space left on device");
        return;
      case 8:
        unreachable_.insert(number);
        node.silent = true;  // it is frozen
        return;
      default:
        return node.ExitAll(7);
    }
  }
  void Heal(uint32_t number) {
    test::FakeAgent& node = nodes_[number];
    node.unreachable = false;
    // Messages that it has dropped are sent again.
    const bool dropped = node.deaf || node.silent;
    node.silent = node.deaf = false;
    if (dropped) node.Break();
    node.preparing_takes = milliseconds(0);
    if (unreachable_.erase(number) > 0) healed_[number] = loop_.Now();
  }
  bool WasHealthyAtTheEnd(uint32_t node) const {
    const bool long_enough = began_ + took_ - healed_[node] > kLease + kGrace + seconds(10);
    return !refused_.contains(node) && !unreachable_.contains(node) && long_enough;
  }

  void Started(uint32_t number) {
    attempt_of_[number] = planned_.size();
    loop_.After(milliseconds(10), [this] {
      std::set<size_t> attempts;
      for (uint32_t node = 0; node < nodes_.size(); ++node) {
        if (!nodes_[node].running().empty()) attempts.insert(attempt_of_[node]);
      }
      EXPECT_LE(attempts.size(), 1u) << "two of a rank";
    });
  }

  std::mt19937_64 random_{GetParam()};
  const Loop::Time began_ = loop_.Now();
  std::set<uint32_t> unreachable_;
  std::set<uint32_t> refused_;
  std::array<Loop::Time, 3> healed_{};
  std::array<size_t, 3> attempt_of_{};
};

TEST_P(RecoveryWalksTest, NeverTwoOfARankAndNoHealthyNodeLost) {
  milliseconds at = seconds(5);
  for (int i = 0; i < kEvents; ++i) {
    at += Gap();
    loop_.After(at, [this] { Disturb(Below(nodes_.size())); });
  }
  const milliseconds healed = at + Gap();
  loop_.After(healed, [this] {
    for (uint32_t node = 0; node < nodes_.size(); ++node) Heal(node);
  });
  for (milliseconds end = healed + seconds(300); end < healed + seconds(3'000);
       end += seconds(50)) {
    AllExit(end, 0);
  }
  const int exit_code = Run();
  size_t healthy = 0;
  for (uint32_t node = 0; node < nodes_.size(); ++node) healthy += WasHealthyAtTheEnd(node) ? 1 : 0;
  if (exit_code != 0) {
    EXPECT_LT(healthy, kNeeded) << "ended with " << exit_code;
  }
  EXPECT_LT(took_, healed + seconds(3'100)) << "did not end";
  if (HasFailure()) std::printf("%s\n", messages_.c_str());
}

INSTANTIATE_TEST_SUITE_P(Seeds, RecoveryWalksTest,
                         testing::Range(FromEnvironment("FIRST_WALK", 0),
                                        FromEnvironment("FIRST_WALK", 0) +
                                            FromEnvironment("WALKS", kWalks)));

}  // namespace
}  // namespace autodist::chief::recovery_walks_test
