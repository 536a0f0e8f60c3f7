// Runs programs on this machine, as child processes.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>

#include "base/fd.h"
#include "process/environment.h"
#include "transport/transport.h"

namespace autodist::transport {

// Of a program that runs on this machine, out of reach of the terminal's Ctrl-C. Destroying it ends
// the program within 2 seconds.
class ProgramStream final : public Stream {
 public:
  ~ProgramStream() override;

  base::UniqueFd TakeSocket() override { return std::move(socket_); }
  std::string StderrTail() const override;
  bool WaitClosed(base::Deadline deadline) override {
    return base::WaitReadable(end_.get(), deadline).ok();
  }

  pid_t pid() const { return pid_; }
  // nullopt as long as it runs, and if a signal ended it.
  std::optional<int> ExitStatus() const;

 private:
  friend Result<std::unique_ptr<ProgramStream>> StartProgram(
      const std::vector<std::string>& argv, const process::Environment& environment);
  ProgramStream(pid_t pid, base::UniqueFd end, base::UniqueFd socket, base::UniqueFd errors)
      : pid_(pid), end_(std::move(end)), socket_(std::move(socket)), errors_(std::move(errors)) {}

  const pid_t pid_;
  const base::UniqueFd end_;  // readable when it has ended
  base::UniqueFd socket_;
  const base::UniqueFd errors_;
};

// argv[0] is looked up in PATH. Does not block.
Result<std::unique_ptr<ProgramStream>> StartProgram(const std::vector<std::string>& argv);
Result<std::unique_ptr<ProgramStream>> StartProgram(const std::vector<std::string>& argv,
                                                    const process::Environment& environment);
// The same for a program that nothing of the user's is started by: it has neither the job's
// libraries nor what shells read (process::Environment::ForOurPrograms).
Result<std::unique_ptr<ProgramStream>> StartOurProgram(const std::vector<std::string>& argv);

// Everything that it prints to its standard output until it ends; it has no input. Fails if that is
// more than `most` bytes, or later than the deadline.
Result<std::string> OutputOf(ProgramStream& program, base::Deadline deadline, size_t most);

// The node is this machine.
class LocalTransport final : public Transport {
 public:
  Result<std::unique_ptr<Stream>> Run(const std::vector<std::string>& argv,
                                      const std::stop_token& stop) override;
};

}  // namespace autodist::transport
