#include "agent/link/service.h"

#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <optional>

#include "agent/fetch/send_files.h"
#include "agent/sample/clamp_sample.h"
#include "agent/stacks/rank_stacks.h"
#include "agent/sync/sync.h"
#include "base/exceptions.h"
#include "base/home_folder.h"
#include "base/quantity.h"
#include "base/utf8.h"
#include "rpc/limits.h"

namespace autodist::agent {

namespace {

constexpr std::chrono::milliseconds kMaxPortTries{10'000};
constexpr std::chrono::milliseconds kAnswerTime{2'000};
constexpr std::chrono::milliseconds kMinPrepareTime{1'000};
constexpr std::chrono::milliseconds kMaxPrepareTime = std::chrono::hours(24 * 365);
constexpr size_t kLargeReply = 64 << 10;  // bytes
constexpr char kWithoutPmix[] =
    "mpirun can start the ranks without it: `autodist run --per job -- mpirun ...`";

Sampler::Plan SamplePlanOf(const v1::PrepareRequest& request, const PreparedNode& prepared) {
  Sampler::Plan plan;
  plan.interval = std::chrono::milliseconds(request.sample_ms());
  for (const v1::Device& device : request.node().devices()) {
    const bool gpu = device.kind() == v1::DEVICE_KIND_GPU;
    if (gpu && device.uuid().empty()) plan.gpus.insert(device.index());
  }
  plan.environment = prepared.environment.value_or(process::Environment());
  plan.working_directory = base::ExpandHome(request.working_directory());
  return plan;
}

// Replaces RESOURCE_EXHAUSTED, which gRPC uses for oversized messages.
Status NotStarted(const Status& failure) {
  return Error(StatusCode::kFailedPrecondition, Message(failure));
}

// Returns the remaining time of the chief's deadline, minus the time to answer.
std::chrono::milliseconds TimeFor(const grpc::CallbackServerContext& context) {
  const auto left = context.deadline() - std::chrono::system_clock::now() - kAnswerTime;
  return std::clamp(std::chrono::duration_cast<std::chrono::milliseconds>(left), kMinPrepareTime,
                    kMaxPrepareTime);
}

// Also while the machine was suspended, as the times of files.
std::chrono::nanoseconds SinceBoot() {
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

// Deletes itself after the call.
class CancellableCall final : public grpc::ServerUnaryReactor {
 public:
  explicit CancellableCall(std::function<void()> cancelled) : cancelled_(std::move(cancelled)) {}
  void OnCancel() override { cancelled_(); }
  void OnDone() override { delete this; }

 private:
  const std::function<void()> cancelled_;
};

grpc::Status AsGrpc(const Status& failure) {
  return {static_cast<grpc::StatusCode>(failure.code()), Message(failure)};
}

}  // namespace

// A call of Prepare, which has to be answered once.
class AgentService::PrepareCall final : public grpc::ServerUnaryReactor {
 public:
  PrepareCall(AgentService& service, std::chrono::milliseconds time, v1::PrepareRequest its_request,
              v1::PrepareResponse& its_response)
      : limit(time), request(std::move(its_request)), response(its_response), service_(service) {}

  const std::chrono::milliseconds limit;  // for the user's setup on the node
  v1::PrepareRequest request;
  v1::PrepareResponse& response;

 private:
  void OnCancel() override { service_.Cancel(this); }
  void OnDone() override { delete this; }

  AgentService& service_;
};

AgentService::AgentService(ServiceParts parts)
    : parts_(std::move(parts)),
      claim_(parts_.place.devices, parts_.place.other_agents, parts_.place.job_id) {
  parts_.end.OnEnded([this] {
    const std::lock_guard lock(mutex_);
    return gate_.Ended();
  });
}

AgentService::~AgentService() {
  parts_.end.OnEnded([] { return std::nullopt; });
  const std::lock_guard lock(mutex_);
  AnswerWaiting();
  gate_.CancelPreparation();
  stop_preparing_.request_stop();
}

grpc::ServerUnaryReactor* AgentService::Prepare(grpc::CallbackServerContext* context,
                                                const v1::PrepareRequest* request,
                                                v1::PrepareResponse* response) {
  auto* const call = new PrepareCall(*this, TimeFor(*context), *request, *response);
  const std::lock_guard lock(mutex_);
  const auto what = gate_.Prepare(request->generation());
  if (!what.ok()) {
    call->Finish(AsGrpc(what.status()));
    return call;
  }
  AnswerWaiting();
  parts_.chief.silence_expected(true);
  if (*what != AttemptGate::Do::kPrepare) {
    waiting_call_ = call;
    if (*what == AttemptGate::Do::kCancel) stop_preparing_.request_stop();
    return call;
  }
  working_call_ = call;
  stop_preparing_ = {};
  auto thread = base::StartThread([this] { RunPreparations(); });
  if (thread.ok()) {
    preparing_ = *std::move(thread);
  } else {
    working_call_ = nullptr;
    gate_.CancelPreparation();
    (void)gate_.WorkEnded();
    parts_.chief.silence_expected(false);
    call->Finish(AsGrpc(NotStarted(thread.status())));
  }
  return call;
}

// After a cancellation the lease runs again.
void AgentService::Cancel(const PrepareCall* call) {
  const std::lock_guard lock(mutex_);
  if (call == waiting_call_) {
    AnswerWaiting();
  } else if (call != working_call_ || waiting_call_ != nullptr) {
    return;
  }
  gate_.CancelPreparation();
  stop_preparing_.request_stop();
  parts_.chief.silence_expected(false);
}

void AgentService::AnswerWaiting() {
  if (PrepareCall* const call = std::exchange(waiting_call_, nullptr)) {
    call->Finish({grpc::StatusCode::CANCELLED, "another order has followed"});
  }
}

void AgentService::RunPreparations() {
  AttemptGate::Do next = AttemptGate::Do::kPrepare;
  while (next == AttemptGate::Do::kPrepare) {
    std::unique_lock lock(mutex_);
    PrepareCall* const call = working_call_;
    const std::stop_token stop = stop_preparing_.get_token();
    lock.unlock();
    PreparedNode prepared = Answer(*call, stop);
    lock.lock();
    const bool adopted = gate_.BeginAdopting();
    if (adopted) {
      lock.unlock();
      Adopt(call->request, prepared);
      lock.lock();
      std::swap(prepared_, prepared);
    }
    next = gate_.WorkEnded();
    working_call_ = std::exchange(waiting_call_, nullptr);
    if (working_call_ == nullptr) parts_.chief.silence_expected(false);
    if (next == AttemptGate::Do::kPrepare) stop_preparing_ = {};
    call->Finish(adopted ? grpc::Status::OK
                         : grpc::Status(grpc::StatusCode::CANCELLED, "another order has followed"));
    End(next);
    lock.unlock();  // what was prepared before may wait for a file server now
  }
}

PreparedNode AgentService::Answer(PrepareCall& call, const std::stop_token& stop) {
  v1::PrepareRequest& request = call.request;
  v1::PrepareResponse& response = call.response;
  Status joined;
  if (request.has_pmix()) joined = parts_.pmix.Join(request.pmix(), *request.mutable_node());
  PreparedNode prepared =
      PrepareNode(request, process::Environment::FromStrings(environ), parts_.place, prepare_state_,
                  parts_.supervisor, call.limit, stop);
  for (const uint32_t port : PortsTaken(request.node().ports())) response.add_ports_taken(port);
  if (!joined.ok()) {
    *response.add_issues() = MakeIssue(v1::PREPARE_ISSUE_KIND_PMIX, joined, kWithoutPmix);
  }
  for (v1::PrepareIssue& issue : prepared.issues) {
    if (response.issues_size() < rpc::kMaxIssues) {
      *response.add_issues() = std::move(issue);
    }
  }
  for (std::string& warning : prepared.warnings) {
    if (response.warnings_size() < rpc::kMaxIssues) response.add_warnings(std::move(warning));
  }
  response.set_data_address(prepared.data_address);
  if (prepared.checkpoint) *response.mutable_checkpoint() = *std::move(prepared.checkpoint);
  if (prepared.facts) *response.mutable_facts() = *std::move(prepared.facts);
  const bool only_reads = request.probe().thorough();  // `doctor`
  if (request.probe().device_users()) {
    for (v1::OtherJob& job : only_reads ? claim_.OfOthers() : claim_.Reserve(request.node())) {
      *response.mutable_facts()->add_other_jobs() = std::move(job);
    }
  } else if (!only_reads) {
    claim_.Want(request.node());
  }
  // Truncates excessive lists and texts, which users could not read either.
  LimitMessage(response, {.longest_text = rpc::kMaxTextLength,
                          .numbers = false,
                          .whole_lists = {"files", "modules", "seen"}});
  return prepared;
}

void AgentService::Adopt(const v1::PrepareRequest& request, PreparedNode& prepared) {
  parts_.output.Begin(request.spool_limit());
  parts_.input.Begin();
  parts_.events.LetSamplesWait(request.samples_wait());
  parts_.sampler.Begin(SamplePlanOf(request, prepared));
  parts_.progress.Begin();
  for (const auto& [rank, path] : prepared.progress) {
    // Best effort: the output has it too.
    (void)parts_.progress.Add(rank, path).ok();
  }
  const int stop_signal = static_cast<int>(request.stop_signal());
  prepared.stop_signal = stop_signal > 0 && stop_signal < NSIG ? stop_signal : SIGTERM;
  replaceable_ = request.replaceable();
}

grpc::ServerUnaryReactor* AgentService::OpenPorts(grpc::CallbackServerContext* context,
                                                  const v1::OpenPortsRequest* request,
                                                  v1::OpenPortsResponse* response) {
  parts_.chief.on_contact();
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  const std::lock_guard lock(mutex_);
  if (port_listener_) {
    reactor->Finish({grpc::StatusCode::ALREADY_EXISTS, "ports were opened before"});
    return reactor;
  }
  auto listener = PortListener::Open(*request, *response);
  if (!listener.ok()) {
    reactor->Finish({grpc::StatusCode::FAILED_PRECONDITION, Message(listener.status())});
    return reactor;
  }
  port_listener_ = *std::move(listener);
  reactor->Finish(grpc::Status::OK);
  return reactor;
}

grpc::ServerUnaryReactor* AgentService::TryPorts(grpc::CallbackServerContext*,
                                                 const v1::TryPortsRequest* request,
                                                 v1::TryPortsResponse* response) {
  parts_.chief.on_contact();
  // Stops the tests when the chief or the agent cancels the call.
  const auto stop = std::make_shared<std::stop_source>();
  auto* const reactor = new CancellableCall([stop] { stop->request_stop(); });
  const std::lock_guard lock(mutex_);
  if (trying_ports_.busy()) {
    reactor->Finish({grpc::StatusCode::ALREADY_EXISTS, "ports are being tried already"});
    return reactor;
  }
  const auto limit = std::min(std::chrono::milliseconds(request->limit_ms()), kMaxPortTries);
  const Status started = trying_ports_.Start(
      [request, response, stop, limit] {
        for (v1::PortTry& result : ConnectToAll(request->targets(), limit, stop->get_token())) {
          *response->add_tries() = std::move(result);
        }
      },
      [this, reactor] {
        parts_.chief.on_contact();  // it had nothing to send meanwhile
        reactor->Finish(grpc::Status::OK);
      });
  if (!started.ok()) reactor->Finish(AsGrpc(NotStarted(started)));
  return reactor;
}

class AgentService::SessionReactor final : public SessionWriter {
 public:
  explicit SessionReactor(AgentService& service) : entry_(service.open_calls_), service_(service) {
    {
      const std::lock_guard lock(service_.session_mutex_);
      service_.parts_.events.Attach(this);
      service_.parts_.chief.session_changed(true);
    }
    StartRead(&message_);
  }

 private:
  void OnReadDone(bool ok) override {
    if (!ok) return;
    // gRPC would swallow an exception; the watchdog ends the ranks of an agent that dies.
    base::HandlingExceptions([this] { service_.Handle(this, message_); });
    StartRead(&message_);
  }
  void OnWriteDone(bool ok) override {
    base::HandlingExceptions([&] { service_.parts_.events.WriteDone(this, ok); });
  }
  void OnCancel() override {
    Leave();
    End(grpc::Status::CANCELLED);
  }
  void OnDone() override {
    Leave();
    delete this;
  }
  void Leave() {
    const std::lock_guard lock(service_.session_mutex_);
    if (service_.parts_.events.Detach(this)) service_.parts_.chief.session_changed(false);
  }

  const OpenCalls::Entry entry_;
  AgentService& service_;
  v1::ChiefMessage message_;
};

grpc::ServerBidiReactor<v1::ChiefMessage, v1::AgentEvent>* AgentService::Session(
    grpc::CallbackServerContext*) {
  parts_.chief.on_contact();
  return new SessionReactor(*this);
}

grpc::ServerBidiReactor<v1::SyncRequest, v1::SyncResponse>* AgentService::Sync(
    grpc::CallbackServerContext* context) {
  auto* call = new SyncCall(*context, kChiefSilence);
  const std::lock_guard lock(mutex_);
  if (std::exchange(sync_called_, true)) {
    call->End(Error(StatusCode::kAlreadyExists, "this node was synchronised before"));
    return call;
  }
  parts_.chief.silence_expected(true);
  const Status started = syncing_.Start([this, call] {
    const Status status = ReceiveFolder(*call);
    parts_.chief.silence_expected(false);
    call->End(status);
  });
  if (!started.ok()) {
    parts_.chief.silence_expected(false);
    call->End(NotStarted(started));
  }
  return call;
}

// A cancelled fetch may still be ending: the next one waits for it.
grpc::ServerWriteReactor<v1::FetchFilesResponse>* AgentService::FetchFiles(
    grpc::CallbackServerContext* context, const v1::FetchFilesRequest* request) {
  auto* call = new FetchCall(*context);
  parts_.chief.silence_expected(true);  // of a chief that only fetches, without a session
  fetching_.Post([this, call, request = *request] {
    SendFiles(*call, request, SinceStart());
    parts_.chief.silence_expected(false);
    call->End();
  });
  return call;
}

std::optional<std::chrono::nanoseconds> AgentService::SinceStart() {
  const std::lock_guard lock(mutex_);
  if (!started_) return std::nullopt;
  return SinceBoot() - *started_;
}

// The lease begins with that answer.
void AgentService::ChiefReceived(uint64_t answer) {
  if (const auto sent = parts_.events.AnsweredAt(answer)) parts_.chief.received(*sent);
}

void AgentService::Start(const v1::StartRanks& order) {
  ChiefReceived(order.received());
  const std::lock_guard lock(mutex_);
  if (!gate_.Start(order.generation())) return;
  if (!started_) started_ = SinceBoot();
  claim_.Have();
  parts_.supervisor.Start(std::exchange(prepared_.ranks, {}), prepared_.stop_signal);
  RemoveMarks();
}

void AgentService::Stop(const v1::StopRanks& order) {
  const std::lock_guard lock(mutex_);
  if (!gate_.Stop(order.generation())) return;
  parts_.supervisor.Stop(std::chrono::milliseconds(order.grace_ms()));
}

void AgentService::EndRanks(const v1::EndRanks& order) {
  const std::lock_guard lock(mutex_);
  const AttemptGate::Do what = gate_.End(order.generation());
  if (!gate_.last()) grace_ = std::chrono::milliseconds(order.grace_ms());
  End(what);
}

void AgentService::End(AttemptGate::Do what) {
  if (what != AttemptGate::Do::kEnd) return;
  AnswerWaiting();
  stop_preparing_.request_stop();
  parts_.chief.silence_expected(false);
  // No second look follows. Otherwise the kernel would report all sockets that are closed.
  if (!collecting_stacks_.busy()) connections_ = ConnectionWatch();
  parts_.end.Begin(gate_.last());
  parts_.supervisor.End(grace_);
}

void AgentService::Shutdown(std::chrono::milliseconds grace) {
  const std::lock_guard lock(mutex_);
  grace_ = grace;
  End(gate_.Shutdown());
}

// All nodes have checked the marks. Removal may block on a file server.
void AgentService::RemoveMarks() {
  if (prepared_.marks.empty() || removing_marks_.busy()) return;
  const auto marks = std::make_shared<std::vector<FolderMark>>(std::move(prepared_.marks));
  if (!removing_marks_.Start([marks] { marks->clear(); }).ok()) prepared_.marks = std::move(*marks);
}

void AgentService::CollectStacks(const v1::CollectStacks& wanted) {
  const std::lock_guard lock(mutex_);
  if (collecting_stacks_.busy()) return;  // the running collection is sufficient
  const auto send = [this](std::optional<uint32_t> rank, const RankReport& report) {
    v1::AgentEvent event;
    if (rank) event.mutable_rank_stacks()->set_rank(*rank);
    std::string text = report.text;
    if (report.flight_record.size() <= rpc::kLargestFlightRecord) {
      event.mutable_rank_stacks()->set_flight_record(report.flight_record);
    } else {
      text =
          "its flight record is too long to be kept: " + base::Bytes(report.flight_record.size()) +
          "\n" + text;
    }
    event.mutable_rank_stacks()->set_text(base::ToUtf8(text, rpc::kLargestStacks));
    parts_.events.SendReliably(std::move(event));
  };
  const auto of_node = std::make_shared<std::string>();
  // After the last message the chief may send the next request.
  const Status started = collecting_stacks_.Start(
      [this, send, of_node, wanted,
       environment = prepared_.environment.value_or(process::Environment())] {
        *of_node =
            RankStacks(parts_.supervisor, environment, parts_.place, wanted, connections_, send);
      },
      [send, of_node] { send(std::nullopt, {.text = *of_node, .flight_record = ""}); });
  if (!started.ok()) send(std::nullopt, {.text = Message(started), .flight_record = ""});
}

void AgentService::Signal(const v1::SignalRanks& order) {
  parts_.supervisor.Signal(order.signal());
  // The chief will be stopped itself, or continues.
  if (order.signal() == SIGTSTP) {
    parts_.chief.suspended(std::chrono::milliseconds(order.hold_ms()));
  }
  if (order.signal() == SIGCONT) parts_.chief.suspended({});
}

void AgentService::Handle(SessionWriter* session, const v1::ChiefMessage& message) {
  parts_.chief.on_contact();
  if (message.has_resume()) {
    if (!message.resume().next_key().empty()) parts_.chief.new_key(message.resume().next_key());
    parts_.events.Resume(session, message);
    return;
  }
  if (!parts_.events.Accept(session, message)) return;
  switch (message.message_case()) {
    case v1::ChiefMessage::kStart:
      Start(message.start());
      break;
    case v1::ChiefMessage::kStop:
      Stop(message.stop());
      break;
    case v1::ChiefMessage::kSignal:
      Signal(message.signal());
      break;
    case v1::ChiefMessage::kRankInput:
      parts_.input.Take(message.rank_input());
      break;
    case v1::ChiefMessage::kCollectStacks:
      CollectStacks(message.collect_stacks());
      break;
    case v1::ChiefMessage::kEnd:
      EndRanks(message.end());
      break;
    case v1::ChiefMessage::kShutdown:
      Shutdown(std::chrono::milliseconds(message.shutdown().grace_ms()));
      break;
    case v1::ChiefMessage::kOutputAck:
      parts_.output.Acknowledge(message.output_ack());
      break;
    case v1::ChiefMessage::kRendezvousReply:
      parts_.rendezvous.Reply(message.rendezvous_reply());
      // The chief sends further large replies only after an acknowledgement.
      if (message.rendezvous_reply().value().size() >= kLargeReply)
        parts_.events.SendIfConnected({});
      break;
    case v1::ChiefMessage::kModexQuestion:
      parts_.pmix.Answer(message.modex_question());
      break;
    case v1::ChiefMessage::kRenewLease:
      ChiefReceived(message.renew_lease().received());
      parts_.events.AnswerRenewal(message.renew_lease());
      break;
    case v1::ChiefMessage::kResume:
    case v1::ChiefMessage::MESSAGE_NOT_SET:
      break;
  }
}

}  // namespace autodist::agent
