// The lies, each by its name. To add one is to add a line here.
#include <unistd.h>

#include <climits>
#include <cstdio>
#include <cstring>
#include <string>

#include "hostile/liar.h"
#include "rpc/bootstrap_lines.h"

namespace autodist::hostile {
namespace {

constexpr size_t kMiB = 1 << 20;

bool Print(const std::string& text) {
  return write(STDOUT_FILENO, text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

void PrintFor(const std::string& text, int times) {
  for (int i = 0; i < times && Print(text); ++i) {
  }
}

void Forever() {
  for (;;) pause();
}

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

// For a lie in the answer to Prepare.
template <void (*lie)(v1::PrepareResponse& response)>
void InPrepare(Behaviour& behaviour) {
  behaviour.prepare = [](grpc::ServerContext&, const v1::PrepareRequest&,
                         v1::PrepareResponse& response) {
    lie(response);
    return grpc::Status::OK;
  };
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

// --- before the greeting

void NoiseWithoutEnd(Behaviour& behaviour) {
  behaviour.before_ready = [](const std::string&) {
    PrintFor(std::string(65536, 'x') + "\n", INT_MAX);
    return false;
  };
}
void AnotherNonce(Behaviour& behaviour) {
  behaviour.before_ready = [](const std::string&) {
    Print(rpc::ReadyLine(std::string(32, '0')));
    return false;
  };
}
void GoneAtLength(Behaviour& behaviour) {
  behaviour.before_ready = [](const std::string& nonce) {
    Print(rpc::GoneLine(nonce));
    PrintFor(std::string(65536, 'x'), 100);
    return false;
  };
}
void NeedsTheProgramForEver(Behaviour& behaviour) {
  behaviour.before_ready = [](const std::string& nonce) {
    PrintFor(rpc::NeedLine(nonce), 10'000);
    return false;
  };
}
void DiesNoisily(Behaviour& behaviour) {
  behaviour.before_ready = [](const std::string&) {
    const std::string text(65536, 'e');
    for (int i = 0; i < 80; ++i) (void)!write(STDERR_FILENO, text.data(), text.size());
    return false;
  };
}

// --- after the greeting

void NoHttp(Behaviour& behaviour) {
  behaviour.after_greeting = [] {
    PrintFor("HTTP/1.1 200 OK\r\n\r\n", 1000);
    _exit(1);
  };
}
void HangsUp(Behaviour& behaviour) {
  behaviour.after_greeting = [] { _exit(1); };
}
void GarbageWithoutEnd(Behaviour& behaviour) {
  behaviour.after_greeting = [] {
    PrintFor(std::string(65536, '\xff'), INT_MAX);
    _exit(1);
  };
}

// --- in Prepare

void Compressed(Behaviour& behaviour) {
  behaviour.prepare = [](grpc::ServerContext& context, const v1::PrepareRequest&,
                         v1::PrepareResponse& response) {
    context.set_compression_algorithm(GRPC_COMPRESS_GZIP);
    response.add_warnings(std::string(300 * kMiB, 'x'));
    return grpc::Status::OK;
  };
}
void LargeAnswer(v1::PrepareResponse& response) {
  response.add_warnings(std::string(100 * kMiB, 'x'));
}
void Failure(Behaviour& behaviour) {
  behaviour.prepare = [](grpc::ServerContext&, const v1::PrepareRequest&, v1::PrepareResponse&) {
    return grpc::Status(grpc::StatusCode::INTERNAL, std::string(7000, 'x') + "\033[2J");
  };
}
void ManyProblems(v1::PrepareResponse& response) {
  for (int i = 0; i < 5'000; ++i) response.add_problems()->set_cause(std::string(300, 'p'));
}
void LongProblem(v1::PrepareResponse& response) {
  response.add_problems()->set_cause(std::string(kMiB, 'p'));
}
void ManyWarnings(v1::PrepareResponse& response) {
  for (int i = 0; i < 20'000; ++i) response.add_warnings(std::string(50, 'w'));
}
void NoTime(v1::PrepareResponse& response) { response.mutable_facts()->set_time_ns(INT64_MIN); }
void ManyVariables(v1::PrepareResponse& response) {
  for (int i = 0; i < 100'000; ++i) response.mutable_facts()->add_variables("NCCL_X");
}
void ManyFiles(v1::PrepareResponse& response) {
  for (int i = 0; i < 100'000; ++i) response.mutable_facts()->add_files()->set_digest("d");
}
void NotUtf8(v1::PrepareResponse& response) { response.add_warnings("\xff\xfe"); }
void ManyPorts(v1::PrepareResponse& response) {
  for (uint32_t i = 0; i < 100'000; ++i) response.add_ports_taken(i);
}
void EscapeSequences(v1::PrepareResponse& response) {
  response.add_problems()->set_cause("\033]0;pwned\007\033[2J\u202e");
}

// --- in Session

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
void NoWayToEnd(Teller& teller) { teller.TellNumbered(Exit(teller)); }
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

// --- in Sync, with ports, in clean

void WantsWhatThereIsNot(Behaviour& behaviour) {
  behaviour.sync = [](uint64_t entries, const auto& write) {
    v1::SyncResponse response;
    response.mutable_differences()->add_wanted(entries);
    write(response);
  };
}
void WantsAllAgainAndAgain(Behaviour& behaviour) {
  behaviour.sync = [](uint64_t entries, const auto& write) {
    v1::SyncResponse response;
    for (uint64_t i = 0; i < 1000; ++i) response.mutable_differences()->add_wanted(i % entries);
    while (write(response)) {
    }
  };
}
void FailsToSyncAtLength(Behaviour& behaviour) {
  behaviour.sync = [](uint64_t, const auto& write) {
    v1::SyncResponse response;
    response.mutable_finished()->set_error(std::string(kMiB / 2, 'f'));
    write(response);
  };
}
void ImpossiblePort(Behaviour& behaviour) {
  behaviour.open_ports = [](const v1::OpenPortsRequest&, v1::OpenPortsResponse& response) {
    response.set_free_port(99'999);
  };
}
void LargePortAnswer(Behaviour& behaviour) {
  behaviour.open_ports = [](const v1::OpenPortsRequest&, v1::OpenPortsResponse& response) {
    response.set_wanted_error(std::string(kMiB, 'p'));
  };
}
void MoreTriesThanAsked(Behaviour& behaviour) {
  behaviour.try_ports = [](const v1::TryPortsRequest&, v1::TryPortsResponse& response) {
    for (int i = 0; i < 10'000; ++i) response.add_tries()->set_error("e");
  };
}
void CleansNoisily(Behaviour& behaviour) {
  behaviour.clean = [] { PrintFor(std::string(65536, 'c') + "\n", INT_MAX); };
}
void CleansManyJobs(Behaviour& behaviour) {
  behaviour.clean = [] { PrintFor("ended\t20261122-000000-abcdef.2\n", 1000); };
}

}  // namespace

const std::vector<Lie>& Lies() {
  static const std::vector<Lie> lies = {
      {"noise_without_end", NoiseWithoutEnd},
      {"another_nonce", AnotherNonce},
      {"gone_at_length", GoneAtLength},
      {"needs_the_program_for_ever", NeedsTheProgramForEver},
      {"dies_noisily", DiesNoisily},
      {"no_http", NoHttp},
      {"hangs_up", HangsUp},
      {"garbage_without_end", GarbageWithoutEnd},
      {"compressed", Compressed},
      {"large_answer", InPrepare<LargeAnswer>},
      {"failure", Failure},
      {"many_problems", InPrepare<ManyProblems>},
      {"long_problem", InPrepare<LongProblem>},
      {"many_warnings", InPrepare<ManyWarnings>},
      {"no_time", InPrepare<NoTime>},
      {"many_variables", InPrepare<ManyVariables>},
      {"many_files", InPrepare<ManyFiles>},
      {"not_utf8", InPrepare<NotUtf8>},
      {"many_ports", InPrepare<ManyPorts>},
      {"escape_sequences", InPrepare<EscapeSequences>},
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
      {"wants_what_there_is_not", WantsWhatThereIsNot},
      {"wants_all_again_and_again", WantsAllAgainAndAgain},
      {"fails_to_sync_at_length", FailsToSyncAtLength},
      {"impossible_port", ImpossiblePort},
      {"large_port_answer", LargePortAnswer},
      {"more_tries_than_asked", MoreTriesThanAsked},
      {"cleans_noisily", CleansNoisily},
      {"cleans_many_jobs", CleansManyJobs},
  };
  return lies;
}

}  // namespace autodist::hostile
