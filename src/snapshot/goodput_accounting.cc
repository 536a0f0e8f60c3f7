#include "snapshot/goodput_accounting.h"

#include <algorithm>

#include "base/quantity.h"

namespace autodist::snapshot {
namespace {

// A node that repeatedly disconnects creates one each time.
constexpr size_t kMaxSpans = 64;

}  // namespace

void GoodputAccounting::Book(v1::GoodputParts& spent, int64_t now_ms) const {
  const int64_t time = std::max<int64_t>(now_ms - since_, 0);  // the clock may have been set back
  switch (phase_) {
    case Phase::kLaunching:
      BookStart(spent, time);
      break;
    case Phase::kRunning:
      spent.set_training(spent.training() + time);
      break;
    case Phase::kStalled:
      spent.set_stalled(spent.stalled() + time);
      break;
    case Phase::kStopping:
      spent.set_stopping(spent.stopping() + time);
      break;
    case Phase::kEnded:
      break;
  }
}

void GoodputAccounting::BookStart(v1::GoodputParts& spent, int64_t time) const {
  if (restarted_) {
    spent.set_restarting(spent.restarting() + time);
  } else {
    spent.set_start_up(spent.start_up() + time);
  }
}

// Books lost training of a failed attempt.
void GoodputAccounting::BookLost(v1::GoodputParts& spent) const {
  if (!looked_ || !failed_) return;
  for (const Span& span : unsaved_) {
    spent.set_training(spent.training() - (span.end - span.begin));
    spent.set_lost_steps(spent.lost_steps() + (span.end - span.begin));
  }
}

// Merges the two oldest spans if there are too many, and keeps their total length.
void GoodputAccounting::KeepUnsaved(Span span) {
  span.begin = std::max(span.begin, saved_until_);
  if (span.begin >= span.end) return;
  unsaved_.push_back(span);
  if (unsaved_.size() <= kMaxSpans) return;
  unsaved_[1].begin -= unsaved_[0].end - unsaved_[0].begin;
  unsaved_.erase(unsaved_.begin());
}

void GoodputAccounting::Enter(Phase phase, int64_t now_ms) {
  if (phase_ == Phase::kEnded) return;
  Book(booked_, now_ms);
  if (phase_ == Phase::kRunning) KeepUnsaved({since_, std::max(now_ms, since_)});
  since_ = std::max(now_ms, since_);
  phase_ = phase;
}

void GoodputAccounting::Launches(int64_t now_ms) {
  restarted_ |= phase_ != Phase::kLaunching;
  Enter(Phase::kLaunching, now_ms);
}

void GoodputAccounting::Runs(int64_t now_ms) {
  Enter(Phase::kRunning, now_ms);
  BookLost(booked_);
  unsaved_.clear();
  failed_ = false;
  stepped_ = false;
  training_before_ = booked_.training();
}

void GoodputAccounting::FirstStep(int64_t now_ms) {
  booked_.set_steps_known(true);
  if (stepped_ || phase_ != Phase::kRunning) return;
  Enter(Phase::kRunning, now_ms);
  stepped_ = true;
  unsaved_.clear();
  const int64_t before_it = booked_.training() - training_before_;
  booked_.set_training(training_before_);
  BookStart(booked_, before_it);
}

void GoodputAccounting::Stalls(int64_t now_ms, bool stalls) {
  if (phase_ == (stalls ? Phase::kRunning : Phase::kStalled)) {
    Enter(stalls ? Phase::kStalled : Phase::kRunning, now_ms);
  }
}

void GoodputAccounting::Stops(int64_t now_ms, bool failed) {
  Enter(Phase::kStopping, now_ms);
  failed_ |= failed;
}

void GoodputAccounting::Looked(std::optional<int64_t> checkpoint_ms) {
  looked_ = true;
  if (!checkpoint_ms || *checkpoint_ms <= saved_until_) return;
  saved_until_ = *checkpoint_ms;
  std::vector<Span> spans;
  spans.swap(unsaved_);
  for (const Span& span : spans) KeepUnsaved(span);
}

void GoodputAccounting::Ends(int64_t now_ms) { Enter(Phase::kEnded, now_ms); }

v1::GoodputParts GoodputAccounting::At(int64_t now_ms) const {
  v1::GoodputParts spent = booked_;
  Book(spent, now_ms);
  BookLost(spent);
  return spent;
}

int64_t Total(const v1::GoodputParts& spent) {
  return spent.start_up() + spent.training() + spent.stalled() + spent.stopping() +
         spent.restarting() + spent.lost_steps();
}

std::optional<double> Goodput(const v1::GoodputParts& spent) {
  const int64_t total = Total(spent);
  if (total <= 0) return std::nullopt;
  return static_cast<double>(spent.training()) / static_cast<double>(total);
}

std::string GoodputText(const v1::GoodputParts& spent) {
  const auto goodput = Goodput(spent);
  const bool says_little = !spent.steps_known() && spent.training() < spent.start_up();
  if (!goodput || says_little) return "";
  return base::Percent(*goodput) + (spent.steps_known() ? "" : ", steps unknown");
}

}  // namespace autodist::snapshot
