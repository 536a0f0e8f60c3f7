// What the page asks for under /api/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>

#include "web/access.h"
#include "web/http.h"
#include "web/jobs_list.h"
#include "web/log_file.h"
#include "web/seats.h"
#include "web/watch.h"

namespace autodist::web {

inline constexpr size_t kMostViewers = 64;

// Thread-safe.
class Api {
 public:
  // `job` as JobsPage has it. Streams and searches end with `stop`.
  Api(const Access& access, std::string job, std::stop_token stop);

  // Of one that has been let in. Blocks while it is being answered.
  Answer Handle(const Request& request);

 private:
  Answer OfJob(const Request& request, const std::string& id, const std::string& what);
  Answer Jobs();
  Answer Events(const Request& request, const std::shared_ptr<Watch>& watch);
  Answer History(const Request& request, Watch& watch);
  Answer Log(const Request& request, Watch& watch, uint32_t rank);
  Answer FollowLog(const Request& request, Watch& watch, uint32_t rank);
  Answer SearchLog(const Request& request, Watch& watch, uint32_t rank);
  Answer Stop(const Request& request);
  Answer Stacks(const Request& request);

  Result<LogFile> FileOf(const Request& request, Watch& watch, uint32_t rank);
  // A viewer's new search ends its last one.
  std::stop_source BeginSearch(const std::string& viewer);

  const Access& access_;
  const std::string job_;
  const std::stop_token stop_;
  JobsList jobs_;
  Watches watches_;
  Seats viewers_;
  Seats followers_;
  Seats searchers_;
  std::mutex mutex_;
  std::map<std::string, std::stop_source> searches_;  // guarded by mutex_
};

}  // namespace autodist::web
