#include "control/announced_job.h"

#include <utility>

#include "control/job_record.h"

namespace autodist::control {

void AnnouncedJob::Warn(const v1::JobStatus& job, const Status& recorded) {
  if (recorded.ok()) return;
  const char* const effect = IsRecorded(job)
                                 ? "other commands may show an earlier state of this job"
                                 : "other commands will not find this job";
  warnings_.Warn(base::FailureText(Annotate(recorded, effect)));
}

Status AnnouncedJob::Start(JobRequests requests) {
  auto server = JobServer::Start(job_id_, std::move(requests));
  AD_RETURN_IF_ERROR(Annotate(server.status(), "control socket"));
  server_ = *std::move(server);
  return OkStatus();
}

void AnnouncedJob::Changed(const v1::JobStatus& status) {
  if (server_) server_->Publish(status);
  if (!std::exchange(recorded_, true)) {
    records_.Post([this, status] { Warn(status, RecordJob(status, log_folder_)); });
  } else if (status.attempt_folder() != attempt_folder_) {
    // Recorded so that the output is found if this autodist is killed.
    records_.Post([this, status, nodes = std::exchange(nodes_, {})] {
      Warn(status, SaveStatus(status, log_folder_));
      // Only `fetch` after the end needs it, and says if it is missing.
      if (nodes) (void)log_folder_.WriteFile(kNodesFile, nodes()).ok();
    });
  }
  attempt_folder_ = status.attempt_folder();
}

void AnnouncedJob::Ended(const v1::JobStatus& status) {
  if (recorded_) records_.Post([this, status] { Warn(status, SaveStatus(status, log_folder_)); });
  records_.Drain();
  if (server_) server_->End(status);
  server_.reset();
}

}  // namespace autodist::control
