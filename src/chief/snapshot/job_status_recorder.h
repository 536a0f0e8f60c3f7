// Records a job for other programs: its events in the log folder, and its status.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <tuple>
#include <utility>

#include "autodist/status.h"
#include "autodist/v1/job.pb.h"
#include "autodist/v1/plan.pb.h"
#include "base/fd.h"
#include "base/log_folder.h"
#include "chief/attempt/attempt.h"
#include "chief/attempt/job_options.h"
#include "chief/fleet/fleet.h"
#include "chief/loop/loop.h"
#include "chief/output/repeat_limit.h"
#include "control/job_requests.h"

namespace autodist::chief {

// Writes the events of a job to its log folder. Used on the loop's thread; only Create blocks. The
// loop's background must be drained before it is destroyed.
class EventLog {
 public:
  // Creates the folder if missing, and events.jsonl in it.
  static Result<std::unique_ptr<EventLog>> Create(const base::LogFolder& folder, Loop& loop);

  // Adds the current time. Logs a write error once.
  void Record(v1::JobEvent event);
  // The last kLast events, oldest first.
  const std::deque<v1::JobEvent>& last() const { return last_; }
  static constexpr size_t kLast = 200;
  uint64_t recorded() const { return recorded_; }  // number of events

 private:
  EventLog(Loop& loop, base::UniqueFd file) : loop_(loop), file_(std::move(file)) {}
  void Write(const std::string& line);

  Loop& loop_;
  std::deque<v1::JobEvent> last_;
  uint64_t recorded_ = 0;
  const base::UniqueFd file_;
  bool cut_short_ = false;  // used in the background
};

using StatusAnswer = control::JobRequests::StatusAnswer;

// {"type":"event",...}: a line of `run --json`.
std::string TypedJson(std::string_view type, const google::protobuf::Message& message);

// Used on the loop's thread; only Open blocks.
class JobStatusRecorder {
 public:
  // The arguments must outlive it.
  JobStatusRecorder(const v1::LaunchPlan& plan, const JobOptions& options, Loop& loop);

  // Creates the log folder; called first.
  Status Open();

  v1::JobPhase phase() const { return status_.phase(); }
  void EnterPhase(v1::JobPhase phase, const std::string& why);
  void BeginAttempt(const Attempt& attempt);
  void StopRequested() { status_.set_stop_requested(true); }
  void Ended(int exit_code, const std::string& report, int64_t last_output_ms);

  // Records an event. Of equal events of many nodes or ranks at the same time, only the first are
  // recorded, and then the number of the others.
  void Record(v1::JobEvent event);
  void Record(const std::string& what, const std::string& node = "");

  // Valid after Open.
  const EventLog& events() const { return *log_; }

  // Returns the current status; `last_output_ms`: when a rank last wrote something, since 1970.
  v1::JobStatus StatusNow(const Fleet& nodes, const Attempt& attempt, int64_t last_output_ms) const;
  // Publishes the status, for the record of jobs: at the beginning, for each attempt, and at the
  // end.
  void Publish(const Fleet& nodes, const Attempt& attempt);
  const v1::JobStatus& published() const { return published_; }

 private:
  const v1::LaunchPlan& job_;
  const base::LogFolder log_folder_;
  const JobOptions& options_;
  Loop& loop_;
  std::unique_ptr<EventLog> log_;
  struct Kind {  // of events
    bool of_rank;
    v1::NodePhase phase;
    std::string what;
    bool operator<(const Kind& other) const {
      return std::tie(of_rank, phase, what) < std::tie(other.of_rank, other.phase, other.what);
    }
  };
  void Print(std::string_view type, const google::protobuf::Message& message) const;
  void Keep(v1::JobEvent event);
  void RecordMore(const Kind& kind, size_t count);
  RepeatLimit<Kind> repeats_;
  v1::JobStatus status_;     // without the nodes
  v1::JobStatus published_;  // as last published
};

}  // namespace autodist::chief
