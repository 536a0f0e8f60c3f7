#include "chief/fleet/departures.h"

#include <chrono>

#include "base/deadline.h"

namespace autodist::chief {
namespace {

using base::Deadline;

// The loop's thread decides after each slice whether to continue.
constexpr std::chrono::milliseconds kSlice{100};

}  // namespace

void Departures::Await(const std::shared_ptr<State>& state, Links links, Loop::Time limit,
                       Loop& loop) {
  if (links.empty() || state->given_up || loop.Now() >= limit) {
    for (const auto& [node, link] : links) state->staying.push_back(node);
    state->over = true;
    return;
  }
  loop.InBackground([state, links = std::move(links), limit, &loop]() mutable {
    const Deadline slice = Deadline::After(kSlice);
    std::erase_if(links, [&](const auto& link) { return link.second->WaitClosed(slice); });
    loop.Post([state, links = std::move(links), limit, &loop]() mutable {
      Await(state, std::move(links), limit, loop);
    });
  });
}

}  // namespace autodist::chief
