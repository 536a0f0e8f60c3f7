#include "launch/agent_rules.h"

#include <google/protobuf/message.h>

#include <signal.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/ip_address.h"
#include "base/utf8.h"
#include "files/within_folder.h"
#include "launch/sample_rules.h"
#include "rpc/limits.h"

namespace autodist::launch {
namespace {

constexpr size_t kCostOfMessage = 512;             // bytes, besides what it carries
constexpr int64_t kLatestTime = int64_t{1} << 62;  // nanoseconds since 1970, as sizes in bytes
constexpr uint64_t kLargestOffset = uint64_t{1} << 62;
constexpr uint64_t kMostMemory = uint64_t{1} << 60;  // bytes
constexpr uint32_t kLargestPort = 65'535;
constexpr uint32_t kSlowMachineMs = 60'000;  // what a time limit may be overrun by
constexpr int kMostCodes = 255;
constexpr size_t kLongestShown = 200;  // bytes of a name that cannot be
constexpr int kMostRefused = 2;  // sessions: what is on its way when an attempt ends may not fit
constexpr size_t kMostStreams = 10'000;  // over all attempts
constexpr uint32_t kLargestRank = 10'000'000;

std::string Number(int64_t number) { return std::to_string(number); }

// Of all strings and lists in it, whatever they say.
Status CheckTexts(const google::protobuf::Message& message, int longest_list = rpc::kLongestList) {
  using google::protobuf::FieldDescriptor;
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    const int count = field->is_repeated() ? reflection.FieldSize(message, field) : 1;
    if (count > longest_list) return BrokenRule(Number(count) + " of " + field->full_name());
    for (int i = 0; i < count; ++i) {
      if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
        AD_RETURN_IF_ERROR(CheckTexts(field->is_repeated()
                                          ? reflection.GetRepeatedMessage(message, field, i)
                                          : reflection.GetMessage(message, field),
                                      longest_list));
      } else if (field->type() == FieldDescriptor::TYPE_STRING) {
        std::string scratch;
        const std::string& text =
            field->is_repeated()
                ? reflection.GetRepeatedStringReference(message, field, i, &scratch)
                : reflection.GetStringReference(message, field, &scratch);
        if (text.size() > rpc::kLongestText) {
          return BrokenRule(Number(static_cast<int64_t>(text.size())) + " bytes of " +
                            field->full_name());
        }
      }
    }
  }
  return OkStatus();
}

Status CheckTime(int64_t time_ns) {
  return time_ns < 0 || time_ns > kLatestTime ? BrokenRule("a time of " + Number(time_ns) + " ns")
                                              : OkStatus();
}

Status CheckPort(uint32_t port) {
  return port > kLargestPort ? BrokenRule("a port " + Number(port)) : OkStatus();
}

Status CheckExit(const v1::RankExited& exit) {
  AD_RETURN_IF_ERROR(CheckTime(exit.time_ns()));
  if (exit.pid() < 0) return BrokenRule("a process " + Number(exit.pid()));
  if (exit.out_of_memory().used() > kMostMemory || exit.out_of_memory().limit() > kMostMemory) {
    return BrokenRule("more memory than there can be");
  }
  switch (exit.how_case()) {
    case v1::RankExited::kExitCode:
      if (exit.exit_code() >= 0 && exit.exit_code() <= kMostCodes) return OkStatus();
      return BrokenRule("a rank that exited with code " + Number(exit.exit_code()));
    case v1::RankExited::kSignal:
      if (exit.signal() > 0 && exit.signal() < NSIG) return OkStatus();
      return BrokenRule("a rank that was ended by signal " + Number(exit.signal()));
    case v1::RankExited::kStartFailure: {
      const int code = exit.start_failure().exit_code();
      if (code > 0 && code <= kMostCodes) return OkStatus();
      return BrokenRule("a rank that could not be started, with code " + Number(code));
    }
    case v1::RankExited::HOW_NOT_SET:
      break;
  }
  return BrokenRule("a rank that ended, but not how");
}

Status CheckSize(const std::string& what, const std::string& text, size_t most) {
  if (text.size() <= most) return OkStatus();
  return BrokenRule(what + " of " + std::to_string(text.size()) + " bytes");
}

Status CheckOutput(const v1::Output& output) {
  if (output.stream() != v1::OUTPUT_STREAM_STDOUT && output.stream() != v1::OUTPUT_STREAM_STDERR) {
    return BrokenRule("output to a stream " + Number(output.stream()));
  }
  AD_RETURN_IF_ERROR(CheckSize("a piece of output", output.data(), rpc::kLargestOutput));
  if (output.offset() > kLargestOffset || output.lost() > kLargestOffset) {
    return BrokenRule("more output than there can be");
  }
  return OkStatus();
}

// Whose rank it is, is seen where its output goes.
Status CheckProgress(const v1::ProgressTold& told) {
  if (told.rank() > kLargestRank) return BrokenRule("progress of a rank " + Number(told.rank()));
  return CheckSize("progress", told.line(), rpc::kLongestProgress);
}

}  // namespace

Status BrokenRule(const std::string& how) {
  return WithRemedy(
      Error(StatusCode::kInvalidArgument, "its agent does not keep to the protocol (" + how + ")"),
      "what answers there is not the agent of this autodist, or it is broken: look "
      "at the node before you trust it again");
}

bool IsBrokenRule(const Status& status) { return status.code() == StatusCode::kInvalidArgument; }

Status CheckEvent(const v1::AgentEvent& event) {
  if (event.has_rendezvous_request()) return OkStatus();  // who holds the state checks it
  if (event.has_rank_stacks()) {
    const v1::RankStacks& stacks = event.rank_stacks();
    AD_RETURN_IF_ERROR(CheckSize("stacks", stacks.text(), rpc::kLargestStacks));
    return CheckSize("a flight record", stacks.flight_record(), rpc::kLargestFlightRecord);
  }
  if (event.has_sample()) {
    AD_RETURN_IF_ERROR(CheckTime(event.sample().time_ns()));
    return CheckSample(event.sample());
  }
  AD_RETURN_IF_ERROR(CheckTexts(event));
  switch (event.event_case()) {
    case v1::AgentEvent::kRankStarted:
      return event.rank_started().pid() > 0
                 ? OkStatus()
                 : BrokenRule("a process " + Number(event.rank_started().pid()));
    case v1::AgentEvent::kRankExited:
      return CheckExit(event.rank_exited());
    case v1::AgentEvent::kRankAborted:
      return CheckTime(event.rank_aborted().time_ns());
    case v1::AgentEvent::kLeaseRenewed:
      return CheckTime(event.lease_renewed().time_ns());
    case v1::AgentEvent::kInputTaken:
      return event.input_taken().bytes() > kLargestOffset
                 ? BrokenRule("more input than there can be")
                 : OkStatus();
    case v1::AgentEvent::kOutput:
      return CheckOutput(event.output());
    case v1::AgentEvent::kProgressTold:
      return CheckProgress(event.progress_told());
    default:
      return OkStatus();
  }
}

Status CheckAnswer(const v1::PrepareRequest& request, const v1::PrepareResponse& response) {
  // A list of answers has the length that is looked at below.
  const v1::Examination& asked = request.examination();
  AD_RETURN_IF_ERROR(CheckTexts(
      response, std::max({rpc::kLongestList, asked.files_size(), asked.shared_files_size(),
                          asked.python_modules_size(), static_cast<int>(asked.nodes())})));
  AD_RETURN_IF_ERROR(CheckTime(response.facts().time_ns()));
  for (const int count : {response.problems_size(), response.warnings_size()}) {
    if (count > rpc::kMostProblems) return BrokenRule(Number(count) + " problems or warnings");
  }
  for (const uint32_t port : response.ports_taken()) AD_RETURN_IF_ERROR(CheckPort(port));
  const v1::NodeFacts& facts = response.facts();
  for (const auto& [told, wanted] :
       {std::pair{response.ports_taken_size(), request.node().ports_size()},
        std::pair{facts.files_size(), asked.files_size()},
        std::pair{facts.shared_files_size(), asked.shared_files_size()},
        std::pair{facts.shared_folders_size(), asked.shared_folders_size()},
        std::pair{facts.python().modules_size(), asked.python_modules_size()},
        std::pair{facts.python().has_failed_import() ? 1 : 0, asked.imports_size()}}) {
    if (told > wanted)
      return BrokenRule(Number(told) + " answers to " + Number(wanted) + " questions");
  }
  return OkStatus();
}

Status CheckAnswer(const v1::OpenPortsRequest& request, const v1::OpenPortsResponse& response) {
  AD_RETURN_IF_ERROR(CheckTexts(response));
  if (response.wanted_port() != 0 && response.wanted_port() != request.wanted_port()) {
    return BrokenRule("port " + Number(response.wanted_port()) + " in place of " +
                      Number(request.wanted_port()));
  }
  return CheckPort(response.free_port());
}

Status CheckAnswer(const v1::TryPortsRequest& request, const v1::TryPortsResponse& response) {
  if (response.tries_size() != request.targets_size()) {
    return BrokenRule(Number(response.tries_size()) + " answers to " +
                      Number(request.targets_size()) + " questions");
  }
  for (const v1::PortTry& one : response.tries()) {
    AD_RETURN_IF_ERROR(CheckTexts(one));
    if (one.latency_us() / 1000 > request.limit_ms() + kSlowMachineMs) {
      return BrokenRule("a port reached after " + Number(one.latency_us()) + " us");
    }
  }
  return OkStatus();
}

// Each message tells something new, or is one of not too many.
Status SyncRules::CheckProgress(const v1::SyncResponse& response) {
  if (response.has_place() && begun_) return BrokenRule("a place in the midst of it");
  begun_ = true;
  const uint64_t received = response.has_receipt() ? response.receipt().bytes() : received_;
  if (received < received_ || received > bytes_) {
    return BrokenRule("a receipt for " + std::to_string(received) + " of " +
                      std::to_string(bytes_) + " bytes");
  }
  const bool news = received > received_ || response.differences().wanted_size() > 0 ||
                    response.differences().suspects_size() > 0 ||
                    response.missed().entries_size() > 0;
  received_ = received;
  return !news && ++idle_words_ > kMostIdleWords
             ? BrokenRule("word after word that tells nothing new")
             : OkStatus();
}

Status SyncRules::CheckPassing(const v1::SyncResponse& response) {
  if (response.has_passing_on()) {
    const v1::SyncPassingOn& passing_on = response.passing_on();
    if (std::exchange(passing_on_, true)) return BrokenRule("a port opened twice");
    AD_RETURN_IF_ERROR(CheckPort(passing_on.port()));
    if (passing_on.address().size() > kLongestShown ||
        (passing_on.port() != 0 && !base::IpAddress::Parse(passing_on.address()))) {
      return BrokenRule("an address '" +
                        base::Printable(passing_on.address().substr(0, kLongestShown)) + "'");
    }
  }
  missed_ += static_cast<size_t>(response.missed().entries_size());
  return missed_ > entries_ ? BrokenRule("more files missed than there are") : OkStatus();
}

Status SyncRules::Check(const v1::SyncResponse& response) {
  AD_RETURN_IF_ERROR(CheckProgress(response));
  AD_RETURN_IF_ERROR(CheckPassing(response));
  differences_ += static_cast<size_t>(response.differences().wanted_size()) +
                  static_cast<size_t>(response.differences().suspects_size());
  if (differences_ > entries_) return BrokenRule("more files that differ than there are");
  const auto is_entry = [this](uint64_t index) { return index < entries_; };
  if (!std::ranges::all_of(response.differences().wanted(), is_entry) ||
      !std::ranges::all_of(response.missed().entries(), is_entry) ||
      !std::ranges::all_of(response.differences().suspects(), is_entry, &v1::Suspect::entry)) {
    return BrokenRule("a file that there is not");
  }
  if (response.finished().error().size() > rpc::kLongestText ||
      response.finished().remedy().size() > rpc::kLongestText) {
    return BrokenRule("a reason of " + std::to_string(response.finished().error().size()) +
                      " bytes");
  }
  return OkStatus();
}

Status FetchRules::CheckFile(const v1::FetchedFile& file) {
  if (!files::CheckPathWithin(file.path()).ok()) {
    return BrokenRule("a file named '" + base::Printable(file.path().substr(0, kLongestShown)) +
                      "'");
  }
  if (file.size() > kLargestOffset) return BrokenRule("a file larger than there can be");
  AD_RETURN_IF_ERROR(CheckTime(file.modified_ns()));
  if (files_ == 0) return BrokenRule("more files than it has found");
  --files_;
  in_file_ = true;
  left_ = file.size();
  return OkStatus();
}

Status FetchRules::CheckContent(const v1::FetchedContent& content) {
  const size_t size = content.data().size();
  if (!in_file_) return BrokenRule("content of no file");
  if (size > rpc::kLargestFetchPiece || size > left_) {
    return BrokenRule("a piece of " + std::to_string(size) + " bytes");
  }
  left_ -= size;
  if (content.last()) {
    in_file_ = false;
  } else if (size == 0) {
    return BrokenRule("a piece without content");
  }
  return OkStatus();
}

Status FetchRules::Check(const v1::FetchFilesResponse& response) {
  if (finished_) return BrokenRule("a word after the last");
  switch (response.message_case()) {
    case v1::FetchFilesResponse::kFound:
      if (std::exchange(found_, true)) return BrokenRule("two searches in one");
      files_ = response.found().same_folder() ? 0 : response.found().files();
      if (files_ > rpc::kMostFetchedFiles || response.found().bytes() > kLargestOffset) {
        return BrokenRule("more files than there can be");
      }
      return OkStatus();
    case v1::FetchFilesResponse::kFile:
      if (!found_ || in_file_) return BrokenRule("a file in the midst of another");
      return CheckFile(response.file());
    case v1::FetchFilesResponse::kContent:
      return CheckContent(response.content());
    case v1::FetchFilesResponse::kFinished: {
      const v1::FetchFinished& finished = response.finished();
      finished_ = true;
      if (finished.left_out_size() > rpc::kMostLeftOut) return BrokenRule("too long a list");
      const auto is_long = [](const std::string& text) { return text.size() > rpc::kLongestText; };
      if (is_long(finished.error()) || is_long(finished.remedy()) ||
          std::ranges::any_of(finished.left_out(), is_long)) {
        return BrokenRule("too long a text");
      }
      const bool ends_well = finished.error().empty();
      return ends_well && (!found_ || in_file_) ? BrokenRule("an end in the midst of it")
                                                : OkStatus();
    }
    case v1::FetchFilesResponse::MESSAGE_NOT_SET:
      break;
  }
  return ++idle_words_ > kMostIdleWords ? BrokenRule("word after word that tells nothing new")
                                        : OkStatus();
}

size_t EventRules::CostOf(const v1::AgentEvent& event) {
  return event.ByteSizeLong() + kCostOfMessage;
}

// Each session begins with what it has to begin with, once.
Status EventRules::CheckOrder(const v1::AgentEvent& event) {
  if (event.has_resumed() == resumed_) {
    return BrokenRule(resumed_ ? "a session that begins twice" : "a session that has not begun");
  }
  resumed_ = true;
  return OkStatus();
}

// On average; what a link has held back comes at once.
Status EventRules::CheckPace(Clock::time_point now) {
  samples_paid_ = std::max(samples_paid_, now - kSampleCredit) + kSampleInterval;
  return samples_paid_ > now ? BrokenRule("sample after sample without a pause") : OkStatus();
}

Status EventRules::Check(const v1::AgentEvent& event, Clock::time_point now) {
  AD_RETURN_IF_ERROR(CheckEvent(event));
  AD_RETURN_IF_ERROR(CheckOrder(event));
  if (event.has_sample()) AD_RETURN_IF_ERROR(CheckPace(now));
  const size_t cost = CostOf(event);
  if (!event.has_output()) {
    events_ += cost;
    return events_ > kMostEvents ? BrokenRule("more events than can be dealt with") : OkStatus();
  }
  streams_.emplace(event.output().rank(), event.output().stream());
  if (streams_.size() > kMostStreams) return BrokenRule("output of more ranks than a node has");
  pieces_.push_back(cost);
  output_ += cost;
  return output_ > kMostOutput ? BrokenRule("more output than it was asked for") : OkStatus();
}

Status EventRules::OutputRefused() {
  output_ -= pieces_.back();
  pieces_.pop_back();
  if (!std::exchange(refused_, true)) ++sessions_refused_;
  return sessions_refused_ > kMostRefused
             ? BrokenRule("output that does not follow what came before")
             : OkStatus();
}

void EventRules::OutputWritten() {
  if (pieces_.empty()) return;
  sessions_refused_ = 0;
  output_ -= pieces_.front();
  pieces_.pop_front();
}

}  // namespace autodist::launch
