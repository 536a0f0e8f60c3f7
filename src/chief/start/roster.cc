#include "chief/start/roster.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/a_few_of.h"
#include "base/quantity.h"

namespace autodist::chief {
namespace {

constexpr size_t kMaxReasons = 5;

// The last nodes are the spares.
std::vector<uint32_t> FirstPlaces(uint32_t nodes, uint32_t spares) {
  std::vector<uint32_t> places(nodes - std::min(spares, nodes - 1));
  std::iota(places.begin(), places.end(), 0);
  return places;
}

}  // namespace

Roster::Roster(const StartingJob& job, std::function<bool(uint32_t node)> is_prepared)
    : job_(job),
      is_prepared_(std::move(is_prepared)),
      devices_(job.nodes.size()),
      places_{FirstPlaces(job.nodes.size(), job.options.request().spares()),
              job.options.request().min_nodes()} {
  for (uint32_t node = 0; node < devices_.size(); ++node) {
    for (const v1::Device& device : job_.plan.nodes(static_cast<int>(node)).devices()) {
      ++(device.kind() == v1::DEVICE_KIND_GPU ? devices_[node].gpus : devices_[node].cpus);
    }
  }
}

Availability Roster::Of(uint32_t node) const {
  const NodeMachine& state = job_.nodes.state(node);
  if (left_out_.contains(node) || state.state() == NodeState::kQuarantined) {
    return Availability::kNever;
  }
  if (!job_.nodes.Stays(node)) return Availability::kReturning;
  const bool idle = state.drained() && !is_prepared_(node);
  return idle ? Availability::kIdle : Availability::kConnected;
}

std::vector<Candidate> Roster::Candidates() const {
  std::vector<Candidate> nodes = devices_;
  for (uint32_t node = 0; node < nodes.size(); ++node) nodes[node].available = Of(node);
  return nodes;
}

bool Roster::SufficesWithout(const std::vector<uint32_t>& nodes, Availability at_least) const {
  std::vector<Candidate> candidates = Candidates();
  for (const uint32_t node : nodes) candidates[node].available = Availability::kNever;
  return ChooseMembers(places_, candidates, at_least).suffices;
}

// Since the first ranks began, a message gives the reason of a loss when it happens.
std::string Roster::WhyMissing(uint32_t node) const {
  if (const auto found = left_out_.find(node); found != left_out_.end()) return found->second;
  if (job_.nodes.state(node).evicted()) return "is being evicted";
  if (!job_.nodes.state(node).alive()) {
    return job_.stop.began() ? "is lost" : "is lost: " + Message(job_.nodes.lost_because(node));
  }
  if (!job_.nodes.Connected(node)) return "is not connected";
  if (Of(node) == Availability::kIdle) return "does not fit: it has other devices";
  return is_prepared_(node) ? "is being prepared" : "has processes that have not ended";
}

std::vector<std::string> Roster::Take(const Choice& choice) {
  std::vector<std::string> spares;
  std::vector<std::string> replaced;
  for (size_t i = 0; i < choice.places.size(); ++i) {
    const uint32_t before = std::exchange(places_.nodes[i], choice.places[i]);
    if (before == choice.places[i]) continue;
    spares.push_back(AddressOf(choice.places[i]));
    replaced.push_back(AddressOf(before));
  }
  std::vector<std::string> messages;
  if (!replaced.empty()) {
    const std::string verb = replaced.size() == 1 ? " replaces " : " replace ";
    messages.push_back(base::AFewOf(spares) + verb + base::AFewOf(replaced));
  }
  std::string why = WhyEmpty(choice);
  if (!why.empty() && why != why_empty_) messages.push_back(why);
  why_empty_ = std::move(why);
  return messages;
}

// "node2 is not replaced: node3 does not fit: it has other devices"; "": no place is empty, or
// there are no spares.
std::string Roster::WhyEmpty(const Choice& choice) const {
  std::vector<std::string> empty;
  std::vector<std::string> spares;
  for (uint32_t node = 0; node < job_.nodes.size(); ++node) {
    if (std::ranges::count(choice.members, node) > 0) continue;
    if (std::ranges::count(choice.places, node) > 0) {
      empty.push_back(AddressOf(node));
    } else if (Of(node) >= Availability::kConnected) {
      spares.push_back(AddressOf(node) + " " + WhyMissing(node));
    }
  }
  if (empty.empty() || spares.empty()) return "";
  return base::AFewOf(empty) + (empty.size() == 1 ? " is" : " are") +
         " not replaced: " + base::AFewOf(spares);
}

std::string Roster::Needs(const Choice& choice) {
  return "the job needs " + base::Count(choice.needed, "node") + " and has " +
         std::to_string(choice.members.size());
}

Status Roster::NotEnough(const Choice& choice) const {
  std::string text = Needs(choice);
  size_t missing = 0;
  for (uint32_t node = 0; node < job_.nodes.size(); ++node) {
    if (std::ranges::count(choice.members, node) > 0) continue;
    if (++missing > kMaxReasons) continue;
    text += (missing == 1 ? "; " : ", ") + AddressOf(node) + " " + WhyMissing(node);
  }
  if (missing > kMaxReasons) {
    text += ", and " + base::Count(missing - kMaxReasons, "other") + " cannot be used";
  }
  return Error(StatusCode::kUnavailable, text);
}

}  // namespace autodist::chief
