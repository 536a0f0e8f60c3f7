#include "plan/process_variables.h"

#include <algorithm>
#include <functional>

#include "base/quantity.h"
#include "dialect/world.h"
#include "plan/rank_environment.h"

namespace autodist::plan {
namespace {

using Variables = google::protobuf::RepeatedPtrField<v1::EnvironmentVariable>;

// What a dialect says about a variable counts more than what was said before.
void SetVariable(const std::string& name, const std::string& value, Variables& variables) {
  const auto known = std::ranges::find(variables, name, &v1::EnvironmentVariable::name);
  v1::EnvironmentVariable& variable = known == variables.end() ? *variables.Add() : *known;
  variable.set_name(name);
  variable.set_value(value);
}

Status CheckLengths(const Variables& variables, const v1::LaunchPlan& plan) {
  for (const v1::EnvironmentVariable& variable : variables) {
    const size_t length = variable.name().size() + variable.value().size();
    if (length <= kLongestVariable) continue;
    return WithRemedy(
        Error(StatusCode::kInvalidArgument,
              "on " + base::Count(static_cast<size_t>(plan.nodes_size()), "node") + " " +
                  variable.name() + " would have " + std::to_string(length) +
                  " bytes, and Linux lets a variable have " + std::to_string(kLongestVariable)),
        "use fewer nodes, fewer devices of each, or a framework that needs no such list");
  }
  return OkStatus();
}

// What a process finds, whatever it is written with and by the dialects: of an auxiliary one, by
// that which added it. `variables` is replaced; there are many processes, so its memory is used
// again.
Status FindVariables(const dialect::Process& process, const std::string& addresses,
                     const Dialects& dialects, Variables& variables) {
  variables.Clear();
  const auto set = [&](const std::string& name, const std::string& value) {
    SetVariable(name, value, variables);
  };
  SetRankEnvironment(process, addresses, set);
  for (const dialect::Dialect* dialect : dialects) {
    dialect->set_variables(process, set);
    AD_RETURN_IF_ERROR(Annotate(CheckLengths(variables, process.plan), DialectCalled(*dialect)));
  }
  return OkStatus();
}

void Replace(const std::string& value, const std::string& by, Variables& variables) {
  if (value.empty()) return;
  for (v1::EnvironmentVariable& variable : variables) {
    if (variable.value() == value) variable.set_value(by);
  }
}

bool IsAmong(const Variables& variables, const v1::EnvironmentVariable& one) {
  const auto known = std::ranges::find(variables, one.name(), &v1::EnvironmentVariable::name);
  return known != variables.end() && known->value() == one.value();
}

using VariablesOf = std::function<Status(const dialect::Process&, Variables&)>;

// What all processes of the program find alike becomes the plan's. It is found before any of them
// is given its own: all that all processes find would not fit into memory.
Status ShareVariables(const VariablesOf& find_variables, v1::LaunchPlan& plan) {
  Variables shared;
  Variables variables;
  size_t processes = 0;
  for (const v1::NodePlan& node : plan.nodes()) {
    for (const v1::RankPlan& rank : node.ranks()) {
      if (rank.auxiliary()) continue;
      AD_RETURN_IF_ERROR(find_variables({plan, node, rank}, variables));
      if (++processes == 1) shared = variables;
      const auto differs = [&](const auto& one) { return !IsAmong(variables, one); };
      shared.erase(std::remove_if(shared.begin(), shared.end(), differs), shared.end());
    }
  }
  if (processes > 1) plan.mutable_environment()->Swap(&shared);
  return OkStatus();
}

}  // namespace

std::string DialectCalled(const dialect::Dialect& dialect) {
  return std::string("dialect '") + dialect.name + "'";
}

Status SetProcessVariables(const Dialects& dialects, const OwnerOf& owner, v1::LaunchPlan& plan) {
  const std::string addresses = dialect::DataAddresses(plan);
  // Of many nodes too long to be copied for each of many processes.
  const std::string stand_in(FitsAddresses(addresses) ? 1 : 0, '\x01');
  const auto find_variables = [&](const dialect::Process& process, Variables& variables) {
    const bool auxiliary = process.rank.auxiliary();
    return FindVariables(process, stand_in,
                         auxiliary ? Dialects{owner.at(process.rank.rank())} : dialects, variables);
  };
  AD_RETURN_IF_ERROR(ShareVariables(find_variables, plan));
  Variables variables;
  for (v1::NodePlan& node : *plan.mutable_nodes()) {
    for (v1::RankPlan& rank : *node.mutable_ranks()) {
      AD_RETURN_IF_ERROR(find_variables({plan, node, rank}, variables));
      for (const v1::EnvironmentVariable& variable : variables) {
        if (!rank.auxiliary() && IsAmong(plan.environment(), variable)) continue;
        *rank.add_environment() = variable;
      }
      Replace(stand_in, addresses, *rank.mutable_environment());
    }
  }
  Replace(stand_in, addresses, *plan.mutable_environment());
  return OkStatus();
}

}  // namespace autodist::plan
