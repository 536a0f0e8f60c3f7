// The user of a rank's terminal, or a pipe in its place.
#pragma once

#include <cstdint>
#include <string>

#include "autodist/status.h"
#include "autodist/v1/job.pb.h"

namespace autodist::control {

// Called on the job's thread; must not block.
class TerminalUser {
 public:
  virtual ~TerminalUser() = default;

  virtual std::string who() const = 0;  // "`autodist attach`, process 123"
  // The request: the rank, and the size of the user's terminal.
  virtual v1::TerminalInput first() const = 0;

  // The user has the terminal, and the rank runs.
  virtual void OnAttached() = 0;
  // The rank has taken this many more bytes of the input.
  virtual void OnTaken(uint64_t bytes) = 0;
  // The user has lost the terminal, or cannot have it. OK: the rank has ended, or reads no more.
  // The last call.
  virtual void OnEnd(const Status& why) = 0;
};

}  // namespace autodist::control
