// How many devices each node of a Slurm job has, as Slurm's variables have it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "slurm/hosts.h"
#include "spec/issue.h"

namespace autodist::slurm {

struct SlurmDevices {
  std::vector<std::optional<uint32_t>> of;  // by node; nullopt: not known
  std::vector<spec::Issue> issues;
  std::vector<std::string> warnings;  // what is not known, with the variables that do not agree
};

// SLURM_GPUS_ON_NODE is of the node that we are on; the other variables decide whether it can be
// that of all.
SlurmDevices DevicesOfNodes(const Variables& variables, const std::vector<std::string>& names);

// The devices that "0,1,4-7" names; nullopt if it is nothing of the kind, as "gpu:a100:2" is not.
std::optional<std::vector<uint32_t>> DeviceNumbers(std::string_view text);

}  // namespace autodist::slurm
