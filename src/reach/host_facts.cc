#include "reach/host_facts.h"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "base/deadline.h"
#include "base/log.h"
#include "base/parallel.h"
#include "base/quantity.h"
#include "reach/config_hosts.h"
#include "reach/connector_factory.h"
#include "reach/device_ips.h"
#include "reach/login_retry_budget.h"
#include "reach/resolve.h"
#include "spec/address.h"

namespace autodist::reach {
namespace {

using base::Log;
using base::LogLevel;

constexpr size_t kAskedAtOnce = 64;

// While it exists, a signal that ends this process first prints a line, if stderr accepts it. At
// most one exists.
class InterruptNotice {
 public:
  InterruptNotice() {
    struct sigaction action {};
    action.sa_handler = [](int signal) {
      constexpr std::string_view kLine = "\nautodist: interrupted before all hosts answered\n";
      const std::string_view line = kLine.substr(isatty(STDERR_FILENO) == 1 ? 0 : 1);  // after "^C"
      // Blocking here would also block the signal.
      pollfd ready{STDERR_FILENO, POLLOUT, 0};
      if (poll(&ready, 1, 0) == 1 && ready.revents == POLLOUT) {
        (void)!write(STDERR_FILENO, line.data(), line.size());
      }
      raise(signal);  // when the handler returns, with the default action
    };
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    for (size_t i = 0; i < kSignals.size(); ++i) {
      sigaction(kSignals[i], nullptr, &before_[i]);
      if (before_[i].sa_handler == SIG_DFL) sigaction(kSignals[i], &action, nullptr);
    }
  }
  InterruptNotice(const InterruptNotice&) = delete;
  InterruptNotice& operator=(const InterruptNotice&) = delete;
  ~InterruptNotice() {
    for (size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &before_[i], nullptr);
  }

 private:
  static constexpr std::array kSignals = {SIGINT, SIGTERM};
  std::array<struct sigaction, kSignals.size()> before_{};
};

std::mutex failures_mutex;
std::map<std::string, Status>& Failures() {  // by login; guarded by the mutex
  static std::map<std::string, Status> failures;
  return failures;
}

std::string LoginOf(const v1::SshReach& ssh) {
  return ssh.username() + "@" + ssh.host() + ":" + std::to_string(ssh.port());
}

// Returns a spec with the hosts as nodes.
spec::ResourceSpec SpecOf(const std::vector<spec::HostEntry>& hosts, const spec::SshGroup& login) {
  spec::ResourceSpec spec;
  for (const spec::HostEntry& host : hosts) {
    spec::SshGroup group = spec::GroupOf(host, login);
    spec::Node node;
    node.address = host.host;
    node.ssh_config = group.username + "\n" + group.key_file + "\n" +
                      std::to_string(group.port.value_or(0)) + "\n" + group.proxy_jump;
    spec.ssh.emplace(node.ssh_config, std::move(group));
    spec.nodes.push_back(std::move(node));
  }
  return spec;
}

// Finds out which of the hosts is this machine, and by which address the others reach it.
Status FindThisMachine(const std::vector<spec::HostEntry>& hosts,
                       const std::vector<Location>& locations, SameMachines same,
                       std::vector<spec::HostFacts>& facts) {
  const spec::HostEntry* here = nullptr;
  for (size_t i = 0; i < hosts.size(); ++i) {
    if (!locations[i].here) continue;
    facts[i].here = true;
    if (here && same == SameMachines::kMerge) continue;
    if (here) {
      return WithRemedy(
          Error(StatusCode::kInvalidArgument,
                "'" + here->host + "' and '" + hosts[i].host + "' are both this machine"),
          "list it once, with all its devices");
    }
    here = &hosts[i];
    if (hosts.size() == 1 || !locations[i].only_loopback) continue;
    AD_ASSIGN_OR_RETURN(facts[i].address, OutwardAddress());
    facts[i].address_note = "given as " + hosts[i].host + ", which others cannot reach";
  }
  return OkStatus();
}

// Whether the user has given the number of ranks, which then start in any case.
bool IsStated(const spec::HostEntry& host) { return host.slots || !host.devices.empty(); }

// Whether a launch would fail in the same way. A node that has no answer about its devices, or a
// busy server, may start the agent.
bool FailsAgain(StatusCode failure) {
  return failure != StatusCode::kAborted && failure != StatusCode::kInternal && !IsBusy(failure);
}

Result<Devices> AskUntilUp(transport::Transport& transport, LoginRetryBudget& servers,
                           const AskLimits& limits) {
  Result<Devices> answer;
  const auto ask = [&] {
    answer = AskDevices(transport, servers, limits.each);
    return answer.status();
  };
  const base::Deadline up_by = base::Deadline::After(limits.booting);
  (void)TryToLogIn(ask, MayBeBooting, [up_by] { return up_by; }, {});
  return answer;
}

// `ways` lead to the hosts.
Status Ask(const std::vector<spec::HostEntry>& hosts, const std::vector<v1::Reach>& ways,
           AskHosts ask, const AskLimits& limits, std::vector<spec::HostFacts>& facts) {
  Log(LogLevel::kInfo, "asking " + base::Count(hosts.size(), "host") + " for " +
                           (hosts.size() == 1 ? "its" : "their") + " devices");
  const InterruptNotice notice;
  ConnectorFactory logins;
  for (const v1::Reach& way : ways) logins.Prepare(way);
  AD_ASSIGN_OR_RETURN(const auto loop, ssh::SshLoop::Create());
  LoginRetryBudget servers;
  std::vector<Result<Devices>> answers(hosts.size(), Devices{});
  base::ParallelFor(hosts.size(), kAskedAtOnce, [&](size_t i) {
    const auto transport = logins.TransportTo(ways[i], *loop);
    AskLimits own = limits;
    // The limit of the ssh program includes the login.
    if (ways[i].ssh().by_ssh_program()) own.each *= 2;
    if (IsStated(hosts[i])) own.booting = {};
    answers[i] = transport.ok() ? AskUntilUp(**transport, servers, own) : transport.status();
  });
  for (size_t i = 0; i < hosts.size(); ++i) {
    facts[i].unknown = answers[i].status();
    if (!answers[i].ok()) {
      facts[i].reported = ask == AskHosts::kForLaunch && IsStated(hosts[i]) && ways[i].has_ssh() &&
                          FailsAgain(answers[i].status().code());
      if (facts[i].reported) {
        const std::lock_guard lock(failures_mutex);
        Failures()[LoginOf(ways[i].ssh())] = answers[i].status();
      }
      continue;
    }
    facts[i].unknown = answers[i]->counted.why;
    if (facts[i].unknown.ok()) facts[i].gpus = answers[i]->counted.gpus;
    facts[i].nvidia_smi = answers[i]->counted.message;
    facts[i].cpus = answers[i]->cpus;
    facts[i].machine = answers[i]->machine;
  }
  return OkStatus();
}

void WarnOfSameMachines(const std::vector<spec::HostEntry>& hosts,
                        const std::vector<spec::HostFacts>& facts) {
  std::map<std::string, std::string> known;
  for (size_t i = 0; i < hosts.size(); ++i) {
    const std::string& machine = facts[i].machine;
    if (machine.empty()) continue;
    const auto [first, is_new] = known.emplace(machine, hosts[i].host);
    if (is_new) continue;
    Log(LogLevel::kWarning, first->second + " and " + hosts[i].host + " are the same machine (" +
                                machine.substr(0, machine.find('/')) + "); list it once");
  }
}

}  // namespace

Result<std::vector<spec::HostFacts>> FactsOf(std::vector<spec::HostEntry>& hosts,
                                             const spec::SshGroup& login, const plan::User& user,
                                             AskHosts ask, SameMachines same,
                                             const AskLimits& limits) {
  const spec::ResourceSpec spec = SpecOf(hosts, login);
  AD_ASSIGN_OR_RETURN(const auto addresses, FindNodes(spec, user));
  std::vector<std::string> names;  // the configured HostName, or the host as given
  for (const spec::Node& node : spec.nodes) {
    names.push_back(SshHost(node, addresses.at(node.address).openssh));
  }
  AD_ASSIGN_OR_RETURN(auto locations, Locate(names));
  std::vector<v1::SshReach> logins;
  for (size_t i = 0; i < hosts.size(); ++i) {
    const spec::Node& node = spec.nodes[i];
    const spec::SshGroup& group = spec.ssh.at(node.ssh_config);
    const auto& address = addresses.at(node.address);
    logins.push_back(plan::MakeSshReach(node, group, address, user, limits.each));
    // A port that is configured, or given for several hosts, may be that of all machines.
    const bool is_own_port = hosts[i].port || (group.port && hosts.size() == 1);
    const bool is_own = spec::IsLoopback(node.address) && !is_own_port;
    if (is_own || !IsForwarded(names[i], logins[i].port())) continue;
    locations[i] = {};
    Log(LogLevel::kInfo, hosts[i].host + ": " + names[i] + " port " +
                             std::to_string(logins[i].port()) +
                             " is treated as another machine (a tunnel or a forwarded port)");
  }
  std::vector<spec::HostFacts> facts(hosts.size());
  AD_RETURN_IF_ERROR(FindThisMachine(hosts, locations, same, facts));
  if (ask == AskHosts::kNo) {
    if (same == SameMachines::kMerge) MergeSameMachines(hosts, facts);
    return facts;
  }
  std::vector<v1::Reach> ways(hosts.size());
  for (size_t i = 0; i < hosts.size(); ++i) {
    if (locations[i].here) {
      ways[i].mutable_local();
    } else {
      *ways[i].mutable_ssh() = std::move(logins[i]);
    }
  }
  AD_RETURN_IF_ERROR(Ask(hosts, ways, ask, limits, facts));
  if (same == SameMachines::kMerge) {
    MergeSameMachines(hosts, facts);
  } else {
    WarnOfSameMachines(hosts, facts);
  }
  return facts;
}

Status TakeFailure(const v1::Reach& reach) {
  const std::lock_guard lock(failures_mutex);
  const auto found = Failures().extract(LoginOf(reach.ssh()));
  return found.empty() ? OkStatus() : found.mapped();
}

}  // namespace autodist::reach
