#include "chief/policy/spare_policy.h"

#include <algorithm>

namespace autodist::chief {
namespace {

bool Fits(const Candidate& one, const Candidate& other) {
  return one.gpus == other.gpus && one.cpus == other.cpus;
}

}  // namespace

Choice ChooseMembers(const std::vector<uint32_t>& places, const std::vector<Candidate>& nodes) {
  std::vector<bool> has_place(nodes.size());
  for (const uint32_t node : places) has_place[node] = true;
  std::vector<uint32_t> spares;
  for (uint32_t node = 0; node < nodes.size(); ++node) {
    if (nodes[node].available && !has_place[node]) spares.push_back(node);
  }
  Choice choice;
  choice.places = places;
  for (uint32_t& node : choice.places) {
    if (nodes[node].available) {
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
  return choice;
}

}  // namespace autodist::chief
