// An agent where the engine that runs the nodes ends whatever a program has started, together with
// the program, as Slurm does at the end of a step: `attach` starts none itself there. Another
// process, which the chief has had started for that, becomes its guardian: the holder.
#pragma once

#include <chrono>
#include <string>

#include "agent/life/job_folder.h"
#include "autodist/status.h"
#include "base/fd.h"

namespace autodist::agent {

// Names a named pipe: its reader runs the program whose path is written to it, as `hold`.
inline constexpr char kHolderVariable[] = "AUTODIST_HOLDER";

// What `attach` has of an agent that a holder has started.
struct HeldAgent {
  base::UniqueFd chief;    // the connection of the chief that started it
  base::UniqueFd starter;  // to be kept open as long as its starter is there
};

// Has the reader of the named pipe become the guardian of the job in this folder, whose lock we
// have. Blocks, for half a minute at most, until it has.
Result<HeldAgent> StartInHolder(const std::string& pipe, const JobFolder& folder);

// Tells the reader of the pipe that it is not needed. It learns that as long as the result is open.
base::UniqueFd DismissHolder(const std::string& pipe);

// argv: hold JOB NODE_RANK NONCE LEASE_MS GRACE_MS start. Becomes the guardian that a StartInHolder
// on this host waits for. Returns the process exit status.
int Hold(int argc, char** argv);

}  // namespace autodist::agent
