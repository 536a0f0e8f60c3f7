// autodist dialects [NAME]
#include <absl/strings/str_replace.h>

#include <algorithm>
#include <cstdio>
#include <set>

#include "base/shell_quote.h"
#include "cli/commands.h"
#include "dialect/dialects.h"
#include "dialect/world.h"
#include "plan/plan.h"
#include "spec/yaml_reader.h"

namespace autodist::cli {
namespace {

constexpr size_t kWidth = 100;
constexpr char kSpec[] = R"(
nodes:
  - {address: 10.0.0.1, gpus: [0, 1, 2, 3, 4, 5, 6, 7], device_ips: [10.1.0.1, 10.1.0.2, 10.1.0.3,
     10.1.0.4, 10.1.0.5, 10.1.0.6, 10.1.0.7, 10.1.0.8], chief: true}
  - {address: 10.0.0.2, gpus: [0, 1, 2, 3, 4, 5, 6, 7], device_ips: [10.1.0.9, 10.1.0.10, 10.1.0.11,
     10.1.0.12, 10.1.0.13, 10.1.0.14, 10.1.0.15, 10.1.0.16], ssh_config: lab}
ssh:
  lab: {}
)";

struct Kind {
  v1::ProgramKind kind;
  const char* option;
};
constexpr Kind kAllKinds[] = {{v1::PROGRAM_KIND_PER_DEVICE, "--per device"},
                              {v1::PROGRAM_KIND_PER_NODE, "--per node"},
                              {v1::PROGRAM_KIND_PER_JOB, "--per job"}};

// Two nodes with eight devices each.
Result<v1::LaunchPlan> ExamplePlan(const char* dialect, v1::ProgramKind kind) {
  plan::Input input;
  input.spec = *spec::ReadSpec(kSpec, "the example").spec;
  input.command = {"train"};
  input.kind = kind;
  input.dialects = {dialect};
  input.job_id = "20261120-173000-3fa9c1";
  input.person = {"me", "/home/me", "/home/me", ""};
  input.master_port = 41234;
  input.rank_port = 20000;
  for (const spec::Node& node : input.spec.nodes) {
    input.address_of[node.address] = {node.address, node.address, "", {}};
  }
  return plan::MakePlan(input);
}

struct Variable {
  std::string name;
  std::string value;
  bool on_chief = false;  // alone
};
using Variables = std::vector<Variable>;

// What the dialect sets on a node beyond what every program finds.
Variables SetOn(const v1::NodePlan& node) {
  Variables variables;
  for (const auto& variable : node.ranks(node.ranks_size() > 1 ? 1 : 0).environment()) {
    if (variable.name().starts_with("AUTODIST_")) continue;
    const bool all_gpus =
        variable.value() == dialect::CountUp(static_cast<uint32_t>(node.devices_size()));
    if (variable.name() == "CUDA_VISIBLE_DEVICES" && all_gpus) continue;
    variables.push_back({variable.name(), variable.value()});
  }
  const std::set<std::string> always = {"NCCL_SOCKET_IFNAME",
                                        "GLOO_SOCKET_IFNAME",
                                        "TP_SOCKET_IFNAME",
                                        "OMP_NUM_THREADS",
                                        "PWD",
                                        "TORCH_NCCL_ASYNC_ERROR_HANDLING",
                                        "AUTODIST_AGENT_SOCKET"};
  for (const v1::EnvironmentStep& step : node.environment()) {
    if (!step.has_set() || always.contains(step.set().name())) continue;
    const std::string example =
        step.set().has_on_node()
            ? absl::StrReplaceAll(step.set().on_node(), {{"{agent}", "autodist-agent"},
                                                         {"{files}/", "the path of "},
                                                         {"{interface}", "eth0"}})
            : step.set().literal();
    variables.push_back({step.set().name(), example});
  }
  return variables;
}

// What it sets on the second node, and what only the chief has.
Variables SetBy(const v1::LaunchPlan& plan) {
  Variables variables;
  if (plan.program_kind() != v1::PROGRAM_KIND_PER_JOB) variables = SetOn(plan.nodes(1));
  const bool on_chief = !variables.empty();
  for (Variable& variable : SetOn(plan.nodes(0))) {
    if (std::ranges::count(variables, variable.name, &Variable::name) > 0) continue;
    variable.on_chief = on_chief;
    variables.push_back(std::move(variable));
  }
  return variables;
}

// The names, several to a line.
void PrintNames(const Variables& variables) {
  std::string line = "     ";
  for (const auto& [name, value, on_chief] : variables) {
    if (line.size() + 1 + name.size() > kWidth) {
      std::printf("%s\n", line.c_str());
      line = "     ";
    }
    line += " " + name;
  }
  std::printf("%s\n", line.c_str());
}

void PrintValues(const Variables& variables) {
  for (const auto& [name, value, on_chief] : variables) {
    std::printf("      %s=%s%s\n", name.c_str(), base::ShellQuote(value).c_str(),
                on_chief ? " (on the chief)" : "");
  }
}

void PrintAuxiliary(const v1::LaunchPlan& plan) {
  for (const v1::NodePlan& node : plan.nodes()) {
    for (const v1::RankPlan& process : node.ranks()) {
      if (process.auxiliary()) {
        std::printf("      and %s, on %s\n", process.name().c_str(), node.address().c_str());
      }
    }
  }
}

int Dialects(const std::string& name) {
  std::vector<const dialect::Dialect*> shown = dialect::All();
  if (!name.empty()) {
    std::erase_if(shown, [&](const dialect::Dialect* dialect) { return dialect->name != name; });
    if (shown.empty()) {
      return Fail(dialect::Choose({name}, v1::PROGRAM_KIND_PER_DEVICE).status(), kExitUsage);
    }
  }
  for (const dialect::Dialect* dialect : shown) {
    std::printf("%s: %s\n", dialect->name, dialect->programs);
    for (const auto& [kind, option] : kAllKinds) {
      if (std::ranges::count(dialect->kinds, kind) == 0) continue;
      const auto plan = ExamplePlan(dialect->name, kind);
      if (!plan.ok()) return Fail(plan.status(), kExitUsage);
      std::printf("  %s\n", option);
      const Variables variables = SetBy(*plan);
      if (plan->pmix()) std::printf("      PMIx servers: MPI_Init finds the world by itself\n");
      if (variables.empty()) {
        std::printf("      nothing\n");
      } else if (name.empty()) {
        PrintNames(variables);
      } else {
        PrintValues(variables);
      }
      PrintAuxiliary(*plan);
    }
  }
  return 0;
}

}  // namespace

Command AddDialects(CLI::App& app) {
  auto name = std::make_shared<std::string>();
  app.add_option("NAME", *name, "Only this one, with example values");
  app.footer(R"(
A dialect is the set of variables by which the programs of a framework learn who they are. Every
program finds AUTODIST_* besides.

Examples:
  autodist dialects
  autodist dialects paddle
  autodist run --spec cluster.yaml --dialect paddle -- python train.py)");
  return [name] { return Dialects(*name); };
}

}  // namespace autodist::cli
