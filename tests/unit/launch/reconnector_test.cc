#include "launch/reconnector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <set>

#include "base/proof_of_end.h"
#include "support/forbid_threads.h"
#include "support/idle_link.h"

namespace autodist::launch {
namespace {

using base::Deadline;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds kLongEnough{30};

class AnyLink final : public test::IdleLink {
 public:
  std::atomic<bool> ended = false;

 private:
  void OpenSession(SessionListener&) override {}
  void Send(v1::ChiefMessage) override {}
  void Break() override {}
  void EndSession() override { ended = true; }
  bool WaitClosed(Deadline) override { return true; }
};

class ReconnectorTest : public testing::Test {
 protected:
  // Records the node's result.
  Reconnector::Done Turns(uint32_t node) {
    return [this, node](const Reconnector::Link& link) {
      const std::lock_guard lock(mutex_);
      ended_.emplace(node, link.status());
      changed_.notify_all();
    };
  }
  void Start(Reconnector& reconnector, uint32_t node, Reconnector::Try try_once,
             seconds limit = kLongEnough) {
    reconnector.Start(
        {node, milliseconds(0), Deadline::After(limit), nullptr, std::move(try_once), Turns(node)});
  }
  // The node's result.
  Status Await(uint32_t node) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, kLongEnough, [&] { return ended_.contains(node); }));
    return ended_[node];
  }
  // Simulates a connection without an answer.
  Reconnector::Link Hang(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    hanging_.insert(std::this_thread::get_id());
    changed_.notify_all();
    changed_any_.wait(lock, stop, [] { return false; });
    return Error(StatusCode::kCancelled, "stopped");
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::condition_variable_any changed_any_;
  std::map<uint32_t, Status> ended_;
  std::set<std::thread::id> hanging_;
};

using ReconnectorDeathTest = ReconnectorTest;  // runs first, while there are no threads

TEST_F(ReconnectorTest, TriesUntilThereIsALink) {
  const auto owned = *Reconnector::Create(2);
  Reconnector& reconnector = *owned;
  std::atomic<int> tries = 0;
  Start(reconnector, 1, [&](const auto&) -> Reconnector::Link {
    if (++tries < 3) return Error(StatusCode::kAborted, "the container is paused");
    return std::make_shared<AnyLink>();
  });
  EXPECT_TRUE(Await(1).ok());
  EXPECT_EQ(tries, 3);
}

// Otherwise the thread that releases it last would wait for its end.
TEST_F(ReconnectorTest, EndsABrokenLinkThatOthersHold) {
  const auto owned = *Reconnector::Create(1);
  const auto broken = std::make_shared<AnyLink>();
  owned->Start({1, milliseconds(0), Deadline::After(kLongEnough), broken,
                [](const auto&) -> Reconnector::Link { return std::make_shared<AnyLink>(); },
                Turns(1)});
  EXPECT_TRUE(Await(1).ok());
  EXPECT_TRUE(broken->ended);
}

TEST_F(ReconnectorTest, AnAgentThatHasExitedIsNotRetried) {
  const auto owned = *Reconnector::Create(2);
  Reconnector& reconnector = *owned;
  std::atomic<int> tries = 0;
  Start(reconnector, 1, [&](const auto&) -> Reconnector::Link {
    ++tries;
    return ProofOfEnd::ByNode(Error(StatusCode::kUnavailable, "it is gone"));
  });
  EXPECT_TRUE(ProofOfEnd::In(Await(1)));
  EXPECT_EQ(tries, 1);
}

TEST_F(ReconnectorTest, ReportsTheLastFailureAtTheDeadline) {
  const auto owned = *Reconnector::Create(2);
  Reconnector& reconnector = *owned;
  Start(
      reconnector, 1,
      [](const auto&) -> Reconnector::Link {
        return Error(StatusCode::kUnavailable, "no route to host");
      },
      seconds(0));
  EXPECT_EQ(Message(Await(1)), "no route to host");
}

TEST_F(ReconnectorTest, KnowsTheLastFailureMeanwhile) {
  const auto owned = *Reconnector::Create(1);
  Reconnector& reconnector = *owned;
  EXPECT_TRUE(reconnector.LastFailure(1).ok());
  std::atomic<int> tries = 0;
  Start(reconnector, 1, [&](const std::stop_token& stop) -> Reconnector::Link {
    if (++tries < 3) return Error(StatusCode::kUnavailable, "try " + std::to_string(tries));
    return Hang(stop);
  });
  {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, kLongEnough, [&] { return !hanging_.empty(); }));
  }
  EXPECT_EQ(Message(reconnector.LastFailure(1)), "try 2");
  reconnector.GiveUp(1);
  EXPECT_FALSE(Await(1).ok());
  EXPECT_TRUE(reconnector.LastFailure(1).ok());
}

TEST_F(ReconnectorTest, AThousandNodesUseALimitedNumberOfThreads) {
  constexpr size_t kThreads = 4;
  const auto owned = *Reconnector::Create(kThreads);
  Reconnector& reconnector = *owned;
  for (uint32_t node = 0; node < 1'000; ++node) {
    Start(reconnector, node, [this](const auto& stop) { return Hang(stop); });
  }
  {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(
        changed_.wait_for(lock, kLongEnough, [this] { return hanging_.size() == kThreads; }));
  }
  reconnector.Stop();
  EXPECT_EQ(hanging_.size(), kThreads);
  EXPECT_EQ(ended_.size(), 1'000u);
}

TEST_F(ReconnectorDeathTest, AThreadMayBeMissingAfterItsCreation) {
  EXPECT_EXIT(
      {
        const auto reconnector = *Reconnector::Create(4);
        test::ForbidThreads();
        std::atomic<int> tries = 0;
        for (uint32_t node = 0; node < 4; ++node) {
          Start(*reconnector, node, [&](const auto&) -> Reconnector::Link {
            if (++tries <= 4) return Error(StatusCode::kUnavailable, "no route to host");
            return std::make_shared<AnyLink>();
          });
        }
        bool all = true;
        for (uint32_t node = 0; node < 4; ++node) all = Await(node).ok() && all;
        _exit(all ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

TEST_F(ReconnectorDeathTest, IsNotCreatedWithoutAThread) {
  EXPECT_EXIT(
      {
        test::ForbidThreads();
        _exit(Reconnector::Create(4).status().code() == StatusCode::kResourceExhausted ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

TEST_F(ReconnectorTest, FailingNodesDoNotBlockOthers) {
  const auto owned = *Reconnector::Create(1);
  Reconnector& reconnector = *owned;
  for (uint32_t node = 0; node < 50; ++node) {
    Start(reconnector, node, [](const auto&) -> Reconnector::Link {
      return Error(StatusCode::kUnavailable, "no route to host");
    });
  }
  Start(reconnector, 50,
        [](const auto&) -> Reconnector::Link { return std::make_shared<AnyLink>(); });
  EXPECT_TRUE(Await(50).ok());
  const std::lock_guard lock(mutex_);
  EXPECT_EQ(ended_.size(), 1u);
}

TEST_F(ReconnectorTest, ANodeThatIsGivenUpEndsAtOnceInEveryState) {
  const auto owned = *Reconnector::Create(1);
  Reconnector& reconnector = *owned;
  Start(reconnector, 1, [this](const auto& stop) { return Hang(stop); });
  reconnector.Start({2, std::chrono::hours(1), Deadline::Never(), nullptr,
                     [](const auto&) -> Reconnector::Link { return std::make_shared<AnyLink>(); },
                     Turns(2)});
  reconnector.GiveUp(2);  // it waits
  reconnector.GiveUp(1);  // it hangs
  EXPECT_EQ(Await(1).code(), StatusCode::kCancelled);
  EXPECT_EQ(Await(2).code(), StatusCode::kCancelled);
  reconnector.GiveUp(3);  // it is unknown
}

}  // namespace
}  // namespace autodist::launch
