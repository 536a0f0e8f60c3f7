// libFuzzer: the chief survives all events of agents in complete sessions, and handles no event of
// a node that broke a rule. The input is a sequence of records: a byte that chooses node and
// action, and for an event its length and its bytes.
#include <google/protobuf/io/coded_stream.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "chief/attempt/attempt.h"
#include "chief/attempt/report.h"
#include "chief/fleet/node.h"
#include "chief/fleet/node_clock.h"
#include "fuzz/check.h"
#include "launch/agent_rules.h"
#include "support/idle_link.h"
#include "support/plans.h"

namespace autodist::chief {
namespace {

constexpr uint32_t kNodes = 3;
constexpr uint32_t kMaxEventLength = 1 << 20;
constexpr int64_t kNow = 1'700'000'000'000'000'000;  // nanoseconds since 1970
constexpr uint64_t kKept = 256 << 20;                // max. bytes sent to a session

// The input plays the agent.
class PlayedLink final : public test::IdleLink {
 public:
  explicit PlayedLink(launch::SessionListener*& session) : session_(session) {}
  ~PlayedLink() override { PlayedLink::EndSession(); }

  void OpenSession(launch::SessionListener& listener) override { session_ = &listener; }
  void Send(v1::ChiefMessage message) override {
    sent_ += message.ByteSizeLong();
    Check(sent_ < kKept, "a node is sent without end");
  }
  void Break() override { broken_ = true; }
  void EndSession() override {
    if (auto* session = std::exchange(session_, nullptr)) {
      session->OnClosed(Error(StatusCode::kUnavailable, "broken"));
    }
  }
  bool WaitClosed(base::Deadline) override { return true; }

  bool broken() const { return broken_; }

 private:
  launch::SessionListener*& session_;
  bool broken_ = false;
  uint64_t sent_ = 0;
};

const v1::LaunchPlan& Plan() {
  static const v1::LaunchPlan plan = [] {
    v1::LaunchPlan made = test::ThreeNodePlan();
    made.set_pmix(true);
    return made;
  }();
  return plan;
}

// Handles events like a job, without terminal, disk and time.
class Chief final : private NodeListener {
 public:
  Chief() {
    attempt_.emplace(0, std::make_shared<const v1::LaunchPlan>(Plan()),
                     std::vector<uint32_t>{0, 1, 2}, "/logs", 15, std::chrono::seconds(1),
                     [this](uint32_t node, v1::ChiefMessage message, SharedValue value) {
                       nodes_[node]->SendReliably(std::move(message), std::move(value));
                     });
    for (uint32_t i = 0; i < kNodes; ++i) {
      nodes_[i] = std::make_unique<Node>(i, static_cast<NodeListener&>(*this), loop_);
      Connect(i);
    }
  }
  ~Chief() {
    for (auto& node : nodes_) node->Disconnect();
  }

  void Connect(uint32_t node) {
    links_[node] = std::make_shared<PlayedLink>(sessions_[node]);
    nodes_[node]->Connect(links_[node]);
    v1::AgentEvent resumed;
    resumed.mutable_resumed()->set_instance(1);
    Deliver(node, std::move(resumed));
    clocks_[node].Ask(kNow);
  }
  void Deliver(uint32_t node, v1::AgentEvent event) {
    if (!sessions_[node]) return;
    // The input cannot guess the name of a world, so it has a short one for it.
    v1::RendezvousRequest* request =
        event.has_rendezvous_request() ? event.mutable_rendezvous_request() : nullptr;
    const std::string& world = attempt_->pmix()->name_space();
    if (request && request->gather().name_space() == "w") {
      request->mutable_gather()->set_name_space(world);
    }
    if (request && request->modex().name_space() == "w") {
      request->mutable_modex()->set_name_space(world);
    }
    sessions_[node]->OnEvent(std::move(event));
    if (links_[node]->broken()) links_[node]->EndSession();
  }
  void Lose(uint32_t node) { attempt_->NodeLost(node, Error(StatusCode::kUnavailable, "lost")); }

  void CheckEnd() const {
    const int code = attempt_->state().ExitCode();
    Check(code >= 0 && code <= 255, "an exit code that there is not");
    if (attempt_->state().cause()) DescribeCause(*attempt_->state().cause(), attempt_->plan());
  }

 private:
  void OnEvent(uint32_t node, v1::AgentEvent event) override {
    Check(nodes_[node]->broken_rule().ok(), "an event after a broken rule is handled");
    const size_t cost = launch::EventRules::CostOf(event);
    if (event.has_lease_renewed()) {
      clocks_[node].Answered(event.lease_renewed().number(), event.lease_renewed().time_ns(), kNow);
    } else if (event.has_rank_exited()) {
      event.mutable_rank_exited()->set_time_ns(clocks_[node].ByOurs(event.rank_exited().time_ns()));
    }
    attempt_->Take(node, event);
    nodes_[node]->Handled(cost);
  }
  void OnOutput(uint32_t node, v1::Output output) override {
    v1::OutputAck ack;
    ack.set_rank(output.rank());
    ack.set_stream(output.stream());
    ack.set_offset(output.offset() + output.data().size());
    nodes_[node]->Acknowledge(ack);
  }
  void OnClosed(uint32_t, uint64_t, Status) override {}

  const Loop loop_;
  std::optional<Attempt> attempt_;
  std::array<launch::SessionListener*, kNodes> sessions_{};
  std::array<std::shared_ptr<PlayedLink>, kNodes> links_;
  std::array<std::unique_ptr<Node>, kNodes> nodes_;
  std::array<NodeClock, kNodes> clocks_;
};

}  // namespace
}  // namespace autodist::chief

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace autodist;
  enum Action : uint8_t { kEvent, kNumberedEvent, kRepeatedEvent, kReconnect, kLost, kActions };
  chief::Chief chief;
  std::array<uint64_t, chief::kNodes> sequences{};
  google::protobuf::io::CodedInputStream input(data, static_cast<int>(size));
  for (uint8_t chosen = 0; input.ReadRaw(&chosen, 1);) {
    const uint32_t node = chosen % chief::kNodes;
    const auto action = static_cast<Action>(chosen / chief::kNodes % kActions);
    if (action == kReconnect) {
      chief.Connect(node);
    } else if (action == kLost) {
      chief.Lose(node);
    } else {
      uint32_t length = 0;
      std::string bytes;
      if (!input.ReadVarint32(&length)) break;
      const int left = static_cast<int>(size) - input.CurrentPosition();
      input.ReadString(&bytes, std::min(static_cast<int>(length % chief::kMaxEventLength), left));
      v1::AgentEvent event;
      if (!event.ParseFromString(bytes)) continue;
      for (int i = 0; i < (action == kRepeatedEvent ? 300 : 1); ++i) {
        if (action != kEvent) event.set_sequence(++sequences[node]);
        chief.Deliver(node, event);
      }
    }
  }
  chief.CheckEnd();
  return 0;
}
