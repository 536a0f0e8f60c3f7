// For programs started by `autodist run`: the identity of a rank, and its access to other ranks.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "autodist/status.h"

namespace autodist {

// A rank's connection to the job. Thread-safe. Calls block at most until their timeout; if another
// rank fails, the launcher ends this process anyway.
class Client {
 public:
  // Reads the AUTODIST_* variables and connects to the agent on this node. Fails outside a job.
  static Result<std::unique_ptr<Client>> Connect();
  ~Client();

  uint32_t rank() const { return rank_; }              // 0 .. world_size - 1
  uint32_t world_size() const { return world_size_; }  // ranks in the job
  uint32_t local_rank() const { return local_rank_; }  // on this node; indexes its GPUs
  bool on_gpu() const { return on_gpu_; }
  // Returns this node's IP address, as other nodes reach it.
  const std::string& node_address() const { return node_address_; }

  static constexpr std::chrono::seconds kDefaultTimeout{300};

  // Writes to the job's key/value store: at most 1 MiB per value, 48 MiB for the ranks of a node,
  // and 256 MiB in total. Keys and names of barriers have at most 4 KiB.
  Status Set(const std::string& key, const std::string& value);
  // Waits until a rank has set the key.
  Result<std::string> Get(const std::string& key,
                          std::chrono::milliseconds timeout = kDefaultTimeout);
  // Waits until all ranks have entered the barrier of this name; a rank can enter it only once.
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

// Reports the progress of this rank to viewers of the job: the step, the total number of steps (0:
// unknown), and named numbers such as the loss. Call it as often as you like: it never blocks,
// takes a few microseconds, and if autodist cannot keep up, the last call counts. Does nothing
// outside of a job. Thread-safe. kInvalidArgument: a name has characters other than letters, digits
// and "_./@%+-()# ", or the total size exceeds 4 KiB.
Status ReportProgress(uint64_t step, uint64_t total,
                      const std::vector<std::pair<std::string, double>>& metrics = {});

}  // namespace autodist
