#include "plan/reach.h"

#include <absl/strings/str_join.h>
#include <absl/strings/str_replace.h>

#include <string>
#include <vector>

#include "scripts/scripts.h"

namespace autodist::plan {
namespace {

// Returns the argv prefix that runs a program there. Sources: podman-exec(1); `docker exec --help`;
// `kubectl exec --help`.
std::vector<std::string> ArgvOf(const spec::SshGroup& group, const std::string& node) {
  const std::string& name = group.container.empty() ? node : group.container;
  if (group.via.size() > 1) {
    std::vector<std::string> argv;
    for (const std::string& word : group.via) {
      argv.push_back(absl::StrReplaceAll(word, {{"{node}", node}, {"{container}", name}}));
    }
    return argv;
  }
  // Without it podman would detach at the bytes of Ctrl-P, Ctrl-Q.
  if (group.via[0] == "podman") return {"podman", "exec", "-i", "--detach-keys=", name};
  if (group.via[0] == "docker") return {"docker", "exec", "-i", name};
  std::vector<std::string> argv = {"kubectl", "exec", "-i", node};
  if (!group.container.empty()) argv.insert(argv.end(), {"-c", group.container});
  argv.emplace_back("--");
  return argv;
}

std::vector<std::string> ArgvOfMadeContainer(const spec::SshGroup& group, const spec::Node& node,
                                             const ContainerUse& use) {
  std::vector<std::string> run = group.run_options;
  if (!node.gpus.empty()) {
    run.insert(run.begin(),
               group.via[0] == "docker" ? "--gpus all" : "--device nvidia.com/gpu=all");
  }
  const std::string name = "autodist-" + use.job_id + "." + std::to_string(use.node_rank);
  return {"sh",
          "-c",
          scripts::Script({"in_made_container"}),
          "sh",
          group.via[0],
          name,
          group.image,
          use.working_directory,
          absl::StrJoin(run, " "),
          scripts::Script({"until_agent_ends"}),
          scripts::Script({"agent_is_there"})};
}

v1::CallbackReach MakeCallbackReach(const spec::Node& node, const spec::SshGroup& group) {
  const auto calls = group.calls.value_or(spec::SshGroup::Calls{});
  v1::CallbackReach callback;
  callback.set_host(node.address);
  callback.set_name(node.address);
  callback.set_port(calls.ports.first);
  callback.set_last_port(calls.ports.last);
  callback.set_credentials_file(calls.credentials_file);
  callback.set_limit_ms(static_cast<uint32_t>(calls.limit.count()));
  if (group.BySlurm()) {
    callback.mutable_step()->set_gpus(static_cast<uint32_t>(node.gpus.size()));
  }
  return callback;
}

}  // namespace

v1::Reach MakeReach(const spec::Node& node, const spec::SshGroup& group, const NodeAddress& address,
                    const User& user, const ContainerUse& use) {
  v1::Reach reach;
  if (node.chief) {
    reach.mutable_local();
    return reach;
  }
  if (group.calls || group.BySlurm()) {
    *reach.mutable_callback() = MakeCallbackReach(node, group);
    return reach;
  }
  std::vector<std::string> argv;
  if (!group.image.empty() && !group.PerRank()) {
    argv = ArgvOfMadeContainer(group, node, use);
  } else if (!group.via.empty() && !group.PerRank()) {
    argv = ArgvOf(group, node.address);
  }
  if (group.ByProgram()) {
    reach.mutable_program()->set_host(node.address);
    *reach.mutable_program()->mutable_argv() = {argv.begin(), argv.end()};
    reach.mutable_program()->set_program(group.via[0]);
  } else {
    *reach.mutable_ssh() = MakeSshReach(node, group, address, user);
    if (argv.empty()) return reach;
    v1::Container& container = *reach.mutable_ssh()->mutable_container();
    *container.mutable_argv() = {argv.begin(), argv.end()};
    container.set_program(group.via[0]);
    container.set_image(group.image);
  }
  return reach;
}

}  // namespace autodist::plan
