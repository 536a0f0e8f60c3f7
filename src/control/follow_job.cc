#include "control/follow_job.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <stop_token>
#include <thread>

#include "base/fd.h"
#include "control/job_client.h"
#include "control/jobs.h"
#include "control/silent_chief.h"
#include "display/screen.h"

namespace autodist::control {
namespace {

// Interval between checks for a restart of the job.
constexpr std::chrono::milliseconds kAskInterval{1000};

// Waits for the end of a job on its own thread.
class EndWatch {
 public:
  static Result<std::unique_ptr<EndWatch>> Start(const JobClient& client) {
    AD_ASSIGN_OR_RETURN(base::FdPair pipe, base::Pipe());
    std::unique_ptr<EndWatch> watch(new EndWatch);
    watch->end_ = std::move(pipe.first);
    watch->thread_ = std::jthread(
        [&client, known = std::move(pipe.second)](const std::stop_token& stop) mutable {
          // The caller asks for the status later, when it knows that the job has ended.
          (void)client.WaitForEnd(stop).status();
          known.Reset();
        });
    return watch;
  }
  int fd() const { return end_.get(); }  // readable once the job has ended or its autodist is gone

 private:
  EndWatch() = default;
  base::UniqueFd end_;
  std::jthread thread_;
};

logs::LogReader::Wanted ShownBy(logs::LogPrinter& output) {
  return [&output](uint32_t rank, display::Stream stream) { return output.Shows(rank, stream); };
}

// The log files of the current attempt.
class Attempt {
 public:
  explicit Attempt(logs::LogPrinter& output) : output_(output) {}

  int fd() const { return watch_ ? watch_->fd() : -1; }

  // Switches to another folder if the job did.
  Status Enter(const v1::JobStatus& job, const Skip& skip) {
    if (job.attempt_folder() != folder_) {
      ReadAll();
      output_.SetJob(job);
      folder_ = job.attempt_folder();
      watch_.reset();
      logs_.reset();
    }
    if (watch_ || folder_.empty()) return OkStatus();
    auto watch = logs::LogWatch::Open(folder_);
    if (watch.status().code() == StatusCode::kNotFound) return OkStatus();  // not created yet
    AD_RETURN_IF_ERROR(watch.status());
    watch_ = std::move(*watch);
    logs_.emplace(folder_, ShownBy(output_));
    if (skip) skip(*logs_);
    ReadAll();
    return OkStatus();
  }
  void ReadNew() {
    watch_->ReadNew(*logs_, Show());
    output_.Flush();
  }
  void ReadAll() {
    if (logs_) logs_->ReadAll(Show());
    output_.Flush();
  }

 private:
  logs::ShowOutput Show() {
    return [this](const display::Output& output, bool) { output_.Take(output); };
  }

  logs::LogPrinter& output_;
  std::string folder_;
  std::optional<logs::LogWatch> watch_;
  std::optional<logs::LogReader> logs_;
};

// For progress bars that have changed.
base::Deadline FlushTime(const logs::LogPrinter& output) {
  const auto due = output.Due();
  return due ? base::Deadline::At(*due) : base::Deadline::Never();
}

}  // namespace

void ShowLogs(const v1::JobStatus& job, const Skip& skip, logs::LogPrinter& output) {
  output.SetJob(job);
  logs::LogReader logs(job.attempt_folder(), ShownBy(output));
  if (skip) skip(logs);
  logs.ReadAll([&](const display::Output& piece, bool last) { output.Replay(piece, last); });
  output.Finish();
}

Result<v1::JobStatus> FollowJob(v1::JobStatus job, const Skip& skip, logs::LogPrinter& output) {
  const std::string id = job.job_id();
  if (job.phase() == v1::JOB_PHASE_ENDED) {
    ShowLogs(job, skip, output);
    return job;
  }
  const auto client = JobClient::Connect(id);
  if (client.status().code() == StatusCode::kDeadlineExceeded) return client.status();
  if (!client.ok()) {
    // Nothing will be written here any more. A log folder may belong to no recorded job.
    if (auto now = LookUpJob(id); now.ok()) job = *std::move(now);
    ShowLogs(job, skip, output);
    return job;
  }
  if (job.chief_silent()) return NoAnswer(job);
  AD_ASSIGN_OR_RETURN(const std::unique_ptr<EndWatch> end, EndWatch::Start(*client));
  Attempt attempt(output);
  AD_RETURN_IF_ERROR(attempt.Enter(job, skip));
  base::Deadline look = base::Deadline::After(kAskInterval);
  for (;;) {
    pollfd fds[] = {{end->fd(), POLLIN, 0}, {attempt.fd(), POLLIN, 0}, {STDOUT_FILENO, 0, 0}};
    const int ready = poll(fds, 3, std::min(look, FlushTime(output)).PollTimeout());
    if (ready < 0 && errno != EINTR) return ErrnoError(errno, "poll");
    if (ready > 0 && fds[2].revents != 0) display::EndAsBySigpipe();
    if (ready > 0 && fds[0].revents != 0) break;
    if (ready > 0 && fds[1].revents != 0) attempt.ReadNew();
    if (ready == 0) output.Flush();
    if (!look.Expired()) continue;
    look = base::Deadline::After(kAskInterval);
    const auto now = client->GetStatus();
    if (!now.ok()) continue;  // it is busy, or gone, which `end` reports
    // The output of the next attempt is shown from its beginning.
    AD_RETURN_IF_ERROR(attempt.Enter(*now, {}));
  }
  AD_ASSIGN_OR_RETURN(job, LookUpJob(id));
  AD_RETURN_IF_ERROR(attempt.Enter(job, {}));
  attempt.ReadAll();
  output.Finish();
  return job;
}

}  // namespace autodist::control
