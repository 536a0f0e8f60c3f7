// What may be a lie in Session.
#include <unistd.h>

#include <climits>
#include <limits>
#include <string>

#include "hostile/liar.h"

namespace autodist::hostile {
namespace {

v1::AgentEvent Resumed() {
  v1::AgentEvent event;
  event.mutable_resumed()->set_instance(1);
  return event;
}

v1::AgentEvent Warning(const std::string& what) {
  v1::AgentEvent event;
  event.mutable_warning()->set_what(what);
  return event;
}

// Of its first rank.
v1::AgentEvent Exit(const Teller& teller) {
  v1::AgentEvent event;
  event.mutable_rank_exited()->set_rank(teller.ranks().front());
  event.mutable_rank_exited()->set_pid(1);
  return event;
}

v1::AgentEvent Output(const Teller& teller, uint64_t offset, const std::string& data) {
  v1::AgentEvent event;
  event.mutable_output()->set_rank(teller.ranks().front());
  event.mutable_output()->set_stream(v1::OUTPUT_STREAM_STDOUT);
  event.mutable_output()->set_offset(offset);
  event.mutable_output()->set_data(data);
  return event;
}

// For a lie once the ranks are told to start.
template <void (*lie)(Teller& teller)>
void WhenStarted(Behaviour& behaviour) {
  behaviour.when_started = lie;
}

template <void (*lie)(Teller& teller)>
void InPlaceOfResumed(Behaviour& behaviour) {
  behaviour.in_place_of_resumed = lie;
}

void ExitCode(Teller& teller) {
  v1::AgentEvent event = Exit(teller);
  event.mutable_rank_exited()->set_exit_code(256);
  teller.TellNumbered(event);
}
void ExitSignal(Teller& teller) {
  v1::AgentEvent event = Exit(teller);
  event.mutable_rank_exited()->set_signal(-128);
  teller.TellNumbered(event);
}
void ResumedTwice(Teller& teller) { teller.Flood(Resumed()); }
void NothingResumed(Teller& teller) { teller.TellNumbered(Warning("first")); }
void ManyWarningsLater(Teller& teller) {
  for (int i = 0; i < 200'000 && teller.TellNumbered(Warning(std::string(100, 'w'))); ++i) {
  }
  NoWayToEnd(teller);
}
void LongWarning(Teller& teller) { teller.TellNumbered(Warning(std::string(kMiB, 'w'))); }
void LargeEvent(Teller& teller) {
  v1::AgentEvent event;
  event.mutable_rank_stacks()->set_text(std::string(8 * kMiB, 's'));
  teller.TellNumbered(event);
}
void EventIsNotUtf8(Teller& teller) { teller.TellNumbered(Warning("\xff")); }
void OutputWithGaps(Teller& teller) {
  teller.Tell(Output(teller, 1'000'000, "x"));
  Forever();
}
void OutputWithoutEnd(Teller& teller) {
  const std::string data(65536, 'x');
  for (uint64_t at = 0; at < uint64_t{200} * kMiB; at += data.size()) {
    if (!teller.Tell(Output(teller, at, data))) return;
  }
  NoWayToEnd(teller);
}
void LargePiece(Teller& teller) { teller.Tell(Output(teller, 0, std::string(kMiB, 'x'))); }
void OutputOfManyRanks(Teller& teller) {
  for (uint32_t rank = 0; rank < 1'000'000; ++rank) {
    v1::AgentEvent event = Output(teller, 0, "x");
    event.mutable_output()->set_rank(rank);
    if (!teller.Tell(event)) return;
  }
}
void MuchLost(Teller& teller) {
  v1::AgentEvent event = Output(teller, 0, "x");
  event.mutable_output()->set_lost(UINT64_MAX);
  teller.Tell(event);
}
void FillsTheStore(Teller& teller) {
  v1::AgentEvent event;
  v1::SetRequest& set = *event.mutable_rendezvous_request()->mutable_set();
  set.set_value(std::string(kMiB, 'v'));
  for (int i = 0; i < 300; ++i) {
    set.set_key(std::to_string(i));
    if (!teller.TellNumbered(event)) return;
  }
  NoWayToEnd(teller);
}
void GetsForEver(Teller& teller) {
  v1::AgentEvent event;
  event.mutable_rendezvous_request()->mutable_set()->set_key("k");
  event.mutable_rendezvous_request()->mutable_set()->set_value(std::string(kMiB, 'v'));
  teller.TellNumbered(event);
  event.mutable_rendezvous_request()->mutable_get()->set_key("k");
  for (uint64_t id = 2; id < 1'000'000; ++id) {
    event.mutable_rendezvous_request()->set_id(id);
    if (!teller.TellNumbered(event)) return;
  }
}
void ManyBarriers(Teller& teller) {
  v1::AgentEvent event;
  v1::RendezvousRequest& request = *event.mutable_rendezvous_request();
  for (uint64_t id = 1; id < 100'000; ++id) {
    request.set_id(id);
    request.mutable_barrier()->set_name(std::string(4000, 'b') + std::to_string(id));
    if (!teller.TellNumbered(event)) return;
  }
  NoWayToEnd(teller);
}
void UnaskedAnswers(Teller& teller) {
  v1::AgentEvent event;
  event.mutable_modex_answer()->set_data(std::string(kMiB, 'm'));
  for (int i = 0; i < 200; ++i) {
    if (!teller.TellNumbered(event)) return;
  }
  NoWayToEnd(teller);
}
void UnaskedStacks(Teller& teller) {
  v1::AgentEvent event;
  event.mutable_rank_stacks()->set_rank(teller.ranks().front());
  event.mutable_rank_stacks()->set_text(std::string(kMiB - 1, 's'));
  for (int i = 0; i < 200; ++i) {
    if (!teller.TellNumbered(event)) return;
  }
  NoWayToEnd(teller);
}
void SkipsNumbers(Teller& teller) {
  v1::AgentEvent event = Warning("the last");
  event.set_sequence(UINT64_MAX);
  teller.Tell(event);
  Forever();
}
void AbortsForEver(Teller& teller) {
  v1::AgentEvent event;
  event.mutable_rank_aborted()->set_rank(teller.ranks().front());
  event.mutable_rank_aborted()->set_message(std::string(1000, 'a'));
  for (int i = 0; i < 50'000 && teller.TellNumbered(event); ++i) {
  }
  NoWayToEnd(teller);
}
void SaysThatItsLeaseIsOver(Teller& teller) {
  v1::AgentEvent event;
  event.mutable_lease_expired()->set_why("\033[2J" + std::string(8000, 'l'));
  teller.TellNumbered(event);
}
void NeverRenews(Behaviour& behaviour) {
  behaviour.renews = false;
  behaviour.when_started = [](Teller&) { Forever(); };
}
void Vanishes(Teller&) { _exit(0); }
void NeverStops(Behaviour& behaviour) {
  behaviour.exits = false;
  behaviour.when_started = [](Teller& teller) {
    v1::AgentEvent event = Exit(teller);
    event.mutable_rank_exited()->set_exit_code(1);
    teller.TellNumbered(event);
    Forever();
  };
}
void SpeaksForOthers(Teller& teller) {
  v1::AgentEvent event = Exit(teller);
  event.mutable_rank_exited()->set_exit_code(7);
  for (uint32_t rank = 0; rank < 2'000; ++rank) {
    event.mutable_rank_exited()->set_rank(rank % 2);  // the chief's node has these
    teller.TellNumbered(event);
  }
  NoWayToEnd(teller);
}
void SampleOfNothing(Teller& teller) {
  v1::AgentEvent event;
  event.mutable_sample()->add_ranks()->set_cpu(std::numeric_limits<double>::quiet_NaN());
  teller.Tell(event);
}
void SamplesForEver(Teller& teller) {
  v1::AgentEvent event;
  for (int i = 0; i < 1'000; ++i) {
    event.mutable_sample()->add_interfaces()->set_name(std::string(200, 'n'));
  }
  teller.Flood(event);
}
void RenewsForEver(Teller& teller) {
  v1::AgentEvent event;
  event.mutable_lease_renewed()->set_number(UINT64_MAX);
  event.mutable_lease_renewed()->set_time_ns(int64_t{1} << 62);
  teller.Flood(event, 300'000);
  NoWayToEnd(teller);
}

}  // namespace

void Forever() {
  for (;;) pause();
}

void NoWayToEnd(Teller& teller) { teller.TellNumbered(Exit(teller)); }

const std::vector<Lie>& SessionLies() {
  static const std::vector<Lie> lies = {
      {"exit_code", WhenStarted<ExitCode>},
      {"exit_signal", WhenStarted<ExitSignal>},
      {"no_way_to_end", WhenStarted<NoWayToEnd>},
      {"resumed_twice", InPlaceOfResumed<ResumedTwice>},
      {"nothing_resumed", InPlaceOfResumed<NothingResumed>},
      {"many_warnings_later", WhenStarted<ManyWarningsLater>},
      {"long_warning", WhenStarted<LongWarning>},
      {"large_event", WhenStarted<LargeEvent>},
      {"event_is_not_utf8", WhenStarted<EventIsNotUtf8>},
      {"output_with_gaps", WhenStarted<OutputWithGaps>},
      {"output_without_end", WhenStarted<OutputWithoutEnd>},
      {"large_piece", WhenStarted<LargePiece>},
      {"output_of_many_ranks", WhenStarted<OutputOfManyRanks>},
      {"much_lost", WhenStarted<MuchLost>},
      {"fills_the_store", WhenStarted<FillsTheStore>},
      {"gets_for_ever", WhenStarted<GetsForEver>},
      {"many_barriers", WhenStarted<ManyBarriers>},
      {"unasked_answers", WhenStarted<UnaskedAnswers>},
      {"unasked_stacks", WhenStarted<UnaskedStacks>},
      {"skips_numbers", WhenStarted<SkipsNumbers>},
      {"aborts_for_ever", WhenStarted<AbortsForEver>},
      {"says_that_its_lease_is_over", WhenStarted<SaysThatItsLeaseIsOver>},
      {"never_renews", NeverRenews},
      {"vanishes", WhenStarted<Vanishes>},
      {"never_stops", NeverStops},
      {"speaks_for_others", WhenStarted<SpeaksForOthers>},
      {"renews_for_ever", WhenStarted<RenewsForEver>},
      {"sample_of_nothing", WhenStarted<SampleOfNothing>},
      {"samples_for_ever", WhenStarted<SamplesForEver>},
  };
  return lies;
}

}  // namespace autodist::hostile
