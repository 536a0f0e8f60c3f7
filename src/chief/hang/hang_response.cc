#include "chief/hang/hang_response.h"

#include "chief/attempt/report.h"

namespace autodist::chief {
namespace {

using base::LogLevel;

// Bytes per second of one rank that exceed logging, so probably a checkpoint.
constexpr double kCheckpointSpeed = 4e6;

}  // namespace

void HangResponse::BeginAttempt() {
  Finish();
  stop_after_ = false;
  watch_.Begin(loop_.Now());
  if (watch_.by_steps() && !no_step_warned_) step_expected_ = loop_.Now() + kStepExpected;
}

void HangResponse::TakeSample(const v1::NodeSample& sample) {
  if (!watch_.by_steps()) return;
  const bool saves = std::ranges::any_of(sample.ranks(), [](const v1::RankSample& rank) {
    return rank.written() >= kCheckpointSpeed;
  });
  if (saves) watch_.Alive(loop_.Now());
}

bool HangResponse::Hangs(const Attempt& attempt) {
  // Ranks may wait for a blocked terminal, and output of disconnected nodes does not arrive here.
  if (console_.Busy() || nodes_.AnyMemberDisconnected()) watch_.Alive(loop_.Now());
  if (loop_.Now() >= step_expected_) WarnOfNoStep();
  if (guess_ == Guess::kPause && loop_.Now() >= look_again_ && !stacks_.collection()) {
    LookAgain(attempt);
  }
  if (!watch_.Hangs(loop_.Now())) return false;
  report_ = HangReport(attempt, watch_.limit());
  const bool is_guess = watch_.by_steps() || stacks_.MayLoad(attempt);
  stacks_.Ask(attempt, !is_guess).SetHangs(watch_.limit());
  if (is_guess) {
    guess_ = Guess::kFirstLook;
  } else {
    ShowHang();
  }
  return true;
}

void HangResponse::LookAgain(const Attempt& attempt) {
  if (!watch_.hung_since()) return Forget();
  look_again_ = Loop::Time::max();
  guess_ = Guess::kSecondLook;
  StackCollection& stacks = stacks_.Ask(attempt);
  stacks.SetHangs(watch_.limit());
  stacks.SetEarlier(std::move(earlier_));
}

void HangResponse::Decide(StackCollection& stacks) {
  if (stacks.AnyAtWork() || !watch_.hung_since()) {
    Forget();
    watch_.Alive(loop_.Now());
  } else if (guess_ == Guess::kFirstLook) {
    earlier_ = stacks.TakeActivities();
    guess_ = Guess::kPause;
    look_again_ = loop_.Now() + kBetweenLooks;
  } else {
    ShowHang();
    Forget();
  }
}

void HangResponse::Forget() {
  guess_ = Guess::kNone;
  report_.clear();
  earlier_.clear();
  look_again_ = Loop::Time::max();
}

void HangResponse::WarnOfNoStep() {
  step_expected_ = Loop::Time::max();
  if (watch_.limit().count() > 0) return;
  no_step_warned_ = true;
  console_.Log(
      LogLevel::kWarning,
      "no step has been recognised so far in the output of the ranks, so --hang-timeout auto "
      "has no effect\n    hint: give a pattern of the steps with --progress-regex, or a time "
      "instead of auto");
}

void HangResponse::ShowHang() {
  console_.Log(LogLevel::kWarning, std::exchange(report_, {}));
  stacks_.ShowHere();
  stop_after_ = on_hang_ == v1::ON_HANG_STOP;
}

void HangResponse::LookForMissing(const Attempt& attempt) {
  Forget();
  stacks_.LookForMissing(attempt);
  stop_after_ = true;
}

bool HangResponse::StopIsDue() {
  if (!stacks_.IsDue()) return false;
  if (guess_ == Guess::kFirstLook || guess_ == Guess::kSecondLook) Decide(*stacks_.collection());
  stacks_.Finish();
  return std::exchange(stop_after_, false);
}

void HangResponse::Finish() {
  Forget();
  step_expected_ = Loop::Time::max();
  stacks_.Finish();
}

}  // namespace autodist::chief
