// For programs started by `autodist run`: who am I, and how do I find the other ranks.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "autodist/status.h"

namespace autodist {

// A rank's connection with the job. Thread-safe. Calls block until their timeout at most; when
// another rank has failed the launcher ends this process anyway.
class Client {
 public:
  // Reads the AUTODIST_* variables and connects to the agent on this node. Fails outside a job.
  static Result<std::unique_ptr<Client>> Connect();
  ~Client();

  uint32_t rank() const { return rank_; }              // 0 .. world_size - 1
  uint32_t world_size() const { return world_size_; }  // ranks in the job
  uint32_t local_rank() const { return local_rank_; }  // on this node; indexes its GPUs
  bool on_gpu() const { return on_gpu_; }
  // This node's IP address, as other nodes reach it.
  const std::string& node_address() const { return node_address_; }

  static constexpr std::chrono::seconds kDefaultTimeout{300};

  // The job's key/value store: small values, 1 MiB at most each, 48 MiB of a node's ranks, and 256
  // MiB together. Keys, as names of barriers, have 4 KiB at most.
  Status Set(const std::string& key, const std::string& value);
  // Waits until some rank has set the key.
  Result<std::string> Get(const std::string& key,
                          std::chrono::milliseconds timeout = kDefaultTimeout);
  // Waits until all ranks have entered the barrier of this name; a rank may be in it once.
  Status Barrier(const std::string& name, std::chrono::milliseconds timeout = kDefaultTimeout);

 private:
  struct Connection;
  Client() = default;

  uint32_t rank_ = 0;
  uint32_t world_size_ = 0;
  uint32_t local_rank_ = 0;
  bool on_gpu_ = false;
  std::string node_address_;
  std::unique_ptr<Connection> connection_;
};

// Tells how far this rank is, for whoever looks at the job: so many steps of so many (0: nobody
// knows), and numbers of any name, such as the loss. As often as wanted: it never blocks, takes a
// few microseconds, and where autodist does not keep up, the last one counts. Does nothing outside
// of a job. Thread-safe. kInvalidArgument: a name has other characters than letters, digits and
// "_./@%+-()# ", or all is longer than 4 KiB.
Status TellProgress(uint64_t step, uint64_t total,
                    const std::vector<std::pair<std::string, double>>& metrics = {});

}  // namespace autodist
