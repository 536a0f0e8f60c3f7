// What a signal does to a job: Ctrl-C, Ctrl-Z, Ctrl-\, those of a scheduler, and those that are for
// the ranks.
#pragma once

#include <string>

#include "chief/attempt_run.h"
#include "chief/job_parts.h"
#include "chief/job_runner.h"
#include "chief/loop/loop.h"
#include "chief/suspension.h"

namespace autodist::chief {

// For the loop's thread; never blocks.
class JobSignals {
 public:
  // What is given must outlive it.
  JobSignals(JobParts& parts, AttemptRun& run, JobRunner& runner, Suspension& suspension)
      : parts_(parts), run_(run), runner_(runner), suspension_(suspension) {}

  // `by`: what sent it, if it is known.
  void Take(int signal, const std::string& by, Loop::Time at);

 private:
  void Interrupt(int signal, const std::string& by, Loop::Time at);
  void InterruptRanks(int signal, const std::string& by, StopPolicy::Action action);

  JobParts& parts_;
  AttemptRun& run_;
  JobRunner& runner_;
  Suspension& suspension_;
};

}  // namespace autodist::chief
