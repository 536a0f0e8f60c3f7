#include "chief/attempt/job_options.h"

#include "base/shell_quote.h"

namespace autodist::chief {

std::string HowToCancel(const v1::JobRequest& request, const std::string& job_id) {
  return (request.detach() ? "`autodist stop " + job_id + "`" : "Ctrl-C") + " cancels";
}

std::string CommandForNodes(const std::string& command, const v1::JobRequest& request) {
  if (request.has_spec_text() || request.kubernetes()) return "";
  std::string line = "autodist " + command;
  if (request.has_spec()) line += " --spec " + base::ShellQuote(request.spec());
  if (request.has_hosts()) line += " --hosts " + base::ShellQuote(request.hosts());
  if (request.slurm()) line += " --slurm";
  if (request.has_nproc_per_node()) line += " -n " + std::to_string(request.nproc_per_node());
  return line;
}

}  // namespace autodist::chief
