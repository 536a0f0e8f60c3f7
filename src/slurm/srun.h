// The command line of srun, and its error messages.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "autodist/status.h"

namespace autodist::slurm {

// Returns the beginning of a command line, to which the program is appended: a step with one task
// on each node, and `gpus` GPUs. The step takes no resources from others, continues after the loss
// of nodes, ignores the working directory and binds nothing to cores. srun does not get the
// variables `secret`. Source: srun(1).
std::vector<std::string> SrunArgv(const std::vector<std::string>& nodes, uint32_t gpus,
                                  const std::vector<std::string>& secret);

// Whether srun is in PATH.
bool HasSrun();

// The same for a node of a job, from outside; empty: no srun in PATH. `terminal`: gets ours.
std::vector<std::string> SrunInto(const std::string& job, const std::string& node, bool terminal);

// Leaves out lines that srun also writes when all is well, and empty lines; has no line feed at the
// end. Output of tasks stays.
std::string WithoutNotices(const std::string& said);

// Converts the error output of srun. OK if there is no error message of srun.
Status SrunError(const std::string& said);

}  // namespace autodist::slurm
