// The interface to all ways of running a program on a node, with a byte stream to it.
#pragma once

#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "autodist/status.h"
#include "base/deadline.h"
#include "base/fd.h"

namespace autodist::transport {

// The standard input and output of a program that runs on a node. Destroying it closes the
// program's input; the program goes on or ends as it likes. Thread-safe.
class Stream {
 public:
  virtual ~Stream() = default;

  // The stream socket, once; whoever holds it reads and writes the program's output and input.
  virtual base::UniqueFd TakeSocket() = 0;

  // The end of what the program, or the login shell before it, wrote to its standard error.
  virtual std::string StderrTail() const = 0;

  // Blocks until the program's output has ended. False if the deadline came first.
  virtual bool WaitClosed(base::Deadline deadline) = 0;

  // Why the stream ended, if it did so for a reason other than the program's end.
  virtual Status Failure() const { return OkStatus(); }
  // The same of a stream that has printed this until it ended: some programs say there what is
  // wrong.
  virtual Status FailureIn(const std::string& printed) const {
    (void)printed;
    return Failure();
  }
};

// One way to one node. Thread-safe.
class Transport {
 public:
  virtual ~Transport() = default;

  // Runs argv on the node, without a terminal. Blocks until it has been started, for at most the
  // sum of the phases' time limits; `stop` makes it return kCancelled early.
  virtual Result<std::unique_ptr<Stream>> Run(const std::vector<std::string>& argv,
                                              const std::stop_token& stop) = 0;
};

}  // namespace autodist::transport
