// Prints what ranks have written, each line with its node and rank, to our stdout and stderr.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "autodist/v1/job.pb.h"
#include "control/log_reader.h"

namespace autodist::control {

// Not thread-safe. Blocks while nobody reads what it writes.
class LogPrinter {
 public:
  struct Options {
    std::set<uint32_t> ranks;  // empty: all
    bool raw = false;          // the bytes alone; otherwise lines, each with "[node:rank] "
    bool only_stderr = false;  // and that to our stdout
  };

  explicit LogPrinter(Options options) : options_(std::move(options)) {}

  // Which rank is where, from now on.
  void SetJob(const v1::JobStatus& job);

  void Take(uint32_t rank, RankStream stream, std::string_view bytes);

  // Writes what has been taken, apart from lines that have not ended.
  void Flush();
  // Those, too.
  void Finish();

  ShowBytes Show() {
    return [this](uint32_t rank, RankStream stream, std::string_view bytes) {
      Take(rank, stream, bytes);
    };
  }

 private:
  void EndLine(uint32_t rank, RankStream stream, std::string& line);

  const Options options_;
  std::map<uint32_t, std::string> prefixes_;
  std::map<std::pair<uint32_t, RankStream>, std::string> lines_;  // begun, not ended
  std::array<std::string, 2> pending_;                            // for stdout and stderr
};

}  // namespace autodist::control
