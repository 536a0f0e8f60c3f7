#include "agent_sim/simulated_agent.h"

#include <signal.h>

#include <utility>

#include "agent_sim/events.h"
#include "agent_sim/made_up_sample.h"
#include "base/wall_clock.h"

namespace autodist::test {

using agent::AttemptGate;

void SimulatedAgent::Prepare(v1::PrepareRequest request, Prepared done) {
  const auto what = gate_.Prepare(request.generation());
  if (!what.ok()) return done(what.status());
  AnswerWaiting();
  waiting_ = {std::move(request), std::move(done)};
  if (*what == AttemptGate::Do::kPrepare) Work();
  if (*what == AttemptGate::Do::kCancel) CancelWork();
}

void SimulatedAgent::CancelPreparation() {
  AnswerWaiting();
  gate_.CancelPreparation();
  CancelWork();
}

void SimulatedAgent::AnswerWaiting() {
  if (!waiting_) return;
  const Call call = *std::exchange(waiting_, std::nullopt);
  call.done(Error(StatusCode::kCancelled, "another order has followed"));
}

void SimulatedAgent::Later(milliseconds time, std::function<void()> task) {
  if (time.count() == 0) return task();
  After(time, std::move(task));
}

void SimulatedAgent::Work() {
  if (working_) {  // the gate lets it end first
    return waiting_->done(Error(StatusCode::kFailedPrecondition, "another one is being prepared"));
  }
  working_ = std::exchange(waiting_, std::nullopt);
  ++works_;
  Later(preparing_takes, [this, work = works_] {
    if (work == works_) EndWork();
  });
}

void SimulatedAgent::CancelWork() {
  if (!ignores_cancel) EndWork();
}

void SimulatedAgent::EndWork() {
  if (!working_ || adopting_) return;
  ++works_;
  if (!gate_.BeginAdopting()) {
    return Finish(Error(StatusCode::kCancelled, "another order has followed"));
  }
  adopting_ = true;
  Later(adopting_takes, [this, work = works_] {
    if (work == works_) Finish(Adopt(working_->request));
  });
}

void SimulatedAgent::Finish(Result<v1::PrepareResponse> answer) {
  const Call call = *std::exchange(working_, std::nullopt);
  adopting_ = false;
  const AttemptGate::Do next = gate_.WorkEnded();
  call.done(std::move(answer));
  if (next == AttemptGate::Do::kPrepare) Work();
  End(next, milliseconds(0));
}

v1::PrepareResponse SimulatedAgent::Adopt(const v1::PrepareRequest& request) {
  ranks_.clear();
  for (const v1::RankPlan& rank : request.node().ranks()) ranks_.insert(rank.rank());
  sampled_ = request.sample_ms() > 0;
  samples_wait_ = request.samples_wait();
  sample_waits_ = false;
  written_.clear();
  ended_ = ending_ = false;
  v1::PrepareResponse response;
  response.mutable_issues()->Add(issues.begin(), issues.end());
  response.mutable_warnings()->Add(warnings.begin(), warnings.end());
  response.set_data_address(data_address);
  if (!taken.empty()) {
    response.mutable_ports_taken()->Add(taken.front().begin(), taken.front().end());
    taken.pop_front();
  }
  if (!other_jobs.empty()) {
    *response.mutable_facts()->add_other_jobs() = other_jobs.front();
    other_jobs.pop_front();
  }
  return response;
}

void SimulatedAgent::Receive(const v1::ChiefMessage& message) {
  const bool ours = !message.has_resume() || message.resume().instance() == instance_;
  while (ours && !events_.empty() && events_.front().sequence() <= message.acknowledged()) {
    events_.pop_front();
  }
  if (message.sequence() > 0) {
    if (deaf || message.sequence() <= last_order_) return;
    last_order_ = message.sequence();
  }
  Handle(message);
}

void SimulatedAgent::Handle(const v1::ChiefMessage& message) {
  switch (message.message_case()) {
    case v1::ChiefMessage::kResume:
      Send(Resumed(instance_));
      for (const v1::AgentEvent& event : events_) Send(event);
      break;
    case v1::ChiefMessage::kRenewLease: {
      v1::AgentEvent event;
      event.mutable_lease_renewed()->set_number(message.renew_lease().number());
      event.mutable_lease_renewed()->set_time_ns(Now());
      Send(std::move(event));
      if (std::exchange(sample_waits_, false)) SendNewSample();
      break;
    }
    case v1::ChiefMessage::kStart:
      if (gate_.Start(message.start().generation())) StartRanks();
      break;
    case v1::ChiefMessage::kStop:
      if (gate_.Stop(message.stop().generation())) Stop(milliseconds(message.stop().grace_ms()));
      break;
    case v1::ChiefMessage::kEnd:
      End(gate_.End(message.end().generation()), milliseconds(message.end().grace_ms()));
      break;
    case v1::ChiefMessage::kShutdown:
      End(gate_.Shutdown(), milliseconds(message.shutdown().grace_ms()));
      break;
    case v1::ChiefMessage::kCollectStacks:
      Later(stacks_take, [this] { SendStacks(); });
      break;
    default:
      break;
  }
}

bool SimulatedAgent::SendReliably(v1::AgentEvent event) {
  event.set_sequence(++last_event_);
  if (!forgets) events_.push_back(event);
  return Send(std::move(event));
}

bool SimulatedAgent::Send(v1::AgentEvent event) {
  if (!forgets) event.set_acknowledged(last_order_);
  return Deliver(std::move(event));
}

void SimulatedAgent::Write(uint32_t rank, const std::string& data) {
  uint64_t& written = written_[rank];
  Send(RankWrote(rank, std::exchange(written, written + data.size()), data));
}

void SimulatedAgent::Exit(uint32_t rank, int code) { RankEnded(rank, RankExited(rank, code)); }

void SimulatedAgent::ExitAll(int code) {
  for (const uint32_t rank : std::set(running_)) Exit(rank, code);
}

void SimulatedAgent::SendSample() {
  if (running_.empty() || !sampled_) return;
  if (samples_wait_) {
    sample_waits_ = true;
  } else {
    SendNewSample();
  }
}

void SimulatedAgent::SendNewSample() {
  v1::AgentEvent event;
  *event.mutable_sample() = MadeUpSample(running_, ++samples_);
  Send(std::move(event));
}

int64_t SimulatedAgent::Now() const { return base::NanosecondsSince1970(); }

void SimulatedAgent::StartRanks(bool silently) {
  ++starts_;
  running_ = ranks_;
  if (silently) return;
  for (const uint32_t rank : ranks_) SendReliably(RankStarted(rank));
}

void SimulatedAgent::Restart() {
  ++instance_;
  gate_ = {};
  ++works_;
  adopting_ = false;
  working_.reset();
  waiting_.reset();
  written_.clear();
  ending_ = ended_ = false;
  reported_ends_ = ends_;
  events_.clear();
  last_event_ = last_order_ = 0;
}

void SimulatedAgent::Stop(milliseconds grace) {
  if (grace.count() == 0) return Kill();
  if (ranks_ignore_stop) {
    return After(grace, [this, starts = starts_] {
      if (starts == starts_) Kill();
    });
  }
  for (const uint32_t rank : std::set(running_)) EndBy(rank, SIGTERM);
}

void SimulatedAgent::End(AttemptGate::Do what, milliseconds grace) {
  if (what != AttemptGate::Do::kEnd) return;
  AnswerWaiting();
  CancelWork();
  ending_ = true;
  ++ends_;
  Stop(grace);
  SendIfEnded();
}

void SimulatedAgent::Kill() {
  if (ranks_cannot_be_killed) return;
  for (const uint32_t rank : std::set(running_)) EndBy(rank, SIGKILL);
}

void SimulatedAgent::EndBy(uint32_t rank, int signal) {
  v1::AgentEvent exited = RankExited(rank);
  exited.mutable_rank_exited()->set_signal(signal);
  RankEnded(rank, std::move(exited));
}

void SimulatedAgent::RankEnded(uint32_t rank, v1::AgentEvent exited) {
  if (running_.erase(rank) == 0) return;
  exited.mutable_rank_exited()->set_time_ns(Now());
  SendReliably(std::move(exited));
  SendIfEnded();
}

void SimulatedAgent::SendIfEnded() {
  if (ending_ && running_.empty()) Later(reporting_takes, [this] { ReportEnd(); });
}

void SimulatedAgent::ReportEnd() {
  if (!ending_ || !running_.empty()) return;
  ending_ = false;
  ended_ = true;
  reported_ends_ = ends_;
  v1::AgentEvent event;
  event.mutable_ranks_ended()->set_generation(gate_.Ended().value());
  SendReliably(std::move(event));
}

void SimulatedAgent::SendStacks() {
  v1::AgentEvent event;
  for (const uint32_t rank : stacks.empty() ? std::set<uint32_t>() : running_) {
    event.mutable_rank_stacks()->set_rank(rank);
    event.mutable_rank_stacks()->set_text(stacks);
    SendReliably(event);
  }
  event.mutable_rank_stacks()->Clear();  // the node's event is last
  SendReliably(std::move(event));
}

}  // namespace autodist::test
