// autodist submit --slurm
#pragma once

#include <string>

#include "cli/app.h"
#include "slurm/batch_script.h"

namespace autodist::cli {

// Adds the options of group::kSlurm. `request` must outlive the parsing.
void AddSlurmOptions(CLI::App& app, slurm::SlurmRequest& request);

// `job`: a v1::JobRequest as JSON. Prints the script or submits it with sbatch. Returns the
// exit code.
int SubmitToSlurm(const slurm::SlurmRequest& request, const std::string& job, bool print);

}  // namespace autodist::cli
