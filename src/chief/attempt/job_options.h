// How a job is run.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "autodist/status.h"
#include "autodist/v1/job.pb.h"
#include "autodist/v1/plan.pb.h"
#include "base/log_folder.h"
#include "chief/attempt/restart_policy.h"
#include "display/rank_lines.h"
#include "launch/launcher.h"
#include "plan/plan.h"

namespace autodist::chief {

enum class OnHang { kStop, kWarn };
enum class OnBusy { kWarn, kRefuse, kWait };

// How long may pass without a sign of life of any rank.
struct HangLimit {
  std::chrono::milliseconds fixed{0};  // 0: any time
  // By the time of a step instead, once one is known: kSteps of them, or kSilences times as long as
  // the ranks have been silent before and went on, and not below kLeast.
  bool by_steps = false;

  static constexpr int kSteps = 10;
  static constexpr int kSilences = 3;
  static constexpr std::chrono::seconds kLeast{60};
};

struct JobOptions {
  launch::LaunchOptions launch;
  base::LogFolder log_folder;  // of this job
  std::string name;            // that its user has given it; may be empty
  bool preflight = true;       // look at the nodes before anything is started
  // What to do where others have the plan's devices. Without it there is a warning of GPUs alone;
  // several jobs may well share CPUs.
  std::optional<OnBusy> on_busy;
  bool detached = false;  // of which the status tells
  display::View view;     // of what the ranks write
  // By which their progress is told alone (progress::Pattern); empty: by whatever is recognised.
  std::string progress_pattern;
  // Whose input is what comes from here; the plan says what it is for the rank.
  enum class OwnInput { kNone, kPipe, kTerminal };
  OwnInput own_input = OwnInput::kNone;
  uint32_t stdin_rank = 0;
  RestartLimits restarts;
  std::chrono::milliseconds timeout{0};  // for the whole job; 0: none
  HangLimit hang_limit;
  OnHang on_hang = OnHang::kStop;
  uint16_t fixed_port = 0;  // that every plan has, whoever else has it; 0: none
  // Without, there is one attempt, by the first plan.
  std::function<Result<v1::LaunchPlan>(const plan::Replan& replan)> plan_attempt;
  v1::FetchRequest fetch;  // what to bring from the nodes once the ranks have ended
  // Where its checkpoints are, here, absolute: what was trained since the last one is lost with an
  // attempt that fails. Empty: not known.
  std::string checkpoint_dir;
  // Prints a line of JSON to stdout; empty: nobody wants any. What ranks write is the view's.
  std::function<void(std::string line)> print_json;
  std::string on_end;  // what a shell is to do here once it is over; empty: nothing
  // Called on Run's thread; must not block.
  std::function<void(const v1::JobStatus& status)> on_status;
  // Once, when all is ready, before the ranks start; on a thread that may wait for a disk.
  std::function<void()> on_running;
  // By what the nodes are reached.
  std::function<Result<std::unique_ptr<launch::Launcher>>(const v1::LaunchPlan& plan,
                                                          launch::LaunchOptions options)>
      make_launcher = launch::Launcher::Create;
};

}  // namespace autodist::chief
