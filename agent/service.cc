#include "service.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/utf8.h"
#include "sync.h"

namespace autodist::agent {
namespace {

constexpr std::chrono::milliseconds kLongestPortTries{10'000};

}  // namespace

void EventQueue::Push(v1::AgentEvent event) {
  const std::lock_guard lock(mutex_);
  events_.push_back(std::move(event));
  WriteNext();
}

void EventQueue::Close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  WriteNext();
}

void EventQueue::WriteNext() {
  if (!writer_ || writing_) return;
  if (!events_.empty()) {
    writing_ = true;
    writer_->StartWrite(&events_.front());
  } else if (closed_) {
    writing_ = true;  // nothing may follow
    writer_->End(grpc::Status::OK);
  }
}

bool EventQueue::Attach(SessionWriter* writer) {
  const std::lock_guard lock(mutex_);
  if (writer_) return false;
  writer_ = writer;
  writing_ = false;
  WriteNext();
  return true;
}

void EventQueue::Detach(SessionWriter* writer) {
  const std::lock_guard lock(mutex_);
  if (writer_ == writer) writer_ = nullptr;
  detached_.notify_all();
}

void EventQueue::WaitUntilDelivered(base::Deadline deadline) {
  std::unique_lock lock(mutex_);
  detached_.wait_until(lock, deadline.when(), [this] { return closed_ && !writer_; });
}

void EventQueue::WriteDone(SessionWriter* writer, bool ok) {
  const std::lock_guard lock(mutex_);
  if (writer_ != writer) return;
  writing_ = false;
  if (!ok) return;  // the session is over; it will detach
  events_.pop_front();
  WriteNext();
}

// A rank's call that waits for the chief's answer.
class RendezvousService::Call final : public grpc::ServerUnaryReactor {
 public:
  Call(RendezvousService& service, uint64_t id, FillResponse fill)
      : service_(service), id_(id), fill_(std::move(fill)) {}

  void Answer(const v1::RendezvousReply& reply) {
    if (!reply.error().empty()) {
      Finish({grpc::StatusCode::INVALID_ARGUMENT, reply.error()});
      return;
    }
    fill_(reply);
    Finish(grpc::Status::OK);
  }

 private:
  void OnCancel() override { service_.Cancel(id_); }
  void OnDone() override { delete this; }

  RendezvousService& service_;
  const uint64_t id_;
  const FillResponse fill_;
};

grpc::ServerUnaryReactor* RendezvousService::Forward(v1::RendezvousRequest request,
                                                     FillResponse fill) {
  Call* call = nullptr;
  {
    const std::lock_guard lock(mutex_);
    request.set_id(next_id_++);
    call = new Call(*this, request.id(), std::move(fill));
    waiting_[request.id()] = call;
  }
  v1::AgentEvent event;
  *event.mutable_rendezvous_request() = std::move(request);
  events_.Push(std::move(event));
  return call;
}

void RendezvousService::Reply(const v1::RendezvousReply& reply) {
  const std::lock_guard lock(mutex_);
  const auto found = waiting_.find(reply.id());
  if (found == waiting_.end()) return;  // cancelled meanwhile
  Call* call = found->second;
  waiting_.erase(found);
  call->Answer(reply);
}

void RendezvousService::Cancel(uint64_t id) {
  const std::lock_guard lock(mutex_);
  const auto found = waiting_.find(id);
  if (found == waiting_.end()) return;
  Call* call = found->second;
  waiting_.erase(found);
  call->Finish(grpc::Status::CANCELLED);
}

grpc::ServerUnaryReactor* RendezvousService::Set(grpc::CallbackServerContext*,
                                                 const v1::SetRequest* request, v1::SetResponse*) {
  v1::RendezvousRequest forwarded;
  *forwarded.mutable_set() = *request;
  return Forward(std::move(forwarded), [](const v1::RendezvousReply&) {});
}

grpc::ServerUnaryReactor* RendezvousService::Get(grpc::CallbackServerContext*,
                                                 const v1::GetRequest* request,
                                                 v1::GetResponse* response) {
  v1::RendezvousRequest forwarded;
  *forwarded.mutable_get() = *request;
  return Forward(std::move(forwarded), [response](const v1::RendezvousReply& reply) {
    response->set_value(reply.value());
  });
}

grpc::ServerUnaryReactor* RendezvousService::Barrier(grpc::CallbackServerContext*,
                                                     const v1::BarrierRequest* request,
                                                     v1::BarrierResponse*) {
  v1::RendezvousRequest forwarded;
  *forwarded.mutable_barrier() = *request;
  return Forward(std::move(forwarded), [](const v1::RendezvousReply&) {});
}

namespace {

// What programs and files of the node say may be in any encoding; a message with such a string
// would be refused as a whole by its reader.
void MakeStringsUtf8(google::protobuf::Message& message) {
  using google::protobuf::FieldDescriptor;
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    const int count = field->is_repeated() ? reflection.FieldSize(message, field) : 1;
    for (int i = 0; i < count; ++i) {
      if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
        MakeStringsUtf8(field->is_repeated()
                            ? *reflection.MutableRepeatedMessage(&message, field, i)
                            : *reflection.MutableMessage(&message, field));
      } else if (field->type() == FieldDescriptor::TYPE_STRING && field->is_repeated()) {
        reflection.SetRepeatedString(&message, field, i,
                                     base::ToUtf8(reflection.GetRepeatedString(message, field, i)));
      } else if (field->type() == FieldDescriptor::TYPE_STRING) {
        reflection.SetString(&message, field, base::ToUtf8(reflection.GetString(message, field)));
      }
    }
  }
}

}  // namespace

AgentService::AgentService(EventQueue& events, RendezvousService& rendezvous,
                           Supervisor& supervisor, std::string socket_path,
                           std::function<void()> heard_chief, std::function<void(bool)> preparing)
    : events_(events),
      rendezvous_(rendezvous),
      supervisor_(supervisor),
      socket_path_(std::move(socket_path)),
      heard_chief_(std::move(heard_chief)),
      preparing_changed_(std::move(preparing)) {}

grpc::ServerUnaryReactor* AgentService::Prepare(grpc::CallbackServerContext* context,
                                                const v1::PrepareRequest* request,
                                                v1::PrepareResponse* response) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  const std::lock_guard lock(mutex_);
  if (std::exchange(prepare_called_, true)) {
    reactor->Finish({grpc::StatusCode::ALREADY_EXISTS, "this node was prepared before"});
    return reactor;
  }
  preparing_changed_(true);
  // The activation may take long; gRPC's own threads must not wait for it.
  preparing_ = std::jthread([this, request, response, reactor] {
    PreparedNode prepared = PrepareNode(*request, process::Environment::FromStrings(environ),
                                        socket_path_, supervisor_);
    for (v1::Problem& problem : prepared.problems) *response->add_problems() = std::move(problem);
    for (std::string& warning : prepared.warnings) response->add_warnings(std::move(warning));
    if (prepared.facts) *response->mutable_facts() = *std::move(prepared.facts);
    MakeStringsUtf8(*response);
    {
      const std::lock_guard ranks_lock(mutex_);
      ranks_ = std::move(prepared.ranks);
    }
    preparing_changed_(false);
    reactor->Finish(grpc::Status::OK);
  });
  return reactor;
}

grpc::ServerUnaryReactor* AgentService::OpenPorts(grpc::CallbackServerContext* context,
                                                  const v1::OpenPortsRequest* request,
                                                  v1::OpenPortsResponse* response) {
  heard_chief_();
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

// Ends the tries when the chief or the agent itself gives the call up.
class AgentService::TryPortsReactor final : public grpc::ServerUnaryReactor {
 public:
  std::stop_token stop() const { return stop_.get_token(); }

 private:
  void OnCancel() override { stop_.request_stop(); }
  void OnDone() override { delete this; }

  std::stop_source stop_;
};

grpc::ServerUnaryReactor* AgentService::TryPorts(grpc::CallbackServerContext*,
                                                 const v1::TryPortsRequest* request,
                                                 v1::TryPortsResponse* response) {
  heard_chief_();
  auto* reactor = new TryPortsReactor;
  const std::lock_guard lock(mutex_);
  if (std::exchange(trying_ports_, true)) {
    reactor->Finish({grpc::StatusCode::ALREADY_EXISTS, "ports are being tried already"});
    return reactor;
  }
  const auto limit = std::min(std::chrono::milliseconds(request->limit_ms()), kLongestPortTries);
  port_tries_ = std::jthread([this, request, response, reactor, limit] {
    for (v1::PortTry& result : ConnectToAll(request->targets(), limit, reactor->stop())) {
      *response->add_tries() = std::move(result);
    }
    {
      const std::lock_guard done_lock(mutex_);
      trying_ports_ = false;
    }
    heard_chief_();  // it had nothing to say meanwhile
    reactor->Finish(grpc::Status::OK);
  });
  return reactor;
}

class AgentService::SessionReactor final : public SessionWriter {
 public:
  explicit SessionReactor(AgentService& service) : service_(service) {
    if (!service_.events_.Attach(this)) {
      End({grpc::StatusCode::ALREADY_EXISTS, "another session with this agent is open"});
      return;
    }
    StartRead(&message_);
  }

 private:
  void OnReadDone(bool ok) override {
    if (!ok) return;
    service_.Handle(message_);
    StartRead(&message_);
  }
  void OnWriteDone(bool ok) override { service_.events_.WriteDone(this, ok); }
  void OnCancel() override {
    service_.events_.Detach(this);
    End(grpc::Status::CANCELLED);
  }
  void OnDone() override {
    service_.events_.Detach(this);
    delete this;
  }

  AgentService& service_;
  v1::ChiefMessage message_;
};

grpc::ServerBidiReactor<v1::ChiefMessage, v1::AgentEvent>* AgentService::Session(
    grpc::CallbackServerContext*) {
  heard_chief_();
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
  preparing_changed_(true);
  syncing_ = std::jthread([this, call] {
    const Status status = ReceiveFolder(*call);
    preparing_changed_(false);
    call->End(status);
  });
  return call;
}

void AgentService::Handle(const v1::ChiefMessage& message) {
  heard_chief_();
  switch (message.message_case()) {
    case v1::ChiefMessage::kStart: {
      const std::lock_guard lock(mutex_);
      supervisor_.Start(std::exchange(ranks_, {}));
      break;
    }
    case v1::ChiefMessage::kStop:
      supervisor_.Stop(std::chrono::milliseconds(message.stop().grace_ms()));
      break;
    case v1::ChiefMessage::kShutdown:
      supervisor_.Shutdown(std::chrono::milliseconds(message.shutdown().grace_ms()));
      break;
    case v1::ChiefMessage::kOutputAck:
      supervisor_.Acknowledge(message.output_ack().rank(),
                              message.output_ack().stream() == v1::OUTPUT_STREAM_STDOUT
                                  ? Stream::kStdout
                                  : Stream::kStderr,
                              message.output_ack().offset());
      break;
    case v1::ChiefMessage::kRendezvousReply:
      rendezvous_.Reply(message.rendezvous_reply());
      break;
    case v1::ChiefMessage::kRenewLease:
    case v1::ChiefMessage::MESSAGE_NOT_SET:
      break;
  }
}

namespace {

// As a shell would have it.
int ExitCodeOf(const Status& start_failure) {
  switch (start_failure.code()) {
    case StatusCode::kNotFound:
      return 127;
    case StatusCode::kPermissionDenied:
      return 126;
    default:
      return 125;
  }
}

}  // namespace

SupervisorEvents EventsInto(EventQueue& events) {
  SupervisorEvents into;
  into.started = [&events](uint32_t rank, pid_t pid) {
    v1::AgentEvent event;
    event.mutable_rank_started()->set_rank(rank);
    event.mutable_rank_started()->set_pid(pid);
    events.Push(std::move(event));
  };
  into.output = [&events](uint32_t rank, Stream stream, uint64_t offset, std::string data) {
    v1::AgentEvent event;
    v1::Output& output = *event.mutable_output();
    output.set_rank(rank);
    output.set_stream(stream == Stream::kStdout ? v1::OUTPUT_STREAM_STDOUT
                                                : v1::OUTPUT_STREAM_STDERR);
    output.set_offset(offset);
    output.set_data(std::move(data));
    events.Push(std::move(event));
  };
  into.exited = [&events](const RankExit& exit) {
    v1::AgentEvent event;
    v1::RankExited& exited = *event.mutable_rank_exited();
    exited.set_rank(exit.rank);
    exited.set_pid(exit.pid);
    if (exit.pid == 0) {
      exited.mutable_start_failure()->set_cause(Message(exit.start_failure));
      exited.mutable_start_failure()->set_exit_code(ExitCodeOf(exit.start_failure));
    } else if (WIFSIGNALED(exit.wait_status)) {
      exited.set_signal(WTERMSIG(exit.wait_status));
      exited.set_core_dumped(WCOREDUMP(exit.wait_status));
    } else {
      exited.set_exit_code(WEXITSTATUS(exit.wait_status));
    }
    events.Push(std::move(event));
  };
  into.ended = [&events] { events.Close(); };
  return into;
}

}  // namespace autodist::agent
