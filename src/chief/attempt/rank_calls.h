// The calls by which the ranks of an attempt find each other: who answers them, and the PMIx
// namespace that they are for.
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

// For one thread; never blocks.
class RankCalls {
 public:
  // Sends a message to a member, however long it takes to arrive; of a rendezvous' reply the value
  // may come apart. Must outlive this.
  using Send = std::function<void(uint32_t member, v1::ChiefMessage message, SharedValue value)>;

  // Of attempt `number` by the plan.
  RankCalls(const v1::LaunchPlan& plan, uint32_t number, Send send);

  // What PMIx on the nodes has to know; absent: the plan wants none of it.
  const std::optional<v1::PmixWorld>& pmix() const { return pmix_; }
  // A member's ranks ask; it answers what another one's asked.
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
