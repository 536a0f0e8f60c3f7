// Admits connections to the agent: of the chief, which knows a key, at one socket, and of the ranks
// at another.
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
  base::UniqueFd first_chief;  // the connection of the chief that started us, which sends the key
  // Also for the chief: an abstract socket (JobFolder::chief_name). May be invalid.
  base::UniqueFd named_listener = {};
};

// Only processes of our user are asked for a key. The chief chooses it and changes it with every
// session, so a used key is worthless. Thread-safe.
class Admission {
 public:
  Admission(AgentSockets sockets, grpc::Server& chief_server, grpc::Server& rank_server);

  void SetKey(std::string key);

  struct Watched {
    int fd;
    std::function<bool()> readable;  // returns whether to continue
  };
  // Admits connections until `stop` is readable; also calls the functions of `watched`.
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
  bool ReadGreeting(PendingConnection& pending);  // false: admitted or refused
  bool HasRightKey(const std::string& greeting) const;

  AgentSockets sockets_;
  grpc::Server& chief_server_;
  grpc::Server& rank_server_;
  std::vector<PendingConnection> pending_;
  // Reserves a descriptor for the chief, because ranks may use up all others.
  base::UniqueFd spare_;
  base::Deadline accept_again_at_ = base::Deadline::After(std::chrono::milliseconds(0));

  mutable std::mutex mutex_;
  std::string key_;  // guarded by mutex_
};

}  // namespace autodist::agent
