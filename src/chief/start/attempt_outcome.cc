#include "chief/start/attempt_outcome.h"

#include <signal.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <vector>

namespace autodist::chief {
namespace {

// Signals of a program that fails; others may come from outside.
constexpr std::array kOfProgram = {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL};

// Of the rank that failed first; how it ended if it wrote no fatal message.
std::string FailureOf(const Attempt& attempt) {
  const Cause& cause = *attempt.state().cause();
  if (cause.kind != Cause::Kind::kRankFailed) return "";
  if (attempt.logs) {
    const FailureExcerpt excerpt = attempt.logs->ExcerptOf(cause.exit.rank());
    if (excerpt.fatal()) return FailureKey(excerpt.fatal()->text);
  }
  const bool known = cause.exit.has_signal() &&
                     std::ranges::count(kOfProgram, static_cast<int>(cause.exit.signal())) > 0;
  return known ? HowItEnded(cause.exit) : "";
}

std::optional<uint64_t> LastStep(const Attempt& attempt) {
  std::optional<uint64_t> last;
  for (const v1::NodePlan& node : attempt.plan().nodes()) {
    for (const v1::RankPlan& rank : node.ranks()) {
      const RankReport report = attempt.logs->LastReport(rank.rank());
      if (!report.progress || !report.progress->has_step()) continue;
      last = std::max(last.value_or(0), report.progress->step());
    }
  }
  return last;
}

bool FailedEverywhere(const Attempt& attempt, const std::string& failure) {
  const std::vector<RankFailure> failures = attempt.logs->Failures();
  return attempt.processes() > 1 && failures.size() == attempt.processes() &&
         std::ranges::all_of(failures, [&](const RankFailure& one) {
           return FailureKey(one.message.text) == failure;
         });
}

void AddGpuErrors(const Attempt& attempt, AttemptOutcome& outcome) {
  const Cause& cause = outcome.cause;
  if (const NodeGpuError* const faulty = FaultyGpuBehind(cause, attempt.gpu_errors())) {
    outcome.node = attempt.nodes()[faulty->node_rank];
    outcome.faulty_gpu = true;
    return;
  }
  if (cause.kind != Cause::Kind::kRankFailed) return;
  const NodeGpuError* const error =
      ErrorOfRank(attempt.gpu_errors(), attempt.plan(), cause.node_rank, cause.exit.rank());
  if (error && !error->error.unit().empty())
    outcome.gpu_unit = error->error.address() + " " + error->error.unit();
}

}  // namespace

AttemptOutcome OutcomeOf(const Attempt& attempt, const Fleet& nodes, const Roster& roster,
                         Loop::Time now) {
  AttemptOutcome outcome{*attempt.state().cause()};
  outcome.failure = FailureOf(attempt);
  const bool of_node = outcome.cause.kind == Cause::Kind::kRankFailed ||
                       outcome.cause.kind == Cause::Kind::kNodeLost;
  if (of_node) outcome.node = attempt.nodes()[outcome.cause.node_rank];
  if (outcome.node && nodes.state(*outcome.node).evicted()) outcome.node.reset();
  AddGpuErrors(attempt, outcome);
  outcome.ran = attempt.state().ran();
  outcome.enough = roster.Choose(Availability::kReturning).suffices;
  outcome.node_replaceable = outcome.node && roster.SufficesWithout({*outcome.node});
  for (const uint32_t node : attempt.nodes()) outcome.nodes_missing |= !nodes.Stays(node);
  if (attempt.logs) {
    outcome.step = LastStep(attempt);
    outcome.everywhere = !outcome.failure.empty() && FailedEverywhere(attempt, outcome.failure);
  }
  outcome.lasted = std::chrono::duration_cast<std::chrono::milliseconds>(now - attempt.began);
  return outcome;
}

}  // namespace autodist::chief
