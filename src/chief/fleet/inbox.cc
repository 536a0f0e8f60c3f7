#include "chief/fleet/inbox.h"

#include <utility>

#include "base/exceptions.h"
#include "base/wall_clock.h"

namespace autodist::chief {

void Inbox::OnEvent(uint32_t node, v1::AgentEvent event) {
  const size_t cost = launch::EventRules::CostOf(event);
  const int64_t arrived_ns = base::NanosecondsSince1970();
  if (event.has_progress_line()) output_.TakeProgressLine(node, event.progress_line());
  if (event.has_sample() || event.has_lease_renewed()) {
    quiet_.Put({node, cost, arrived_ns, std::move(event)});
    return;
  }
  loop_.Post([this, node, cost, arrived_ns, event = std::move(event)]() mutable {
    TakeQuiet();  // quiet events arrived before this one
    reader_.TakeEvent(node, std::move(event), arrived_ns);
    reader_.Handled(node, cost);
  });
}

void Inbox::TakeQuiet() {
  for (QuietEvents::Event& one : quiet_.Take()) {
    // An exception must not cost the other events, or the timer that calls this.
    base::HandlingExceptions([&] {
      reader_.TakeEvent(one.node, std::move(one.event), one.arrived_ns);
      reader_.Handled(one.node, one.cost);
    });
  }
}

void Inbox::OnOutput(uint32_t node, v1::Output output) { output_.Write(node, std::move(output)); }

void Inbox::OnClosed(uint32_t node, uint64_t connection, Status status) {
  loop_.Post([this, node, connection, status = std::move(status)] {
    reader_.TakeClosed(node, connection, status);
  });
}

}  // namespace autodist::chief
