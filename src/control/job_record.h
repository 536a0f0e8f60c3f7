// The record of a job on disk, which is found from any folder, also after the job ended or its
// autodist was killed: job.json in its log folder, and a link to that folder.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "autodist/status.h"
#include "autodist/v1/job.pb.h"
#include "base/log_folder.h"

namespace autodist::control {

// Writes job.json into the log folder, and adds the link
// ${XDG_STATE_HOME:-~/.local/state}/autodist/jobs/JOB to the user's record. Keeps the newest 200
// entries, and those of running jobs. Blocks on the disk.
Status RecordJob(const v1::JobStatus& status, const base::LogFolder& folder);

// Replaces job.json atomically.
Status SaveStatus(const v1::JobStatus& status, const base::LogFolder& folder);

// Removes the job's entry from the user's record, but keeps its log folder.
void ForgetJob(const std::string& job_id);

// Reads job.json. kNotFound: the job is not in the record.
Result<v1::JobStatus> ReadRecord(const std::string& job_id);

// The jobs in the record whose log folders exist.
std::set<std::string> RecordedJobs();

// The folder of an attempt's output, for a job with this log folder. The first attempt is 0.
std::string AttemptName(uint32_t attempt);  // the folder's name, for any attempt but the first
std::string AttemptFolder(const std::string& log_folder, uint32_t attempt);

// JSON on one line.
std::string AsJson(const v1::JobStatus& status);

}  // namespace autodist::control
