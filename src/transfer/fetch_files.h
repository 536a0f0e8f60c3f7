// Brings files of the working directory from a node. Nothing that the node says is believed: what
// it sends stays within a folder here, and below a limit.
#pragma once

#include <chrono>
#include <cstdint>
#include <stop_token>
#include <string>
#include <vector>

#include "autodist/status.h"
#include "autodist/v1/agent.grpc.pb.h"
#include "base/fd.h"
#include "base/log_folder.h"
#include "files/within_folder.h"

namespace autodist::transfer {

// A node of which nothing has come for so long is given up.
inline constexpr std::chrono::seconds kFetchSilence{60};
// What a node's files may have in all where nobody says otherwise.
inline constexpr uint64_t kMaxFetchedBytes = uint64_t{10} << 30;

struct FetchOrder {
  std::string folder;  // on the node: absolute, or "~/..."
  std::vector<std::string> patterns;
  std::string probe;  // a file in the folder here, by which a node is known that has the same
  uint64_t most_bytes = kMaxFetchedBytes;
  std::chrono::milliseconds silence = kFetchSilence;
};

// What came of one node.
struct FetchedFiles {
  uint64_t files = 0;
  uint64_t bytes = 0;
  bool same_folder = false;           // the node has the chief's own; nothing was brought
  std::vector<std::string> warnings;  // of what was left out, or has changed meanwhile
  Status status;                      // whether it has all come that the node has
};

// The folder for what comes from one node; made with the first file. Not thread-safe; blocks.
class FetchedFolder {
 public:
  // `name` will be in the folder `parent`.
  FetchedFolder(base::LogFolder parent, std::string name)
      : parent_(std::move(parent)), name_(std::move(name)) {}

  Result<files::NewFile> Create(const v1::FetchedFile& file);

 private:
  Status Open();

  const base::LogFolder parent_;
  const std::string name_;
  base::UniqueFd root_;
};

FetchedFiles FetchFiles(v1::AgentService::Stub& agent, const FetchOrder& order,
                        FetchedFolder& folder, const std::stop_token& stop);

}  // namespace autodist::transfer
