// The requests that clients may make of a running job.
#pragma once

#include <functional>
#include <memory>
#include <stop_token>
#include <string>

#include "autodist/status.h"
#include "autodist/v1/job.pb.h"
#include "autodist/v1/snapshot.pb.h"
#include "control/terminal_user.h"

namespace autodist::control {

// Called on threads of the server; must not block.
struct JobRequests {
  // `by`: the sender, as reports name it; never empty.
  std::function<void(int signal, const std::string& by)> signal;

  // Returns the current status. Called for each request, because a job of thousands of ranks
  // changes thousands of times. Null: the last published status is used. `answer` as below.
  using StatusAnswer = std::function<void(v1::JobStatus)>;
  std::function<void(StatusAnswer answer)> get_status = {};

  // `answer` may be called later on any thread, or never if the job ends.
  using StacksAnswer = std::function<void(Result<v1::JobStacks>)>;
  std::function<void(const v1::GetStacksRequest&, StacksAnswer answer)> get_stacks = {};

  // As above; `stop` is requested when the client no longer waits for the answer.
  using FetchAnswer = std::function<void(Result<v1::JobFiles>)>;
  std::function<void(const v1::FetchRequest&, const std::stop_token& stop, FetchAnswer answer)>
      fetch = {};

  // Attaches a user to a rank's terminal; passes on input; detaches the user if the terminal has
  // not ended.
  using User = std::shared_ptr<TerminalUser>;
  struct Terminal {
    std::function<void(User user)> use;
    std::function<void(User user, v1::TerminalInput input)> type;
    std::function<void(User user)> leave;
  } terminal = {};

  // Returns the snapshot or history; `answer` as above. Several requests may receive the same
  // snapshot.
  using DiagnosisAnswer = std::function<void(Result<v1::JobDiagnosis>)>;
  using SnapshotAnswer = std::function<void(std::shared_ptr<const v1::JobSnapshot>)>;
  struct SnapshotHandlers {
    std::function<void(const v1::GetSnapshotRequest&, SnapshotAnswer answer)> snapshot;
    std::function<void(const v1::GetHistoryRequest&, std::function<void(v1::History)> answer)>
        history;
    // `answer` may be called later on any thread, or never if the job ends.
    std::function<void(DiagnosisAnswer answer)> diagnosis = {};
    // The nodes that have been asked for stacks and have not answered yet.
    std::function<void(std::function<void(v1::AwaitedNodes)> answer)> awaited_nodes = {};
  } snapshots = {};
};

}  // namespace autodist::control
