// The lies, each with its name; those in Session are in session_lies.cc, those about files passed
// on in passing_on_lies.cc. To add a lie, add a line to a list.
#include <google/protobuf/message.h>
#include <unistd.h>

#include <climits>
#include <cstdio>
#include <cstring>
#include <string>

#include "hostile/liar.h"
#include "rpc/bootstrap_lines.h"

namespace autodist::hostile {
namespace {

bool Print(const std::string& text) {
  return write(STDOUT_FILENO, text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

void PrintFor(const std::string& text, int times) {
  for (int i = 0; i < times && Print(text); ++i) {
  }
}

// Like Forever, if no other thread reads the chief's data.
void UntilHungUp() {
  char byte;
  while (read(STDIN_FILENO, &byte, 1) > 0) {
  }
}

// Makes a lie in the answer to Prepare.
template <void (*lie)(v1::PrepareResponse& response)>
void InPrepare(Behaviour& behaviour) {
  behaviour.prepare = [](grpc::ServerContext&, const v1::PrepareRequest&,
                         v1::PrepareResponse& response) {
    lie(response);
    return grpc::Status::OK;
  };
}

// --- before the greeting

void NoiseWithoutEnd(const std::string&) { PrintFor(std::string(65536, 'x') + "\n", INT_MAX); }
void AnotherNonce(const std::string&) { Print(rpc::ReadyLine(std::string(32, '0'))); }
void GoneAtLength(const std::string& nonce) {
  Print(rpc::GoneLine(nonce));
  PrintFor(std::string(65536, 'x'), 100);
}
void NeedsTheProgramForEver(const std::string& nonce) {
  PrintFor(rpc::BeginOfNeedLine(nonce) + "x86_64\n", 10'000);
}
void DiesNoisily(const std::string&) {
  const std::string text(65536, 'e');
  for (int i = 0; i < 80; ++i) (void)!write(STDERR_FILENO, text.data(), text.size());
}

void SaysNothing(const std::string&) { UntilHungUp(); }

// --- after the greeting

void NoHttp() { PrintFor("HTTP/1.1 200 OK\r\n\r\n", 1000); }
void HangsUp() {}
void GarbageWithoutEnd() { PrintFor(std::string(65536, '\xff'), INT_MAX); }

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
void ManyIssues(v1::PrepareResponse& response) {
  for (int i = 0; i < 5'000; ++i) response.add_issues()->set_cause(std::string(300, 'p'));
}
void LongIssue(v1::PrepareResponse& response) {
  response.add_issues()->set_cause(std::string(kMiB, 'p'));
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
// Whether the field answers a request, which limits the number of values.
bool IsAnswer(const google::protobuf::FieldDescriptor& field) {
  return field.name() == "files" || field.name() == "shared_files" || field.name() == "modules";
}
// Fills all fields with extreme values that the protocol allows.
void FillWithExtremes(google::protobuf::Message& message) {
  using google::protobuf::FieldDescriptor;
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  const std::string text = "\033[2J\n\u202e% {} " + std::string(1500, 'f');
  for (int i = 0; i < message.GetDescriptor()->field_count(); ++i) {
    const FieldDescriptor& field = *message.GetDescriptor()->field(i);
    if (IsAnswer(field)) continue;
    for (int times = field.is_repeated() ? 100 : 1; times > 0; --times) {
      if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
        FillWithExtremes(field.is_repeated() ? *reflection.AddMessage(&message, &field)
                                             : *reflection.MutableMessage(&message, &field));
      } else if (field.cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
        field.is_repeated() ? reflection.AddString(&message, &field, text)
                            : reflection.SetString(&message, &field, text);
      } else if (field.cpp_type() == FieldDescriptor::CPPTYPE_UINT64) {
        reflection.SetUInt64(&message, &field, UINT64_MAX);
      } else if (field.cpp_type() == FieldDescriptor::CPPTYPE_UINT32) {
        reflection.SetUInt32(&message, &field, UINT32_MAX);
      } else if (field.cpp_type() == FieldDescriptor::CPPTYPE_INT32) {
        reflection.SetInt32(&message, &field, INT32_MIN);
      }
    }
  }
}
void ExtremeFacts(v1::PrepareResponse& response) {
  v1::NodeInfo& facts = *response.mutable_facts();
  FillWithExtremes(facts);
  for (v1::GpuFact& gpu : *facts.mutable_gpus()) {
    gpu.clear_name();
    gpu.clear_processes();
  }
  facts.set_time_ns(int64_t{1} << 62);
}
void ExtremeFactsAndThenNoWayToEnd(Behaviour& behaviour) {
  InPrepare<ExtremeFacts>(behaviour);
  behaviour.when_started = NoWayToEnd;
}
void NeverPrepares(Behaviour& behaviour) {
  behaviour.prepare = [](grpc::ServerContext&, const v1::PrepareRequest&, v1::PrepareResponse&) {
    Forever();
    return grpc::Status::OK;
  };
}
void EscapeSequences(v1::PrepareResponse& response) {
  response.add_issues()->set_cause("\033]0;pwned\007\033[2J\u202e");
}

// --- in Sync, with ports, in clean

void WantsWhatThereIsNot(uint64_t entries, const WriteSync& write) {
  v1::SyncResponse response;
  response.mutable_differences()->add_wanted(entries);
  write(response);
}
void WantsAllAgainAndAgain(uint64_t entries, const WriteSync& write) {
  v1::SyncResponse response;
  for (uint64_t i = 0; i < 1000; ++i) response.mutable_differences()->add_wanted(i % entries);
  while (write(response)) {
  }
}
void PlacesWithoutEnd(uint64_t, const WriteSync& write) {
  v1::SyncResponse response;
  response.mutable_target_info();
  while (write(response)) {
  }
}
void IdleWithoutEnd(uint64_t, const WriteSync& write) {
  v1::SyncResponse response;
  response.mutable_differences();
  while (write(response)) {
  }
}
void HugeReceipt(uint64_t, const WriteSync& write) {
  v1::SyncResponse response;
  response.mutable_bytes_written()->set_bytes(UINT64_MAX);
  write(response);
  response.mutable_differences()->set_last(true);
  write(response);
}
// Includes folders and links.
void WrongDigests(Behaviour& behaviour) {
  behaviour.sync = [](uint64_t entries, const WriteSync& write) {
    v1::SyncResponse response;
    for (uint64_t i = 0; i < entries; ++i) {
      v1::DigestCandidate& suspect = *response.mutable_differences()->add_digest_candidates();
      suspect.set_entry(i);
      suspect.set_digest(std::string(kMiB / 16, 'd'));
    }
    response.mutable_differences()->set_last(true);
    write(response);
  };
  behaviour.when_started = NoWayToEnd;
}
void NeverFinishes(uint64_t, const WriteSync& write) {
  v1::SyncResponse response;
  response.mutable_differences()->set_last(true);
  write(response);
  Forever();
}
void FailsToSyncAtLength(uint64_t, const WriteSync& write) {
  v1::SyncResponse response;
  response.mutable_finished()->set_error(std::string(kMiB / 2, 'f'));
  write(response);
}
void ImpossiblePort(const v1::OpenPortsRequest&, v1::OpenPortsResponse& response) {
  response.set_free_port(99'999);
}
void LargePortAnswer(const v1::OpenPortsRequest&, v1::OpenPortsResponse& response) {
  response.set_wanted_error(std::string(kMiB, 'p'));
}
void MoreTriesThanAsked(const v1::TryPortsRequest&, v1::TryPortsResponse& response) {
  for (int i = 0; i < 10'000; ++i) response.add_tries()->set_error("e");
}
void NeverOpensPorts(const v1::OpenPortsRequest&, v1::OpenPortsResponse&) { Forever(); }
void NeverTriesPorts(const v1::TryPortsRequest&, v1::TryPortsResponse&) { Forever(); }
template <void (*lie)(), int code>
void InClean(Behaviour& behaviour) {
  behaviour.clean = [] {
    lie();
    return code;
  };
}
void Noisily() { PrintFor(std::string(65536, 'c') + "\n", INT_MAX); }
void ManyJobs() { PrintFor("removed\ta\n", 100'000); }
void LongNames() { Print("ended\t" + std::string(900'000, 'j') + "\n"); }
void Failing() {
  const std::string text = "\033[2J" + std::string(kMiB, 'e');
  (void)!write(STDERR_FILENO, text.data(), text.size());
}

const Lie kBeforeTheSession[] = {
    {"noise_without_end", Set<&Behaviour::in_place_of_ready, NoiseWithoutEnd>},
    {"another_nonce", Set<&Behaviour::in_place_of_ready, AnotherNonce>},
    {"gone_at_length", Set<&Behaviour::in_place_of_ready, GoneAtLength>},
    {"needs_the_program_for_ever", Set<&Behaviour::in_place_of_ready, NeedsTheProgramForEver>},
    {"dies_noisily", Set<&Behaviour::in_place_of_ready, DiesNoisily>},
    {"says_nothing", Set<&Behaviour::in_place_of_ready, SaysNothing>},
    {"no_http", Set<&Behaviour::after_greeting, NoHttp>},
    {"hangs_up", Set<&Behaviour::after_greeting, HangsUp>},
    {"garbage_without_end", Set<&Behaviour::after_greeting, GarbageWithoutEnd>},
    {"compressed", Compressed},
    {"large_answer", InPrepare<LargeAnswer>},
    {"failure", Failure},
    {"many_issues", InPrepare<ManyIssues>},
    {"long_issue", InPrepare<LongIssue>},
    {"many_warnings", InPrepare<ManyWarnings>},
    {"no_time", InPrepare<NoTime>},
    {"many_variables", InPrepare<ManyVariables>},
    {"many_files", InPrepare<ManyFiles>},
    {"not_utf8", InPrepare<NotUtf8>},
    {"many_ports", InPrepare<ManyPorts>},
    {"escape_sequences", InPrepare<EscapeSequences>},
    {"extreme_facts", ExtremeFactsAndThenNoWayToEnd},
    {"never_prepares", NeverPrepares},
};
const Lie kInSync[] = {
    {"places_without_end", Set<&Behaviour::sync, PlacesWithoutEnd>},
    {"idle_without_end", Set<&Behaviour::sync, IdleWithoutEnd>},
    {"huge_bytes_written", Set<&Behaviour::sync, HugeReceipt>},
    {"wrong_digests", WrongDigests},
    {"never_finishes", Set<&Behaviour::sync, NeverFinishes>},
    {"wants_what_there_is_not", Set<&Behaviour::sync, WantsWhatThereIsNot>},
    {"wants_all_again_and_again", Set<&Behaviour::sync, WantsAllAgainAndAgain>},
    {"fails_to_sync_at_length", Set<&Behaviour::sync, FailsToSyncAtLength>},
};
const Lie kBesides[] = {
    {"never_opens_ports", Set<&Behaviour::open_ports, NeverOpensPorts>},
    {"never_tries_ports", Set<&Behaviour::try_ports, NeverTriesPorts>},
    {"impossible_port", Set<&Behaviour::open_ports, ImpossiblePort>},
    {"large_port_answer", Set<&Behaviour::open_ports, LargePortAnswer>},
    {"more_tries_than_asked", Set<&Behaviour::try_ports, MoreTriesThanAsked>},
    {"cleans_noisily", InClean<Noisily, 0>},
    {"cleans_many_jobs", InClean<ManyJobs, 0>},
    {"cleans_long_names", InClean<LongNames, 0>},
    {"cleans_nothing", InClean<Failing, 1>},
    {"cleans_without_end", InClean<UntilHungUp, 0>},
};

}  // namespace

const std::vector<Lie>& Lies() {
  static const std::vector<Lie> lies = [] {
    std::vector<Lie> all(std::begin(kBeforeTheSession), std::end(kBeforeTheSession));
    all.insert(all.end(), SessionLies().begin(), SessionLies().end());
    all.insert(all.end(), std::begin(kInSync), std::end(kInSync));
    all.insert(all.end(), PassingOnLies().begin(), PassingOnLies().end());
    all.insert(all.end(), std::begin(kBesides), std::end(kBesides));
    return all;
  }();
  return lies;
}

}  // namespace autodist::hostile
