#include "agent/life/agent_parts.h"

#include <utility>

namespace autodist::agent {

Result<std::unique_ptr<AgentParts>> AgentParts::Create(AgentPlace place, std::string pmix_folder,
                                                       ChiefEvents chief,
                                                       std::function<void()> over) {
  std::unique_ptr<AgentParts> owned(new AgentParts);
  AgentParts& parts = *owned;
  AD_ASSIGN_OR_RETURN(parts.output_, RankOutput::Create({[&parts] {
                                                           parts.end_->OutputChanged();
                                                           parts.events_->OutputChanged();
                                                         },
                                                         [&parts](std::string what) {
                                                           parts.events_->SendReliably(
                                                               MakeWarning(std::move(what)));
                                                         }}));
  parts.events_ = std::make_unique<EventQueue>(*parts.output_);
  parts.end_ = std::make_unique<AttemptEnd>(*parts.events_, *parts.output_,
                                            [&parts, over = std::move(over)] {
                                              parts.events_->Close();
                                              over();
                                            });
  parts.rendezvous_ = std::make_unique<RendezvousService>(*parts.events_);
  const ChiefPort port{
      [&parts](v1::AgentEvent event) { parts.events_->SendReliably(std::move(event)); },
      [&parts](v1::RendezvousRequest request, RendezvousAnswer answer) {
        parts.rendezvous_->Ask(std::move(request), std::move(answer));
      }};
  parts.pmix_ = std::make_unique<PmixService>(port, std::move(pmix_folder));
  SupervisorEvents told = EventsInto(*parts.events_, *parts.output_);
  told.ended = [&parts] {
    parts.pmix_->Leave();
    parts.end_->ProcessesGone();
  };
  AD_ASSIGN_OR_RETURN(parts.supervisor_, Supervisor::Create(std::move(told)));
  parts.service_ = std::make_unique<AgentService>(
      ServiceParts{*parts.events_, *parts.output_, *parts.end_, *parts.rendezvous_,
                   *parts.supervisor_, *parts.pmix_, std::move(place), std::move(chief)});
  return owned;
}

// What may still call goes before what it calls.
AgentParts::~AgentParts() {
  service_.reset();
  supervisor_.reset();
  pmix_.reset();
  if (output_) output_->StopReading();
}

}  // namespace autodist::agent
