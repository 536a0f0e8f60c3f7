#include "slurm/batch_script.h"

#include <algorithm>

#include "base/shell_quote.h"

namespace autodist::slurm {

std::string SlurmScript(const SlurmRequest& request, const std::string& autodist,
                        const std::string& job) {
  std::string script = "#!/bin/sh\n";
  const auto add = [&](const std::string& name, const std::string& value) {
    if (!value.empty()) script += "#SBATCH --" + name + "=" + value + "\n";
  };
  add("job-name", request.name.empty() ? "autodist" : request.name);
  add("nodes", std::to_string(request.nodes));
  add("ntasks-per-node", std::to_string(std::max(request.ranks, 1U)));
  add("gpus-per-node", request.gpus);
  add("time", request.time);
  add("partition", request.partition);
  add("account", request.account);
  add("signal", request.signal.empty() ? "" : "B:" + request.signal);
  for (const std::string& word : request.others) script += "#SBATCH " + word + "\n";
  // exec: Slurm only signals the script's process. No line of JSON equals the final END.
  return script + "exec " + base::ShellQuote(autodist) + " run-request /dev/stdin <<'END'\n" + job +
         "END\n";
}

}  // namespace autodist::slurm
