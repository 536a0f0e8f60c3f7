// What ranks write to AUTODIST_PROGRESS: a FIFO for each, and what of it the chief is told.
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

// Thread-safe; no call blocks. One thread reads. FIFOs are held open for reading and writing: who
// opens or writes one waits for nobody, and gets no SIGPIPE.
class ProgressFiles {
 public:
  // Of a rank, one line in that time: the last one.
  static constexpr std::chrono::milliseconds kTellInterval{250};
  // Between reads, however much is written: of 64 KiB, which a FIFO has, 1.3 MB/s.
  static constexpr std::chrono::milliseconds kReadInterval{50};

  // Called with what is to be sent; must not call back.
  using Tell = std::function<void(v1::ProgressLine)>;
  static Result<std::unique_ptr<ProgressFiles>> Create(Tell tell);
  ~ProgressFiles();

  // A new attempt: closes those that there are.
  void Begin();
  // Makes the rank's, in place of any that is there.
  Status Add(uint32_t rank, const std::string& path);
  // Tells at once what has been written by now.
  void Flush();

 private:
  struct File {
    base::UniqueFd fd;
    std::string line;                                 // that has not ended
    bool skip = false;                                // until the next line: this one is too long
    std::string last{};                               // to be told; empty: nothing
    base::Deadline next = base::Deadline::After({});  // before it, nothing is told
  };

  explicit ProgressFiles(Tell tell) : tell_(std::move(tell)) {}
  void Loop();
  // mutex_ held, as for the ones below.
  static bool Read(File& file);
  static void Take(std::string_view bytes, File& file);
  void TellIfAny(uint32_t rank, File& file) const;

  const Tell tell_;
  base::TaskQueue tasks_;
  bool stopping_ = false;  // the thread's
  std::mutex mutex_;
  std::map<uint32_t, File> files_;  // guarded by mutex_
  std::jthread thread_;             // last
};

}  // namespace autodist::agent
