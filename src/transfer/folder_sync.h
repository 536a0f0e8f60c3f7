// Copies the working directory to other nodes. Changes nothing here, and writes nothing if both are
// the same folder. Deletes there what is not here if it is to mirror the folder.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "autodist/status.h"
#include "autodist/v1/agent.grpc.pb.h"
#include "base/fd.h"
#include "files/digest.h"
#include "files/file_tree.h"
#include "files/temporary_file.h"
#include "transfer/file_relay.h"
#include "transfer/sync_progress.h"
#include "transfer/sync_stream.h"
#include "transfer/sync_text.h"

namespace autodist::transfer {

// A transfer fails if no data moves for this long.
inline constexpr std::chrono::seconds kStallLimit{60};

// A warning that concerns some nodes.
struct NodeWarning {
  std::set<uint32_t> nodes;  // ranks
  std::string text;
};

struct SyncOptions {
  // The folder on the nodes: absolute, or "~/..." relative to the user's home folder there.
  std::string target = {};
  size_t nodes = 0;                              // number of nodes to copy to
  std::vector<std::string> addresses = {};       // of all nodes of the plan, by rank
  std::map<uint32_t, std::string> targets = {};  // addresses of the nodes to copy to, by rank
  bool mirror = false;                           // deletes there what is not here
  bool preview = false;                          // only reports what `mirror` would delete
  // Returns the jobs that have run in the folder; may block on the disk. Empty: unknown.
  std::function<std::vector<JobTime>()> jobs = {};
  // What is logged before content is sent to one of these nodes, for example that a job runs there.
  std::vector<NodeWarning> warnings = {};
  std::chrono::milliseconds stall_limit = kStallLimit;
};

// Thread-safe.
class FolderSync {
 public:
  // `tree` has the files to copy. `relay`: passes on the content; null: all nodes get it from here.
  FolderSync(files::FileTree tree, SyncOptions options, std::unique_ptr<FileRelay> relay = nullptr);

  // Returns "1000 files, 200 MB".
  std::string WhatThereIs() const;
  const files::FileTree& tree() const { return tree_; }
  size_t nodes() const { return options_.nodes; }
  // Whether the call of one node waits for those of the others.
  bool relays() const { return relay_ != nullptr; }

  // Call one of these two for every node, at any time and on any thread. The progress is shown from
  // the first call to the end of the last.
  //
  // Blocks until the node behind `agent` has the folder or, if it relays, until all have; `stop`
  // ends it early. `hang_up` closes the connection: called if it accepts no more data.
  Status CopyTo(uint32_t node_rank, v1::AgentService::Stub& agent,
                const std::function<void()>& hang_up, const std::stop_token& stop);
  // Call if the node could not be connected.
  void Skip(uint32_t node_rank);

 private:
  void Begin(uint32_t node_rank);
  void ShowWaits();  // mutex_ held
  void EndOne(uint32_t node_rank, bool ok);
  bool Relays(uint32_t node_rank) const { return relay_ && relay_->Is(node_rank); }
  Status Copy(SyncStream& stream, uint32_t node_rank, std::optional<uint64_t>& needed,
              const std::stop_token& stop);
  void TakeExtra(uint32_t node_rank, const v1::SyncExtra& extra);
  // Sends the wanted entries, except those that the node can get from `source`.
  Status SendContents(SyncStream& stream, uint32_t node_rank, std::vector<uint64_t> wanted,
                      const std::optional<v1::SyncSource>& source, const std::stop_token& stop);
  // `digest` is also updated with the content; may be null.
  Status SendFile(SyncStream& stream, uint64_t index, files::Digest* digest,
                  const std::stop_token& stop);
  Status LetGet(SyncStream& stream, std::vector<uint64_t>& wanted, const v1::SyncSource& source,
                const std::stop_token& stop);
  Status LetPassOn(SyncStream& stream, const std::stop_token& stop);
  Status DecideSuspects(SyncStream& stream,
                        const std::vector<v1::DigestCandidate>& digest_candidates,
                        std::vector<uint64_t>& wanted, const std::stop_token& stop);
  void Know(uint64_t index, const std::string& digest);
  Result<std::string> DigestOf(uint64_t index, const std::function<bool()>& go_on);
  uint64_t Compared(uint32_t node_rank, const std::vector<uint64_t>& wanted);
  void ShowSends();  // mutex_ held
  void NameLargeOutputs(const std::vector<uint64_t>& wanted);
  void LogResult() const;  // mutex_ held

  const files::FileTree tree_;
  const SyncOptions options_;
  const std::unique_ptr<FileRelay> relay_;

  std::mutex mutex_;                           // guards the members below
  size_t left_;                                // nodes whose call has not ended
  size_t busy_ = 0;                            // calls in progress
  std::map<uint32_t, std::string> unreached_;  // of the targets: without a call
  bool all_well_ = true;
  base::UniqueFd folder_;
  std::optional<Result<files::TemporaryFile>> probe_;  // in folder_
  std::chrono::steady_clock::time_point begun_at_;
  std::optional<SyncProgress> progress_;  // from the first node's call to the end of the last
  std::map<uint64_t, std::shared_future<Result<std::string>>> digests_;  // by entry
  SyncNeeds needs_;
  std::vector<NodeWarning> warnings_;  // not logged yet
  SyncTotals totals_;
  NodesByPath extra_;               // files that are not here
  std::set<uint32_t> open_to_all_;  // nodes where all users can write in the folder
  bool outputs_named_ = false;
};

}  // namespace autodist::transfer
