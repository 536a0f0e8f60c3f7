// autodist submit --slurm
#pragma once

#include <string>
#include <vector>

#include "cli/app.h"
#include "submit/slurm_script.h"

namespace autodist::cli {

// Of group::kSlurm. Fills `request` as they are parsed; it has to outlive that.
void AddSlurmOptions(CLI::App& app, submit::SlurmRequest& request);

// `words`: those of autodist. Prints the script or hands it to sbatch; gives the exit code.
int SubmitToSlurm(const submit::SlurmRequest& request, std::vector<std::string> words, bool print);

}  // namespace autodist::cli
