#include "kubernetes/worker.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "base/fd.h"
#include "transfer/node_program.h"

namespace autodist::kubernetes {

Status BecomeCaller(const std::string& agent_path, const std::string& node,
                    const std::string& chief, const std::string& key_file,
                    std::chrono::seconds patience) {
  AD_ASSIGN_OR_RETURN(transfer::NodeProgram agent, transfer::NodeProgram::OfAgent(agent_path));
  AD_ASSIGN_OR_RETURN(const std::string program, agent.PathHere());
  const base::UniqueFd key(open(key_file.c_str(), O_RDONLY | O_CLOEXEC));
  if (!key.valid() || dup2(key.get(), STDIN_FILENO) < 0) return ErrnoError(errno, key_file);
  execl(program.c_str(), "autodist-agent", "call", node.c_str(),
        std::to_string(patience.count()).c_str(), chief.c_str(), nullptr);
  return ErrnoError(errno, program);
}

}  // namespace autodist::kubernetes
