// Who may talk to the agent: the chief, who knows a key, over one socket; the ranks over another.
#pragma once

#include <grpcpp/grpcpp.h>

#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "base/fd.h"

namespace autodist::agent {

struct AgentSockets {
  base::UniqueFd chief_listener;
  base::UniqueFd rank_listener;
  base::UniqueFd first_chief;  // the connection of the chief that started us: it brings the key
  // The chief's as well, by a name that is in no folder (JobFolder::chief_name). Invalid: none.
  base::UniqueFd named_listener = {};
};

// Only processes of our own user get as far as being asked for a key. The key is the chief's choice
// and changes with every session, so one that has been used opens nothing. Thread-safe.
class Admission {
 public:
  Admission(AgentSockets sockets, grpc::Server& chief_server, grpc::Server& rank_server);

  void SetKey(std::string key);

  struct Watched {
    int fd;
    std::function<bool()> readable;  // whether to go on watching
  };
  // Admits connections until `stop` has something to read; calls the others' functions meanwhile.
  void Run(int stop, std::vector<Watched> watched);

 private:
  struct PendingConnection {
    base::UniqueFd socket;
    std::string greeting;
    bool sets_key;
    base::Deadline deadline;
  };
  void Accept(int listener);
  base::UniqueFd TakeConnection(int listener);
  bool ReadGreeting(PendingConnection& pending);  // false: it has been admitted or refused
  bool HasRightKey(const std::string& greeting) const;

  AgentSockets sockets_;
  grpc::Server& chief_server_;
  grpc::Server& rank_server_;
  std::vector<PendingConnection> pending_;
  // Ranks may use up all descriptors that we may have; one is kept for the chief.
  base::UniqueFd spare_;
  base::Deadline accept_again_at_ = base::Deadline::After(std::chrono::milliseconds(0));

  mutable std::mutex mutex_;
  std::string key_;  // guarded by mutex_
};

}  // namespace autodist::agent
