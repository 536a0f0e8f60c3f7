// Fetches files of the working directory from a node. All data from the node is untrusted: the
// files stay within a folder here, and below a size limit.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "autodist/status.h"
#include "autodist/v1/agent.grpc.pb.h"
#include "base/deadline.h"
#include "base/fd.h"
#include "base/log_folder.h"
#include "files/temporary_file.h"

namespace autodist::transfer {

// The fetch fails if a node sends nothing for this long.
inline constexpr std::chrono::seconds kFetchSilence{60};
// The default limit for the total size of a node's files.
inline constexpr uint64_t kMaxFetchedBytes = uint64_t{10} << 30;

struct FetchOrder {
  std::string folder;  // on the node: absolute, or "~/..."
  std::vector<std::string> patterns;
  // A file in the chief's folder, which shows whether the node has the same folder.
  std::string probe;
  uint64_t most_bytes = kMaxFetchedBytes;
  std::chrono::milliseconds silence = kFetchSilence;
  // Only files that changed between these times; absent: any time before; now.
  std::optional<base::Deadline::Clock::time_point> began = std::nullopt;
  std::optional<base::Deadline::Clock::time_point> ended = std::nullopt;
  int64_t began_ns = 0;  // the first by the node's clock, since 1970; 0: unknown
};

// The result for one node.
struct FetchedFiles {
  uint64_t files = 0;
  uint64_t bytes = 0;
  uint64_t unchanged = 0;             // matching files that did not change then
  bool same_folder = false;           // the node has the chief's folder; nothing was fetched
  std::vector<std::string> warnings;  // about files that were left out, or changed meanwhile
  Status status;                      // OK: all files have been fetched
};

// The folder for files of one node; created with the first file. Not thread-safe; blocks.
class FetchedFolder {
 public:
  // `name` will be in the folder `parent`.
  FetchedFolder(base::LogFolder parent, std::string name)
      : parent_(std::move(parent)), name_(std::move(name)) {}

  Result<files::NewFile> Create(const v1::FetchedFile& file);
  const std::string& parent() const { return parent_.path(); }

 private:
  Status Open();

  const base::LogFolder parent_;
  const std::string name_;
  base::UniqueFd root_;
};

// `hang_up` closes the connection: called if the call does not end otherwise.
FetchedFiles FetchFiles(v1::AgentService::Stub& agent, const FetchOrder& order,
                        FetchedFolder& folder, const std::function<void()>& hang_up,
                        const std::stop_token& stop);

}  // namespace autodist::transfer
