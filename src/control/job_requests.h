// What others may ask of a job that runs.
#pragma once

#include <functional>
#include <memory>
#include <stop_token>

#include "autodist/status.h"
#include "autodist/v1/job.pb.h"
#include "autodist/v1/snapshot.pb.h"
#include "control/terminal_user.h"

namespace autodist::control {

// Called on threads of the server's; must not block.
struct JobRequests {
  std::function<void(int signal)> signal;

  // How it stands now: asked each time that somebody wants to know, as a job of thousands of ranks
  // changes thousands of times. None: as was published. `answer` as below.
  using StatusAnswer = std::function<void(v1::JobStatus)>;
  std::function<void(StatusAnswer answer)> get_status = {};

  // `answer` may be called on any thread, later, or never where the job ends.
  using StacksAnswer = std::function<void(Result<v1::JobStacks>)>;
  std::function<void(const v1::GetStacksRequest&, StacksAnswer answer)> get_stacks = {};

  // The same; `stop` is told when nobody waits for the answer any more.
  using FetchAnswer = std::function<void(Result<v1::JobFiles>)>;
  std::function<void(const v1::FetchRequest&, const std::stop_token& stop, FetchAnswer answer)>
      fetch = {};

  // To be at the terminal of a rank; what is typed there; to leave it, where it has not ended.
  using User = std::shared_ptr<TerminalUser>;
  struct Terminal {
    std::function<void(User user)> use;
    std::function<void(User user, v1::TerminalInput input)> type;
    std::function<void(User user)> leave;
  } terminal = {};

  // To look at it, as often as wanted; `answer` as above. Many are answered with the same snapshot.
  using SnapshotAnswer = std::function<void(std::shared_ptr<const v1::JobSnapshot>)>;
  struct SnapshotHandlers {
    std::function<void(const v1::GetSnapshotRequest&, SnapshotAnswer answer)> snapshot;
    std::function<void(const v1::GetHistoryRequest&, std::function<void(v1::History)> answer)>
        history;
  } look = {};
};

}  // namespace autodist::control
