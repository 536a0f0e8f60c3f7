// The effect of signals on a job: Ctrl-C, Ctrl-Z, Ctrl-\, signals of a scheduler, and signals for
// the ranks.
#pragma once

#include <string>

#include "chief/attempt_run.h"
#include "chief/job_parts.h"
#include "chief/job_runner.h"
#include "chief/loop/loop.h"
#include "chief/suspension.h"

namespace autodist::chief {

// Used on the loop's thread only; never blocks.
class JobSignals {
 public:
  // The arguments must outlive this object.
  JobSignals(JobParts& parts, AttemptRun& run, JobRunner& runner, Suspension& suspension)
      : parts_(parts), run_(run), runner_(runner), suspension_(suspension) {}

  // `by`: who asks by a command or a key; "": the process received the signal.
  void Take(int signal, const std::string& by, Loop::Time at);

 private:
  void PassOn(int signal);
  void Interrupt(int signal, const std::string& by, Loop::Time at);
  void InterruptStart(const std::string& name, StopPolicy::Action action);
  void InterruptRanks(int signal, const std::string& by, StopPolicy::Action action);

  JobParts& parts_;
  AttemptRun& run_;
  JobRunner& runner_;
  Suspension& suspension_;
};

}  // namespace autodist::chief
