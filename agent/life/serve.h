// The life of an agent process: serves its sockets until the job has ended on this node.
#pragma once

#include <chrono>
#include <string>

#include "agent/life/job_folder.h"
#include "base/fd.h"

namespace autodist::agent {

struct ServeOptions {
  JobFolder folder;
  base::UniqueFd folder_lock;  // until it can be seen that a chief is in charge
  base::UniqueFd chief_listener;
  base::UniqueFd rank_listener;
  base::UniqueFd first;  // the connection of the chief that starts this agent
  // Ends when the process that started the agent does. If no chief has opened a session by then,
  // none will come.
  base::UniqueFd starter;
  base::UniqueFd guardian;          // ends when the guardian does
  std::chrono::milliseconds lease;  // without a word from the chief, the agent ends the job
  std::chrono::milliseconds grace;  // between the stop signal and SIGKILL when it does
};

// How it ended, as its exit status.
enum ServeResult : int {
  kEndedByChief = 0,
  kFailed = 1,
  kLeaseExpired = 3,
  kCleaned = 4,  // by SIGTERM, while no chief was in charge
};

int Serve(ServeOptions options);

}  // namespace autodist::agent
