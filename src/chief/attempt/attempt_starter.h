// From a plan to ranks that may start: the one way for the first launch, for a plan with other
// ports, and for a restart.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "autodist/status.h"
#include "autodist/v1/plan.pb.h"
#include "base/backoff.h"
#include "chief/attempt/attempt.h"
#include "chief/attempt/job_options.h"
#include "chief/attempt/restart_policy.h"
#include "chief/attempt/taken_ports.h"
#include "chief/checks/told_addresses.h"
#include "chief/fleet/fleet.h"
#include "chief/loop/loop.h"
#include "chief/loop/stop_policy.h"
#include "chief/output/console.h"
#include "diagnosis/diagnose.h"
#include "launch/launcher.h"

namespace autodist::chief {

// Why no attempt could be made.
inline constexpr char kInterrupted[] = "interrupted before anything was started";
struct NotStarted {
  int exit_code;       // of `autodist run`, were it the first
  std::string report;  // cause and remedy
};

// For the loop's thread. Its calls run the loop until they are done, or the stop policy has been
// told to stop.
class AttemptStarter {
 public:
  // What is given must outlive the starter.
  AttemptStarter(const v1::LaunchPlan& plan, const JobOptions& options, Loop& loop,
                 const StopPolicy& stop, Fleet& nodes, Console& console);

  // Makes an attempt ready whose ranks may start: its members are prepared and connected, its ports
  // are free and its log files are open.
  std::variant<std::unique_ptr<Attempt>, NotStarted> Start(uint32_t number);

  // The first attempt as it is planned; nothing is done for it.
  std::unique_ptr<Attempt> FirstAttempt();

  // Whether its first failure may be that a port was taken that had been free a moment before. Its
  // output tells.
  bool MayHaveLostPortRace(const Attempt& attempt) const;
  // How long to wait until another attempt follows this one, which has ended with a cause; nullopt:
  // none does. The attempt's output must have arrived.
  std::optional<std::chrono::milliseconds> RestartWait(const Attempt& attempt);

  // Ends whatever is being launched.
  void Cancel();
  // Cancels, and waits until the launcher has ended.
  void Stop();

 private:
  using Nodes = std::vector<launch::LaunchedNode>;

  std::unique_ptr<Attempt> MakeAttempt(uint32_t number, SharedPlan plan,
                                       const std::vector<uint32_t>& nodes);
  Result<std::unique_ptr<Attempt>> PlanAttempt(uint32_t number);
  Result<Nodes> LaunchNodes(const Attempt& attempt);
  Result<Nodes> PrepareNodes(const Attempt& attempt);
  void BeginWaiting(const std::vector<uint32_t>& nodes);
  Loop::Time TellWhatIsWaitedFor();
  void TellWarnings(const Attempt& attempt, const Nodes& nodes);
  bool CanMovePorts(const std::vector<TakenPort>& taken) const;
  Status PortsAreTaken(const std::vector<TakenPort>& taken) const;
  bool AwaitInBackground(std::function<void()> task);
  Status OpenLogs(Attempt& attempt);
  v1::Diagnosis Diagnose(diagnosis::Evidence evidence) const;
  std::string BusyDevices(const Attempt& attempt, const Nodes& nodes) const;
  void AwaitDevices(const std::string& busy);
  bool Synced() const { return options_.launch.sync != nullptr; }
  NotStarted Interrupted() const;
  bool LostPortRace(const Attempt& attempt);

  std::vector<uint32_t> GatherNodes();
  std::chrono::milliseconds ComeBackLimit();
  std::vector<uint32_t> MissingNodes(bool enough) const;
  void EndOnReturned();

  const v1::LaunchPlan& plan_;
  const JobOptions& options_;
  Loop& loop_;
  const StopPolicy& stop_;
  Fleet& nodes_;
  Console& console_;
  const std::shared_ptr<launch::LaunchProgress> progress_;
  DataAddresses told_addresses_;
  std::shared_ptr<const Attempt::MissingVariables> missing_variables_;
  std::string told_;  // of what is waited for
  Loop::Time tell_at_ = Loop::Time::max();
  std::unique_ptr<launch::Launcher> launcher_;
  RestartPolicy restarts_;
  std::optional<base::Backoff> devices_awaited_;
  uint32_t races_lost_ = 0;  // for ports, between choosing and opening them
};

}  // namespace autodist::chief
