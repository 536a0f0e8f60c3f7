// Samples a job's GPUs with an nvidia-smi that runs as long as samples are needed, and parses its
// output.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "agent/sample/gpu_errors.h"
#include "agent/sample/kernel_file.h"
#include "agent/supervisor/supervisor.h"
#include "autodist/v1/sample.pb.h"
#include "base/backoff.h"
#include "base/deadline.h"
#include "base/fd.h"
#include "health/nvidia_smi.h"
#include "health/pci_place.h"
#include "process/environment.h"

namespace autodist::agent {

// Parses nvidia-smi's output about GPUs, with --query-gpu=... --format=csv,noheader,nounits. Pure
// logic.

struct GpuRow {
  v1::GpuSample gpu;  // without faults
  std::optional<health::PciPlace> place;
  health::GpuDescription description;  // what shows faults
};

// The queried fields, which differ between drivers.
class GpuFields {
 public:
  // Selects the fields that are in this output of nvidia-smi --help-query-gpu: it rejects a query
  // with an unknown field.
  explicit GpuFields(std::string_view help);

  // Whether the fields identify GPUs.
  bool usable() const { return usable_; }
  std::string Query() const;  // "--query-gpu=index,..."
  // nullopt: not a row, but a message.
  std::optional<GpuRow> Parse(std::string_view row) const;

 private:
  struct Field {
    const char* name;
    void (*take)(std::string_view value, GpuRow& row);  // nullptr: not part of the sample
    const char* path;  // of GpuDescription::values; nullptr: shows no fault
  };
  struct Known;
  std::vector<Field> fields_;
  bool usable_ = false;
};

// Returns the reasons for a reduced clock in a mask of nvml.h (nvmlClocksEventReasons), except
// idleness.
std::vector<std::string> ThrottleReasons(uint64_t mask);

struct GpuPlan {
  std::set<uint32_t> indices;  // nvidia-smi's; empty: no samples
  process::Environment environment;
  std::string working_directory;
  std::chrono::milliseconds interval{0};
};

// Not thread-safe; no call blocks. The supervisor must outlive it.
class GpuReader {
 public:
  // The maximum delay before nvidia-smi is restarted; the first delay is 0.2 s, then it grows.
  static constexpr std::chrono::milliseconds kMaxWait{60'000};

  GpuReader(GpuPlan plan, Supervisor& supervisor);
  ~GpuReader();  // kills it
  GpuReader(const GpuReader&) = delete;
  GpuReader& operator=(const GpuReader&) = delete;

  // Performs due actions, and reads nvidia-smi's output.
  void Update();
  // Returns when to call Update next.
  base::Deadline next_look() const { return next_look_; }
  // Returns recent readings by index; for a GPU that nvidia-smi no longer sees, the kernel's
  // messages. `is_jobs`: whether a process belongs to the job.
  void Read(const std::function<bool(pid_t pid)>& is_jobs, v1::NodeSample& sample);

 private:
  struct Reading {
    GpuRow row;
    SampleTime time;
  };

  // In this order.
  enum class State {
    kNone,    // no GPUs, or no nvidia-smi
    kFields,  // asking for supported fields
    kRows,    // reading rows periodically
    kWaiting  // before a restart
  };
  void Start(State state, std::vector<std::string> argv);
  void End();
  // Parses the complete lines of the output. Returns whether the program has ended.
  bool TakeOutput();
  void TakeRow(std::string_view line);
  // A message that a GPU is lost, which names its place. It must have had a row before: what is
  // lost at the start is found when the node is prepared.
  void TakeFailure(std::string_view line);
  void Wait();

  const GpuPlan plan_;
  Supervisor& supervisor_;
  std::string program_;  // empty: not installed
  State state_ = State::kNone;
  base::Deadline next_look_ = base::Deadline::Never();
  base::Deadline limit_ = base::Deadline::Never();  // of kFields
  base::Backoff backoff_;
  // Whether nvidia-smi loads the job's libraries, which is tried if it fails without them: some
  // containers only have the driver's there.
  bool jobs_libraries_ = false;
  uint64_t run_ = 0;  // of the supervisor; 0: none
  base::UniqueFd output_;
  std::string text_;  // not yet parsed
  std::optional<GpuFields> fields_;
  std::map<uint32_t, Reading> readings_;
  Xids xids_;
};

}  // namespace autodist::agent
