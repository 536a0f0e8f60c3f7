// What is not well with a job.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "autodist/v1/board.pb.h"
#include "board/step_watch.h"

namespace autodist::board {

// The first evidence of a rank whose steps are slow.
inline constexpr char kStepsPerSecond[] = "steps per second";

// The first evidence of a job that is slower than it was.
inline constexpr char kStepTime[] = "time of a step";

// Whether each that wants a core has one, however busy they are; false, too, where the kernel does
// not say.
bool CoresSuffice(const v1::HostSample& host);

// The job makes no steps, or gives no sign of life: the trouble that says so, or null.
const v1::Trouble* StandstillIn(const v1::Board& board);

// Steps per second, in the median over the ranks that tell them; absent where none does.
std::optional<double> MedianRate(const v1::Board& board);

// Looked at again each time that the board has changed: remembers since when something is so. For
// one thread.
class TroubleWatch {
 public:
  // What the board does not have. Times are in milliseconds since 1970; 0: none.
  struct Signs {
    int64_t silent_since_ms = 0;  // the ranks hang since then, as --hang-timeout has it
    int64_t other_work_ms = 0;    // an evaluation, say, went on last
  };

  // Worst first. Says nothing that there is no evidence of.
  std::vector<v1::Trouble> Look(const v1::Board& board, const Signs& signs);
  std::vector<v1::Trouble> Look(const v1::Board& board) { return Look(board, Signs()); }

 private:
  StepWatch steps_;
  std::map<std::string, int64_t> since_;  // by what it is about; since 1970, in milliseconds
};

}  // namespace autodist::board
