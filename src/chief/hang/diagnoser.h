// Finds out why a job makes no progress, or slowly: for clients, and when the job stalls.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "autodist/status.h"
#include "autodist/v1/session.pb.h"
#include "autodist/v1/snapshot.pb.h"
#include "chief/attempt/attempt.h"
#include "chief/hang/stack_collector.h"
#include "chief/loop/loop.h"
#include "chief/output/output_router.h"
#include "chief/snapshot/snapshot_builder.h"
#include "control/job_requests.h"
#include "why/diagnosis.h"

namespace autodist::chief {

// Makes one diagnosis at a time, from two looks. Used on the loop's thread only; never blocks.
class Diagnoser {
 public:
  using Answer = control::JobRequests::DiagnosisAnswer;
  using Record = std::function<void(const std::string& event)>;

  // Clients that ask within this time receive the same diagnosis.
  static constexpr std::chrono::seconds kFresh{10};
  // A stack that is in two looks, so far apart, is not a short phase of a step.
  static constexpr std::chrono::seconds kBetween{4};
  // After a look that took longer, sockets alone may decide: a second one would take as long.
  static constexpr std::chrono::seconds kSlowLook{3};
  static constexpr size_t kMaxWaiting = 64;  // clients
  // A larger job is not diagnosed by itself: that would take much memory.
  static constexpr uint32_t kMaxProcesses = 2'000;
  // Between two diagnoses of stalls in an attempt: twice as long each time, because a job may stall
  // for a while again and again, each look stops ranks, and its stacks stay in the log folder.
  static constexpr std::chrono::seconds kFirstPause{30};
  static constexpr std::chrono::minutes kLongestPause{15};

  // The arguments must outlive this object. `record` adds an event of the job.
  Diagnoser(Loop& loop, SnapshotBuilder& snapshot, StackCollector& stacks,
            const OutputRouter& output, Record record)
      : loop_(loop),
        snapshot_(snapshot),
        stacks_(stacks),
        output_(output),
        record_(std::move(record)) {}

  // Answers when the diagnosis is made, or with that of the last seconds.
  void AskFor(const Attempt& attempt, Answer answer);
  // Does the work that is due; returns when to call it again. `running`: the ranks should make
  // steps. `by_itself`: diagnoses the job if it stalls.
  Loop::Time Tick(const Attempt& attempt, bool running, bool by_itself);
  // Ends a diagnosis that is under way, because the attempt has ended.
  void EndAttempt();

 private:
  enum class Step { kIdle, kFirstLook, kPause, kSecondLook, kJudging };

  // A job that makes no steps.
  struct Stall {
    int64_t since_ms = 0;
    Loop::Time look_at{};  // the next diagnosis, until one names the cause
  };

  void Begin(const Attempt& attempt, v1::CollectStacks::Programs programs);
  void Look(v1::CollectStacks wanted);
  void TakeStacks(uint64_t number, Result<v1::JobStacks> stacks);
  void JudgeConnections();
  void Pause();
  void LookAgainIfDue();
  void Judge();
  void Finish(const Result<v1::JobDiagnosis>& diagnosis);
  void Drop();
  void Keep(const Attempt& attempt, const v1::JobDiagnosis& diagnosis);
  void Forget(const Attempt& attempt);
  void AnswerAll(const Result<v1::JobDiagnosis>& diagnosis);
  void AnswerEnded(why::Known known);
  // Returns when to diagnose a stalled job again.
  Loop::Time WatchStall(const Attempt& attempt, bool by_itself);
  v1::JobSnapshot SnapshotNow() const;

  Loop& loop_;
  SnapshotBuilder& snapshot_;
  StackCollector& stacks_;
  const OutputRouter& output_;
  const Record record_;

  Step step_ = Step::kIdle;
  uint64_t number_ = 0;               // of the diagnosis; stacks for earlier ones are ignored
  const Attempt* attempt_ = nullptr;  // that is diagnosed
  v1::CollectStacks::Programs programs_ = v1::CollectStacks::PROGRAMS_UNSPECIFIED;
  Loop::Time began_{};
  why::Known known_;
  Loop::Time looked_{};                   // the first time
  Loop::Time due_ = Loop::Time::max();    // the next check during the pause
  std::vector<Answer> waiting_;           // clients
  std::optional<v1::JobDiagnosis> last_;  // for clients
  Loop::Time made_{};                     // when the last one was made
  std::optional<v1::Issue> kept_;         // the cause that the attempt's hang_diagnosis has
  std::string recorded_;                  // the last cause
  std::optional<Stall> stall_;
  Loop::Time::duration pause_{};  // after the last diagnosis of a stall in this attempt
  bool running_ = false;          // as of the last Tick
  bool may_keep_ = false;         // the ranks were not being stopped until the second look ended
};

}  // namespace autodist::chief
