// The FIFOs of AUTODIST_PROGRESS, one for each rank, and the reports to the chief.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "autodist/status.h"
#include "autodist/v1/session.pb.h"
#include "base/deadline.h"
#include "base/fd.h"
#include "base/task_queue.h"

namespace autodist::agent {

// Thread-safe; no call blocks. One thread reads. FIFOs are held open for reading and writing, so
// that ranks that open or write one never block and get no SIGPIPE.
class ProgressFiles {
 public:
  // The minimum interval of reports of one rank; the last line counts.
  static constexpr std::chrono::milliseconds kReportInterval{250};
  // The minimum interval of reads: with a FIFO of 64 KiB it allows 1.3 MB/s.
  static constexpr std::chrono::milliseconds kReadInterval{50};

  // Sends a message; must not call back.
  using Report = std::function<void(v1::ProgressLine)>;
  static Result<std::unique_ptr<ProgressFiles>> Create(Report report);
  ~ProgressFiles();

  // Starts a new attempt: closes all FIFOs.
  void Begin();
  // Creates the rank's FIFO, and replaces an existing one.
  Status Add(uint32_t rank, const std::string& path);
  // Reports immediately what has been written so far.
  void Flush();

 private:
  struct File {
    base::UniqueFd fd;
    std::string line;    // incomplete
    bool skip = false;   // until the next line, because this one is too long
    std::string last{};  // to be reported; empty: nothing
    base::Deadline next = base::Deadline::After({});  // the earliest time of the next report
  };

  explicit ProgressFiles(Report report) : report_(std::move(report)) {}
  void Loop();
  // Call these with mutex_ held.
  static bool Read(File& file);
  static void Take(std::string_view bytes, File& file);
  void ReportIfAny(uint32_t rank, File& file) const;

  const Report report_;
  base::TaskQueue tasks_;
  bool stopping_ = false;  // used only by the thread
  std::mutex mutex_;
  std::map<uint32_t, File> files_;  // guarded by mutex_
  std::jthread thread_;             // last
};

}  // namespace autodist::agent
