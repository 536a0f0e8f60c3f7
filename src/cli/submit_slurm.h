// autodist submit --slurm
#pragma once

#include <string>

#include "cli/app.h"
#include "slurm/batch_script.h"

namespace autodist::cli {

// Of group::kSlurm. Fills `request` as they are parsed; it has to outlive that.
void AddSlurmOptions(CLI::App& app, slurm::SlurmRequest& request);

// `job`: a v1::JobRequest as JSON. Prints the script or hands it to sbatch; gives the exit code.
int SubmitToSlurm(const slurm::SlurmRequest& request, const std::string& job, bool print);

}  // namespace autodist::cli
