#include "chief/hang/hang_response.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/quantity.h"
#include "chief/attempt/report.h"

namespace autodist::chief {
namespace {

using base::LogLevel;

// Bytes per second of one rank that are more than a log's: a checkpoint, it may be.
constexpr double kCheckpointSpeed = 4e6;

}  // namespace

void HangResponse::TakeSample(const v1::NodeSample& sample) {
  if (!by_steps_) return;
  const bool saves = std::ranges::any_of(sample.ranks(), [](const v1::RankSample& rank) {
    return rank.written() >= kCheckpointSpeed;
  });
  if (saves) watch_.Alive(loop_.Now());
}

bool HangResponse::Hangs(const Attempt& attempt) {
  // Where the terminal takes nothing, the ranks may wait for that; and what those of a node that is
  // away write does not come here.
  if (console_.Busy() || nodes_.AnyReconnecting()) watch_.Alive(loop_.Now());
  if (!watch_.Hangs(loop_.Now())) return false;
  report_ = HangReport(attempt, watch_.limit());
  Ask(attempt);
  stacks_->SetHangs(watch_.limit());
  if (!by_steps_) TellHang();
  return true;
}

void HangResponse::TellHang() {
  console_.Tell(LogLevel::kWarning, std::exchange(report_, {}));
  told_here_ = true;
  stop_after_ = on_hang_ == OnHang::kStop;
}

void HangResponse::AskForStacks(const Attempt& attempt) {
  Ask(attempt);
  told_here_ = true;
}

void HangResponse::AskForStacks(const Attempt& attempt, std::vector<uint32_t> whole,
                                StacksAnswer answer) {
  Ask(attempt);
  stacks_->AddReader(std::move(whole), std::move(answer));
}

void HangResponse::Ask(const Attempt& attempt) {
  if (stacks_) return;
  told_here_ = false;
  std::set<uint32_t> asked;
  v1::ChiefMessage look;
  look.mutable_collect_stacks();
  for (const uint32_t node : attempt.nodes()) {
    if (!nodes_.Connected(node)) continue;
    asked.insert(node);
    nodes_.node(node).SendReliably(look);
  }
  stacks_.emplace(attempt, std::move(asked), loop_);
  due_ = loop_.Now() + kStacksLimit;
}

void HangResponse::Take(uint32_t member, const v1::RankStacks& stacks) {
  if (stacks_) stacks_->Take(member, stacks);
}

void HangResponse::NodeIsGone(uint32_t node) {
  if (stacks_) stacks_->NodeIsGone(node);
}

bool HangResponse::StopIsDue() {
  if (!stacks_ || (!stacks_->complete() && loop_.Now() < due_)) return false;
  if (!report_.empty()) {
    if (stacks_->AnyAtWork() || !watch_.hung_since()) {
      report_.clear();
      watch_.Alive(loop_.Now());
    } else {
      TellHang();
    }
  }
  Finish();
  return std::exchange(stop_after_, false);
}

std::string HangResponse::WhyUnknown(const std::string& address, uint32_t node) const {
  const NodeState& state = nodes_.state(node);
  if (nodes_.Connected(node)) {
    return address + " has not told within " + base::Seconds(kStacksLimit);
  }
  return state.reconnecting() ? "the connection with " + address + " is broken: " + state.detail()
                              : address + " is lost: " + state.detail();
}

void HangResponse::Finish() {
  report_.clear();
  if (!stacks_) return;
  stacks_->Finish(
      [this](const std::string& address, uint32_t node) { return WhyUnknown(address, node); },
      [this, here = told_here_](bool written, std::string text) {
        if (here) console_.Tell(written ? LogLevel::kInfo : LogLevel::kError, std::move(text));
      });
  stacks_.reset();
  due_ = Loop::Time::max();
}

}  // namespace autodist::chief
