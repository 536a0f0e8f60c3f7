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
  if (console_.Busy() || nodes_.AnyDisconnected()) watch_.Alive(loop_.Now());
  if (loop_.Now() >= step_expected_) TellOfNoStep();
  if (guess_ == Guess::kPause && loop_.Now() >= look_again_ && !stacks_) LookAgain(attempt);
  if (!watch_.Hangs(loop_.Now())) return false;
  report_ = HangReport(attempt, watch_.limit());
  const bool is_guess = by_steps_ || !spoke_;
  Ask(attempt, !is_guess);
  stacks_->SetHangs(watch_.limit());
  if (is_guess) {
    guess_ = Guess::kFirstLook;
  } else {
    TellHang();
  }
  return true;
}

void HangResponse::LookAgain(const Attempt& attempt) {
  if (!watch_.hung_since()) return Forget();
  look_again_ = Loop::Time::max();
  guess_ = Guess::kSecondLook;
  Ask(attempt);
  stacks_->SetHangs(watch_.limit());
  stacks_->SetEarlier(std::move(earlier_));
}

void HangResponse::Decide() {
  if (stacks_->AnyAtWork() || !watch_.hung_since()) {
    Forget();
    watch_.Alive(loop_.Now());
  } else if (guess_ == Guess::kFirstLook) {
    earlier_ = stacks_->TakeActivities();
    guess_ = Guess::kPause;
    look_again_ = loop_.Now() + kBetweenLooks;
  } else {
    TellHang();
    Forget();
  }
}

void HangResponse::Forget() {
  guess_ = Guess::kNone;
  report_.clear();
  earlier_.clear();
  look_again_ = Loop::Time::max();
}

void HangResponse::TellOfNoStep() {
  step_expected_ = Loop::Time::max();
  if (watch_.limit().count() > 0) return;
  no_step_told_ = true;
  console_.Tell(
      LogLevel::kWarning,
      "no step has been recognised so far in what the ranks write, so --hang-timeout auto "
      "does not count\n    to do: give a pattern of their steps (--progress), or a time "
      "instead of auto");
}

void HangResponse::TellHang() {
  console_.Tell(LogLevel::kWarning, std::exchange(report_, {}));
  told_here_ = true;
  stop_after_ = on_hang_ == v1::ON_HANG_STOP;
}

void HangResponse::AskForStacks(const Attempt& attempt) {
  Ask(attempt);
  told_here_ = true;
}

void HangResponse::AskForStacks(const Attempt& attempt, std::vector<uint32_t> whole,
                                bool flight_records, StacksAnswer answer) {
  Ask(attempt, flight_records);
  stacks_->AddReader(std::move(whole), std::move(answer));
}

void HangResponse::LookForMissing(const Attempt& attempt) {
  Forget();
  Ask(attempt, false);
  due_ = std::min(due_, loop_.Now() + kMissingLimit);
  looks_for_missing_ = stop_after_ = true;
}

void HangResponse::Ask(const Attempt& attempt, bool flight_records) {
  if (stacks_) return;
  told_here_ = false;
  std::set<uint32_t> asked;
  v1::ChiefMessage look;
  look.mutable_collect_stacks()->set_flight_records(flight_records);
  for (const uint32_t node : attempt.nodes()) {
    if (!nodes_.Connected(node)) continue;
    asked.insert(node);
    nodes_.node(node).SendReliably(look);
  }
  stacks_.emplace(attempt, std::move(asked), loop_);
  if (!spoke_) stacks_->SetMayLoad();
  verdict_ = attempt.hang_verdict;
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
  if (guess_ == Guess::kFirstLook || guess_ == Guess::kSecondLook) Decide();
  FinishLook();
  return std::exchange(stop_after_, false);
}

std::string HangResponse::WhyUnknown(const std::string& address, uint32_t node) const {
  const NodeMachine& state = nodes_.state(node);
  if (nodes_.Connected(node)) {
    return address + " has not told within " + base::Seconds(kStacksLimit);
  }
  return state.disconnected() ? "the connection with " + address + " is broken: " + state.detail()
                              : address + " is lost: " + state.detail();
}

void HangResponse::Finish() {
  Forget();
  step_expected_ = Loop::Time::max();
  FinishLook();
}

void HangResponse::FinishLook() {
  if (!stacks_) return;
  if (std::exchange(looks_for_missing_, false)) missing_ = stacks_->Missing();
  stacks_->Finish(
      [this](const std::string& address, uint32_t node) { return WhyUnknown(address, node); },
      [this, here = told_here_, kept = verdict_](bool written, const std::string& verdict,
                                                 std::string text) {
        if (written && !verdict.empty()) kept->Set(verdict);
        if (!verdict.empty()) text = verdict + "\n" + text;
        if (here) console_.Tell(written ? LogLevel::kInfo : LogLevel::kError, std::move(text));
      });
  stacks_.reset();
  due_ = Loop::Time::max();
}

}  // namespace autodist::chief
