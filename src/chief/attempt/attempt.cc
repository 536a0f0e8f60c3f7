#include "chief/attempt/attempt.h"

#include <algorithm>
#include <utility>

#include "base/utf8.h"
#include "chief/attempt/left_processes.h"
#include "control/job_record.h"

namespace autodist::chief {
namespace {

constexpr size_t kMaxGpuErrors = 1000;           // of all nodes
constexpr size_t kMaxAbortMessageLength = 1000;  // bytes

v1::JobEvent EventOfRank(uint32_t rank, const std::string& what) {
  v1::JobEvent event;
  event.set_rank(rank);
  event.set_what(what);
  return event;
}

uint32_t ProcessesIn(const v1::LaunchPlan& plan) {
  int processes = 0;
  for (const v1::NodePlan& node : plan.nodes()) processes += node.ranks_size();
  return static_cast<uint32_t>(processes);
}

}  // namespace

Attempt::Attempt(uint32_t number, SharedPlan plan, std::vector<uint32_t> nodes,
                 const base::LogFolder& job_folder, int stop_signal,
                 std::chrono::milliseconds grace, RankCalls::Send send)
    : number_(number),
      plan_(std::move(plan)),
      nodes_(std::move(nodes)),
      folder_(number == 0 ? job_folder : job_folder.Within(control::AttemptName(number))),
      processes_(ProcessesIn(*plan_)),
      state_(*plan_, stop_signal, grace),
      calls_(*plan_, number, std::move(send)) {}

bool Attempt::Has(uint32_t member, uint32_t rank) const {
  return std::ranges::any_of(member_plan(member).ranks(),
                             [&](const auto& own) { return own.rank() == rank; });
}

Attempt::Outcome Attempt::Take(uint32_t member, const v1::AgentEvent& event) {
  Outcome outcome;
  if (event.has_rank_started()) {
    if (Has(member, event.rank_started().rank())) state_.RankStarted();
  } else if (event.has_rank_exited()) {
    outcome = RankExited(member, event.rank_exited());
  } else if (event.has_rank_aborted()) {
    outcome = RankAborted(member, event.rank_aborted());
  } else if (event.has_rendezvous_request()) {
    outcome.sign_of_life = true;
    calls_.Take(member, event.rendezvous_request());
  } else if (event.has_modex_answer()) {
    calls_.Take(member, event.modex_answer());
  } else if (event.has_processes_left()) {
    outcome = ProcessesLeft(member, event.processes_left());
  }
  return outcome;
}

void Attempt::TakeGpuErrors(uint32_t member, const v1::RankExited& exit) {
  for (const v1::GpuError& error : exit.gpu_errors()) {
    if (gpu_errors_.size() < kMaxGpuErrors && Concerns(member_plan(member), error)) {
      gpu_errors_.push_back({member, error});
    }
  }
}

Attempt::Outcome Attempt::RankExited(uint32_t member, const v1::RankExited& exit) {
  if (!Has(member, exit.rank()) || !IsNews(exit.rank(), v1::AgentEvent::kRankExited)) return {};
  if (exit.pid() > 0) state_.RankStarted();
  TakeGpuErrors(member, exit);
  if (exit.has_failure_facts()) failure_facts_.try_emplace(member, exit.failure_facts());
  return {state_.RankExited(exit), false, EventOfRank(exit.rank(), HowItEnded(exit))};
}

Attempt::Outcome Attempt::RankAborted(uint32_t member, v1::RankAborted aborted) {
  const uint32_t rank = aborted.rank();
  if (!Has(member, rank) || !IsNews(rank, v1::AgentEvent::kRankAborted)) return {};
  aborted.set_message(base::Printable(base::Truncated(aborted.message(), kMaxAbortMessageLength)));
  return {state_.RankAborted(aborted), false, EventOfRank(aborted.rank(), HowItEnded(aborted))};
}

v1::FailureFacts Attempt::failure_facts(uint32_t member) const {
  const auto found = failure_facts_.find(member);
  return found != failure_facts_.end() ? found->second : v1::FailureFacts();
}

v1::ProcessesLeft Attempt::left(uint32_t member) const {
  const auto found = left_.find({member, v1::LEFT_STAGE_SIGNALLED});
  return found != left_.end() ? found->second : v1::ProcessesLeft();
}

// An agent reports each stage once.
Attempt::Outcome Attempt::ProcessesLeft(uint32_t member, const v1::ProcessesLeft& left) {
  if (!v1::LeftStage_IsValid(left.stage())) return {};
  if (!left_.try_emplace({member, left.stage()}, left).second) return {};
  const std::string what = TextOfLeft(left, member_plan(member), state_.AllEnded());
  if (what.empty()) return {};
  v1::JobEvent event;
  event.set_what(what);
  return {false, false, std::move(event), true};
}

}  // namespace autodist::chief
