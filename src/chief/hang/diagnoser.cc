#include "chief/hang/diagnoser.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/quantity.h"
#include "base/wall_clock.h"
#include "snapshot/lookup.h"

namespace autodist::chief {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Between checks for progress during the pause, and until progress ends it.
constexpr milliseconds kProgressInterval{250};
constexpr seconds kMinBetween{2};

// Keeps the samples from before the stacks: collecting stacks stops the ranks for a moment.
void KeepSamples(const v1::JobSnapshot& from, v1::JobSnapshot& to) {
  if (from.nodes_size() != to.nodes_size() || from.ranks_size() != to.ranks_size()) return;
  for (int i = 0; i < from.nodes_size(); ++i) {
    if (from.nodes(i).has_sample()) *to.mutable_nodes(i)->mutable_sample() = from.nodes(i).sample();
  }
  for (int i = 0; i < from.ranks_size(); ++i) {
    if (from.ranks(i).has_sample()) *to.mutable_ranks(i)->mutable_sample() = from.ranks(i).sample();
  }
}

// What the diagnosis adds to a stall. Without a cause, only the ranks at work are named.
std::optional<v1::Issue> CauseOf(const v1::JobDiagnosis& diagnosis) {
  const std::string what = why::WhatRanksDo(diagnosis);
  if (what.empty()) return std::nullopt;
  v1::Issue cause = diagnosis.issue();
  cause.set_what(what);
  if (diagnosis.kind() != v1::JobDiagnosis::KIND_ISSUE) {
    cause.clear_ranks();
    cause.clear_nodes();
  }
  return cause;
}

}  // namespace

v1::JobSnapshot Diagnoser::SnapshotNow() const {
  v1::JobSnapshot snapshot = *snapshot_.Now(*attempt_);
  snapshot.set_time_ms(base::MillisecondsSince1970());
  return snapshot;
}

void Diagnoser::AskFor(const Attempt& attempt, Answer answer) {
  if (last_ && loop_.Now() < made_ + kFresh) return answer(*last_);
  if (waiting_.size() >= kMaxWaiting) {
    return answer(Error(StatusCode::kResourceExhausted, "too many clients wait for a diagnosis"));
  }
  waiting_.push_back(std::move(answer));
  if (step_ == Step::kIdle) Begin(attempt, v1::CollectStacks::PROGRAMS_UNSPECIFIED);
}

void Diagnoser::Begin(const Attempt& attempt, v1::CollectStacks::Programs programs) {
  ++number_;
  attempt_ = &attempt;
  programs_ = programs;
  began_ = loop_.Now();
  known_ = {};
  known_.rendezvous = RendezvousOf(attempt.plan());
  known_.before = SnapshotNow();
  step_ = Step::kFirstLook;
  v1::CollectStacks wanted;
  wanted.set_programs(programs);
  wanted.set_watch(true);
  Look(std::move(wanted));
}

void Diagnoser::Look(v1::CollectStacks wanted) {
  std::vector<uint32_t> all;
  for (const v1::RankSnapshot& rank : known_.before->ranks()) all.push_back(rank.rank());
  stacks_.AskFor(*attempt_, std::move(all), wanted,
                 [this, number = number_](Result<v1::JobStacks> stacks) {
                   loop_.Post([this, number, stacks = std::move(stacks)]() mutable {
                     TakeStacks(number, std::move(stacks));
                   });
                 });
}

void Diagnoser::TakeStacks(uint64_t number, Result<v1::JobStacks> stacks) {
  if (number != number_) return;
  if (!stacks.ok()) return Finish(stacks.status());
  // The ranks may have been suspended with this process.
  if (loop_.resumed() > began_) return Begin(*attempt_, programs_);
  known_.stacks.assign(stacks->stacks().begin(), stacks->stacks().end());
  if (step_ == Step::kSecondLook) return Judge();
  const bool is_slow = loop_.Now() >= began_ + kSlowLook;
  if (is_slow && programs_ == v1::CollectStacks::PROGRAMS_UNSPECIFIED) return JudgeConnections();
  Pause();
}

void Diagnoser::Pause() {
  step_ = Step::kPause;
  looked_ = due_ = loop_.Now();
}

// In the background, as Judge.
void Diagnoser::JudgeConnections() {
  known_.now = SnapshotNow();
  if (why::GoesOn(known_.now, *known_.before)) return Pause();
  may_keep_ = running_;
  const auto known = std::make_shared<const why::Known>(known_);
  loop_.InBackground([this, number = number_, known] {
    loop_.Post([this, number, diagnosis = why::JudgeConnections(*known)] {
      if (number != number_) return;
      if (diagnosis) return Finish(*diagnosis);
      Pause();
    });
  });
}

// Progress makes the pause shorter. Then no rank has to be stopped again.
void Diagnoser::LookAgainIfDue() {
  const Loop::Time now = loop_.Now();
  if (step_ != Step::kPause || now < due_) return;
  known_.now = SnapshotNow();
  const bool goes_on = why::GoesOn(known_.now, *known_.before);
  const bool is_seen = goes_on && now >= looked_ + kMinBetween &&
                       snapshot::AllSampledSince(*known_.before, known_.now);
  if (!is_seen && now < looked_ + kBetween) {
    due_ = std::min<Loop::Time>(looked_ + kBetween, now + snapshot_.Affordable(kProgressInterval));
    return;
  }
  due_ = Loop::Time::max();
  step_ = Step::kSecondLook;
  known_.stacks_earlier = std::move(known_.stacks);
  v1::CollectStacks wanted;
  wanted.set_programs(goes_on ? v1::CollectStacks::PROGRAMS_NONE : programs_);
  wanted.set_flight_records(!goes_on && programs_ == v1::CollectStacks::PROGRAMS_UNSPECIFIED);
  Look(std::move(wanted));
}

// In the background, because large stacks take time to parse.
void Diagnoser::Judge() {
  v1::JobSnapshot last = SnapshotNow();
  KeepSamples(known_.now, last);
  known_.now = std::move(last);
  may_keep_ = running_;
  step_ = Step::kJudging;
  const auto known = std::make_shared<const why::Known>(std::exchange(known_, {}));
  loop_.InBackground([this, number = number_, known] {
    loop_.Post([this, number, diagnosis = why::Judge(*known)] {
      if (number == number_) Finish(diagnosis);
    });
  });
}

void Diagnoser::Finish(const Result<v1::JobDiagnosis>& diagnosis) {
  const Attempt& attempt = *attempt_;
  const bool is_whole = programs_ == v1::CollectStacks::PROGRAMS_UNSPECIFIED;
  Drop();
  made_ = loop_.Now();
  last_.reset();
  if (diagnosis.ok() && may_keep_) Keep(attempt, *diagnosis);
  if (is_whole && diagnosis.ok()) last_ = *diagnosis;
  if (is_whole || !diagnosis.ok()) return AnswerAll(diagnosis);
  // A client has asked during a quick look.
  if (!waiting_.empty()) Begin(attempt, v1::CollectStacks::PROGRAMS_UNSPECIFIED);
}

// Keeps the diagnosis for the views of a stalled job, the events and the report at the end.
void Diagnoser::Keep(const Attempt& attempt, const v1::JobDiagnosis& diagnosis) {
  const bool is_cause = diagnosis.kind() == v1::JobDiagnosis::KIND_ISSUE &&
                        diagnosis.issue().kind() == v1::Issue::KIND_STALLED;
  std::optional<v1::Issue> cause = CauseOf(diagnosis);
  if (is_cause || (stall_ && cause)) {
    if (std::exchange(recorded_, cause->what()) != cause->what()) record_(cause->what());
  }
  if (is_cause) {
    attempt.hang_diagnosis->Set(cause->what());
    kept_ = cause;
  }
  if (!stall_) return;
  if (is_cause) stall_->look_at = Loop::Time::max();
  // A quick look may find less than the one before.
  snapshot_.SetStandstillCause(kept_ ? kept_ : std::move(cause));
}

// What was diagnosed has ended, although the job may be stalled for another reason.
void Diagnoser::Forget(const Attempt& attempt) {
  if (std::exchange(kept_, std::nullopt)) attempt.hang_diagnosis->Clear();
  recorded_.clear();
  snapshot_.SetStandstillCause(std::nullopt);
  if (stall_) stall_->look_at = loop_.Now() + pause_;
}

void Diagnoser::AnswerAll(const Result<v1::JobDiagnosis>& diagnosis) {
  for (const Answer& answer : std::exchange(waiting_, {})) answer(diagnosis);
}

Loop::Time Diagnoser::WatchStall(const Attempt& attempt, bool by_itself) {
  const std::optional<v1::Issue>& standstill = snapshot_.standstill();
  if (!standstill) {
    if (!stall_) return Loop::Time::max();
    const milliseconds time(base::MillisecondsSince1970() - stall_->since_ms);
    record_("continues after a stall of " + base::Elapsed(std::max(time, milliseconds(0))));
    stall_.reset();
    Forget(attempt);
    return Loop::Time::max();
  }
  const Loop::Time now = loop_.Now();
  if (!stall_) {
    stall_.emplace(Stall{standstill->since_ms(), now + pause_});
    record_(standstill->what());
    if (kept_) snapshot_.SetStandstillCause(kept_);  // a client has asked before
  }
  const bool can = by_itself && step_ == Step::kIdle && attempt.processes() <= kMaxProcesses;
  if (!can || now < stall_->look_at) return can ? stall_->look_at : Loop::Time::max();
  pause_ = std::clamp<Loop::Time::duration>(2 * pause_, kFirstPause, kLongestPause);
  stall_->look_at = now + pause_;
  Begin(attempt, v1::CollectStacks::PROGRAMS_QUICK);
  return Loop::Time::max();
}

// What ranks do while they are being stopped shows no stall: they are not looked at again for that,
// and their output refutes no diagnosis.
Loop::Time Diagnoser::Tick(const Attempt& attempt, bool running, bool by_itself) {
  running_ = running;
  if (!running && waiting_.empty() && step_ != Step::kJudging) Drop();
  LookAgainIfDue();
  const bool refuted = std::max(output_.last(), output_.last_progress()) > made_;
  if (running && kept_ && refuted) Forget(attempt);
  return std::min(due_, running ? WatchStall(attempt, by_itself) : Loop::Time::max());
}

void Diagnoser::Drop() {
  if (step_ == Step::kIdle) return;
  ++number_;
  step_ = Step::kIdle;
  attempt_ = nullptr;
  due_ = Loop::Time::max();
  known_ = {};
}

// A look that was complete may show why the ranks made no progress.
void Diagnoser::AnswerEnded(why::Known known) {
  const auto answers = std::make_shared<std::vector<Answer>>(std::exchange(waiting_, {}));
  const auto answer_all = [answers](const Result<v1::JobDiagnosis>& diagnosis) {
    for (const Answer& answer : *answers) answer(diagnosis);
  };
  const Status ended = Error(StatusCode::kFailedPrecondition, "the ranks have ended meanwhile");
  if (known.stacks.empty()) known.stacks = std::exchange(known.stacks_earlier, {});
  if (answers->empty() || known.stacks.empty()) return answer_all(ended);
  known.now = *known.before;
  loop_.InBackground(
      [answer_all, ended, known = std::make_shared<const why::Known>(std::move(known))] {
        const auto diagnosis = why::JudgeConnections(*known);
        answer_all(diagnosis ? Result<v1::JobDiagnosis>(*diagnosis) : ended);
      });
}

void Diagnoser::EndAttempt() {
  why::Known known = std::exchange(known_, {});
  Drop();
  last_.reset();
  kept_.reset();
  recorded_.clear();
  stall_.reset();
  pause_ = {};
  snapshot_.SetStandstillCause(std::nullopt);
  AnswerEnded(std::move(known));
}

}  // namespace autodist::chief
