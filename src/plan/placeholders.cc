#include "plan/placeholders.h"

#include <string_view>

namespace autodist::plan {
namespace {

struct Placeholder {
  const char* name;
  std::string (*value)(const v1::LaunchPlan&, const v1::NodePlan&, const v1::RankPlan&);
  v1::ProgramKind narrowest;  // it has no value for kinds that start fewer processes
};

const Placeholder kPlaceholders[] = {
    {"rank", [](auto&, auto&, auto& rank) { return std::to_string(rank.rank()); },
     v1::PROGRAM_KIND_PER_DEVICE},
    {"local_rank", [](auto&, auto&, auto& rank) { return std::to_string(rank.local_rank()); },
     v1::PROGRAM_KIND_PER_DEVICE},
    {"node_rank", [](auto&, auto& node, auto&) { return std::to_string(node.node_rank()); },
     v1::PROGRAM_KIND_PER_NODE},
    {"local_world_size",
     [](auto&, auto& node, auto&) { return std::to_string(node.devices_size()); },
     v1::PROGRAM_KIND_PER_NODE},
    {"world_size", [](auto& plan, auto&, auto&) { return std::to_string(plan.world_size()); },
     v1::PROGRAM_KIND_PER_JOB},
    {"node_count", [](auto& plan, auto&, auto&) { return std::to_string(plan.nodes_size()); },
     v1::PROGRAM_KIND_PER_JOB},
    {"master_addr", [](auto& plan, auto&, auto&) { return plan.nodes(0).data_address(); },
     v1::PROGRAM_KIND_PER_JOB},
    {"master_port", [](auto& plan, auto&, auto&) { return std::to_string(plan.master_port()); },
     v1::PROGRAM_KIND_PER_JOB},
};

// Returns the placeholder whose name and closing brace `text` begins with.
const Placeholder* NamedAt(std::string_view text) {
  for (const Placeholder& placeholder : kPlaceholders) {
    const std::string_view name = placeholder.name;
    if (text.starts_with(name) && text.substr(name.size()).starts_with('}')) return &placeholder;
  }
  return nullptr;
}

}  // namespace

Result<std::string> FillIn(const std::string& argument, const v1::LaunchPlan& plan,
                           const v1::NodePlan& node, const v1::RankPlan& rank) {
  std::string filled;
  const std::string_view text = argument;
  for (size_t i = 0; i < text.size();) {
    const bool escaped = text.substr(i).starts_with("{{");
    const size_t begin = i + (escaped ? 2 : 1);
    const Placeholder* found =
        text[i] == '{' && begin < text.size() ? NamedAt(text.substr(begin)) : nullptr;
    if (!found) {
      filled += text[i++];
      continue;
    }
    const std::string name = std::string("{") + found->name + "}";
    i = begin + name.size() - 1;
    if (escaped) {
      filled += name;
      if (text.substr(i).starts_with('}')) ++i;
      continue;
    }
    if (plan.program_kind() > found->narrowest) {
      return WithRemedy(
          Error(StatusCode::kInvalidArgument,
                "argument '" + argument + "': " + name + " has no value for a program that is " +
                    (plan.program_kind() == v1::PROGRAM_KIND_PER_NODE ? "started once per node"
                                                                      : "started once per job")),
          "write {" + name + "} for literal braces");
    }
    filled += found->value(plan, node, rank);
  }
  return filled;
}

}  // namespace autodist::plan
