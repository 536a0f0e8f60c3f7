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

// Ends with 0 where an agent is there, with 3 where none is: an engine has other codes. A zombie is
// none.
constexpr char kAgentIsThere[] =
    "for p in /proc/[0-9]*/stat; do if read -r _ n z _ < $p; then "
    "case $n$z in *Z) ;; '(autodist-'*) exit 0 ;; esac; fi; done 2> /dev/null; exit 3";

// Runs what follows in the job's container, which it makes where there is none; not for an agent
// that is to be met again, which the last word says. Behind the last agent it removes the
// container. $1 engine, $2 container, $3 image, $4 working directory, $5 words of `run` (none of
// them has a space), $6 what the container does, $7 whether an agent is in it.
//
// It has the network, the IPC, the person and the home folder's name of the node. Sources of the
// words: podman-run(1), `docker run --help`.
constexpr char kInMadeContainer[] =
    "e=$1 c=$2 i=$3 w=$4 r=$5 k=$6 a=$7; shift 7; "
    "case $w in '~/'*) w=\"$HOME/${w#??}\" ;; esac; "
    "d=; [ \"$e\" = docker ] || d=--detach-keys=; "
    "for l in \"$@\"; do :; done; "
    "if [ \"$l\" != resume ] && ! \"$e\" container inspect \"$c\" > /dev/null 2>&1; then set -f; "
    "[ -d \"$w\" ] || mkdir -p \"$w\"; "
    "if [ \"$(id -u)\" != 0 ]; then if [ \"$e\" = docker ]; "
    "then r=\"--user $(id -u):$(id -g) $r\"; else r=\"--userns=keep-id $r\"; fi; fi; "
    "[ ! -d /dev/infiniband ] || r=\"--device /dev/infiniband --ulimit memlock=-1 $r\"; "
    "\"$e\" run -d --rm --name \"$c\" --network host --ipc host -e HOME=\"$HOME\" -v \"$w:$w\" $r "
    "\"$i\" sh -c \"$k\" sh \"$a\" > /dev/null || exit; fi; "
    "\"$e\" exec -i $d \"$c\" \"$@\"; s=$?; "
    "\"$e\" exec \"$c\" sh -c \"$a\" > /dev/null 2>&1; "
    "[ $? != 3 ] || \"$e\" rm -f \"$c\" > /dev/null 2>&1; "
    "exit $s";

// $1 as above. It ends some seconds after the agent in it, or if none has come in six minutes,
// which is more than sending one may take: so nobody has to remove it, whoever is killed. As
// process 1 it reaps what others leave.
constexpr char kUntilAgentEnds[] =
    "trap 'exit 0' TERM; i=0 s=360; while [ $i -lt $s ]; do i=$((i + 1)); "
    "if (eval \"$1\"); then i=0 s=3; fi; sleep 1 & wait $!; done";

std::vector<std::string> WordsToMake(const spec::SshGroup& group, const spec::Node& node,
                                     const ContainerUse& use) {
  std::string run;
  if (!node.gpus.empty()) {
    run = group.via[0] == "docker" ? "--gpus all" : "--device nvidia.com/gpu=all";
  }
  for (const std::string& word : group.run_options) run += (run.empty() ? "" : " ") + word;
  const std::string name = "autodist-" + use.job_id + "." + std::to_string(use.node_rank);
  return {"sh",         "-c",        kInMadeContainer,      "sh", group.via[0],
          name,         group.image, use.working_directory, run,  kUntilAgentEnds,
          kAgentIsThere};
}

v1::CalledReach MakeCalledReach(const spec::Node& node, const spec::SshGroup& group) {
  const auto calls = group.calls.value_or(spec::SshGroup::Calls{});
  v1::CalledReach called;
  called.set_host(node.address);
  called.set_name(node.address);
  called.set_port(calls.ports.first);
  called.set_last_port(calls.ports.last);
  called.set_words_file(calls.words_file);
  called.set_limit_ms(static_cast<uint32_t>(calls.limit.count()));
  if (group.BySlurm()) {
    called.mutable_step()->set_gpus(static_cast<uint32_t>(node.gpus.size()));
  }
  return called;
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
    *reach.mutable_called() = MakeCalledReach(node, group);
    return reach;
  }
  std::vector<std::string> words;
  if (!group.image.empty() && !group.PerRank()) {
    words = WordsToMake(group, node, use);
  } else if (!group.via.empty() && !group.PerRank()) {
    words = WordsOf(group, node.address);
  }
  if (group.ByProgram()) {
    reach.mutable_program()->set_host(node.address);
    *reach.mutable_program()->mutable_argv() = {words.begin(), words.end()};
    reach.mutable_program()->set_program(group.via[0]);
  } else {
    *reach.mutable_ssh() = MakeSshReach(node, group, address, user);
    if (words.empty()) return reach;
    v1::Container& container = *reach.mutable_ssh()->mutable_container();
    *container.mutable_argv() = {words.begin(), words.end()};
    container.set_program(group.via[0]);
    container.set_image(group.image);
  }
  return reach;
}

}  // namespace autodist::plan
