// What is kept of a job on the disk, so that it can be found from any folder, also when it has
// ended or its autodist was killed: job.json in its log folder, and a link to that folder.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "autodist/status.h"
#include "autodist/v1/job.pb.h"
#include "base/log_folder.h"

namespace autodist::control {

// Makes job.json in its log folder, and enters the job in the user's record: the link
// ${XDG_STATE_HOME:-~/.local/state}/autodist/jobs/JOB. The newest 200 entries are kept, and those
// of running jobs. Blocks on the disk.
Status RecordJob(const v1::JobStatus& status, const base::LogFolder& folder);

// Writes job.json anew, whole or not at all.
Status SaveStatus(const v1::JobStatus& status, const base::LogFolder& folder);

// Takes the job out of the user's record. Its log folder stays.
void ForgetJob(const std::string& job_id);

// As job.json has it. kNotFound: the job is not in the record.
Result<v1::JobStatus> ReadRecord(const std::string& job_id);

// The jobs in the record whose log folders are there.
std::set<std::string> RecordedJobs();

// Where the ranks of an attempt write, of the job with this log folder. The first is 0.
std::string AttemptName(uint32_t attempt);  // of such a folder, but for the first
std::string AttemptFolder(const std::string& log_folder, uint32_t attempt);

// On one line.
std::string AsJson(const v1::JobStatus& status);

}  // namespace autodist::control
