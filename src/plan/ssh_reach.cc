#include "plan/ssh_reach.h"

#include <absl/strings/str_join.h>
#include <absl/strings/str_replace.h>

#include <cstdlib>
#include <sstream>

#include "base/duration.h"
#include "scripts/scripts.h"

namespace autodist::plan {
namespace {

using Openssh = std::multimap<std::string, std::string>;

constexpr uint32_t kDefaultPort = 22;
constexpr uint32_t kDefaultConnectLimitMs = 10'000;
constexpr const char* kDefaultKeys[] = {"id_rsa", "id_ecdsa", "id_ecdsa_sk", "id_ed25519",
                                        "id_ed25519_sk"};

std::string First(const Openssh& openssh, const std::string& keyword) {
  const auto found = openssh.find(keyword);
  return found == openssh.end() || found->second == "none" ? "" : found->second;
}

// `ssh -G` has replaced the tokens (ssh/openssh_config).
std::string FullPath(const std::string& path, const User& user) {
  if (path == "~" || path.starts_with("~/")) return user.home + path.substr(1);
  return path.starts_with('/') ? path : user.working_directory + "/" + path;
}

void SetKeys(const spec::SshGroup& group, const Openssh& openssh, const User& user,
             v1::SshReach& ssh) {
  const auto path = [&](const std::string& text) { return FullPath(text, user); };
  const auto [begin, end] = openssh.equal_range("identityfile");
  if (!group.key_file.empty()) {
    ssh.add_key_files(path(group.key_file));
    ssh.set_key_file_required(true);
  } else if (begin != end) {
    for (auto file = begin; file != end; ++file) {
      if (file->second != "none") ssh.add_key_files(path(file->second));
    }
  } else {
    for (const char* name : kDefaultKeys) {
      ssh.add_key_files(user.home + "/.ssh/" + name);
    }
  }
  const auto [first, last] = openssh.equal_range("certificatefile");
  for (auto file = first; file != last; ++file) {
    if (file->second != "none") ssh.add_certificate_files(path(file->second));
  }
  ssh.set_identities_only(!group.key_file.empty() || First(openssh, "identitiesonly") == "yes");

  const auto agent = openssh.find("identityagent");
  if (agent == openssh.end() || agent->second == "SSH_AUTH_SOCK") {
    ssh.set_agent_socket(user.agent_socket);
  } else if (agent->second != "none") {
    ssh.set_agent_socket(path(agent->second));
  }
}

void SetHostKeys(const spec::SshGroup& group, const Openssh& openssh, const User& user,
                 v1::SshReach& ssh) {
  const std::string configured = First(openssh, "stricthostkeychecking");
  ssh.set_host_key_check(group.host_key_check.value_or(
      configured == "accept-new" ? v1::HOST_KEY_CHECK_ACCEPT_NEW
      : configured == "no" || configured == "false" || configured == "off"
          ? v1::HOST_KEY_CHECK_OFF
          : v1::HOST_KEY_CHECK_STRICT));
  ssh.set_hash_known_hosts(First(openssh, "hashknownhosts") == "yes");
  if (ssh.host_keys_size() > 0) ssh.set_host_key_check(v1::HOST_KEY_CHECK_STRICT);
  bool configured_files = false;
  for (const char* keyword : {"userknownhostsfile", "globalknownhostsfile"}) {
    configured_files |= openssh.contains(keyword);
    std::istringstream files(First(openssh, keyword));
    // A new key is added to the first file; if the user has none, it is not added.
    const bool none = openssh.contains(keyword) && First(openssh, keyword).empty();
    if (none && ssh.known_hosts_files_size() == 0) ssh.add_known_hosts_files("/dev/null");
    for (std::string file; files >> file;) {
      ssh.add_known_hosts_files(FullPath(file, user));
    }
  }
  if (configured_files) return;
  ssh.add_known_hosts_files(user.home + "/.ssh/known_hosts");
  ssh.add_known_hosts_files(user.home + "/.ssh/known_hosts2");
  ssh.add_known_hosts_files("/etc/ssh/ssh_known_hosts");
  ssh.add_known_hosts_files("/etc/ssh/ssh_known_hosts2");
}

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

std::chrono::milliseconds StartLimitOf(const v1::JobRequest& request) {
  return request.has_start_timeout() ? base::ToMilliseconds(request.start_timeout())
                                     : kDefaultStartLimit;
}

v1::SshReach MakeSshReach(const spec::Node& node, const spec::SshGroup& group,
                          const NodeAddress& address, const User& user,
                          std::chrono::milliseconds limit) {
  const Openssh& openssh = address.openssh;
  const auto number = [&](const char* keyword) {
    return static_cast<uint32_t>(std::strtoul(First(openssh, keyword).c_str(), nullptr, 10));
  };
  const auto otherwise = [](uint32_t value, uint32_t fallback) {
    return value != 0 ? value : fallback;
  };
  v1::SshReach ssh;
  ssh.set_host(node.address);
  ssh.set_port(node.port    ? *node.port
               : group.port ? *group.port
                            : otherwise(number("port"), kDefaultPort));
  const std::string username = First(openssh, "user");
  ssh.set_username(!group.username.empty() ? group.username
                   : !username.empty()     ? username
                                           : user.username);
  ssh.set_address(address.ssh);
  *ssh.mutable_other_addresses() = {address.others.begin(), address.others.end()};
  ssh.set_error(address.error);
  ssh.set_ssh_address(node.ssh_address);
  *ssh.mutable_host_keys() = {node.host_keys.begin(), node.host_keys.end()};
  const std::string alias = First(openssh, "hostkeyalias");
  const std::string hostname =
      node.ssh_address.empty() ? First(openssh, "hostname") : node.ssh_address;
  ssh.set_host_key_name(!alias.empty() ? alias : !hostname.empty() ? hostname : node.address);
  ssh.set_connect_limit_ms(otherwise(number("connecttimeout") * 1000, kDefaultConnectLimitMs));
  ssh.set_login_limit_ms(static_cast<uint32_t>(limit.count()));

  SetKeys(group, openssh, user, ssh);
  SetHostKeys(group, openssh, user, ssh);

  ssh.set_proxy_jump(group.proxy_jump);
  ssh.set_configured_jump(First(openssh, "proxyjump"));
  const std::string configured = First(openssh, "hostname");
  if (configured != node.address) ssh.set_configured_host_name(configured);
  const bool configured_proxy =
      !First(openssh, "proxyjump").empty() || !First(openssh, "proxycommand").empty();
  ssh.set_by_ssh_program(group.proxy_jump.empty()
                             ? configured_proxy || !address.left_to_ssh.empty()
                             : group.proxy_jump != "none" || !address.left_to_ssh.empty());
  if (address.error.empty() && address.ssh.empty() && !ssh.by_ssh_program()) {
    ssh.set_error(address.no_ssh);
  }
  if (!ssh.error().empty()) ssh.set_error_hint(address.hint);
  return ssh;
}

v1::Reach MakeReach(const spec::Node& node, const spec::SshGroup& group, const NodeAddress& address,
                    const User& user, const ContainerUse& use, std::chrono::milliseconds limit) {
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
    *reach.mutable_ssh() = MakeSshReach(node, group, address, user, limit);
    if (argv.empty()) return reach;
    v1::Container& container = *reach.mutable_ssh()->mutable_container();
    *container.mutable_argv() = {argv.begin(), argv.end()};
    container.set_program(group.via[0]);
    container.set_image(group.image);
  }
  return reach;
}

}  // namespace autodist::plan
