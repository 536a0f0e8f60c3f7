// The number of devices of each node in a Slurm job, according to Slurm's variables.
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
  std::vector<std::optional<uint32_t>> of;  // by node; nullopt: unknown
  std::vector<spec::Issue> issues;
  std::vector<std::string> warnings;  // what is unknown, with the contradicting variables
};

// SLURM_GPUS_ON_NODE is about the current node; other variables show whether it can apply to all
// nodes.
SlurmDevices DevicesOfNodes(const Variables& variables, const std::vector<std::string>& names);

// Parses device numbers such as "0,1,4-7"; nullopt for other texts, such as "gpu:a100:2".
std::optional<std::vector<uint32_t>> DeviceNumbers(std::string_view text);

}  // namespace autodist::slurm
