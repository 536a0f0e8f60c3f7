// Who is at the terminal of a rank, or what is piped into it.
#pragma once

#include <cstdint>
#include <string>

#include "autodist/status.h"
#include "autodist/v1/job.pb.h"

namespace autodist::control {

// Called on the thread of the job; must not block.
class TerminalUser {
 public:
  virtual ~TerminalUser() = default;

  virtual std::string who() const = 0;  // "`autodist attach`, process 123"
  // What it begins with: the rank, and how large its terminal is.
  virtual v1::TerminalInput first() const = 0;

  // It is at the terminal, and the rank runs.
  virtual void OnYours() = 0;
  // So many more bytes of what it gave have been taken.
  virtual void OnTaken(uint64_t bytes) = 0;
  // It is there no more, or does not get there. OK: the rank has ended, or reads no more. Last
  // call.
  virtual void OnEnd(const Status& why) = 0;
};

}  // namespace autodist::control
