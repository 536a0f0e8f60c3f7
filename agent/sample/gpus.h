// How a job's GPUs are, by an nvidia-smi that runs as long as one wants to know it.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "agent/sample/gpu_rows.h"
#include "agent/sample/rate.h"
#include "agent/sample/xids.h"
#include "agent/supervisor/supervisor.h"
#include "autodist/v1/sample.pb.h"
#include "base/backoff.h"
#include "base/deadline.h"
#include "base/fd.h"
#include "process/environment.h"

namespace autodist::agent {

struct GpuPlan {
  std::set<uint32_t> indices;  // as nvidia-smi has them; none: nothing is asked
  process::Environment environment;
  std::string working_directory;
  std::chrono::milliseconds interval{0};
};

// Not thread-safe; no call blocks. The supervisor must outlive it.
class GpuReader {
 public:
  // nvidia-smi that has ended is started again after 0.2 s, then later and later, up to this.
  static constexpr std::chrono::milliseconds kMaxWait{60'000};

  GpuReader(GpuPlan plan, Supervisor& supervisor);
  ~GpuReader();  // kills it
  GpuReader(const GpuReader&) = delete;
  GpuReader& operator=(const GpuReader&) = delete;

  // Does what is due, and takes what nvidia-smi has written.
  void Update();
  // When to look next, whenever it is read.
  base::Deadline next_look() const { return next_look_; }
  // The readings that are fresh, by index; of a GPU that nvidia-smi does not see any more what the
  // kernel has told of it. `is_jobs`: whether that is a process of the job.
  void Read(const std::function<bool(pid_t pid)>& is_jobs, v1::NodeSample& sample);

 private:
  struct Reading {
    GpuRow row;
    SampleTime time;
  };

  // One after the other.
  enum class Step {
    kNone,    // nothing to ask, or nobody
    kFields,  // asked what it can be asked
    kRows,    // asked how the GPUs are, again and again
    kWaiting  // to begin anew
  };
  void Start(Step step, std::vector<std::string> argv);
  void End();
  // Of what it has written, the lines that are whole. Whether it has ended.
  bool TakeOutput();
  void TakeRow(std::string_view line);
  void Wait();

  const GpuPlan plan_;
  Supervisor& supervisor_;
  std::string program_;  // empty: there is none
  Step step_ = Step::kNone;
  base::Deadline next_look_ = base::Deadline::Never();
  base::Deadline limit_ = base::Deadline::Never();  // of kFields
  base::Backoff backoff_;
  // Whether nvidia-smi is to load the job's libraries, tried where it fails without: some
  // containers have the driver's there alone.
  bool jobs_libraries_ = false;
  uint64_t run_ = 0;  // of the supervisor's; 0: none
  base::UniqueFd output_;
  std::string text_;  // not taken yet
  std::optional<GpuFields> fields_;
  std::map<uint32_t, Reading> readings_;
  Xids xids_;
};

}  // namespace autodist::agent
