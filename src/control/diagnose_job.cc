#include "control/diagnose_job.h"

#include <utility>

#include "base/json_quote.h"
#include "control/job_client.h"
#include "control/jobs.h"
#include "control/snapshot_client.h"
#include "json/plain_json.h"
#include "why/diagnosis.h"

namespace autodist::control {
namespace {

Result<v1::JobDiagnosis> AskForDiagnosis(const std::string& job_id, const std::stop_token& stop) {
  AD_ASSIGN_OR_RETURN(const JobClient client, JobClient::Connect(job_id));
  // One that is suspended should not be waited for that long.
  AD_RETURN_IF_ERROR(client.GetStatus().status());
  return client.GetDiagnosis(stop);
}

const char* KindName(v1::JobDiagnosis::Kind kind) {
  if (kind == v1::JobDiagnosis::KIND_ISSUE) return "issue";
  return kind == v1::JobDiagnosis::KIND_OK ? "ok" : "unknown";
}

}  // namespace

Result<v1::JobDiagnosis> DiagnoseJob(v1::JobStatus job, const std::stop_token& stop) {
  if (job.phase() != v1::JOB_PHASE_ENDED) {
    auto diagnosis = AskForDiagnosis(job.job_id(), stop);
    if (diagnosis.ok() || stop.stop_requested()) return diagnosis;
    // The job may have ended meanwhile.
    AD_ASSIGN_OR_RETURN(job, LookUpJob(job.job_id()));
    if (job.phase() != v1::JOB_PHASE_ENDED) return diagnosis;
  }
  SnapshotClient reader(job.job_id(), job.log_folder());
  const auto last = reader.Snapshot(stop);  // missing if none was saved
  return why::JudgeEnded(job, last.ok() ? **last : v1::JobSnapshot());
}

Result<v1::JobDiagnosis> DiagnoseJobNamed(const std::string& job_id, const std::stop_token& stop) {
  AD_ASSIGN_OR_RETURN(v1::JobStatus job, LookUpJob(job_id));
  return DiagnoseJob(std::move(job), stop);
}

std::string DiagnosisJson(const std::string& job_id, const v1::JobDiagnosis& diagnosis) {
  return "{\"job_id\":" + base::JsonQuoted(job_id) +
         ",\"diagnosis\":" + base::JsonQuoted(KindName(diagnosis.kind())) +
         ",\"issue\":" + json::PlainJson(diagnosis.issue()) + "}\n";
}

}  // namespace autodist::control
