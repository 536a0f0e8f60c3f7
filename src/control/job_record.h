// The record of a job on disk, which is found from any folder, also after the job ended or its
// autodist was killed: job.json and nodes.json in its log folder and, in the user's record, a link
// to that folder and a note (v1::JobNote). Several machines may share the record.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "autodist/status.h"
#include "autodist/v1/job.pb.h"
#include "autodist/v1/job_request.pb.h"
#include "base/log_folder.h"

namespace autodist::control {

// Writes job.json into the log folder, and adds the link
// ${XDG_STATE_HOME:-~/.local/state}/autodist/jobs/JOB and the note JOB.json to the user's record.
// Removes from it jobs of this machine whose log folder is gone, and all but the newest 200 that do
// not run. Blocks on the disk.
Status RecordJob(const v1::JobStatus& status, const base::LogFolder& folder);

// Adds a job that was started on another machine; if that has recorded it, only how to get there.
Status RecordRemoteJob(const v1::JobNote& note);

// Replaces job.json atomically, and the status in the note of a recorded job.
Status SaveStatus(const v1::JobStatus& status, const base::LogFolder& folder);

// A request with the job's nodes, to reach them after its end; written when ranks first start.
inline constexpr char kNodesFile[] = "nodes.json";
// kNotFound: no rank was started, or the nodes are not the user's after the end. kPermissionDenied:
// the job is not recorded, and a spec can name programs of this machine.
Result<v1::JobRequest> ReadNodes(const v1::JobStatus& job);

// Replaces the note of a recorded job.
Status SaveNote(const v1::JobNote& note);

// Removes the job's entry from the user's record, but keeps its log folder.
void ForgetJob(const std::string& job_id);

// kNotFound: there is no note.
Result<v1::JobNote> ReadNote(const std::string& job_id);

// Reads job.json or, if the log folder is on another machine, the note. kNotFound: not recorded.
Result<v1::JobStatus> ReadRecord(const std::string& job_id);

// What ReadRecord returns; only the id if that fails.
v1::JobStatus RecordOrId(const std::string& job_id);

// The path of a log folder without a slash at its end, as in the record.
std::string AbsoluteLogFolder(const std::string& log_folder);

// Reads job.json of a log folder, perhaps moved or of another user. kNotFound: it has none.
Result<v1::JobStatus> ReadRecordIn(const std::string& log_folder);

// Whether it is a job of the user's record. Another log folder may be a copy of another user's: no
// machine that it names is logged in to.
bool IsRecorded(const v1::JobStatus& job);

// The jobs in the record whose log folders exist, or are on other machines.
std::set<std::string> RecordedJobs();

// All jobs of the record, oldest first, as their notes have them: without nodes. Of a job without a
// note, reads job.json. Blocks on the disk of the record alone, unless a note is missing.
std::vector<v1::JobStatus> NotedJobs();

// The folder of an attempt's output, for a job with this log folder. The first attempt is 0.
std::string AttemptName(uint32_t attempt);  // the folder's name, for any attempt but the first
std::string AttemptFolder(const std::string& log_folder, uint32_t attempt);

}  // namespace autodist::control
