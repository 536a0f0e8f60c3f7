#include "control/terminal_session.h"

#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include "control/job_record.h"
#include "control/job_socket.h"
#include "control/silent_chief.h"
#include "rpc/channel.h"

namespace autodist::control {
namespace {

// A suspended autodist does not answer.
constexpr std::chrono::seconds kTakenLimit{5};

}  // namespace

Result<std::unique_ptr<TerminalSession>> TerminalSession::Open(const std::string& job_id,
                                                               const v1::TerminalInput& first) {
  AD_ASSIGN_OR_RETURN(base::UniqueFd socket, ConnectTo(job_id));
  AD_ASSIGN_OR_RETURN(const auto channel, rpc::ChannelOver(std::move(socket)));
  std::unique_ptr<TerminalSession> session(new TerminalSession(channel));
  session->Type(first);
  const auto read = session->ReadWithin(kTakenLimit);
  if (!read) return NoAnswer(RecordOrId(job_id));
  if (!*read) {
    const Status why = session->AwaitEnd();
    return why.ok() ? Error(StatusCode::kFailedPrecondition, "the rank has ended") : why;
  }
  return session;
}

// Cancels at the limit, which applies only to the first answer; nullopt: it was too late.
std::optional<bool> TerminalSession::ReadWithin(std::chrono::seconds limit) {
  std::mutex mutex;
  std::condition_variable changed;
  bool done = false;
  bool late = false;
  std::jthread clock([&] {
    std::unique_lock lock(mutex);
    late = !changed.wait_for(lock, limit, [&] { return done; });
    if (late) context_.TryCancel();
  });
  v1::TerminalTaken taken;
  const bool read = stream_->Read(&taken);
  const std::lock_guard lock(mutex);
  done = true;
  changed.notify_all();
  return read || !late ? std::optional(read) : std::nullopt;
}

Status TerminalSession::AwaitEnd() {
  v1::TerminalTaken taken;
  while (stream_->Read(&taken)) {
  }
  return rpc::FromGrpc(stream_->Finish());
}

}  // namespace autodist::control
