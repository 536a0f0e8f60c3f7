// The interface of all ways to run a program on a node, with a byte stream to it.
#pragma once

#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "autodist/status.h"
#include "base/deadline.h"
#include "base/fd.h"
#include "transport/reach_causes.h"

namespace autodist::transport {

// The standard input and output of a program that runs on a node. Destroying it closes the
// program's input, and does not end the program. Thread-safe.
class Stream {
 public:
  virtual ~Stream() = default;

  // Returns the stream socket, once; its owner reads and writes the program's output and input.
  virtual base::UniqueFd TakeSocket() = 0;

  // Returns the last part of the standard error of the program, or of the login shell before it.
  virtual std::string StderrTail() const = 0;

  // Blocks until the program's output has ended. False: the deadline passed first.
  virtual bool WaitClosed(base::Deadline deadline) = 0;

  // Returns why the stream ended if the reason is not the program's end.
  virtual Status Failure() const { return OkStatus(); }
  // The same for a stream that has printed this text until its end: some programs report their
  // error there.
  virtual Status FailureIn(const std::string& printed) const {
    (void)printed;
    return Failure();
  }

  // Whether the login has succeeded; false also if that is not known.
  virtual bool logged_in() const { return true; }

  // Returns how the node is logged in to, for hints about what its login shell does.
  virtual Login login() const { return {}; }
};

// A connection method for one node. Thread-safe.
class Transport {
 public:
  virtual ~Transport() = default;

  // Runs argv on the node, without a terminal. Blocks until it has started, at most for the sum of
  // the phases' time limits; `stop` makes it return kCancelled early.
  virtual Result<std::unique_ptr<Stream>> Run(const std::vector<std::string>& argv,
                                              const std::stop_token& stop) = 0;
};

}  // namespace autodist::transport
