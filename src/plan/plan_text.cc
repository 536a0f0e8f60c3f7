#include "plan/plan_text.h"

#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <cctype>

#include "base/count.h"
#include "base/shell_quote.h"

namespace autodist::plan {
namespace {

constexpr char kHidden[] = "(hidden)";

v1::LaunchPlan WithoutSecrets(v1::LaunchPlan plan) {
  for (v1::NodePlan& node : *plan.mutable_nodes()) {
    for (auto* variables : {node.mutable_shared_envs(), node.mutable_variables()}) {
      for (v1::EnvironmentVariable& variable : *variables) {
        if (variable.secret() || IsSecretName(variable.name())) variable.set_value(kHidden);
      }
    }
  }
  return plan;
}

std::string ReachAsText(const v1::Reach& reach) {
  if (reach.has_local()) return "this machine, without SSH";
  const v1::SshReach& ssh = reach.ssh();
  if (!ssh.problem().empty()) return "nothing: " + ssh.problem();
  std::string text = ssh.by_ssh_program() ? "the ssh program, " : "ssh ";
  text += ssh.username() + "@" + ssh.host() + " port " + std::to_string(ssh.port());
  if (!ssh.proxy_jump().empty()) text += " through " + ssh.proxy_jump();
  if (ssh.key_file_required()) text += ", key " + ssh.key_files(0);
  return text;
}

void AppendVariable(std::string& text, const v1::EnvironmentVariable& variable) {
  text += "      " + variable.name() + "=" + base::ShellQuote(variable.value()) + "\n";
}

void AppendRank(std::string& text, const v1::RankPlan& rank) {
  text += "  " + rank.name();
  if (rank.has_device()) {
    const bool gpu = rank.device().kind() == v1::DEVICE_KIND_GPU;
    text += std::string(": ") + (gpu ? "gpu " : "cpu ") + std::to_string(rank.device().index());
  }
  text += "\n    environment:\n";
  for (const auto& variable : rank.environment()) AppendVariable(text, variable);
  text += (rank.by_agent() ? "    argv of the agent's program: " : "    argv: ") +
          base::ShellLine({rank.argv().begin(), rank.argv().end()}) + "\n";
}

}  // namespace

bool IsSecretName(const std::string& name) {
  std::string upper = name;
  std::transform(upper.begin(), upper.end(), upper.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return std::ranges::any_of(
      std::initializer_list<const char*>{"KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD",
                                         "PASSPHRASE", "CREDENTIAL"},
      [&](const char* word) { return upper.find(word) != std::string::npos; });
}

std::string WhatRuns(const v1::LaunchPlan& plan) {
  std::string text = base::Count(plan.world_size(), "rank") + " on " +
                     base::Count(static_cast<size_t>(plan.nodes_size()), "node");
  if (plan.program_kind() == v1::PROGRAM_KIND_PER_NODE) text += ", by one program on each node";
  if (plan.program_kind() == v1::PROGRAM_KIND_PER_JOB) text += ", by one program on the chief";
  for (const v1::NodePlan& node : plan.nodes()) {
    for (const v1::RankPlan& rank : node.ranks()) {
      // What only waits to be used is no news.
      if (rank.auxiliary() && node.node_rank() == 0) text += ", and " + rank.name();
    }
  }
  return text;
}

std::string PlanAsText(const v1::LaunchPlan& full_plan) {
  const v1::LaunchPlan plan = WithoutSecrets(full_plan);
  std::string text =
      "job " + plan.job_id() + ": " + WhatRuns(plan) + ", in " + plan.working_directory() + "\n";
  for (const v1::NodePlan& node : plan.nodes()) {
    text += "node " + std::to_string(node.node_rank()) + ": " + node.address() +
            (node.data_address() == node.address() ? "" : " (" + node.data_address() + ")") +
            (node.reach().has_local() ? ", chief" : "") +
            "\n  reached by: " + ReachAsText(node.reach()) + "\n";
    if (!node.activation().empty()) {
      text += "  activation: " + base::ShellQuote(node.activation()) + "\n";
    }
    if (node.shared_envs_size() > 0) text += "  shared_envs, expanded on the node:\n";
    for (const auto& variable : node.shared_envs()) AppendVariable(text, variable);
    if (node.variables_size() > 0) text += "  variables given for this job:\n";
    for (const auto& variable : node.variables()) AppendVariable(text, variable);
    for (const v1::PlannedFile& file : node.files()) {
      text += "  file " + file.name() + ", whose path is in " + file.variable() + "\n";
    }
    for (const v1::RankPlan& rank : node.ranks()) AppendRank(text, rank);
  }
  return text;
}

std::string PlanAsJson(const v1::LaunchPlan& plan) {
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = true;
  options.always_print_primitive_fields = true;
  options.preserve_proto_field_names = true;
  std::string json;
  // Cannot fail: every field of the message has a JSON form.
  (void)google::protobuf::util::MessageToJsonString(WithoutSecrets(plan), &json, options).ok();
  return json;
}

}  // namespace autodist::plan
