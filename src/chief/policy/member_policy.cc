#include "chief/policy/member_policy.h"

#include <algorithm>

namespace autodist::chief {
namespace {

bool Fits(const Candidate& one, const Candidate& other) {
  return one.gpus == other.gpus && one.cpus == other.cpus;
}

}  // namespace

Choice ChooseMembers(const Places& places, const std::vector<Candidate>& nodes,
                     Availability at_least) {
  const auto available = [&](uint32_t node) {
    return nodes[node].available >= std::max(at_least, Availability::kReturning);
  };
  std::vector<bool> has_place(nodes.size());
  for (const uint32_t node : places.nodes) has_place[node] = true;
  std::vector<uint32_t> spares;
  for (uint32_t node = 0; node < nodes.size(); ++node) {
    if (available(node) && !has_place[node]) spares.push_back(node);
  }
  Choice choice;
  choice.places = places.nodes;
  for (uint32_t& node : choice.places) {
    if (available(node)) {
      choice.members.push_back(node);
      continue;
    }
    const auto spare =
        std::ranges::find_if(spares, [&](uint32_t one) { return Fits(nodes[one], nodes[node]); });
    if (spare == spares.end()) {
      ++choice.empty;
      continue;
    }
    node = *spare;
    choice.members.push_back(node);
    spares.erase(spare);
  }
  choice.needed =
      places.min_nodes > 0 ? places.min_nodes : static_cast<uint32_t>(places.nodes.size());
  choice.suffices = !choice.members.empty() && choice.members.size() >= choice.needed;
  return choice;
}

}  // namespace autodist::chief
