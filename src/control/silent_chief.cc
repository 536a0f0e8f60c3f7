#include "control/silent_chief.h"

#include <chrono>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/host_name.h"
#include "process/process_tree.h"

namespace autodist::control {
namespace {

// Between the clock at the start of a job and now; the chief starts before its job.
constexpr std::chrono::milliseconds kMaxClockStep = std::chrono::seconds(5);

}  // namespace

char ChiefState(const v1::JobStatus& job) {
  constexpr size_t kMaxStat = 4096;
  constexpr std::string_view kProgram = " (autodist) ";
  if (job.phase() == v1::JOB_PHASE_ENDED || !base::IsThisHost(job.host())) return 0;
  const auto stat = base::ReadFile("/proc/" + std::to_string(job.chief_pid()) + "/stat", kMaxStat);
  const size_t name = stat.ok() ? stat->find(kProgram) : std::string::npos;
  if (name == std::string::npos || name + kProgram.size() >= stat->size()) return 0;
  const char state = (*stat)[name + kProgram.size()];
  const bool same = process::StartOf(job.chief_pid()) <= job.started_ms() + kMaxClockStep.count();
  return same && state != 'Z' ? state : '\0';
}

Status NoAnswer(const v1::JobStatus& job, bool has_socket) {
  return NoAnswer(job, ChiefState(job), has_socket);
}

Status NoAnswer(const v1::JobStatus& job, char state, bool has_socket) {
  const std::string pid = std::to_string(job.chief_pid());
  const std::string chief =
      "its chief" + (state != 0           ? " (process " + pid + " on " + job.host() + ")"
                     : job.host().empty() ? ""
                                          : " on " + job.host());
  const auto failure = [](const std::string& what, const std::string& remedy) {
    return WithRemedy(Error(StatusCode::kDeadlineExceeded, what), remedy);
  };
  const std::string end =
      "to end the job: `kill -9 " + pid + "`, then `autodist clean " + job.job_id() + "`";
  if (state == 'T' || state == 't') {
    return failure(chief + " does not answer: it is stopped (state " + state + ")",
                   "`kill -CONT " + pid + "` continues it; " + end);
  }
  if (state == 0) {
    return failure(chief + " does not answer",
                   "check whether its process is stopped, or its container paused");
  }
  if (!has_socket) {
    return failure(chief + " runs, but its socket is missing", "stop it with `kill " + pid + "`");
  }
  return failure(chief + " does not answer",
                 "try again: its machine may be overloaded, a disk or file server may hang, or its "
                 "container may be paused; " +
                     end);
}

}  // namespace autodist::control
