// The batch script of a job of Slurm's.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace autodist::slurm {

// What Slurm is asked for; "" and 0: nothing is said of it. No text has a line feed.
struct SlurmRequest {
  std::string name;
  uint32_t nodes = 1;
  std::string gpus;  // of each node: "8", "a100:8"
  uint32_t ranks = 0;
  std::string time;
  std::string partition;
  std::string account;
  std::string signal;               // "USR1@120"
  std::vector<std::string> others;  // words of sbatch
};

// A script of sh that becomes this autodist, with a v1::JobRequest as JSON.
std::string SlurmScript(const SlurmRequest& request, const std::string& autodist,
                        const std::string& job);

}  // namespace autodist::slurm
