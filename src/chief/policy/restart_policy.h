// Decides whether a failed job is restarted, from all attempts so far. Pure logic.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "autodist/v1/job_request.pb.h"
#include "chief/attempt/cause.h"

namespace autodist::chief {

struct RestartLimits {
  uint32_t max_restarts = 0;
  // Min number of nodes with which the job continues when others are lost; 0: all are needed. With
  // spares, the number without them.
  uint32_t min_nodes = 0;
  // Whether an attempt that can hardly succeed is not made; otherwise only a warning is given.
  bool acts = false;
  bool after_out_of_memory = false;  // restarts also then
  bool after_node_loss = true;

  bool MayRestart() const { return max_restarts > 0 || min_nodes > 0; }
};

// `nodes`: of the job, with the spares.
RestartLimits RestartLimitsOf(const v1::JobRequest& request, uint32_t nodes);

// How an attempt ended.
struct AttemptOutcome {
  Cause cause;
  // What failed, without anything that differs from run to run (FailureKey); "": unknown.
  std::string failure = {};
  // Of the job: whose rank failed first, or that was lost; absent: unknown, or it was evicted.
  std::optional<uint32_t> node = {};
  bool faulty_gpu = false;            // a GPU of `node` needs repair
  std::string gpu_unit = {};          // of a GPU, where the program failed; "": unknown
  bool ran = false;                   // a rank had run
  bool everywhere = false;            // all ranks failed by themselves, in the same way
  bool nodes_missing = false;         // a node is lost or disconnected
  bool enough = false;                // another attempt has enough nodes, if those return that may
  bool node_replaceable = false;      // there are enough connected ones without `node`
  std::optional<uint64_t> step = {};  // the last step that a rank reported; absent: unknown
  bool checkpoint = false;            // a new one was written
  std::chrono::milliseconds lasted{0};
};

// Why another attempt can hardly succeed.
enum class Futility : uint8_t {
  kOutOfMemory,       // the kernel ended a rank for lack of memory
  kFailedEverywhere,  // all ranks failed in the same way, before the first step of the job
  kSameFailure,       // the same failure twice, and no progress between
  kNoProgress,        // three attempts without a new step or checkpoint
};

// "the last two attempts failed in the same way, and the second made no progress".
// `checkpoints_known`: --checkpoint-dir was given.
const char* TextOf(Futility why, bool checkpoints_known);
// The number of attempts from which it follows.
size_t AttemptsBehind(Futility why);

// A node without which further attempts are made.
struct LeftOutNode {
  uint32_t node = 0;  // of the job
  const char* why;    // follows its name: "has a faulty GPU"
};

struct RestartDecision {
  std::optional<std::chrono::milliseconds> wait = {};  // absent: no further attempt
  // With `wait`: only a reason to warn, once for each failure that repeats itself.
  std::optional<Futility> futility = {};
  std::optional<LeftOutNode> leave_out = {};
};

class RestartPolicy {
 public:
  explicit RestartPolicy(RestartLimits limits) : limits_(limits) {}

  // An attempt that ended because of missing nodes, or of a faulty GPU, does not count if the job
  // may continue without these nodes.
  RestartDecision Next(AttemptOutcome outcome);

  bool MayRestart() const { return limits_.MayRestart(); }
  // Returns whether Next may decide so for an attempt that ends because of `cause`, as far as is
  // known from it; a faulty GPU is found later. `ran`: a rank of the attempt has run.
  bool MayFollow(const Cause& cause, bool ran) const;

  uint32_t restarts_counted() const { return counted_; }

  // The wait before the second restart in a row; the first does not wait.
  static constexpr std::chrono::milliseconds kFirstWait{500};
  static constexpr std::chrono::milliseconds kMaxWait{60'000};
  // A longer attempt was no crash at the start.
  static constexpr std::chrono::milliseconds kCrashLoop{60'000};
  // Attempts without progress after which another one can hardly succeed.
  static constexpr size_t kMaxWithoutProgress = 3;

 private:
  bool LacksMemory(const Cause& cause) const;
  bool MadeProgress(const AttemptOutcome& outcome);
  std::optional<Futility> FutilityOfAnother() const;
  std::optional<LeftOutNode> NodeToLeaveOut() const;

  const RestartLimits limits_;
  struct Past {
    AttemptOutcome outcome;
    bool progress = false;  // it went beyond all earlier attempts
  };
  std::vector<Past> history_;
  std::pair<std::optional<Futility>, std::string> last_warning_;  // and its failure
  std::optional<uint64_t> best_step_;                             // of all attempts
  bool ever_ran_ = false;                                         // a rank of any attempt
  bool progress_known_ = false;  // the job reports steps, or its checkpoints are seen
  uint32_t counted_ = 0;
  std::chrono::milliseconds wait_{0};
};

// Returns the part of a program's fatal message that is the same whenever it fails in the same way:
// without numbers and quoted words, but with the place, such as "train.py:41".
std::string FailureKey(const std::string& message);

}  // namespace autodist::chief
