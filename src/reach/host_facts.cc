#include "reach/host_facts.h"

#include <memory>

#include "base/count.h"
#include "base/log.h"
#include "reach/ask_devices.h"
#include "reach/host_reach.h"
#include "reach/locate.h"
#include "transport/local.h"

namespace autodist::reach {
namespace {

using base::Log;
using base::LogLevel;

void WarnWithRemedy(const Status& status) {
  const std::string remedy = Remedy(status);
  Log(LogLevel::kWarning, Message(status) + (remedy.empty() ? "" : "\n    to do: " + remedy));
}

// Which of the hosts is this machine, and under which address the others reach it.
Status FindThisMachine(const std::vector<spec::HostEntry>& hosts,
                       const std::vector<Location>& locations,
                       std::vector<spec::HostFacts>& facts) {
  const spec::HostEntry* here = nullptr;
  for (size_t i = 0; i < hosts.size(); ++i) {
    if (!locations[i].here) continue;
    if (here) {
      return WithRemedy(
          Error(StatusCode::kInvalidArgument,
                "'" + here->host + "' and '" + hosts[i].host + "' are both this machine"),
          "list it once, with all its devices");
    }
    here = &hosts[i];
    facts[i].here = true;
    if (hosts.size() == 1 || !locations[i].only_loopback) continue;
    AD_ASSIGN_OR_RETURN(facts[i].address, OutwardAddress());
    facts[i].address_note = "given as " + hosts[i].host + ", which others cannot reach";
  }
  if (!here) {
    Log(LogLevel::kWarning, "none of the hosts is this machine; run autodist on " +
                                hosts.front().host + ", which the spec makes the chief");
  }
  return OkStatus();
}

void Ask(const std::vector<spec::HostEntry>& hosts, const std::vector<Location>& locations,
         HostReach& reach, std::vector<spec::HostFacts>& facts) {
  Log(LogLevel::kInfo, "asking " + base::Count(hosts.size(), "host") + " for " +
                           (hosts.size() == 1 ? "its" : "their") + " devices");
  for (size_t i = 0; i < hosts.size(); ++i) {
    if (!locations[i].here) reach.PrepareLogin(i);
  }
  const auto answers =
      AskDevices(hosts.size(), [&](size_t i) -> Result<std::unique_ptr<transport::Transport>> {
        if (locations[i].here) return std::make_unique<transport::LocalTransport>();
        return reach.To(i);
      });
  for (size_t i = 0; i < hosts.size(); ++i) {
    if (answers[i].ok()) {
      facts[i].gpus = answers[i]->gpus;
      facts[i].cpus = answers[i]->cpus;
    } else {
      facts[i].not_reached = Message(answers[i].status());
      WarnWithRemedy(Annotate(answers[i].status(), hosts[i].host + " did not tell its devices"));
    }
  }
}

}  // namespace

Result<std::vector<spec::HostFacts>> FactsOf(const std::vector<spec::HostEntry>& hosts,
                                             const spec::LoginSettings& login,
                                             const plan::User& user, AskHosts ask) {
  AD_ASSIGN_OR_RETURN(const auto reach, HostReach::Create(hosts, login, user));
  AD_ASSIGN_OR_RETURN(const auto locations, Locate(reach->names()));
  std::vector<spec::HostFacts> facts(hosts.size());
  AD_RETURN_IF_ERROR(FindThisMachine(hosts, locations, facts));
  if (ask == AskHosts::kYes) Ask(hosts, locations, *reach, facts);
  return facts;
}

}  // namespace autodist::reach
