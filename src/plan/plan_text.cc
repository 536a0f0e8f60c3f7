#include "plan/plan_text.h"

#include <absl/strings/ascii.h>
#include <absl/strings/str_join.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/quantity.h"
#include "base/shell_quote.h"
#include "framework/world.h"
#include "json/plain_json.h"

namespace autodist::plan {
namespace {

constexpr char kHidden[] = "(hidden)";

void Hide(GivenValues given, v1::LaunchPlan& plan) {
  const bool hidden = given == GivenValues::kHidden;
  for (v1::NodePlan& node : *plan.mutable_nodes()) {
    for (v1::EnvironmentStep& step : *node.mutable_environment()) {
      if (hidden && !step.activate().empty()) step.set_activate(kHidden);
      if (!step.has_set()) continue;
      v1::SetVariable& variable = *step.mutable_set();
      const bool secret = variable.secret() || IsSecretName(variable.name());
      if (!secret && !(hidden && variable.given())) continue;
      if (variable.has_literal()) variable.set_literal(kHidden);
      if (variable.has_expanded()) variable.set_expanded(kHidden);
    }
  }
}

// Formats a value that is only known on the node.
std::string OnNodeText(std::string text) {
  for (const auto& [name, words] : {std::pair{"{interface}", "<interface of the node's address>"},
                                    {"{agent_socket}", "<socket of the node's agent>"},
                                    {"{files}", "<folder of the job's files>"},
                                    {"{free_address}", "<a free port of 127.0.0.1>"},
                                    {"{working_directory}", "<working directory>"}}) {
    const size_t at = text.find(name);
    if (at != text.npos) text.replace(at, std::string_view(name).size(), words);
  }
  return text;
}

std::string SettingAsText(const v1::SetVariable& variable) {
  std::string text = "set " + variable.name() + "=";
  if (variable.has_expanded()) {
    text += base::ShellQuote(variable.expanded()) + ", expanded";
  } else {
    text += variable.has_literal() ? base::ShellQuote(variable.literal())
                                   : OnNodeText(variable.on_node());
  }
  std::string unless;
  for (const std::string& name : variable.unless()) {
    unless += (unless.empty() ? ", unless " : " or ") + (name == variable.name() ? "it" : name);
  }
  return text + unless + (unless.empty() ? "" : " is set");
}

std::string StepAsText(const v1::EnvironmentStep& step) {
  switch (step.step_case()) {
    case v1::EnvironmentStep::kCleanLogin:
      return "clean login";
    case v1::EnvironmentStep::kActivate:
      return "activate " + base::ShellQuote(step.activate());
    case v1::EnvironmentStep::kRemove:
      return "remove" + Wrapped({step.remove().names().begin(), step.remove().names().end()}, 9);
    default:
      return SettingAsText(step.set());
  }
}

std::string Line(const v1::EnvironmentVariable& variable) {
  return variable.name() + "=" + base::ShellQuote(variable.value());
}

std::string ArgvOf(const v1::RankPlan& rank) {
  return (rank.by_agent() ? "argv of the agent's program: " : "argv: ") +
         base::ShellLine({rank.argv().begin(), rank.argv().end()});
}

// Returns "" if they differ.
std::string CommonArgv(const std::vector<const v1::RankPlan*>& ranks) {
  const auto same = [&](const v1::RankPlan* rank) {
    return std::ranges::equal(rank->argv(), ranks[0]->argv());
  };
  return !ranks.empty() && std::ranges::all_of(ranks, same) ? ArgvOf(*ranks[0]) : "";
}

// What several ranks have in common, which is printed only once.
struct Common {
  std::set<std::string> variables;  // "NAME=value"
  std::string argv;
};

Common CommonOf(const std::vector<const v1::RankPlan*>& ranks) {
  Common common;
  std::map<std::string, size_t> count;
  for (const v1::RankPlan* rank : ranks) {
    for (const v1::EnvironmentVariable& variable : rank->environment()) ++count[Line(variable)];
  }
  for (const auto& [line, having] : count) {
    if (having == ranks.size()) common.variables.insert(line);
  }
  common.argv = CommonArgv(ranks);
  return common;
}

// Formats those variables of the rank, in order, and its argv that are in `of` and in none of
// `reported`.
std::string LinesOf(const v1::RankPlan& rank, const Common& of,
                    const std::vector<const Common*>& reported, const std::string& indent) {
  std::string text;
  const auto is_shown = [&](const auto& in) { return std::ranges::any_of(reported, in); };
  for (const v1::EnvironmentVariable& variable : rank.environment()) {
    const std::string line = Line(variable);
    if (of.variables.contains(line) &&
        !is_shown([&](const Common* common) { return common->variables.contains(line); })) {
      text += indent + line + "\n";
    }
  }
  if (!of.argv.empty() &&
      !is_shown([&](const Common* common) { return common->argv == of.argv; })) {
    text += indent + of.argv + "\n";
  }
  return text;
}

std::string RankHeading(const v1::RankPlan& rank) {
  std::string text = "  " + rank.name();
  if (rank.has_device()) {
    const bool gpu = rank.device().kind() == v1::DEVICE_KIND_GPU;
    text += std::string(": ") + (gpu ? "gpu " : "cpu ") + framework::DeviceName(rank.device());
  }
  if (rank.stdin() == v1::STDIN_KIND_PIPE) text += ", stdin is what autodist reads";
  if (rank.stdin() == v1::STDIN_KIND_TERMINAL) text += ", has a terminal";
  return text + "\n";
}

std::string StepsAsText(const v1::NodePlan& node) {
  std::string text;
  for (const v1::EnvironmentStep& step : node.environment()) {
    text += "      " + StepAsText(step) + "\n";
  }
  return text;
}

bool LeadsToContainer(const v1::Reach& reach) {
  return reach.has_program() || reach.has_callback() || reach.ssh().has_container();
}

// Returns the processes of the program, or the auxiliary ones.
std::vector<const v1::RankPlan*> ProcessesOf(const v1::NodePlan& node, bool auxiliary) {
  std::vector<const v1::RankPlan*> processes;
  for (const v1::RankPlan& rank : node.ranks()) {
    if (rank.auxiliary() == auxiliary) processes.push_back(&rank);
  }
  return processes;
}

void AppendRanks(std::string& text, const v1::NodePlan& node, const Common& of_all) {
  const std::vector<const v1::RankPlan*> ranks = ProcessesOf(node, false);
  Common of_node;
  if (ranks.size() > 1) of_node = CommonOf(ranks);
  const std::string shared = ranks.empty() ? "" : LinesOf(*ranks[0], of_node, {&of_all}, "      ");
  if (!shared.empty()) text += "  its ranks:\n" + shared;
  for (const v1::RankPlan* rank : ranks) {
    text += RankHeading(*rank) + LinesOf(*rank, CommonOf({rank}), {&of_all, &of_node}, "      ");
  }
  for (const v1::RankPlan* process : ProcessesOf(node, true)) {
    text += RankHeading(*process) + LinesOf(*process, CommonOf({process}), {}, "      ");
  }
}

}  // namespace

bool IsSecretName(const std::string& name) {
  const std::string upper = absl::AsciiStrToUpper(name);
  return std::ranges::any_of(
      std::initializer_list<const char*>{"KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD",
                                         "PASSPHRASE", "CREDENTIAL"},
      [&](const char* word) { return upper.find(word) != std::string::npos; });
}

std::string ReachAsText(const v1::Reach& reach) {
  if (reach.has_local()) return "this machine, without SSH";
  if (reach.has_callback())
    return (reach.callback().has_step() ? "a step of Slurm on " : "a call by ") +
           reach.callback().name();
  if (reach.has_program()) return absl::StrJoin(reach.program().argv(), " ");
  const v1::SshReach& ssh = reach.ssh();
  if (!ssh.error().empty()) return "nothing: " + ssh.error();
  std::string text = ssh.by_ssh_program() ? "the ssh program, " : "ssh ";
  text += ssh.username() + "@" + ssh.host() + " port " + std::to_string(ssh.port());
  if (!ssh.proxy_jump().empty()) text += " through " + ssh.proxy_jump();
  if (ssh.key_file_required()) text += ", key " + ssh.key_files(0);
  const v1::Container& container = ssh.container();
  if (!container.image().empty()) {
    text += ", then a container that " + container.program() + " makes of " + container.image();
  } else if (ssh.has_container()) {
    text += ", then " + absl::StrJoin(container.argv(), " ");
  }
  return text;
}

std::string DataAddressAsText(const v1::NodePlan& node) {
  if (node.ask_data_address()) return " (its address between ranks is asked on the node)";
  return node.data_address() == node.address() ? "" : " (" + node.data_address() + ")";
}

std::string Wrapped(const std::vector<std::string>& names, size_t indentation) {
  constexpr size_t kWidth = 100;
  std::string text;
  size_t column = kWidth;
  for (const std::string& name : names) {
    if (column + 1 + name.size() > kWidth) {
      text += "\n" + std::string(indentation, ' ');
      column = indentation;
    }
    text += " " + name;
    column += 1 + name.size();
  }
  return text;
}

std::string WhereNode0Is(const v1::LaunchPlan& plan) {
  return plan.nodes(0).reach().has_local() ? "the chief" : plan.nodes(0).address();
}

std::string WhatRuns(const v1::LaunchPlan& plan) {
  std::string text = base::Count(plan.world_size(), "rank") + " on " +
                     base::Count(static_cast<size_t>(plan.nodes_size()), "node");
  if (plan.program_kind() == v1::PROGRAM_KIND_PER_NODE) text += ", by one program on each node";
  if (plan.program_kind() == v1::PROGRAM_KIND_PER_JOB)
    text += ", by one program on " + WhereNode0Is(plan);
  for (const v1::NodePlan& node : plan.nodes()) {
    for (const v1::RankPlan& rank : node.ranks()) {
      // An auxiliary process that only waits to be used is not worth mentioning.
      if (rank.auxiliary() && node.node_rank() == 0) text += ", and " + rank.name();
    }
  }
  return text;
}

std::string WhatRunsAndWhere(const v1::LaunchPlan& plan) {
  if (plan.no_gpu().empty()) return WhatRuns(plan);
  // A node without a GPU may have no rank, and one that has not answered may have GPUs.
  uint32_t on_cpus = 0;
  for (const v1::NodePlan& node : plan.nodes()) {
    if (!framework::OnGpus(node)) on_cpus += static_cast<uint32_t>(node.devices_size());
  }
  const std::string which =
      on_cpus == plan.world_size() ? "" : std::to_string(on_cpus) + " of them ";
  return WhatRuns(plan) + (on_cpus > 0 ? ", " + which + "on CPUs (" : " (") + plan.no_gpu() + ")";
}

std::string PlanAsText(v1::LaunchPlan plan, GivenValues given) {
  Hide(given, plan);
  std::string text = "job " + plan.job_id() + ": " + WhatRunsAndWhere(plan) + ", in " +
                     plan.working_directory() + "\n";
  std::vector<const v1::RankPlan*> ranks;
  for (const v1::NodePlan& node : plan.nodes()) {
    const auto own = ProcessesOf(node, false);
    ranks.insert(ranks.end(), own.begin(), own.end());
  }
  Common of_all;
  if (ranks.size() > 1) {
    text += "all ranks, after the environment of their node:\n";
    for (const v1::EnvironmentVariable& variable : plan.environment()) {
      text += "      " + Line(variable) + "\n";
    }
    of_all.argv = CommonArgv(ranks);
    if (!of_all.argv.empty()) text += "      " + of_all.argv + "\n";
  }
  std::map<std::string, std::string> reported;  // steps: the first node with them
  for (const v1::NodePlan& node : plan.nodes()) {
    text += "node " + std::to_string(node.node_rank()) + ": " + node.address() +
            DataAddressAsText(node) + (node.reach().has_local() ? ", chief" : "") +
            "\n  reached by: " + ReachAsText(node.reach()) + "\n";
    for (const v1::PlannedFile& file : node.files()) text += "  file " + file.name() + "\n";
    const std::string steps = (node.reach().has_local()         ? "from that of this shell:\n"
                               : LeadsToContainer(node.reach()) ? "from that of the container:\n"
                                                                : "from that of a login:\n") +
                              StepsAsText(node);
    const auto [same, is_new] = reported.emplace(steps, std::to_string(node.node_rank()));
    text += "  environment, " + (is_new ? steps : "as on node " + same->second + "\n");
    AppendRanks(text, node, of_all);
  }
  return text;
}

std::string PlanAsJson(v1::LaunchPlan plan, GivenValues given) {
  Hide(given, plan);
  return json::PlainJson(plan, {.indented = true}) + "\n";
}

}  // namespace autodist::plan
