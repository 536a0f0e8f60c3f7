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

// The stream of a program that runs on this machine and does not receive the terminal's Ctrl-C.
// Destroying it ends the program within 2 seconds.
class ProgramStream final : public Stream {
 public:
  ~ProgramStream() override;

  base::UniqueFd TakeSocket() override { return std::move(socket_); }
  std::string StderrTail() const override;
  bool WaitClosed(base::Deadline deadline) override {
    return base::WaitReadable(end_.get(), deadline).ok();
  }

  pid_t pid() const { return pid_; }
  // nullopt while it runs, and if a signal ended it.
  std::optional<int> ExitStatus() const;

 private:
  friend Result<std::unique_ptr<ProgramStream>> StartProgram(
      const std::vector<std::string>& argv, const process::Environment& environment);
  ProgramStream(pid_t pid, base::UniqueFd end, base::UniqueFd socket, base::UniqueFd errors)
      : pid_(pid), end_(std::move(end)), socket_(std::move(socket)), errors_(std::move(errors)) {}

  const pid_t pid_;
  const base::UniqueFd end_;  // readable after the program's end
  base::UniqueFd socket_;
  const base::UniqueFd errors_;
};

// argv[0] is looked up in PATH. Does not block.
Result<std::unique_ptr<ProgramStream>> StartProgram(const std::vector<std::string>& argv);
Result<std::unique_ptr<ProgramStream>> StartProgram(const std::vector<std::string>& argv,
                                                    const process::Environment& environment);
// The same for a program that starts no program of the user: it gets neither the job's libraries
// nor variables that shells read (process::Environment::ForOurPrograms).
Result<std::unique_ptr<ProgramStream>> StartOurProgram(const std::vector<std::string>& argv);

// Returns the program's standard output until it ends; it has no input. Fails if there are more
// than `most` bytes, or at the deadline.
Result<std::string> OutputOf(ProgramStream& program, base::Deadline deadline, size_t most);

// Runs programs on this machine, as its own node.
class LocalTransport final : public Transport {
 public:
  Result<std::unique_ptr<Stream>> Run(const std::vector<std::string>& argv,
                                      const std::stop_token& stop) override;
};

}  // namespace autodist::transport
