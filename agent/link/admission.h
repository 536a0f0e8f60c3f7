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

// Only processes of our own user get as far as being asked for a key. The key is the chief's choice
// and changes with every session, so one that has been used opens nothing. Thread-safe.
class Admission {
 public:
  struct Doors {
    base::UniqueFd chief;  // listens
    base::UniqueFd ranks;  // listens
    base::UniqueFd first;  // the connection of the chief that started us, which brings the key
  };
  Admission(Doors doors, grpc::Server& chief_server, grpc::Server& rank_server);

  void SetKey(std::string key);

  struct Watched {
    int fd;
    std::function<bool()> readable;  // whether to go on watching
  };
  // Lets in whom it may, until `stop` has something to read; tells what else happens meanwhile.
  void Run(int stop, std::vector<Watched> watched);

 private:
  struct Visitor {
    base::UniqueFd socket;
    std::string greeting;
    bool brings_key;
    base::Deadline deadline;
  };
  void Accept(int door);
  base::UniqueFd TakeConnection(int door);
  bool Greet(Visitor& visitor);  // false: it has been let in, or sent away
  bool IsRight(const std::string& greeting) const;

  Doors doors_;
  grpc::Server& chief_server_;
  grpc::Server& rank_server_;
  std::vector<Visitor> visitors_;
  // Ranks may use up all descriptors that we may have; one is kept for the chief.
  base::UniqueFd spare_;
  base::Deadline closed_until_ = base::Deadline::After(std::chrono::milliseconds(0));

  mutable std::mutex mutex_;
  std::string key_;  // guarded by mutex_
};

}  // namespace autodist::agent
