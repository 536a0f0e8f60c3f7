// Validation of an agent's messages while files are synced or fetched: see rpc/message_rules.
#pragma once

#include <cstddef>
#include <cstdint>

#include "autodist/status.h"
#include "autodist/v1/agent.pb.h"

namespace autodist::transfer {

// Checks one synchronization with these numbers of entries and of content bytes.
class SyncRules {
 public:
  // A busy agent sends a message five times a second: enough for five hours without a difference.
  static constexpr int kMaxIdleMessages = 100'000;

  SyncRules(size_t entries, uint64_t bytes) : entries_(entries), bytes_(bytes) {}
  Status Check(const v1::SyncResponse& response);

 private:
  Status CheckProgress(const v1::SyncResponse& response);
  Status CheckPassing(const v1::SyncResponse& response);
  Status CheckExtra(const v1::SyncResponse& response);

  const size_t entries_;
  const uint64_t bytes_;
  bool begun_ = false;
  size_t differences_ = 0;
  size_t unavailable_ = 0;
  bool passing_on_ = false;
  bool has_extra_ = false;
  uint64_t received_ = 0;  // bytes of content, as reported by the agent
  int idle_words_ = 0;     // messages without progress
};

// Checks one call that fetches files; call with all messages in order.
class FetchRules {
 public:
  // An agent that searches for files sends a message every two seconds: enough for a day.
  static constexpr int kMaxIdleMessages = 50'000;

  Status Check(const v1::FetchFilesResponse& response);

 private:
  Status CheckFile(const v1::FetchedFile& file);
  Status CheckContent(const v1::FetchedContent& content);

  bool found_ = false;
  bool finished_ = false;
  uint64_t files_ = 0;  // that may still follow
  bool in_file_ = false;
  uint64_t left_ = 0;  // bytes of the current file
  int idle_words_ = 0;
};

}  // namespace autodist::transfer
