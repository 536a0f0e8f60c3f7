// Links whose node accepts no more bytes: gRPC ends their sessions only after a time limit.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <vector>

#include "chief/fleet/fleet.h"
#include "launch/grpc_link.h"
#include "support/turned_loop.h"

namespace autodist::chief {
namespace {

using std::chrono::seconds;

constexpr uint32_t kStalledNodes = 20;
// Each stalled link takes at least 0.1 s to end.
constexpr seconds kWithin{1};
constexpr int kSmallBuffer = 4'096;          // bytes
constexpr size_t kLargeOrder = 60'000;       // bytes, less than gRPC's flow control allows
constexpr int kReadableLimit = 60'000;       // milliseconds
constexpr seconds kSimulatedLimit{60 * 10};  // until the fleet notices the silence

// A stream whose socket gRPC has taken over.
class StreamOfGrpc final : public transport::Stream {
 public:
  base::UniqueFd TakeSocket() override { return {}; }
  std::string StderrTail() const override { return ""; }
  bool WaitClosed(base::Deadline) override { return true; }
  Status Failure() const override { return OkStatus(); }
};

// Keeps the links that it shall make again.
class KeepingLauncher final : public launch::Launcher {
 public:
  void Start(const Done&) override {}
  void Resume(uint32_t, std::chrono::milliseconds, base::Deadline,
              std::shared_ptr<launch::NodeLink> broken, Done) override {
    kept.push_back(std::move(broken));
  }
  void Reach(uint32_t, base::Deadline, std::shared_ptr<launch::NodeLink> broken, Done) override {
    kept.push_back(std::move(broken));
  }
  void GiveUp(uint32_t) override {}
  Status LastFailure(uint32_t) const override { return OkStatus(); }
  void Prepare(uint32_t, v1::PrepareRequest, std::shared_ptr<launch::NodeLink>, Done) override {}
  void Cancel() override {}
  void Stop() override {}

  std::vector<std::shared_ptr<launch::NodeLink>> kept;
};

class StalledLinksTest : public testing::Test, private FleetListener {
 protected:
  StalledLinksTest() {
    for (uint32_t node = 0; node < kStalledNodes; ++node) {
      auto sockets = base::StreamSocketPair();
      setsockopt(sockets->first.get(), SOL_SOCKET, SO_SNDBUF, &kSmallBuffer, sizeof kSmallBuffer);
      unread_.push_back(std::move(sockets->second));
      base::UniqueFd line(dup(sockets->first.get()));
      fleet_.Add(node, std::make_shared<launch::GrpcLink>(
                           std::make_unique<StreamOfGrpc>(),
                           *rpc::ChannelOver(std::move(sockets->first)), std::move(line)));
      v1::ChiefMessage order;
      order.mutable_rendezvous_reply()->set_value(std::string(kLargeOrder, 'v'));
      fleet_.node(node).link()->Send(std::move(order));
    }
    for (const base::UniqueFd& socket : unread_) {
      pollfd readable{socket.get(), POLLIN, 0};
      EXPECT_EQ(poll(&readable, 1, kReadableLimit), 1);
    }
  }

  static v1::LaunchPlan Plan() {
    v1::LaunchPlan plan;
    for (uint32_t node = 0; node < kStalledNodes; ++node) {
      plan.add_nodes()->set_address("node" + std::to_string(node));
    }
    return plan;
  }
  template <typename Action>
  static auto TimeOf(Action action) {
    const auto before = std::chrono::steady_clock::now();
    action();
    return std::chrono::steady_clock::now() - before;
  }

  void OnMemberEvent(uint32_t, const v1::AgentEvent&) override {}
  void OnWarning(uint32_t, const std::string&) override {}
  void OnEvicted(uint32_t, std::optional<uint32_t>, const Status&) override {}
  void OnLost(uint32_t, std::optional<uint32_t>, const Status&, bool) override {}
  void OnPhase(uint32_t, v1::NodePhase, const std::string&) override {}

  std::vector<base::UniqueFd> unread_;  // the nodes' ends
  const v1::LaunchPlan plan_ = Plan();
  test::TurnedLoop loop_;
  Console console_{[](uint32_t, const v1::OutputAck&) {}};
  OutputRouter output_{loop_, console_};
  KeepingLauncher launcher_;
  Fleet fleet_{plan_, {seconds(60)}, loop_, output_, console_, *this};
};

TEST_F(StalledLinksTest, TheLoopDoesNotWaitForTheirEnd) {
  testing::internal::CaptureStderr();
  fleet_.ConnectAgainBy(launcher_);
  const auto took = TimeOf([this] {
    loop_.RunUntil([this] { return launcher_.kept.size() == kStalledNodes; },
                   loop_.Now() + kSimulatedLimit);
  });
  EXPECT_EQ(launcher_.kept.size(), kStalledNodes);
  EXPECT_LT(took, kWithin);
  console_.Finish();
  testing::internal::GetCapturedStderr();
}

TEST_F(StalledLinksTest, AllEndTogetherAtTheExit) {
  EXPECT_LT(TimeOf([this] { fleet_.DisconnectAtExit(); }), kWithin);
}

}  // namespace
}  // namespace autodist::chief
