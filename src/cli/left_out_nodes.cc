#include "cli/left_out_nodes.h"

#include <algorithm>

#include "base/log.h"
#include "base/utf8.h"
#include "control/faulty_nodes.h"

namespace autodist::cli {
namespace {

Status Exclude(const std::vector<std::string>& addresses, spec::ResourceSpec& spec) {
  for (const std::string& address : addresses) {
    const size_t removed =
        std::erase_if(spec.nodes, [&](const spec::Node& node) { return node.address == address; });
    if (removed > 0) continue;
    return WithRemedy(
        Error(StatusCode::kInvalidArgument, "--exclude " + address + ": the spec has no such node"),
        "write the address as in the spec; `autodist validate` prints all nodes");
  }
  if (!spec.nodes.empty()) return OkStatus();
  return Error(StatusCode::kInvalidArgument, "--exclude leaves no node");
}

// How many nodes the job can do without before it starts.
uint32_t Dispensable(const spec::ResourceSpec& spec, const v1::JobRequest& request) {
  const auto nodes = static_cast<uint32_t>(std::ranges::count_if(
      spec.nodes, [](const spec::Node& node) { return !node.devices().empty(); }));
  if (request.min_nodes() == 0) return request.spares();
  return nodes - std::min(nodes, std::max(request.min_nodes(), 1u));
}

std::string TextOf(const control::FaultyNode& node) {
  return node.address + " is remembered as faulty since " + base::Printable(node.since) + ": " +
         base::Printable(node.why);
}

std::string HowToForget(const std::string& address) {
  return "`autodist nodes --forget " + address + "`, once it is repaired";
}

}  // namespace

Status LeaveOutNodes(const std::vector<std::string>& exclude, spec::ResourceSpec& spec,
                     v1::JobRequest& request) {
  AD_RETURN_IF_ERROR(Exclude(exclude, spec));
  if (request.health() == v1::HEALTH_OFF) return OkStatus();
  AD_ASSIGN_OR_RETURN(const auto faulty, control::ReadFaultyNodes());
  uint32_t dispensable = Dispensable(spec, request);
  for (const control::FaultyNode& one : faulty) {
    const auto node = std::ranges::find(spec.nodes, one.address, &spec::Node::address);
    if (node == spec.nodes.end()) continue;
    if (dispensable > 0 && !node->chief) {
      --dispensable;
      request.set_spares(request.spares() - std::min(request.spares(), 1u));
      spec.nodes.erase(node);
      base::Log(base::LogLevel::kWarning, TextOf(one) + "; this job does without it");
    } else if (request.health() == v1::HEALTH_STRICT) {
      return WithRemedy(
          Error(StatusCode::kFailedPrecondition, TextOf(one)),
          "leave it out with --exclude " + one.address + "; or " + HowToForget(one.address));
    } else {
      base::Log(base::LogLevel::kWarning, TextOf(one));
      base::Log(base::LogLevel::kInfo, "to leave it out: --exclude " + one.address +
                                           "; to use it: " + HowToForget(one.address));
    }
  }
  return OkStatus();
}

}  // namespace autodist::cli
