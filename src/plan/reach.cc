#include "plan/reach.h"

#include <absl/strings/str_replace.h>

#include <string>
#include <vector>

namespace autodist::plan {
namespace {

// The command that runs what follows its words. Sources: podman-exec(1); `docker exec --help`;
// `kubectl exec --help`.
std::vector<std::string> WordsOf(const spec::SshGroup& group, const std::string& node) {
  const std::string& name = group.container.empty() ? node : group.container;
  if (group.via.size() > 1) {
    std::vector<std::string> words;
    for (const std::string& word : group.via) {
      words.push_back(absl::StrReplaceAll(word, {{"{node}", node}, {"{container}", name}}));
    }
    return words;
  }
  // Else podman would stop at the bytes of Ctrl-P, Ctrl-Q.
  if (group.via[0] == "podman") return {"podman", "exec", "-i", "--detach-keys=", name};
  if (group.via[0] == "docker") return {"docker", "exec", "-i", name};
  std::vector<std::string> words = {"kubectl", "exec", "-i", node};
  if (!group.container.empty()) words.insert(words.end(), {"-c", group.container});
  words.emplace_back("--");
  return words;
}

}  // namespace

v1::Reach MakeReach(const spec::Node& node, const spec::SshGroup& group, const NodeAddress& address,
                    const User& user) {
  v1::Reach reach;
  if (node.chief) {
    reach.mutable_local();
    return reach;
  }
  std::vector<std::string> words;
  if (!group.via.empty()) words = WordsOf(group, node.address);
  if (group.ByProgram()) {
    reach.mutable_program()->set_host(node.address);
    *reach.mutable_program()->mutable_argv() = {words.begin(), words.end()};
  } else {
    *reach.mutable_ssh() = MakeSshReach(node, group, address, user);
    *reach.mutable_ssh()->mutable_container_argv() = {words.begin(), words.end()};
  }
  return reach;
}

}  // namespace autodist::plan
