// Makes the working directory on other nodes like the one here. Deletes nothing there, changes
// nothing here, and writes nothing where both are the same folder.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "autodist/status.h"
#include "autodist/v1/agent.grpc.pb.h"
#include "base/fd.h"
#include "files/file_tree.h"
#include "files/temporary_file.h"
#include "transfer/file_relay.h"
#include "transfer/sync_progress.h"
#include "transfer/sync_stream.h"

namespace autodist::transfer {

// A transfer in which nothing moves for so long has come to its end.
inline constexpr std::chrono::seconds kStallLimit{60};

// Thread-safe.
class FolderSync {
 public:
  // For as many nodes; `tree` is what they shall have, in the folder `target`: absolute, or "~/..."
  // for one in the user's home folder on the node. `relay`: by whom the content of files is passed
  // on; null: all of it goes to each node from here.
  FolderSync(files::FileTree tree, std::string target, size_t nodes,
             std::unique_ptr<FileRelay> relay = nullptr,
             std::chrono::milliseconds stall_limit = kStallLimit);

  // "1000 files, 200 MB".
  std::string WhatThereIs() const;
  size_t nodes() const { return nodes_; }
  // Whether the call of one node waits for those of the others.
  bool relays() const { return relay_ != nullptr; }

  // For every node one of these two, at any time and from any thread. The person sees the
  // progress from the first call to the return of the last.
  //
  // Blocks until the node behind `agent` has the folder, and where it relays, until all have;
  // `stop` ends it early. `hang_up` ends the connection: called where that takes nothing any more.
  Status CopyTo(uint32_t node_rank, v1::AgentService::Stub& agent,
                const std::function<void()>& hang_up, const std::stop_token& stop);
  // The node could not be reached.
  void Skip(uint32_t node_rank);

 private:
  struct Sent {
    std::atomic<uint64_t> files = 0;
    std::atomic<uint64_t> bytes = 0;
    std::atomic<size_t> nodes = 0;          // to which there was something to send
    std::atomic<size_t> nodes_sharing = 0;  // that have this very folder
    std::atomic<uint64_t> passed_files = 0;
    std::atomic<uint64_t> passed_bytes = 0;
    std::atomic<size_t> nodes_passed = 0;  // that got files from another one
    std::atomic<size_t> nodes_missed = 0;  // that could not get all of them there
  };

  void Begin();
  void EndOne(uint32_t node_rank, bool ok);
  bool Relays(uint32_t node_rank) const { return relay_ && relay_->Is(node_rank); }
  Status Copy(SyncStream& stream, uint32_t node_rank, uint64_t& expected,
              const std::stop_token& stop);
  // Of what the node wants; from `source` what can be got there.
  Status SendContents(SyncStream& stream, uint32_t node_rank, std::vector<uint64_t> wanted,
                      const std::optional<v1::SyncSource>& source, const std::stop_token& stop);
  Status LetGet(SyncStream& stream, std::vector<uint64_t>& wanted, const v1::SyncSource& source,
                const std::stop_token& stop);
  Status LetPassOn(SyncStream& stream, const std::stop_token& stop);
  Status DecideSuspects(SyncStream& stream,
                        const std::vector<v1::DigestCandidate>& digest_candidates,
                        std::vector<uint64_t>& wanted, const std::stop_token& stop);
  void Know(uint64_t index, const std::string& digest);
  Result<std::string> DigestOf(uint64_t index, const std::function<bool()>& go_on);
  void LogSummary() const;

  const files::FileTree tree_;
  const std::string target_;
  const size_t nodes_;
  const std::unique_ptr<FileRelay> relay_;
  const std::chrono::milliseconds stall_limit_;

  std::mutex mutex_;  // guards what follows
  size_t left_;       // nodes that have not had their call
  bool all_well_ = true;
  base::UniqueFd folder_;
  std::optional<Result<files::TemporaryFile>> probe_;  // in folder_
  std::chrono::steady_clock::time_point begun_at_;
  std::optional<SyncProgress> progress_;  // from the first node's call to the end of the last
  std::map<uint64_t, std::shared_future<Result<std::string>>> digests_;  // of entries

  Sent sent_;
};

}  // namespace autodist::transfer
