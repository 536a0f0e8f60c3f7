// Nodes that are only played, for a chief whose clock is turned: their agents keep the protocol,
// and break it where a test says so.
#pragma once

#include <signal.h>

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "launch/launcher.h"
#include "support/idle_link.h"
#include "support/turned_loop.h"

namespace autodist::test {

// The agent of one node, and its ranks.
class FakeAgent {
 public:
  using milliseconds = std::chrono::milliseconds;
  static constexpr milliseconds kLatency{1};

  explicit FakeAgent(TurnedLoop& loop, v1::NodePlan plan) : loop_(loop), plan_(std::move(plan)) {}

  // What is wrong with it.
  bool silent = false;              // it is stopped: the connection stands, and nothing comes of it
  bool unreachable = false;         // the link is cut
  bool fails_at_once = false;       // each session, before it has answered
  bool fails_when_resumed = false;  // or after that
  bool deaf = false;                // it takes none of what is numbered
  bool launch_hangs = false;
  bool prepare_hangs = false;
  Status launch_fails;
  std::string stacks;                       // of each of its ranks; empty: it tells none
  std::vector<std::string> warnings;        // of each Prepare
  std::deque<std::vector<uint32_t>> taken;  // ports, of the first Prepares
  std::deque<v1::OtherJob> other_jobs;      // one of them there at each of the first Prepares
  bool ranks_ignore_stop = false;
  bool ranks_cannot_be_killed = false;
  bool stays = false;              // its guardian does, when all has ended
  std::function<void()> on_start;  // its ranks have started

  int launches = 0;
  int resumes = 0;
  int prepares = 0;
  std::vector<v1::ChiefMessage> received;
  const std::set<uint32_t>& running() const { return running_; }
  bool gone() const { return gone_; }

  void Exit(uint32_t rank, int code) {
    v1::AgentEvent event;
    event.mutable_rank_exited()->set_exit_code(code);
    End(rank, event);
  }
  void ExitAll(int code) {
    for (const uint32_t rank : std::set(running_)) Exit(rank, code);
  }
  // Killed with its guardian: nothing answers any more.
  void Die() {
    gone_ = true;
    running_.clear();
    Close(Error(StatusCode::kUnavailable, "Broken pipe"));
  }
  void Break() { Close(Error(StatusCode::kUnavailable, "connection reset by peer")); }
  void CutLink() {
    unreachable = true;
    Break();
  }
  void Push(v1::AgentEvent event) {
    event.set_sequence(++last_event_);
    events_.push_back(event);
    Tell(std::move(event));
  }
  void Write(uint32_t rank, const std::string& data) {
    v1::AgentEvent event;
    v1::Output& output = *event.mutable_output();
    output.set_rank(rank);
    output.set_stream(v1::OUTPUT_STREAM_STDOUT);
    output.set_offset(written_[rank]);
    output.set_data(data);
    written_[rank] += data.size();
    ++pieces_;
    Tell(std::move(event));
  }

 private:
  friend class FakeLink;
  friend class FakeLauncher;

  // A new one in its place, which knows of nothing.
  void Restart() {
    gone_ = false;
    ++instance_;
    events_.clear();
    last_event_ = taken_messages_ = 0;
    leaving_ = ending_ = false;
    Reset();
  }
  void Reset() {
    written_.clear();
    ended_told_ = false;
  }

  void Tell(v1::AgentEvent event) {
    if (!listener_ || silent || unreachable) return;
    event.set_acknowledged(taken_messages_);
    loop_.After(kLatency, [this, session = session_, event = std::move(event)] {
      if (session != session_ || !listener_) return;
      listener_->OnEvent(event);
      if (event.has_output()) AwaitAcknowledged();
    });
  }

  // By a thread that has the time of this machine, not that of the loop.
  void AwaitAcknowledged() const {
    const auto limit = base::Deadline::After(std::chrono::seconds(10));
    while (acknowledged_ < pieces_ && !limit.Expired()) std::this_thread::yield();
  }

  void Open(launch::SessionListener& listener) {
    listener_ = &listener;
    ++session_;
  }
  void Close(const Status& why) {
    if (launch::SessionListener* listener = std::exchange(listener_, nullptr)) {
      ++session_;
      listener->OnClosed(why);
    }
  }

  void Receive(uint64_t session, const v1::ChiefMessage& message) {
    if (session != session_ || !listener_ || silent || unreachable) return;
    if (fails_at_once) return Break();
    received.push_back(message);
    while (!events_.empty() && events_.front().sequence() <= message.acknowledged()) {
      events_.pop_front();
    }
    if (message.sequence() > 0) {
      if (deaf) return;
      if (message.sequence() <= taken_messages_) return;
      taken_messages_ = message.sequence();
    }
    Obey(message);
    if (leaving_ && ended_told_ && events_.empty()) {
      gone_ = true;
      Close(OkStatus());
    }
  }

  void Obey(const v1::ChiefMessage& message) {
    v1::AgentEvent answer;
    if (message.has_resume()) {
      answer.mutable_resumed()->set_instance(instance_);
      Tell(answer);
      for (const v1::AgentEvent& event : events_) Tell(event);
      if (fails_when_resumed) loop_.After(2 * kLatency, [this] { Break(); });
    } else if (message.has_renew_lease()) {
      answer.mutable_lease_renewed()->set_number(message.renew_lease().number());
      Tell(answer);
    } else if (message.has_start()) {
      Start();
    } else if (message.has_stop()) {
      Stop(milliseconds(message.stop().grace_ms()));
    } else if (message.has_end()) {
      // Nothing keeps it from coming after the next Prepare, and ending that.
      EXPECT_FALSE(ended_told_) << "what has ended is told to end";
      EndAll(milliseconds(message.end().grace_ms()));
    } else if (message.has_shutdown()) {
      leaving_ = true;
      EndAll(milliseconds(message.shutdown().grace_ms()));
    } else if (message.has_collect_stacks()) {
      for (const uint32_t rank : stacks.empty() ? std::set<uint32_t>() : running_) {
        v1::AgentEvent one;
        one.mutable_rank_stacks()->set_rank(rank);
        one.mutable_rank_stacks()->set_text(stacks);
        Push(std::move(one));
      }
      answer.mutable_rank_stacks();
      Push(answer);
    }
  }

  void Start() {
    for (const v1::RankPlan& rank : plan_.ranks()) {
      running_.insert(rank.rank());
      v1::AgentEvent event;
      event.mutable_rank_started()->set_rank(rank.rank());
      event.mutable_rank_started()->set_pid(kPid);
      Push(std::move(event));
    }
    if (on_start) loop_.After(kLatency, on_start);
  }

  void Stop(milliseconds grace) {
    if (grace.count() == 0) return Kill();
    if (ranks_ignore_stop) return loop_.After(grace, [this] { Kill(); });
    for (const uint32_t rank : std::set(running_)) EndBy(rank, SIGTERM);
  }
  void Kill() {
    if (ranks_cannot_be_killed) return;
    for (const uint32_t rank : std::set(running_)) EndBy(rank, SIGKILL);
  }
  void EndAll(milliseconds grace) {
    ending_ = true;
    Stop(grace);
    TellEnded();
  }
  void EndBy(uint32_t rank, int signal) {
    v1::AgentEvent event;
    event.mutable_rank_exited()->set_signal(signal);
    End(rank, event);
  }
  void End(uint32_t rank, v1::AgentEvent& event) {
    if (running_.erase(rank) == 0) return;
    event.mutable_rank_exited()->set_rank(rank);
    event.mutable_rank_exited()->set_pid(kPid);
    event.mutable_rank_exited()->set_time_ns(loop_.Now().time_since_epoch().count());
    Push(std::move(event));
    TellEnded();
  }
  void TellEnded() {
    if (!ending_ || !running_.empty()) return;
    ending_ = false;
    ended_told_ = true;
    v1::AgentEvent event;
    event.mutable_ranks_ended();
    Push(std::move(event));
  }

  static constexpr int kPid = 4711;

  TurnedLoop& loop_;
  v1::NodePlan plan_;
  launch::SessionListener* listener_ = nullptr;
  uint64_t session_ = 0;
  uint64_t instance_ = 1;
  bool gone_ = false;
  bool leaving_ = false;
  bool ending_ = false;
  bool ended_told_ = false;
  std::set<uint32_t> running_;
  std::deque<v1::AgentEvent> events_;  // not acknowledged
  uint64_t last_event_ = 0;
  uint64_t taken_messages_ = 0;
  std::map<uint32_t, uint64_t> written_;
  uint64_t pieces_ = 0;  // of output, so far
  std::atomic<uint64_t> acknowledged_ = 0;
};

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
    loop_.After(FakeAgent::kLatency,
                [&agent = agent_, session = session_, message = std::move(message)] {
                  agent.Receive(session, message);
                });
  }
  void Break() override {
    if (session_ == agent_.session_) agent_.Break();
  }
  void EndSession() override {
    if (session_ == agent_.session_) agent_.Close(Error(StatusCode::kCancelled, "ended here"));
  }
  bool WaitClosed(base::Deadline) override { return !agent_.stays; }

 private:
  TurnedLoop& loop_;
  FakeAgent& agent_;
  uint64_t session_ = 0;
};

// Must outlive every launcher that it makes.
class FakeNodes {
 public:
  FakeNodes(TurnedLoop& loop, const v1::LaunchPlan& plan) : loop_(loop) {
    for (const v1::NodePlan& node : plan.nodes()) {
      agents_.push_back(std::make_unique<FakeAgent>(loop, node));
    }
  }

  FakeAgent& operator[](uint32_t node) { return *agents_[node]; }
  uint32_t size() const { return static_cast<uint32_t>(agents_.size()); }
  TurnedLoop& loop() { return loop_; }

  std::unique_ptr<launch::Launcher> MakeLauncher();

 private:
  TurnedLoop& loop_;
  std::vector<std::unique_ptr<FakeAgent>> agents_;
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
          Finish(node, OkStatus(), NewLink(node), Prepared(agent));
        });
      }
    }
  }
  void Resume(uint32_t node, std::chrono::milliseconds wait, base::Deadline deadline,
              std::shared_ptr<launch::NodeLink>, Done done) override {
    Begin(node, std::move(done));
    After(
        node, [this, node, deadline] { Connect(node, deadline.when(), true); }, wait);
  }
  void Reach(uint32_t node, base::Deadline deadline, Done done) override {
    Begin(node, std::move(done));
    Connect(node, deadline.when(), false);
  }
  void GiveUp(uint32_t node) override { Finish(node, kCancelled); }
  void Prepare(uint32_t node, v1::PrepareRequest request, std::shared_ptr<launch::NodeLink> link,
               Done done) override {
    Begin(node, std::move(done));
    FakeAgent& agent = nodes_[node];
    ++agent.prepares;
    if (agent.prepare_hangs) return;
    After(node,
          [this, node, &agent, plan = std::move(*request.mutable_node()), link = std::move(link)] {
            agent.plan_ = plan;
            agent.Reset();
            Finish(node, OkStatus(), link, Prepared(agent));
          });
  }
  void Cancel() override {
    while (!pending_.empty()) Finish(pending_.begin()->first, kCancelled);
  }
  void Stop() override { Cancel(); }

 private:
  static constexpr std::chrono::milliseconds kRetry{500};

  void Begin(uint32_t node, Done done) { pending_[node] = std::move(done); }
  void After(uint32_t node, std::function<void()> task, std::chrono::milliseconds time = kSoon) {
    nodes_.loop().After(time, [this, node, task = std::move(task)] {
      if (pending_.contains(node)) task();
    });
  }
  void Finish(uint32_t node, const Status& status, std::shared_ptr<launch::NodeLink> link = nullptr,
              v1::PrepareResponse prepared = {}) {
    const auto done = pending_.extract(node);
    if (done) done.mapped()({node, status, std::move(link), std::move(prepared)});
  }
  void Connect(uint32_t node, chief::Loop::Time limit, bool resume) {
    After(node, [this, node, limit, resume] {
      FakeAgent& agent = nodes_[node];
      ++agent.resumes;
      if (nodes_.loop().Now() >= limit) {
        return Finish(node, Error(StatusCode::kDeadlineExceeded, "no route to host"));
      }
      if (agent.unreachable) {
        return After(
            node, [this, node, limit, resume] { Connect(node, limit, resume); }, kRetry);
      }
      if (agent.gone() && resume) return Finish(node, Error(StatusCode::kAborted, "it is gone"));
      if (agent.gone()) agent.Restart();
      Finish(node, OkStatus(), NewLink(node));
    });
  }
  std::shared_ptr<launch::NodeLink> NewLink(uint32_t node) {
    return std::make_shared<FakeLink>(nodes_.loop(), nodes_[node]);
  }
  static v1::PrepareResponse Prepared(FakeAgent& agent) {
    v1::PrepareResponse prepared;
    for (const std::string& warning : agent.warnings) prepared.add_warnings(warning);
    if (!agent.taken.empty()) {
      for (const uint32_t port : agent.taken.front()) prepared.add_ports_taken(port);
      agent.taken.pop_front();
    }
    if (!agent.other_jobs.empty()) {
      *prepared.mutable_facts()->add_other_jobs() = agent.other_jobs.front();
      agent.other_jobs.pop_front();
    }
    return prepared;
  }

  static constexpr std::chrono::milliseconds kSoon = FakeAgent::kLatency;
  const Status kCancelled = Error(StatusCode::kCancelled, "cancelled");

  FakeNodes& nodes_;
  std::map<uint32_t, Done> pending_;
};

inline std::unique_ptr<launch::Launcher> FakeNodes::MakeLauncher() {
  return std::make_unique<FakeLauncher>(*this);
}

}  // namespace autodist::test
