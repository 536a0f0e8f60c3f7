// The batch script of a Slurm job.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace autodist::slurm {

// The options for sbatch; "" and 0: not specified. No text has a line feed.
struct SlurmRequest {
  std::string name;
  uint32_t nodes = 1;
  std::string gpus;  // per node: "8", "a100:8"
  uint32_t ranks = 0;
  std::string time;
  std::string partition;
  std::string account;
  std::string signal;               // "USR1@120"
  std::vector<std::string> others;  // further options of sbatch
};

// Returns a sh script that executes this autodist with a v1::JobRequest as JSON.
std::string SlurmScript(const SlurmRequest& request, const std::string& autodist,
                        const std::string& job);

// Says where job `number` writes: "output in slurm-7.out in this folder"; "": unknown. `variable`
// returns a variable of sbatch's environment, which overrides options of the script, or null.
std::string WhereItWrites(const SlurmRequest& request, const std::string& number,
                          const std::function<const char*(const char*)>& variable);

}  // namespace autodist::slurm
