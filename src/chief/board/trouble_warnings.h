// What is slow while the job runs, for its terminal.
#pragma once

#include <chrono>
#include <set>
#include <string>
#include <vector>

#include "autodist/v1/board.pb.h"

namespace autodist::chief {

struct TroubleWarning {
  std::string address;  // of the node
  std::string what;     // one line
};

// Looks at the board's troubles again and again, and tells of each once. For one thread.
class TroubleWarnings {
 public:
  // How long steps have been slow, or anything else has been so, before it is told. A rank's steps
  // come first: their line tells the causes, too.
  static constexpr std::chrono::seconds kSlowStepsLast{30};
  static constexpr std::chrono::seconds kOthersLast{60};
  static constexpr size_t kMost = 20;  // lines, in an attempt

  // Another attempt: all is new.
  void Begin() {
    told_.clear();
    lines_ = 0;
  }
  // What is to be told now: not again of the same rank, or node, and cause, and not what the chief
  // tells by itself, that a rank has failed or a node does not answer.
  std::vector<TroubleWarning> Take(const v1::Board& board);

 private:
  void Tell(const v1::Board& board, const v1::Trouble& trouble, std::string what,
            std::vector<TroubleWarning>& warnings);

  std::set<std::string> told_;  // see KeyOf
  size_t lines_ = 0;
};

}  // namespace autodist::chief
