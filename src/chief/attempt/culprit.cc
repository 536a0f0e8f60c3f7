#include "chief/attempt/culprit.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "chief/output/peer_complaints.h"

namespace autodist::chief {
namespace {

// "[10.0.0.3]:7588", "10.0.0.3:7588", "host3": the address as a whole word.
bool Names(const std::string& text, const std::string& address) {
  constexpr std::string_view kOfAddress =
      "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-";
  const auto is_of_address = [&](size_t at) {
    return at < text.size() && kOfAddress.find(text[at]) != std::string_view::npos;
  };
  for (size_t at = text.find(address); !address.empty() && at != std::string::npos;
       at = text.find(address, at + 1)) {
    if (!(at > 0 && is_of_address(at - 1)) && !is_of_address(at + address.size())) return true;
  }
  return false;
}

// Of a node of the plan, by its rank there.
bool NamesNode(const std::string& text, const v1::LaunchPlan& plan, uint32_t node_rank) {
  return std::ranges::any_of(plan.nodes(), [&](const v1::NodePlan& node) {
    return node.node_rank() == node_rank &&
           (Names(text, node.address()) || Names(text, node.data_address()));
  });
}

}  // namespace

const RankFailure* Culprit(uint32_t rank, const FatalMessage& complaint,
                           const std::vector<RankFailure>& failures) {
  if (!BlamesPeer(complaint.text)) return nullptr;
  const RankFailure* first = nullptr;
  for (const RankFailure& failure : failures) {
    if (failure.rank == rank || failure.message.time > complaint.time ||
        BlamesPeer(failure.message.text))
      continue;
    if (!first || failure.message.time < first->message.time) first = &failure;
  }
  return first;
}

const EndedWell* EndedEarlier(const FatalMessage& complaint, const std::vector<EndedWell>& ended,
                              const v1::LaunchPlan& plan) {
  if (!BlamesPeer(complaint.text) || ended.empty()) return nullptr;
  const auto named = std::ranges::find_if(
      ended, [&](const EndedWell& one) { return NamesNode(complaint.text, plan, one.node_rank); });
  if (named != ended.end()) return &*named;
  return &*std::ranges::min_element(ended, {}, &EndedWell::time_ns);
}

const Cause* LostBefore(const FatalMessage& complaint, const Cause& failed,
                        const std::vector<Cause>& later, const v1::LaunchPlan& plan) {
  if (!BlamesPeer(complaint.text)) return nullptr;
  const Cause* first = nullptr;
  for (const Cause& lost : later) {
    if (lost.kind != Cause::Kind::kNodeLost || lost.node_rank == failed.node_rank ||
        lost.last_contact_ns > failed.exit.time_ns()) {
      continue;
    }
    if (NamesNode(complaint.text, plan, lost.node_rank)) return &lost;
    if (!first) first = &lost;
  }
  return first;
}

NotEnqueued WhoDidNotEnqueue(const std::map<uint32_t, EnqueuedCollectives>& enqueued,
                             const std::vector<uint32_t>& silent) {
  if (enqueued.size() < 2) return {};
  const auto of_rank = [](const auto& entry) { return entry.second.number; };
  const EnqueuedCollectives& last = std::ranges::max_element(enqueued, {}, of_rank)->second;
  NotEnqueued found{{}, last.number};
  for (const auto& [rank, of] : enqueued) {
    if (of.group == last.group && of.number < last.number) found.ranks.push_back(rank);
  }
  if (found.ranks.empty() && silent.size() == 1) found.ranks = silent;
  return found;
}

}  // namespace autodist::chief
