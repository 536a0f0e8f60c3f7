// What the ranks of one attempt write: a log file for each of their streams, and their lines on the
// way to the terminal.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "autodist/status.h"
#include "autodist/v1/agent.pb.h"
#include "autodist/v1/plan.pb.h"
#include "base/fd.h"
#include "chief/output/last_words.h"
#include "chief/output/terminal.h"

namespace autodist::chief {

// Which lines on the terminal begin with "[node:rank] ".
enum class Prefixes { kAll, kStderr };

// For one thread, which it may block, but for LastWordsOf, which is thread-safe.
class RankLogs {
 public:
  // Makes the folder, and in it a file rank-N.out and rank-N.err for every rank of the plan.
  // `raw`: the rank whose terminal this one is: its bytes alone are shown, as they are.
  static Result<std::shared_ptr<RankLogs>> Create(const v1::LaunchPlan& plan,
                                                  const std::string& folder, Prefixes prefixes,
                                                  std::optional<uint32_t> raw = std::nullopt);

  // Of ranks that are not the plan's, nothing.
  void Take(const v1::Output& output, Terminal& terminal);
  // Ends the lines that have not ended: nothing follows.
  void EndLines(Terminal& terminal);

  // Of one of the plan's.
  LastWords LastWordsOf(uint32_t rank) const;
  // Of output that is not where it should be; when nothing is taken any more.
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  struct Sink {  // of one stream of one rank
    base::UniqueFd file;
    uint64_t size = 0;  // of the file
    bool cut_short = false;
    std::string line;  // begun, not yet ended; of a long one its beginning
    // Where in the file the line begins, if it has become too long to keep.
    std::optional<uint64_t> long_line;
  };
  struct Rank {
    std::string prefix;  // "[node:rank] "
    std::array<Sink, 2> sinks;
    LastWords last_words;
  };

  RankLogs(Prefixes prefixes, std::optional<uint32_t> raw) : prefixes_(prefixes), raw_(raw) {}
  void ShowLine(const Rank& rank, Terminal::Stream stream, Terminal& terminal) const;
  void WriteFile(uint32_t number, Sink& sink, std::string_view data);
  void AddToLine(Rank& rank, Terminal::Stream stream, std::string_view data, bool ends,
                 Terminal& terminal);
  void EndLine(Rank& rank, Terminal::Stream stream, Terminal& terminal);
  static void CopyLongLine(const Sink& sink, Terminal::Stream stream, Terminal& terminal);
  void Warn(const std::string& what);

  const Prefixes prefixes_;
  const std::optional<uint32_t> raw_;
  std::map<uint32_t, Rank> ranks_;
  std::vector<std::string> warnings_;
  mutable std::mutex lines_mutex_;  // guards last_words of all ranks
};

}  // namespace autodist::chief
