#include "launch/launcher.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <filesystem>
#include <future>
#include <mutex>
#include <vector>

#include "support/idle_link.h"
#include "support/temp_folder.h"

namespace autodist::launch {
namespace {

constexpr uint32_t kNodes = 500;

TEST(ClockOffsetTest, IsWhatLiesOutsideOfTheTimesOfQuestionAndAnswer) {
  EXPECT_EQ(ClockOffset(100, 100, 400), 0);
  EXPECT_EQ(ClockOffset(130, 100, 400), 0);  // read long before the answer arrived
  EXPECT_EQ(ClockOffset(90, 100, 400), -10);
  EXPECT_EQ(ClockOffset(420, 100, 400), 20);
  EXPECT_EQ(ClockOffset(90, 100, 95), -10);  // our clock was set back
}

ptrdiff_t ThreadsNow() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"),
                       std::filesystem::directory_iterator());
}

v1::LaunchPlan PlanOfManyNodes() {
  v1::LaunchPlan plan;
  plan.set_job_id("job-1");
  for (uint32_t i = 0; i < kNodes; ++i) {
    v1::NodePlan& node = *plan.add_nodes();
    node.set_node_rank(i);
    node.set_address("node" + std::to_string(i));
    node.mutable_reach()->mutable_ssh();
  }
  return plan;
}

// A link to an agent with a slow Prepare.
class SlowLink final : public test::IdleLink {
 public:
  void PrepareLater(v1::PrepareRequest, base::Deadline, const std::stop_token& stop,
                    Prepared done) override {
    stop_ = stop;
    done_ = std::move(done);
  }
  void Answer() {
    if (stop_.stop_requested()) {
      done_(Error(StatusCode::kCancelled, "cancelled"));
    } else {
      done_(v1::PrepareResponse());
    }
  }
  void OpenSession(SessionListener&) override {}
  void Send(v1::ChiefMessage) override {}
  void Break() override {}
  void EndSession() override {}
  bool WaitClosed(base::Deadline) override { return true; }

 private:
  std::stop_token stop_;
  Prepared done_;
};

// A transport without answers.
class DeadTransport final : public transport::Transport {
 public:
  Result<std::unique_ptr<transport::Stream>> Run(const std::vector<std::string>&,
                                                 const std::stop_token& stop) override {
    std::mutex mutex;
    std::unique_lock lock(mutex);
    std::condition_variable_any never;
    never.wait(lock, stop, [] { return false; });
    return Error(StatusCode::kCancelled, "stopped");
  }
};

class DeadConnector final : public reach::Connector {
 public:
  Result<std::unique_ptr<transport::Transport>> TransportTo(const v1::Reach&,
                                                            ssh::SshLoop&) override {
    return std::make_unique<DeadTransport>();
  }
};

class LauncherTest : public testing::Test {
 protected:
  LauncherTest() {
    LaunchOptions options;
    options.request.set_agent(AGENT_PROGRAM);
    options.connector = std::make_shared<DeadConnector>();
    options.request.set_fan_out(kFanOut);
    launcher_ = *Launcher::Create(plan_, std::move(options));
  }

  static constexpr uint32_t kFanOut = 4;
  static constexpr ptrdiff_t kMaxThreads = 8 * kFanOut;

  const v1::LaunchPlan plan_ = PlanOfManyNodes();
  std::unique_ptr<Launcher> launcher_;
};

// Cannot connect, and keeps what it was asked for.
class RecordingConnector final : public reach::Connector {
 public:
  Result<std::unique_ptr<transport::Transport>> TransportTo(const v1::Reach& reach,
                                                            ssh::SshLoop&) override {
    asked = reach;
    return Error(StatusCode::kUnavailable, "no network");
  }
  v1::Reach asked;
};

TEST(ReconnectionTest, TriesEveryAddressOfTheName) {
  v1::LaunchPlan plan;
  v1::NodePlan& node = *plan.add_nodes();
  node.set_address("node0");
  v1::SshReach& ssh = *node.mutable_reach()->mutable_ssh();
  ssh.set_address("10.0.0.2");
  ssh.add_other_addresses("10.1.0.2");
  ssh.add_other_addresses("fd77::2");
  LaunchOptions options;
  options.request.set_agent(AGENT_PROGRAM);
  const auto connector = std::make_shared<RecordingConnector>();
  options.connector = connector;
  const auto launcher = *Launcher::Create(plan, std::move(options));
  for (const bool resume : {true, false}) {
    connector->asked.Clear();
    std::promise<StatusCode> ended;
    const auto done = [&](const LaunchedNode& launched) {
      ended.set_value(launched.status.code());
    };
    const auto once = base::Deadline::After(std::chrono::milliseconds(0));
    if (resume) {
      launcher->Resume(0, {}, once, std::make_shared<SlowLink>(), done);
    } else {
      launcher->Reach(0, once, nullptr, done);
    }
    EXPECT_EQ(ended.get_future().get(), StatusCode::kUnavailable);
    EXPECT_EQ(connector->asked.ssh().address(), "10.0.0.2");
    EXPECT_EQ(connector->asked.ssh().other_addresses_size(), 2);
  }
}

TEST_F(LauncherTest, PreparingNodesForARestartUsesNoThread) {
  const ptrdiff_t before = ThreadsNow();
  std::vector<std::shared_ptr<SlowLink>> links;
  std::vector<StatusCode> ended;
  for (uint32_t node = 0; node < kNodes; ++node) {
    links.push_back(std::make_shared<SlowLink>());
    launcher_->Prepare(node, {}, links.back(), [&](const LaunchedNode& launched) {
      ended.push_back(launched.status.code());
    });
  }
  EXPECT_EQ(ThreadsNow(), before);
  launcher_->GiveUp(1);
  for (const auto& link : links) link->Answer();
  ASSERT_EQ(ended.size(), kNodes);
  EXPECT_EQ(ended[1], StatusCode::kCancelled);
  EXPECT_EQ(std::ranges::count(ended, StatusCode::kOk), kNodes - 1);
  launcher_->Stop();
}

TEST_F(LauncherTest, ReconnectingToManyNodesUsesALimitedNumberOfThreads) {
  const ptrdiff_t before = ThreadsNow();
  std::atomic<uint32_t> ended = 0;
  for (uint32_t node = 0; node < kNodes; ++node) {
    const auto done = [&](const LaunchedNode&) { ++ended; };
    if (node % 2 == 0) {
      launcher_->Reach(node, base::Deadline::Never(), nullptr, done);
    } else {
      launcher_->Resume(node, {}, base::Deadline::Never(), std::make_shared<SlowLink>(), done);
    }
  }
  EXPECT_LE(ThreadsNow(), before + kMaxThreads);
  launcher_->Stop();
  EXPECT_EQ(ended, kNodes);
}

}  // namespace
}  // namespace autodist::launch
