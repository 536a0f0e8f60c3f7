#include "chief/hang/hang_response.h"

#include <set>
#include <utility>

#include "chief/attempt/report.h"

namespace autodist::chief {
namespace {

using base::LogLevel;

constexpr std::chrono::milliseconds kStacksLimit{40'000};  // for all nodes' answers

}  // namespace

bool HangResponse::Hangs(const Attempt& attempt) {
  // Where the terminal takes nothing, the ranks may wait for that.
  if (console_.Busy()) watch_.Alive(loop_.Now());
  if (!watch_.Hangs(loop_.Now())) return false;
  console_.Tell(LogLevel::kWarning, HangReport(attempt, watch_.limit()));
  AskForStacks(attempt);
  stop_after_ = on_hang_ == OnHang::kStop;
  return true;
}

void HangResponse::AskForStacks(const Attempt& attempt) {
  if (stacks_) return;
  std::set<uint32_t> asked;
  v1::ChiefMessage look;
  look.mutable_collect_stacks();
  for (const uint32_t node : attempt.nodes()) {
    if (!nodes_.Connected(node)) continue;
    asked.insert(node);
    nodes_.node(node).SendReliably(look);
  }
  stacks_.emplace(attempt.folder(), std::move(asked), loop_);
  due_ = loop_.Now() + kStacksLimit;
}

void HangResponse::Take(const Attempt& attempt, uint32_t member, const v1::RankStacks& stacks) {
  if (!stacks_ || (stacks.has_rank() && !attempt.Has(member, stacks.rank()))) return;
  stacks_->Add(attempt.nodes()[member],
               stacks.has_rank() ? NameAndNode(attempt.plan(), member, stacks.rank())
                                 : "NCCL on " + attempt.member_plan(member).address(),
               stacks);
}

void HangResponse::NodeIsGone(uint32_t node) {
  if (stacks_) stacks_->NodeIsGone(node);
}

bool HangResponse::StopIsDue() {
  if (!stacks_ || (!stacks_->complete() && loop_.Now() < due_)) return false;
  Finish();
  return std::exchange(stop_after_, false);
}

void HangResponse::Finish() {
  if (!stacks_) return;
  stacks_->Finish([this](bool written, std::string text) {
    console_.Tell(written ? LogLevel::kInfo : LogLevel::kError, std::move(text));
  });
  stacks_.reset();
  due_ = Loop::Time::max();
}

}  // namespace autodist::chief
