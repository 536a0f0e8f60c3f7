#include "chief/policy/restart_policy.h"

#include <algorithm>
#include <cctype>
#include <string_view>
#include <utility>

namespace autodist::chief {
namespace {

using std::chrono::milliseconds;

bool IsFailure(const Cause& cause) {
  return cause.kind == Cause::Kind::kRankFailed || cause.kind == Cause::Kind::kNodeLost ||
         cause.kind == Cause::Kind::kHung;
}

bool SameFailure(const AttemptOutcome& one, const AttemptOutcome& other) {
  return one.cause.kind == Cause::Kind::kRankFailed && other.cause.kind == one.cause.kind &&
         !one.failure.empty() && one.failure == other.failure;
}

// Removes quoted words, addresses and numbers.
std::string WithoutValues(std::string_view text) {
  const auto is_digit = [](unsigned char c) { return std::isdigit(c) != 0; };
  const auto is_hex = [](unsigned char c) { return std::isxdigit(c) != 0; };
  std::string rest;
  while (!text.empty()) {
    size_t length = 0;  // of a value at the beginning
    if (text[0] == '\'' || text[0] == '"') {
      const size_t end = text.find(text[0], 1);
      if (end != std::string_view::npos) length = end + 1;
    } else if (text.starts_with("0x")) {
      length = static_cast<size_t>(std::find_if_not(text.begin() + 2, text.end(), is_hex) -
                                   text.begin());
    } else if (is_digit(static_cast<unsigned char>(text[0]))) {
      length = 1;
    }
    if (length == 0) rest.push_back(text[0]);
    text.remove_prefix(std::max<size_t>(length, 1));
  }
  return rest;
}

}  // namespace

RestartLimits RestartLimitsOf(const v1::JobRequest& request, uint32_t nodes) {
  const uint32_t without_spares = nodes - std::min(request.spares(), nodes);
  return {.max_restarts = request.max_restarts(),
          .min_nodes = request.min_nodes() > 0 || request.spares() == 0 ? request.min_nodes()
                                                                        : without_spares,
          .acts = request.restart_policy() == v1::RESTART_POLICY_ACT,
          .after_out_of_memory = request.restart_after_oom(),
          .after_node_loss = request.on_node_loss() != v1::ON_NODE_LOSS_STOP};
}

// Returns whether the kernel ended the rank, and a restart was not asked for then.
bool RestartPolicy::LacksMemory(const Cause& cause) const {
  return cause.kind == Cause::Kind::kRankFailed && cause.exit.has_out_of_memory() &&
         !limits_.after_out_of_memory;
}

bool RestartPolicy::MayFollow(const Cause& cause, bool ran) const {
  const bool lost = cause.kind == Cause::Kind::kNodeLost;
  if (!(ever_ran_ || ran || lost) || !IsFailure(cause) || LacksMemory(cause)) return false;
  if (lost && !limits_.after_node_loss) return false;
  return counted_ < limits_.max_restarts || (lost && limits_.min_nodes > 0);
}

RestartDecision RestartPolicy::Next(AttemptOutcome outcome) {
  ever_ran_ |= outcome.ran;
  const bool begun = ever_ran_ || outcome.cause.kind == Cause::Kind::kNodeLost;
  if (!begun || !IsFailure(outcome.cause)) return {};
  if (outcome.nodes_missing && !limits_.after_node_loss) return {};
  const bool progress = MadeProgress(outcome);
  history_.push_back({std::move(outcome), progress});
  const AttemptOutcome& last = history_.back().outcome;

  RestartDecision decision;
  const auto leave_out = NodeToLeaveOut();
  const bool goes_on_without = (limits_.min_nodes > 0 && last.nodes_missing && last.enough) ||
                               (last.faulty_gpu && leave_out.has_value());
  if (!goes_on_without && counted_ == limits_.max_restarts) return decision;
  decision.futility = FutilityOfAnother();
  const bool a_fact = decision.futility == Futility::kOutOfMemory;
  // What failed on one node may succeed on others.
  if (leave_out && !a_fact) decision.futility.reset();
  if (decision.futility && (limits_.acts || a_fact)) return decision;
  const std::pair warning(decision.futility, last.failure);
  if (std::exchange(last_warning_, warning) == warning) decision.futility.reset();
  decision.leave_out = leave_out;
  if (!goes_on_without) ++counted_;
  if (last.lasted > kCrashLoop) wait_ = milliseconds(0);
  decision.wait = wait_;
  wait_ = std::clamp(wait_ * 2, kFirstWait, kMaxWait);
  return decision;
}

// A program that resumes may count its steps from 0 again, so a long attempt counts too, unless it
// ended exactly as the one before.
bool RestartPolicy::MadeProgress(const AttemptOutcome& outcome) {
  progress_known_ |= outcome.step.has_value() || outcome.checkpoint;
  const bool further = outcome.step && (!best_step_ || *outcome.step > *best_step_);
  if (further) best_step_ = outcome.step;
  if (further || outcome.checkpoint) return true;
  if (outcome.lasted <= kCrashLoop) return false;
  if (!outcome.step) return !progress_known_;
  if (history_.empty()) return true;
  const AttemptOutcome& before = history_.back().outcome;
  return outcome.step != before.step || !SameFailure(before, outcome);
}

const char* TextOf(Futility why, bool checkpoints_known) {
  switch (why) {
    case Futility::kOutOfMemory:
      return "a rank was ended for lack of memory (--restart-after-oom restarts then)";
    case Futility::kFailedEverywhere:
      return "all ranks failed in the same way before the first step";
    case Futility::kSameFailure:
      return "the last two attempts failed in the same way, and the second made no progress";
    case Futility::kNoProgress:
      break;
  }
  return checkpoints_known
             ? "the last three attempts reported no new step and wrote no new checkpoint"
             : "the last three attempts reported no new step";
}

size_t AttemptsBehind(Futility why) {
  switch (why) {
    case Futility::kSameFailure:
      return 2;
    case Futility::kNoProgress:
      return RestartPolicy::kMaxWithoutProgress;
    case Futility::kOutOfMemory:
    case Futility::kFailedEverywhere:
      break;
  }
  return 1;
}

std::optional<Futility> RestartPolicy::FutilityOfAnother() const {
  const Past& last = history_.back();
  if (LacksMemory(last.outcome.cause)) return Futility::kOutOfMemory;
  const bool ever_trained = std::ranges::any_of(history_, &Past::progress);
  if (last.outcome.everywhere && !ever_trained) return Futility::kFailedEverywhere;
  if (last.progress) return std::nullopt;
  const size_t attempts = history_.size();
  if (attempts >= 2 && SameFailure(history_[attempts - 2].outcome, last.outcome)) {
    return Futility::kSameFailure;
  }
  if (attempts < kMaxWithoutProgress) return std::nullopt;
  const bool none = std::none_of(history_.end() - kMaxWithoutProgress, history_.end(),
                                 [](const Past& past) { return past.progress; });
  return none ? std::optional(Futility::kNoProgress) : std::nullopt;
}

// A rank that fails in the same way on the same node is rather a fault of the program, except if it
// fails in the same part of a GPU.
std::optional<LeftOutNode> RestartPolicy::NodeToLeaveOut() const {
  const size_t attempts = history_.size();
  const AttemptOutcome& last = history_.back().outcome;
  if (!last.node || limits_.min_nodes == 0 || !last.node_replaceable) return std::nullopt;
  if (last.faulty_gpu) return LeftOutNode{*last.node, "has a faulty GPU"};
  if (!limits_.acts || attempts < 2 || last.everywhere) return std::nullopt;
  const AttemptOutcome& before = history_[attempts - 2].outcome;
  if (last.node != before.node) return std::nullopt;
  if (!last.gpu_unit.empty() && last.gpu_unit == before.gpu_unit) {
    return LeftOutNode{*last.node, "has a GPU in which the same unit failed twice"};
  }
  const bool lost =
      last.cause.kind == Cause::Kind::kNodeLost && before.cause.kind == last.cause.kind;
  const bool failed =
      !last.failure.empty() && !before.failure.empty() && last.failure != before.failure;
  if (!lost && !failed) return std::nullopt;
  return LeftOutNode{*last.node, "was the cause twice in a row"};
}

std::string FailureKey(const std::string& message) {
  constexpr std::string_view kGroup = " (the first of ";
  std::string_view text = std::string_view(message).substr(0, message.find(kGroup));
  const std::string_view place = text.substr(text.size() - LengthOfPlace(text));
  text.remove_suffix(place.size());
  return WithoutValues(text).append(place);
}

}  // namespace autodist::chief
