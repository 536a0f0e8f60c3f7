// What an agent may say while files are copied to it, or fetched from it: see rpc/message_rules.
#pragma once

#include <cstddef>
#include <cstdint>

#include "autodist/status.h"
#include "autodist/v1/agent.pb.h"

namespace autodist::transfer {

// Of one synchronisation of so many entries, and bytes of content.
class SyncRules {
 public:
  // An agent that is busy says so five times a second: enough for five hours without a difference.
  static constexpr int kMaxIdleWords = 100'000;

  SyncRules(size_t entries, uint64_t bytes) : entries_(entries), bytes_(bytes) {}
  Status Check(const v1::SyncResponse& response);

 private:
  Status CheckProgress(const v1::SyncResponse& response);
  Status CheckPassing(const v1::SyncResponse& response);

  const size_t entries_;
  const uint64_t bytes_;
  bool begun_ = false;
  size_t differences_ = 0;
  size_t unavailable_ = 0;
  bool passing_on_ = false;
  uint64_t received_ = 0;  // bytes of content, as the agent says
  int idle_words_ = 0;     // that told nothing new
};

// Of one call that fetches files, in the order of what comes.
class FetchRules {
 public:
  // An agent that looks for files says so every two seconds: enough for a day.
  static constexpr int kMaxIdleWords = 50'000;

  Status Check(const v1::FetchFilesResponse& response);

 private:
  Status CheckFile(const v1::FetchedFile& file);
  Status CheckContent(const v1::FetchedContent& content);

  bool found_ = false;
  bool finished_ = false;
  uint64_t files_ = 0;  // that may still come
  bool in_file_ = false;
  uint64_t left_ = 0;  // bytes of that file
  int idle_words_ = 0;
};

}  // namespace autodist::transfer
