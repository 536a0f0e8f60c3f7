#include "plan/process_variables.h"

#include <algorithm>

#include "base/quantity.h"
#include "framework/world.h"
#include "plan/rank_environment.h"

namespace autodist::plan {
namespace {

using Variables = google::protobuf::RepeatedPtrField<v1::EnvironmentVariable>;

auto Find(const std::string& name, auto& variables) {
  return std::ranges::find(variables, name, &v1::EnvironmentVariable::name);
}

// Frameworks override earlier values.
void SetVariable(const std::string& name, const std::string& value, Variables& variables) {
  const auto known = Find(name, variables);
  v1::EnvironmentVariable& variable = known == variables.end() ? *variables.Add() : *known;
  variable.set_name(name);
  variable.set_value(value);
}

// Removes the variable if it exists.
void Remove(const std::string& name, Variables& variables) {
  const auto known = Find(name, variables);
  if (known != variables.end()) variables.erase(known);
}

Status CheckLengths(const Variables& variables, const v1::LaunchPlan& plan) {
  for (const v1::EnvironmentVariable& variable : variables) {
    const size_t length = variable.name().size() + variable.value().size();
    if (length <= kMaxVariableLength) continue;
    return WithRemedy(
        Error(StatusCode::kInvalidArgument,
              "on " + base::Count(static_cast<size_t>(plan.nodes_size()), "node") + " " +
                  variable.name() + " would have " + std::to_string(length) +
                  " bytes, and Linux lets a variable have " + std::to_string(kMaxVariableLength)),
        "use fewer nodes, fewer devices of each, or a framework that needs no such list");
  }
  return OkStatus();
}

bool IsAmong(const Variables& variables, const std::string& name, const std::string& value) {
  const auto known = Find(name, variables);
  return known != variables.end() && known->value() == value;
}

// Returns the variables of a process in addition to `shared`: those of autodist, and those of the
// frameworks or, for an auxiliary process, of the framework that added it.
Result<Variables> FindVariables(const framework::Process& process, const std::string& addresses,
                                const Frameworks& frameworks, const Variables& shared) {
  Variables variables;
  const auto set = [&](const std::string& name, const std::string& value) {
    if (IsAmong(shared, name, value)) {
      Remove(name, variables);
    } else {
      SetVariable(name, value, variables);
    }
  };
  SetRankEnvironment(process, addresses, set);
  for (const framework::Framework* framework : frameworks) {
    framework->set_variables(process, set);
    AD_RETURN_IF_ERROR(
        Annotate(CheckLengths(variables, process.plan), FrameworkCalled(*framework)));
  }
  return variables;
}

void Replace(const std::string& value, const std::string& by, Variables& variables) {
  if (value.empty()) return;
  for (v1::EnvironmentVariable& variable : variables) {
    if (variable.value() == value) variable.set_value(by);
  }
}

// Removes from `shared` what the process does not have, or has with another value.
void KeepAlike(const framework::Process& process, const std::string& addresses,
               const Frameworks& frameworks, Variables& shared) {
  std::vector<bool> alike(static_cast<size_t>(shared.size()));
  const auto compare = [&](const std::string& name, const std::string& value) {
    const auto known = Find(name, shared);
    if (known == shared.end()) return;
    alike[static_cast<size_t>(known - shared.begin())] = known->value() == value;
  };
  SetRankEnvironment(process, addresses, compare);
  for (const framework::Framework* framework : frameworks)
    framework->set_variables(process, compare);
  for (int i = shared.size(); i-- > 0;) {
    if (!alike[static_cast<size_t>(i)]) shared.DeleteSubrange(i, 1);
  }
}

// Moves variables that are equal in all processes of the program to the plan. This comes before
// processes get their variables, because all variables of all processes would not fit into memory.
Status ShareVariables(const std::string& addresses, const Frameworks& frameworks,
                      v1::LaunchPlan& plan) {
  Variables shared;
  size_t processes = 0;
  for (const v1::NodePlan& node : plan.nodes()) {
    for (const v1::RankPlan& rank : node.ranks()) {
      if (rank.auxiliary()) continue;
      if (++processes == 1) {
        AD_ASSIGN_OR_RETURN(shared, FindVariables({plan, node, rank}, addresses, frameworks, {}));
      } else {
        KeepAlike({plan, node, rank}, addresses, frameworks, shared);
      }
    }
  }
  if (processes > 1) plan.mutable_environment()->Swap(&shared);
  return OkStatus();
}

}  // namespace

std::string FrameworkCalled(const framework::Framework& framework) {
  return std::string("framework '") + framework.name + "'";
}

Status SetProcessVariables(const Frameworks& frameworks, const OwnerOf& owner,
                           v1::LaunchPlan& plan) {
  const std::string addresses = framework::DataAddresses(plan);
  // For many nodes they are too long to be copied for each process.
  const std::string stand_in(FitsAddresses(addresses) ? 1 : 0, '\x01');
  AD_RETURN_IF_ERROR(ShareVariables(stand_in, frameworks, plan));
  for (v1::NodePlan& node : *plan.mutable_nodes()) {
    for (v1::RankPlan& rank : *node.mutable_ranks()) {
      const framework::Process process = {plan, node, rank};
      AD_ASSIGN_OR_RETURN(*rank.mutable_environment(),
                          rank.auxiliary()
                              ? FindVariables(process, stand_in, {owner.at(rank.rank())}, {})
                              : FindVariables(process, stand_in, frameworks, plan.environment()));
      Replace(stand_in, addresses, *rank.mutable_environment());
    }
  }
  Replace(stand_in, addresses, *plan.mutable_environment());
  return OkStatus();
}

}  // namespace autodist::plan
