// What srun says of why it starts nothing.
#pragma once

#include <string>

#include "autodist/status.h"

namespace autodist::slurm {

// kAborted: the allocation is over, or ends. OK where srun says nothing of its own.
Status SrunError(const std::string& said);

}  // namespace autodist::slurm
