// The lies in Session.
#include <unistd.h>

#include <climits>
#include <limits>
#include <string>

#include "agent_sim/events.h"
#include "hostile/liar.h"

namespace autodist::hostile {
namespace {

using test::Warning;

v1::AgentEvent Output(const LyingSession& agent, uint64_t offset, const std::string& data) {
  return test::RankWrote(agent.first_rank(), offset, data);
}

void Repeat(LyingSession& agent, const v1::AgentEvent& event, int times) {
  for (int i = 0; i < times && agent.SendReliably(event); ++i) {
  }
  NoWayToEnd(agent);
}

void ExitCode(LyingSession& agent) {
  agent.SendReliably(test::RankExited(agent.first_rank(), 256));
}
void ExitSignal(LyingSession& agent) {
  v1::AgentEvent event = test::RankExited(agent.first_rank());
  event.mutable_rank_exited()->set_signal(-128);
  agent.SendReliably(event);
}
void ResumedTwice(LyingSession& agent) { agent.Flood(test::Resumed()); }
void NothingResumed(LyingSession& agent) { agent.SendReliably(Warning("first")); }
void ManyWarningsLater(LyingSession& agent) {
  Repeat(agent, Warning(std::string(100, 'w')), 200'000);
}
void LongWarning(LyingSession& agent) { agent.SendReliably(Warning(std::string(kMiB, 'w'))); }
void LargeEvent(LyingSession& agent) {
  v1::AgentEvent event;
  event.mutable_rank_stacks()->set_text(std::string(8 * kMiB, 's'));
  agent.SendReliably(event);
}
void EventIsNotUtf8(LyingSession& agent) { agent.SendReliably(Warning("\xff")); }
void OutputWithGaps(LyingSession& agent) {
  agent.Send(Output(agent, 1'000'000, "x"));
  Forever();
}
void OutputWithoutEnd(LyingSession& agent) {
  const std::string data(65536, 'x');
  for (uint64_t at = 0; at < uint64_t{200} * kMiB; at += data.size()) {
    if (!agent.Send(Output(agent, at, data))) return;
  }
  NoWayToEnd(agent);
}
void LargePiece(LyingSession& agent) { agent.Send(Output(agent, 0, std::string(kMiB, 'x'))); }
void OutputOfManyRanks(LyingSession& agent) {
  for (uint32_t rank = 0; rank < 1'000'000; ++rank) {
    v1::AgentEvent event = Output(agent, 0, "x");
    event.mutable_output()->set_rank(rank);
    if (!agent.Send(event)) return;
  }
}
void MuchLost(LyingSession& agent) {
  v1::AgentEvent event = Output(agent, 0, "x");
  event.mutable_output()->set_lost(UINT64_MAX);
  agent.Send(event);
}
void FillsTheStore(LyingSession& agent) {
  v1::AgentEvent event;
  v1::SetRequest& set = *event.mutable_rendezvous_request()->mutable_set();
  set.set_value(std::string(kMiB, 'v'));
  for (int i = 0; i < 300; ++i) {
    set.set_key(std::to_string(i));
    if (!agent.SendReliably(event)) return;
  }
  NoWayToEnd(agent);
}
void GetsForEver(LyingSession& agent) {
  v1::AgentEvent event;
  event.mutable_rendezvous_request()->mutable_set()->set_key("k");
  event.mutable_rendezvous_request()->mutable_set()->set_value(std::string(kMiB, 'v'));
  agent.SendReliably(event);
  event.mutable_rendezvous_request()->mutable_get()->set_key("k");
  for (uint64_t id = 2; id < 1'000'000; ++id) {
    event.mutable_rendezvous_request()->set_id(id);
    if (!agent.SendReliably(event)) return;
  }
}
void ManyBarriers(LyingSession& agent) {
  v1::AgentEvent event;
  v1::RendezvousRequest& request = *event.mutable_rendezvous_request();
  for (uint64_t id = 1; id < 100'000; ++id) {
    request.set_id(id);
    request.mutable_barrier()->set_name(std::string(4000, 'b') + std::to_string(id));
    if (!agent.SendReliably(event)) return;
  }
  NoWayToEnd(agent);
}
void FloodsModex(LyingSession& agent) {
  v1::AgentEvent event;
  v1::RendezvousRequest& request = *event.mutable_rendezvous_request();
  request.mutable_modex()->set_name_space(agent.name_space());
  request.mutable_modex()->set_rank(0);  // of another node
  for (uint64_t id = 1; id < 65'000; ++id) {
    request.set_id(id);
    if (!agent.SendReliably(event)) return;
  }
  NoWayToEnd(agent);
}
void CancelsManyCalls(LyingSession& agent) {
  v1::AgentEvent event;
  v1::RendezvousRequest& request = *event.mutable_rendezvous_request();
  request.mutable_get()->set_key("k");
  for (uint64_t id = 1; id <= 130'000; ++id) {
    if (id > 65'000) request.mutable_cancel();
    request.set_id((id - 1) % 65'000 + 1);
    if (!agent.SendReliably(event)) return;
  }
  NoWayToEnd(agent);
}
// Gives the second node a command as mpirun on the first one does, and waits until it is taken.
void CommandsAnotherNode(Behaviour& behaviour) {
  behaviour.when_started = [](LyingSession& agent) {
    v1::AgentEvent event;
    v1::RendezvousRequest& request = *event.mutable_rendezvous_request();
    request.set_id(1);
    request.mutable_set()->set_key("autodist/node-0/remote-shell/1/0");
    request.mutable_set()->set_value("nonce\ntouch /tmp/commanded");
    agent.SendReliably(event);
    Forever();
  };
  behaviour.when_replied = [](LyingSession& agent, const v1::RendezvousReply& reply) {
    if (reply.id() == 2 || !reply.error().empty()) return NoWayToEnd(agent);
    v1::AgentEvent event;
    v1::RendezvousRequest& request = *event.mutable_rendezvous_request();
    request.set_id(2);
    request.mutable_get()->set_key("autodist/node-1/remote-shell/0/taken");
    agent.SendReliably(event);
  };
}
void Spoofs(LyingSession& agent) {
  const std::string spoof = "\nautodist: error: spoofed\n\033]0;spoofed\a";
  agent.SendReliably(Warning("disk is nearly full" + spoof));
  v1::AgentEvent event = test::RankExited(agent.first_rank());
  event.mutable_rank_exited()->mutable_start_failure()->set_cause("no such file" + spoof);
  event.mutable_rank_exited()->mutable_start_failure()->set_exit_code(127);
  agent.SendReliably(event);
}
void UnaskedAnswers(LyingSession& agent) {
  v1::AgentEvent event;
  event.mutable_modex_answer()->set_data(std::string(kMiB, 'm'));
  Repeat(agent, event, 200);
}
void UnaskedStacks(LyingSession& agent) {
  v1::AgentEvent event;
  event.mutable_rank_stacks()->set_rank(agent.first_rank());
  event.mutable_rank_stacks()->set_text(std::string(kMiB - 1, 's'));
  Repeat(agent, event, 200);
}
void SkipsNumbers(LyingSession& agent) {
  v1::AgentEvent event = Warning("the last");
  event.set_sequence(UINT64_MAX);
  agent.Send(event);
  Forever();
}
void AbortsForEver(LyingSession& agent) {
  v1::AgentEvent event;
  event.mutable_rank_aborted()->set_rank(agent.first_rank());
  event.mutable_rank_aborted()->set_message(std::string(1000, 'a'));
  Repeat(agent, event, 50'000);
}
void SaysThatItsLeaseIsOver(LyingSession& agent) {
  v1::AgentEvent event;
  event.mutable_lease_expired()->set_why("\033[2J" + std::string(8000, 'l'));
  agent.SendReliably(event);
}
void NeverRenews(Behaviour& behaviour) {
  behaviour.renews = false;
  behaviour.when_started = [](LyingSession&) { Forever(); };
}
void Vanishes(LyingSession&) { _exit(0); }
void NeverStops(Behaviour& behaviour) {
  behaviour.exits = false;
  behaviour.when_started = [](LyingSession& agent) {
    agent.SendReliably(test::RankExited(agent.first_rank(), 1));
    Forever();
  };
}
void SpeaksForOthers(LyingSession& agent) {
  // These ranks belong to the chief's node.
  for (uint32_t i = 0; i < 2'000; ++i) agent.SendReliably(test::RankExited(i % 2, 7));
  NoWayToEnd(agent);
}
void SampleOfNothing(LyingSession& agent) {
  v1::AgentEvent event;
  event.mutable_sample()->add_ranks()->set_cpu(std::numeric_limits<double>::quiet_NaN());
  agent.Send(event);
}
void SamplesForEver(LyingSession& agent) {
  v1::AgentEvent event;
  for (int i = 0; i < 1'000; ++i) {
    event.mutable_sample()->add_interfaces()->set_name(std::string(200, 'n'));
  }
  agent.Flood(event);
}
void RenewsForEver(LyingSession& agent) {
  v1::AgentEvent event;
  event.mutable_lease_renewed()->set_number(UINT64_MAX);
  event.mutable_lease_renewed()->set_time_ns(int64_t{1} << 62);
  agent.Flood(event, 300'000);
  NoWayToEnd(agent);
}

}  // namespace

void Forever() {
  for (;;) pause();
}

void NoWayToEnd(LyingSession& agent) { agent.SendReliably(test::RankExited(agent.first_rank())); }

const std::vector<Lie>& SessionLies() {
  static const std::vector<Lie> lies = {
      {"exit_code", Set<&Behaviour::when_started, ExitCode>},
      {"exit_signal", Set<&Behaviour::when_started, ExitSignal>},
      {"no_way_to_end", Set<&Behaviour::when_started, NoWayToEnd>},
      {"resumed_twice", Set<&Behaviour::in_place_of_resumed, ResumedTwice>},
      {"nothing_resumed", Set<&Behaviour::in_place_of_resumed, NothingResumed>},
      {"many_warnings_later", Set<&Behaviour::when_started, ManyWarningsLater>},
      {"long_warning", Set<&Behaviour::when_started, LongWarning>},
      {"large_event", Set<&Behaviour::when_started, LargeEvent>},
      {"event_is_not_utf8", Set<&Behaviour::when_started, EventIsNotUtf8>},
      {"output_with_gaps", Set<&Behaviour::when_started, OutputWithGaps>},
      {"output_without_end", Set<&Behaviour::when_started, OutputWithoutEnd>},
      {"large_piece", Set<&Behaviour::when_started, LargePiece>},
      {"output_of_many_ranks", Set<&Behaviour::when_started, OutputOfManyRanks>},
      {"much_lost", Set<&Behaviour::when_started, MuchLost>},
      {"fills_the_store", Set<&Behaviour::when_started, FillsTheStore>},
      {"gets_for_ever", Set<&Behaviour::when_started, GetsForEver>},
      {"many_barriers", Set<&Behaviour::when_started, ManyBarriers>},
      {"floods_modex", Set<&Behaviour::when_started, FloodsModex>},
      {"cancels_many_calls", Set<&Behaviour::when_started, CancelsManyCalls>},
      {"commands_another_node", CommandsAnotherNode},
      {"spoofs", Set<&Behaviour::when_started, Spoofs>},
      {"unasked_answers", Set<&Behaviour::when_started, UnaskedAnswers>},
      {"unasked_stacks", Set<&Behaviour::when_started, UnaskedStacks>},
      {"skips_numbers", Set<&Behaviour::when_started, SkipsNumbers>},
      {"aborts_for_ever", Set<&Behaviour::when_started, AbortsForEver>},
      {"says_that_its_lease_is_over", Set<&Behaviour::when_started, SaysThatItsLeaseIsOver>},
      {"never_renews", NeverRenews},
      {"vanishes", Set<&Behaviour::when_started, Vanishes>},
      {"never_stops", NeverStops},
      {"speaks_for_others", Set<&Behaviour::when_started, SpeaksForOthers>},
      {"renews_for_ever", Set<&Behaviour::when_started, RenewsForEver>},
      {"sample_of_nothing", Set<&Behaviour::when_started, SampleOfNothing>},
      {"samples_for_ever", Set<&Behaviour::when_started, SamplesForEver>},
  };
  return lies;
}

}  // namespace autodist::hostile
