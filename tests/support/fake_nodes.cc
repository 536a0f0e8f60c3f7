#include "support/fake_nodes.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <map>
#include <thread>
#include <utility>

#include "base/proof_of_end.h"
#include "support/idle_link.h"

namespace autodist::test {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kLatency{1};
constexpr milliseconds kRetry{500};
constexpr milliseconds kLookInterval{100};
constexpr std::chrono::seconds kConsoleLimit{10};

}  // namespace

void FakeAgent::Die() {
  gone_ = true;
  deferred_.clear();
  LoseRanks();
  Close(Error(StatusCode::kUnavailable, "Broken pipe"));
}

void FakeAgent::Thaw(bool clock_stood) {
  const auto frozen = loop_.Now() - *std::exchange(frozen_since_, std::nullopt);
  if (clock_stood && expires_) *expires_ += frozen;
  CheckLease();
  Break();
  for (const auto& task : std::exchange(stopped_tasks_, {})) task();
}

void FakeAgent::Evict() {
  v1::AgentEvent event;
  event.mutable_eviction_notice();
  SendReliably(std::move(event));
  ExitAll(128 + SIGTERM);
}

void FakeAgent::After(milliseconds time, std::function<void()> task) {
  loop_.After(time, [this, task = std::move(task)] {
    if (!frozen()) return task();
    stopped_tasks_.push_back(task);
  });
}

void FakeAgent::Open(launch::SessionListener& listener) {
  listener_ = &listener;
  resumed_ = false;
  ++session_;
  if (!gone_) return;
  loop_.After(kLatency, [this, session = session_] {
    if (session == session_) Close(Error(StatusCode::kUnavailable, "connection reset by peer"));
  });
}

void FakeAgent::Close(const Status& why) {
  if (launch::SessionListener* listener = std::exchange(listener_, nullptr)) {
    ++session_;
    listener->OnClosed(why);
  }
  if (const auto broken = std::exchange(on_break_, nullptr)) broken();
}

void FakeAgent::Take(uint64_t session, const v1::ChiefMessage& message) {
  if (session != session_ || !listener_ || unreachable || gone_ || frozen()) return;
  if (silent) return Defer([this, session, message] { Take(session, message); });
  if (fails_at_once) return Break();
  received.push_back(message);
  Receive(message);
  if (!done()) return;
  gone_ = true;
  Close(OkStatus());
}

void FakeAgent::Handle(const v1::ChiefMessage& message) {
  resumed_ |= message.has_resume();
  if (message.has_renew_lease()) Renew(message.renew_lease().received());
  if (message.has_signal()) Hold(message.signal());
  if (message.has_start()) {
    generation_ = message.start().generation();
    Renew(message.start().received());
  }
  SimulatedAgent::Handle(message);
  if (message.has_resume() && fails_when_resumed) After(2 * kLatency, [this] { Break(); });
  if (message.has_start() && on_start) on_start();
}

void FakeAgent::NumberAnswer(v1::AgentEvent& event) {
  answers_.push_back(loop_.Now());
  if (event.has_resumed()) event.mutable_resumed()->set_answer(answers_.size());
  if (event.has_lease_renewed()) event.mutable_lease_renewed()->set_answer(answers_.size());
}

void FakeAgent::Renew(uint64_t answer) {
  if (lease.count() == 0 || answer == 0 || answer > answers_.size()) return;
  SetExpires(std::max(expires_.value_or(chief::Loop::Time()), answers_[answer - 1] + lease));
}

void FakeAgent::Hold(const v1::SignalRanks& signal) {
  if (lease.count() == 0 || (signal.signal() != SIGTSTP && signal.signal() != SIGCONT)) return;
  if (signal.signal() == SIGCONT && !held_) return;
  held_ = signal.signal() == SIGTSTP;
  SetExpires(loop_.Now() + lease + milliseconds(held_ ? signal.hold_ms() : 0));
}

void FakeAgent::SetExpires(chief::Loop::Time expires) {
  expires_ = expires;
  CheckLease();
}

// Ends it if its lease has expired, or looks again then.
void FakeAgent::CheckLease() {
  if (!expires_ || gone_ || frozen()) return;
  if (loop_.Now() >= *expires_) return Die();
  if (check_at_ <= *expires_) return;
  check_at_ = *expires_;
  loop_.Schedule(check_at_, [this, at = check_at_] {
    if (check_at_ == at) check_at_ = chief::Loop::Time::max();
    CheckLease();
  });
}

void FakeAgent::Begin() {
  if (!std::exchange(gone_, false)) return;
  answers_.clear();
  expires_.reset();
  held_ = false;
  Restart();
}

void FakeAgent::Defer(std::function<void()> task) {
  deferred_.push_back(std::move(task));
  if (deferred_.size() == 1) After(kLookInterval, [this] { RunDeferred(); });
}

void FakeAgent::RunDeferred() {
  if (silent) return After(kLookInterval, [this] { RunDeferred(); });
  for (const auto& task : std::exchange(deferred_, {})) task();
}

bool FakeAgent::Deliver(v1::AgentEvent event) {
  if (silent) {
    Defer([this, session = session_, event] {
      if (session == session_) Deliver(event);
    });
    return true;
  }
  if (event.has_resumed() || event.has_lease_renewed()) NumberAnswer(event);
  if (!listener_ || !resumed_ || mute || unreachable || frozen()) return false;
  pieces_ += event.has_output() ? 1 : 0;
  // The chief compares this time with its wall clock, which stands still in simulated time.
  if (event.has_lease_renewed()) event.mutable_lease_renewed()->clear_time_ns();
  loop_.After(kLatency, [this, session = session_, event = std::move(event)] {
    if (session != session_ || !listener_) return;
    listener_->OnEvent(event);
    if (event.has_output()) AwaitAcknowledged();
  });
  return true;
}

// Runs on a thread that uses real time, not that of the loop.
void FakeAgent::AwaitAcknowledged() const {
  const auto limit = base::Deadline::After(kConsoleLimit);
  while (acknowledged_ < pieces_ && !limit.Expired()) std::this_thread::yield();
}

class FakeLink final : public IdleLink {
 public:
  FakeLink(TurnedLoop& loop, FakeAgent& agent) : loop_(loop), agent_(agent) {}
  ~FakeLink() override { FakeLink::EndSession(); }

  void OpenSession(launch::SessionListener& listener) override {
    agent_.Open(listener);
    session_ = agent_.session_;
  }
  void Send(v1::ChiefMessage message) override {
    if (message.has_output_ack()) {  // from the console's thread
      ++agent_.acknowledged_;
      return;
    }
    loop_.After(kLatency, [&agent = agent_, session = session_, message = std::move(message)] {
      agent.Take(session, message);
    });
  }
  void Break() override {
    if (session_ == agent_.session_) agent_.Break();
  }
  void EndSession() override {
    if (session_ == agent_.session_) agent_.Close(Error(StatusCode::kCancelled, "ended here"));
  }
  bool WaitClosed(base::Deadline) override {
    if (agent_.stays) loop_.Sleep(milliseconds(100));
    return !agent_.stays;
  }

 private:
  TurnedLoop& loop_;
  FakeAgent& agent_;
  uint64_t session_ = 0;
};

class FakeLauncher final : public launch::Launcher {
 public:
  explicit FakeLauncher(FakeNodes& nodes) : nodes_(nodes) {}

  void Start(const Done& done) override {
    for (uint32_t node = 0; node < nodes_.size(); ++node) {
      FakeAgent& agent = nodes_[node];
      Begin(node, done);
      ++agent.launches;
      if (!agent.launch_hangs) {
        After(node, [this, node, &agent] {
          if (!agent.launch_fails.ok()) return Finish(node, agent.launch_fails);
          v1::PrepareRequest request;
          *request.mutable_node() = nodes_.plan_.nodes(static_cast<int>(node));
          PrepareNow(node, std::move(request), NewLink(node));
        });
      }
    }
  }
  void Resume(uint32_t node, milliseconds wait, base::Deadline deadline,
              std::shared_ptr<launch::NodeLink>, Done done) override {
    Begin(node, std::move(done));
    After(
        node, [this, node, deadline] { Connect(node, deadline.when(), true); }, wait);
  }
  void Reach(uint32_t node, base::Deadline deadline, std::shared_ptr<launch::NodeLink>,
             Done done) override {
    Begin(node, std::move(done));
    Connect(node, deadline.when(), false);
  }
  void GiveUp(uint32_t node) override {
    const bool prepares = std::exchange(nodes_[node].on_break_, nullptr) != nullptr;
    Finish(node, kCancelled);
    if (prepares) nodes_[node].CancelPreparation();
  }
  Status LastFailure(uint32_t node) const override { return nodes_[node].reconnecting_fails; }
  void Prepare(uint32_t node, v1::PrepareRequest request, std::shared_ptr<launch::NodeLink> link,
               Done done) override {
    Begin(node, std::move(done));
    FakeAgent& agent = nodes_[node];
    ++agent.prepares;
    agent.on_break_ = [this, node, &agent, call = calls_] {
      if (IsPending(node, call)) Finish(node, kBroken);
      agent.CancelPreparation();
    };
    if (agent.prepare_hangs) return;
    After(node, [this, node, request = std::move(request), link = std::move(link)] {
      PrepareNow(node, request, link);
    });
  }
  void Cancel() override {
    while (!pending_.empty()) Finish(pending_.begin()->first, kCancelled);
  }
  void Stop() override { Cancel(); }

 private:
  // As with the real one, a new call for a node ends the current one.
  void Begin(uint32_t node, Done done) {
    Finish(node, kCancelled);
    pending_[node] = {++calls_, std::move(done)};
  }
  void After(uint32_t node, std::function<void()> task, milliseconds time = kLatency) {
    const uint64_t call = pending_.at(node).call;
    nodes_.loop_.After(time, [this, node, call, task = std::move(task)] {
      if (IsPending(node, call)) task();
    });
  }
  bool IsPending(uint32_t node, uint64_t call) const {
    const auto pending = pending_.find(node);
    return pending != pending_.end() && pending->second.call == call;
  }
  void PrepareNow(uint32_t node, v1::PrepareRequest request,
                  std::shared_ptr<launch::NodeLink> link) {
    FakeAgent& agent = nodes_[node];
    agent.Prepare(std::move(request), [this, node, &agent, link = std::move(link),
                                       call = pending_.at(node).call](auto prepared) {
      if (!IsPending(node, call) || agent.unreachable || agent.silent) return;
      agent.on_break_ = nullptr;
      if (!prepared.ok()) return Finish(node, prepared.status());
      prepared->mutable_facts()->MergeFrom(agent.facts);
      Finish(node, OkStatus(), link, *std::move(prepared));
    });
  }
  void Finish(uint32_t node, const Status& status, std::shared_ptr<launch::NodeLink> link = nullptr,
              v1::PrepareResponse prepared = {}) {
    const auto pending = pending_.extract(node);
    if (!pending) return;
    pending.mapped().done(
        {node, status, std::move(link), std::move(prepared), 0, nodes_[node].launch_fails_at});
  }
  void Connect(uint32_t node, chief::Loop::Time limit, bool resume) {
    After(node, [this, node, limit, resume] {
      FakeAgent& agent = nodes_[node];
      ++agent.resumes;
      if (nodes_.loop_.Now() >= limit) {
        return Finish(node, Error(StatusCode::kDeadlineExceeded, "no route to host"));
      }
      const Status fails = agent.frozen() && agent.reach_fails ? agent.reach_fails() : OkStatus();
      if (ProofOfEnd::In(fails)) return Finish(node, fails);
      if (agent.unreachable || agent.mute || agent.frozen()) {
        return After(
            node, [this, node, limit, resume] { Connect(node, limit, resume); }, kRetry);
      }
      if (agent.gone() && resume)
        return Finish(node, ProofOfEnd::ByNode(Error(StatusCode::kUnavailable, "it is gone")));
      agent.Begin();
      After(
          node, [this, node] { Finish(node, OkStatus(), NewLink(node)); }, agent.link_takes);
    });
  }
  std::shared_ptr<launch::NodeLink> NewLink(uint32_t node) {
    return std::make_shared<FakeLink>(nodes_.loop_, nodes_[node]);
  }
  const Status kCancelled = Error(StatusCode::kCancelled, "cancelled");
  const Status kBroken = Error(StatusCode::kUnavailable, "connection reset by peer");

  struct Pending {
    uint64_t call;
    Done done;
  };

  FakeNodes& nodes_;
  uint64_t calls_ = 0;
  std::map<uint32_t, Pending> pending_;  // by node
};

FakeNodes::FakeNodes(TurnedLoop& loop, const v1::LaunchPlan& plan) : loop_(loop), plan_(plan) {
  for (int i = 0; i < plan.nodes_size(); ++i) agents_.push_back(std::make_unique<FakeAgent>(loop));
}

std::unique_ptr<launch::Launcher> FakeNodes::MakeLauncher() {
  return std::make_unique<FakeLauncher>(*this);
}

}  // namespace autodist::test
