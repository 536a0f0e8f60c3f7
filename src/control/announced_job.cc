#include "control/announced_job.h"

#include <utility>

#include "control/job_record.h"

namespace autodist::control {

void AnnouncedJob::Warn(const Status& status) {
  if (status.ok()) return;
  warnings_.Warn(base::FailureText(Annotate(status, "other commands will not find this job")));
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
    records_.Post([this, status] { Warn(RecordJob(status, log_folder_)); });
  } else if (status.attempt_folder() != attempt_folder_) {
    // Recorded so that the output is found if this autodist is killed.
    records_.Post([this, status, nodes = std::exchange(nodes_, {})] {
      Warn(SaveStatus(status, log_folder_));
      // Only `fetch` after the end needs it, and says if it is missing.
      if (nodes) (void)log_folder_.WriteFile(kNodesFile, nodes()).ok();
    });
  }
  attempt_folder_ = status.attempt_folder();
}

void AnnouncedJob::Ended(const v1::JobStatus& status) {
  if (recorded_) records_.Post([this, status] { Warn(SaveStatus(status, log_folder_)); });
  records_.Drain();
  if (server_) server_->End(status);
  server_.reset();
}

}  // namespace autodist::control
