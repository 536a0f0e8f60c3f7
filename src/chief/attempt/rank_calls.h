// Answers the calls by which the ranks of an attempt find each other, and makes their PMIx
// namespace.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "autodist/v1/agent.pb.h"
#include "autodist/v1/plan.pb.h"
#include "chief/attempt/modex.h"
#include "chief/attempt/rendezvous.h"
#include "chief/attempt/waiting_calls.h"

namespace autodist::chief {

// Not thread-safe; never blocks.
class RankCalls {
 public:
  // Sends a message to a member, even if it arrives much later; the value of a rendezvous reply may
  // be sent separately. Must outlive this object.
  using Send = std::function<void(uint32_t member, v1::ChiefMessage message, SharedValue value)>;

  // For attempt `number` with this plan.
  RankCalls(const v1::LaunchPlan& plan, uint32_t number, Send send);

  // What PMIx on the nodes needs; absent: the plan does not use PMIx.
  const std::optional<v1::PmixWorld>& pmix() const { return pmix_; }
  // Handles a request of a member's ranks, and a member's answer to a request of another member.
  void Take(uint32_t member, const v1::RendezvousRequest& request);
  void Take(uint32_t member, const v1::ModexAnswer& answer) { modex_.Answered(member, answer); }

 private:
  std::string NameSpace() const { return pmix_ ? pmix_->name_space() : ""; }

  const std::optional<v1::PmixWorld> pmix_;
  const Send send_;
  Values values_;
  WaitingCalls waiting_;
  Rendezvous rendezvous_;
  Modex modex_;
};

}  // namespace autodist::chief
