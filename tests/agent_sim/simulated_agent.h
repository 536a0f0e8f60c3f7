// The agent's side of the protocol, for tests: a state machine that receives the chief's messages
// and sends the agent's. It has no processes, sockets, threads or clock; a derived class adds what
// a test needs. It follows the protocol unless a fault is set or Handle is overridden; what it
// refuses is decided by the agent's own code.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agent/link/attempt_gate.h"
#include "autodist/status.h"
#include "autodist/v1/agent.pb.h"

namespace autodist::test {

// Not thread-safe; does not block unless Deliver does.
class SimulatedAgent {
 public:
  using milliseconds = std::chrono::milliseconds;

  virtual ~SimulatedAgent() = default;

  // Faults.
  bool deaf = false;     // ignores numbered orders
  bool forgets = false;  // acknowledges no order and keeps no event
  bool ranks_ignore_stop = false;
  bool ranks_cannot_be_killed = false;
  milliseconds preparing_takes{0};
  milliseconds adopting_takes{0};   // the result of a preparation
  milliseconds reporting_takes{0};  // that the ranks have ended
  milliseconds stacks_take{0};
  bool ignores_cancel = false;  // a cancelled preparation takes as long as others

  // Answers to CollectStacks (for each rank; empty: no stacks) and to each Prepare.
  std::string stacks;
  std::vector<v1::PrepareIssue> issues;
  std::vector<std::string> warnings;
  std::string data_address;
  // Answers to the first Prepares: ports in use, and another job.
  std::deque<std::vector<uint32_t>> taken;
  std::deque<v1::OtherJob> other_jobs;

  const std::set<uint32_t>& ranks() const { return ranks_; }  // of the last Prepare
  const std::set<uint32_t>& running() const { return running_; }

  // `done` is called once, maybe later.
  using Prepared = std::function<void(Result<v1::PrepareResponse> prepared)>;
  void Prepare(v1::PrepareRequest request, Prepared done);
  // The chief does not wait for the latest one any more.
  void CancelPreparation();
  // Processes the next message of a session.
  void Receive(const v1::ChiefMessage& message);
  // Whether an order to end has not been answered.
  bool owes_report() const { return ends_ > reported_ends_; }
  // Whether the session ends with OK: after Shutdown, when everything has been acknowledged.
  bool done() const { return gate_.last() && ended_ && events_.empty(); }

  // Numbers the event, and sends it in each session until the chief has acknowledged it.
  bool SendReliably(v1::AgentEvent event);
  // Sends the event only in this session. Both return the result of Deliver.
  bool Send(v1::AgentEvent event);

  // Simulates a rank that writes to stdout, or exits.
  void Write(uint32_t rank, const std::string& data);
  void Exit(uint32_t rank, int code);
  void ExitAll(int code);
  // Sends a made-up sample if ranks run and Prepare asked for samples. It is sent with the next
  // answer to a renewal if Prepare asked for that.
  void SendSample();

 protected:
  // Delivers an event to the chief; false: the connection is broken.
  virtual bool Deliver(v1::AgentEvent event) = 0;
  // Executes a message. Called once for each order, even if connections repeat it.
  virtual void Handle(const v1::ChiefMessage& message);
  // Runs the task after this time. By default the task never runs.
  virtual void After(milliseconds /*time*/, std::function<void()> /*task*/) {}
  // Nanoseconds since 1970.
  virtual int64_t Now() const;

  // Sends no events about them if `silently`.
  void StartRanks(bool silently = false);
  // Removes the ranks without events.
  void LoseRanks() { running_.clear(); }
  // Becomes a new agent without this one's orders and events.
  void Restart();

 private:
  struct Call {
    v1::PrepareRequest request;
    Prepared done;
  };
  void Later(milliseconds time, std::function<void()> task);
  void Work();
  void EndWork();
  void Finish(Result<v1::PrepareResponse> answer);
  void CancelWork();
  void AnswerWaiting();
  v1::PrepareResponse Adopt(const v1::PrepareRequest& request);
  void End(agent::AttemptGate::Do what, milliseconds grace);
  void Stop(milliseconds grace);
  void Kill();
  void EndBy(uint32_t rank, int signal);
  void RankEnded(uint32_t rank, v1::AgentEvent exited);
  void SendIfEnded();
  void ReportEnd();
  void SendStacks();
  void SendNewSample();

  uint64_t instance_ = 1;
  agent::AttemptGate gate_;
  std::optional<Call> working_;  // is being prepared
  bool adopting_ = false;        // its result
  std::optional<Call> waiting_;
  uint64_t works_ = 0;  // number of calls that were worked on
  std::set<uint32_t> ranks_;
  std::set<uint32_t> running_;
  std::map<uint32_t, uint64_t> written_;  // bytes, by rank
  bool sampled_ = false;
  bool samples_wait_ = false;
  bool sample_waits_ = false;
  uint32_t samples_ = 0;
  uint64_t ends_ = 0;  // number of orders to end
  int starts_ = 0;     // of ranks
  uint64_t reported_ends_ = 0;
  bool ending_ = false;  // RanksEnded is to be sent
  bool ended_ = false;
  std::deque<v1::AgentEvent> events_;  // not acknowledged
  uint64_t last_event_ = 0;
  uint64_t last_order_ = 0;
};

}  // namespace autodist::test
