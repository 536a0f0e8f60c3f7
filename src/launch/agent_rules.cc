#include "launch/agent_rules.h"

#include <signal.h>

#include <algorithm>

#include "launch/field_rules.h"
#include "launch/sample_rules.h"
#include "rpc/limits.h"
#include "rpc/message_rules.h"
#include "rpc/printable_text.h"

namespace autodist::launch {
namespace {

constexpr size_t kCostOfMessage = 512;              // bytes, in addition to the content
constexpr uint64_t kMaxMemory = uint64_t{1} << 60;  // bytes
constexpr uint32_t kSlowMachineMs = 60'000;         // a time limit may be exceeded by this
constexpr int kMaxCodes = 255;
constexpr int kMaxRefused = 2;  // sessions: data in transit when an attempt ends may not fit
constexpr size_t kMaxStreams = 10'000;  // in all attempts
constexpr uint32_t kLargestRank = 10'000'000;

std::string Number(int64_t number) { return std::to_string(number); }

Status CheckSize(const std::string& what, const std::string& text, size_t most) {
  if (text.size() <= most) return OkStatus();
  return rpc::BrokenRule(what + " of " + std::to_string(text.size()) + " bytes");
}

Status CheckExit(const v1::RankExited& exit) {
  AD_RETURN_IF_ERROR(rpc::CheckTime(exit.time_ns()));
  if (exit.pid() < 0) return rpc::BrokenRule("a process " + Number(exit.pid()));
  const v1::FailureFacts& facts = exit.failure_facts();
  for (const uint64_t memory :
       {exit.out_of_memory().used(), exit.out_of_memory().limit(), facts.shared_memory_size()}) {
    if (memory > kMaxMemory) return rpc::BrokenRule("more memory than there can be");
  }
  for (const auto* ports : {&facts.listening_ports(), &facts.closing_ports()}) {
    for (const uint32_t port : *ports) AD_RETURN_IF_ERROR(rpc::CheckPort(port));
  }
  for (const v1::ListeningRank& listening : facts.listening_ranks()) {
    AD_RETURN_IF_ERROR(rpc::CheckPort(listening.port()));
    if (listening.pid() <= 0) return rpc::BrokenRule("a process " + Number(listening.pid()));
  }
  if (facts.full_file_systems_size() > rpc::kMaxFullFileSystems) {
    return rpc::BrokenRule(Number(facts.full_file_systems_size()) + " full file systems");
  }
  for (const v1::FullFileSystem& full : facts.full_file_systems()) {
    AD_RETURN_IF_ERROR(CheckSize("the path of a file system", full.folder(), rpc::kMaxTextLength));
  }
  if (exit.signalled() < 0 || exit.signalled() >= NSIG) {
    return rpc::BrokenRule("a rank that was sent signal " + Number(exit.signalled()));
  }
  switch (exit.how_case()) {
    case v1::RankExited::kExitCode:
      if (exit.exit_code() >= 0 && exit.exit_code() <= kMaxCodes) return OkStatus();
      return rpc::BrokenRule("a rank that exited with code " + Number(exit.exit_code()));
    case v1::RankExited::kSignal:
      if (exit.signal() > 0 && exit.signal() < NSIG) return OkStatus();
      return rpc::BrokenRule("a rank that was ended by signal " + Number(exit.signal()));
    case v1::RankExited::kStartFailure: {
      const int code = exit.start_failure().exit_code();
      if (code > 0 && code <= kMaxCodes) return OkStatus();
      return rpc::BrokenRule("a rank that could not be started, with code " + Number(code));
    }
    case v1::RankExited::HOW_NOT_SET:
      break;
  }
  return rpc::BrokenRule("a rank that ended, but not how");
}

Status CheckOutput(const v1::Output& output) {
  if (output.stream() != v1::OUTPUT_STREAM_STDOUT && output.stream() != v1::OUTPUT_STREAM_STDERR) {
    return rpc::BrokenRule("output to a stream " + Number(output.stream()));
  }
  AD_RETURN_IF_ERROR(CheckSize("a piece of output", output.data(), rpc::kLargestOutput));
  if (output.offset() > rpc::kLargestSize || output.lost() > rpc::kLargestSize) {
    return rpc::BrokenRule("more output than there can be");
  }
  return OkStatus();
}

Status CheckLeft(const v1::ProcessesLeft& left) {
  if (left.processes_size() > rpc::kMaxLeftProcesses) {
    return rpc::BrokenRule(Number(left.processes_size()) + " processes that ranks left");
  }
  for (const v1::LeftProcess& process : left.processes()) {
    AD_RETURN_IF_ERROR(CheckSize("a program's name", process.name(), rpc::kMaxProgramName));
  }
  return OkStatus();
}

// Whether the rank belongs to the node is checked where its output is used.
Status CheckProgress(const v1::ProgressLine& reported) {
  if (reported.rank() > kLargestRank)
    return rpc::BrokenRule("progress of a rank " + Number(reported.rank()));
  return CheckSize("progress", reported.line(), rpc::kMaxProgressLength);
}

}  // namespace

Status CheckEvent(const v1::AgentEvent& event) {
  if (event.has_rendezvous_request()) return OkStatus();  // checked by the owner of the state
  if (event.has_rank_stacks()) {
    const v1::RankStacks& stacks = event.rank_stacks();
    AD_RETURN_IF_ERROR(CheckSize("stacks", stacks.text(), rpc::kLargestStacks));
    return CheckSize("a flight record", stacks.flight_record(), rpc::kLargestFlightRecord);
  }
  if (event.has_sample()) {
    AD_RETURN_IF_ERROR(rpc::CheckTime(event.sample().time_ns()));
    return CheckSample(event.sample());
  }
  AD_RETURN_IF_ERROR(CheckFields(event, {}));
  switch (event.event_case()) {
    case v1::AgentEvent::kRankStarted:
      return event.rank_started().pid() > 0
                 ? OkStatus()
                 : rpc::BrokenRule("a process " + Number(event.rank_started().pid()));
    case v1::AgentEvent::kRankExited:
      return CheckExit(event.rank_exited());
    case v1::AgentEvent::kRankAborted:
      return rpc::CheckTime(event.rank_aborted().time_ns());
    case v1::AgentEvent::kLeaseRenewed:
      return rpc::CheckTime(event.lease_renewed().time_ns());
    case v1::AgentEvent::kInputTaken:
      return event.input_taken().bytes() > rpc::kLargestSize
                 ? rpc::BrokenRule("more input than there can be")
                 : OkStatus();
    case v1::AgentEvent::kOutput:
      return CheckOutput(event.output());
    case v1::AgentEvent::kProgressLine:
      return CheckProgress(event.progress_line());
    case v1::AgentEvent::kProcessesLeft:
      return CheckLeft(event.processes_left());
    default:
      return OkStatus();
  }
}

Status CheckAnswer(const v1::PrepareRequest& request, const v1::PrepareResponse& response) {
  // Lists of answers have their lengths checked below.
  const v1::ProbeRequest& asked = request.probe();
  AD_RETURN_IF_ERROR(CheckFields(
      response, {.list = std::max({rpc::kMaxListLength, asked.files_size(),
                                   asked.shared_files_size(), asked.python_modules_size(),
                                   asked.paths_size(), static_cast<int>(asked.nodes())})}));
  AD_RETURN_IF_ERROR(rpc::CheckTime(response.facts().time_ns()));
  for (const int count : {response.issues_size(), response.warnings_size()}) {
    if (count > rpc::kMaxIssues) return rpc::BrokenRule(Number(count) + " issues or warnings");
  }
  AD_RETURN_IF_ERROR(rpc::CheckTime(response.checkpoint().written_ns()));
  for (const uint32_t port : response.ports_taken()) AD_RETURN_IF_ERROR(rpc::CheckPort(port));
  const v1::NodeInfo& facts = response.facts();
  for (const auto& [reported, wanted] :
       {std::pair{response.ports_taken_size(), request.node().ports_size()},
        std::pair{facts.files_size(), asked.files_size()},
        std::pair{facts.shared_files_size(), asked.shared_files_size()},
        std::pair{facts.shared_folders_size(), asked.shared_folders_size()},
        std::pair{facts.missing_paths_size(), asked.paths_size()},
        std::pair{facts.python().modules_size(), asked.python_modules_size()},
        std::pair{facts.python().has_failed_import() ? 1 : 0, asked.imports_size()}}) {
    if (reported > wanted)
      return rpc::BrokenRule(Number(reported) + " answers to " + Number(wanted) + " questions");
  }
  return OkStatus();
}

Status CheckAnswer(const v1::OpenPortsRequest& request, const v1::OpenPortsResponse& response) {
  AD_RETURN_IF_ERROR(CheckFields(response, {}));
  if (response.wanted_port() != 0 && response.wanted_port() != request.wanted_port()) {
    return rpc::BrokenRule("port " + Number(response.wanted_port()) + " in place of " +
                           Number(request.wanted_port()));
  }
  return rpc::CheckPort(response.free_port());
}

Status CheckAnswer(const v1::TryPortsRequest& request, const v1::TryPortsResponse& response) {
  if (response.tries_size() != request.targets_size()) {
    return rpc::BrokenRule(Number(response.tries_size()) + " answers to " +
                           Number(request.targets_size()) + " questions");
  }
  for (const v1::PortTry& one : response.tries()) {
    AD_RETURN_IF_ERROR(CheckFields(one, {}));
    if (one.latency_us() / 1000 > request.limit_ms() + kSlowMachineMs) {
      return rpc::BrokenRule("a port reached after " + Number(one.latency_us()) + " us");
    }
  }
  return OkStatus();
}

size_t EventRules::CostOf(const v1::AgentEvent& event) {
  return event.ByteSizeLong() + kCostOfMessage;
}

// Checks that each session begins with the required event, once.
Status EventRules::CheckOrder(const v1::AgentEvent& event) {
  if (event.has_resumed() == resumed_) {
    return rpc::BrokenRule(resumed_ ? "a session that begins twice"
                                    : "a session that has not begun");
  }
  resumed_ = true;
  return OkStatus();
}

// Checks the average rate; the link may have delayed samples, which then arrive together.
Status EventRules::CheckPace(Clock::time_point now) {
  samples_paid_ = std::max(samples_paid_, now - kSampleCredit) + kSampleInterval;
  return samples_paid_ > now ? rpc::BrokenRule("sample after sample without a pause") : OkStatus();
}

Status EventRules::Check(v1::AgentEvent& event, Clock::time_point now) {
  AD_RETURN_IF_ERROR(CheckEvent(event));
  rpc::EscapeText(event);
  AD_RETURN_IF_ERROR(CheckOrder(event));
  if (event.has_sample()) AD_RETURN_IF_ERROR(CheckPace(now));
  const size_t cost = CostOf(event);
  if (!event.has_output()) {
    events_ += cost;
    return events_ > kMaxEvents ? rpc::BrokenRule("more events than can be dealt with")
                                : OkStatus();
  }
  streams_.emplace(event.output().rank(), event.output().stream());
  if (streams_.size() > kMaxStreams) return rpc::BrokenRule("output of more ranks than a node has");
  pieces_.push_back(cost);
  output_ += cost;
  return output_ > kMaxOutput ? rpc::BrokenRule("more output than it was asked for") : OkStatus();
}

Status EventRules::OutputRefused() {
  output_ -= pieces_.back();
  pieces_.pop_back();
  if (!std::exchange(refused_, true)) ++sessions_refused_;
  return sessions_refused_ > kMaxRefused
             ? rpc::BrokenRule("output that does not follow what came before")
             : OkStatus();
}

void EventRules::OutputWritten() {
  if (pieces_.empty()) return;
  sessions_refused_ = 0;
  output_ -= pieces_.front();
  pieces_.pop_front();
}

}  // namespace autodist::launch
