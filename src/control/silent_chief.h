// The chief of a job that has not ended and does not answer: why, and what its user can do.
#pragma once

#include "autodist/status.h"
#include "autodist/v1/job.pb.h"

namespace autodist::control {

// The state of the job's chief as in proc(5), such as 'S' or 'T', if it is a process of this
// machine; 0 otherwise. Its number may have been reused, as in a container that was started again.
char ChiefState(const v1::JobStatus& job);

// The failure of a request: kDeadlineExceeded. `has_socket`: the chief can be connected to.
Status NoAnswer(const v1::JobStatus& job, bool has_socket = true);

// The same for a chief in this state.
Status NoAnswer(const v1::JobStatus& job, char state, bool has_socket);

}  // namespace autodist::control
